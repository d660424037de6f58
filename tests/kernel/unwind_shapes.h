/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of all shapes, each of which calls probe() at its end. For test_unwind.c, whose probe(),
 * compare(), read_state() and counters they use.
 */
#ifndef TESTS_KERNEL_UNWIND_SHAPES_H
#define TESTS_KERNEL_UNWIND_SHAPES_H

static __attribute__((noinline)) unsigned long nest(int depth)
{
	volatile char capacity[24];

	capacity[depth % 24] = 1;
	if (depth > 0)
		return nest(depth - 1) + (unsigned long)capacity[depth % 24];
	probe();
	return (unsigned long)capacity[0];
}

static __attribute__((noinline)) unsigned long nest_alloca(int depth)
{
	volatile char *capacity = alloca(16 + (size_t)depth * 40);

	capacity[depth] = 1;
	if (depth > 0)
		return nest_alloca(depth - 1) + (unsigned long)capacity[depth];
	probe();
	return (unsigned long)capacity[0];
}

static __attribute__((noinline)) unsigned long aligned(int depth)
{
	volatile char capacity[64] __attribute__((aligned(64)));

	capacity[depth] = 1;
	if (depth > 0)
		return aligned(depth - 1) + (unsigned long)capacity[depth];
	probe();
	return (unsigned long)capacity[0];
}

/* Frames of which less than one fits into what is read at once. */
static __attribute__((noinline)) unsigned long wide(int depth)
{
	volatile char capacity[UNWIND_WINDOW * 3 / 2];

	capacity[depth] = 1;
	if (depth > 0)
		return wide(depth - 1) + (unsigned long)capacity[depth];
	probe();
	return (unsigned long)capacity[0];
}

static ucontext_t outside, inside;
static void at_edge(void)
{
	nest(3);
}

/*
 * On a stack behind whose end there is no memory: what is read at once would reach over it.
 * Compared, but not counted: libc does not always say that such a stack ends.
 */
static void on_small_stack(void)
{
	const size_t walks_before = walks, whole_before = whole;
	const size_t size = 1 << 16;
	char *capacity = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(capacity, MAP_FAILED);
	ck_assert_int_eq(mprotect(capacity, size, PROT_READ | PROT_WRITE), 0);
	ck_assert_int_eq(getcontext(&inside), 0);
	inside.uc_stack = (stack_t){ .ss_sp = capacity, .ss_size = size };
	inside.uc_link = &outside;
	makecontext(&inside, at_edge, 0);
	ck_assert_int_eq(swapcontext(&outside, &inside), 0);
	ck_assert_int_eq(munmap(capacity, 2 * size), 0);
	ck_assert_uint_eq(walks, walks_before + 2);
	walks = walks_before;
	whole = whole_before;
}

static int by_probe(const void *a, const void *b)
{
	probe();
	return *(const int *)a - *(const int *)b;
}

static void on_signal(int sig)
{
	(void)sig;
	nest(3);
}

static void through_signals(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	static char capacity[1 << 16];
	const stack_t stack = { .ss_sp = capacity, .ss_size = sizeof(capacity) };

	ck_assert_int_eq(sigaltstack(&stack, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	ck_assert_int_eq(raise(SIGUSR1), 0);
}

static void *in_thread(void *ctx)
{
	nest(10);
	return ctx;
}

#if defined(__x86_64__)
/*
 * System calls between pushes and pops, five rules within one block of code. What the first walks
 * have left for the block must not be taken where another rule holds.
 */
void pushes(void);
void compare_step(void);
__attribute__((used)) void compare_step(void)
{
	compare();
}
/*
 * The stack pointer as a spare register: whatever it points to is not in what was read of another
 * stack.
 */
void compare_low(void);
__attribute__((used)) void compare_low(void)
{
	const size_t walks_before = walks, whole_before = whole;

	compare();
	ck_assert_uint_eq(read_scratch()->walk.n, 1);
	walks = walks_before;
	whole = whole_before;
}
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define STEP                                                                                       \
	"mov $121, %eax\n mov $0x7efa11, %edi\n syscall\n"                                         \
	"mov %rsp, %rbx\n and $-16, %rsp\n call compare_step\n mov %rbx, %rsp\n"
#define STEP_LOW                                                                                   \
	"mov %rsp, %r12\n mov $8, %esp\n mov $121, %eax\n mov $0x7efa11, %edi\n syscall\n"         \
	"mov %r12, %rsp\n and $-16, %rsp\n call compare_low\n mov %r12, %rsp\n"
__asm__(".text\n .balign " TEXT(
	UNWIND_BLOCK) "\n .globl pushes\n .type pushes, @function\n pushes:\n"
		      ".cfi_startproc\n"
		      "push %rbx\n .cfi_adjust_cfa_offset 8\n" STEP
		      "push %r12\n .cfi_adjust_cfa_offset 8\n" STEP
		      "sub $40, %rsp\n .cfi_adjust_cfa_offset 40\n" STEP STEP_LOW
		      "add $40, %rsp\n .cfi_adjust_cfa_offset -40\n" STEP
		      "pop %r12\n .cfi_adjust_cfa_offset -8\n" STEP
		      "pop %rbx\n .cfi_adjust_cfa_offset -8\n ret\n .cfi_endproc\n .size pushes, . "
		      "- pushes\n");
_Static_assert(CALL == 121 && MAGIC == 0x7efa11, "STEP has them as numbers");
#else
static void pushes(void)
{
}
#endif

static void all_shapes(void)
{
	int numbers[] = { 3, 1, 2 };
	pthread_t thread;

	nest(0);
	nest(20);
	nest_alloca(20);
	aligned(20);
	wide(4);
	on_small_stack();
	pushes();
	qsort(numbers, 3, sizeof(numbers[0]), by_probe);
	through_signals(0);
	through_signals(SA_ONSTACK);
	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, NULL), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	nest(50);
}

#endif
