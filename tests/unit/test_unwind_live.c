/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk, at every single instruction of code without frame pointers: the processor's trap flag
 * stops after each, and the stack found there must be the one that libgcc's unwinder, the one that
 * throws C++ exceptions, finds by the same .eh_frame on a way of its own.
 */
#include "unwind_self.h"

#ifdef __x86_64__
#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unwind.h>

enum { DEPTH = 512, TRAP_FLAG = 0x100 };

struct stack {
	uint64_t pcs[DEPTH];
	unsigned int n;
	struct unwind_result result; /* ours only */
};

static volatile bool stepping;
static struct self self;
static struct stack ours, theirs;
static struct {
	size_t steps, ends[UNWIND_STOPS], deepest, signals;
	size_t mismatches;
	struct stack ours, theirs; /* the first mismatch */
} seen;

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *ctx)
{
	struct stack *s = ctx;
	int is_exact = 0;
	uint64_t pc = _Unwind_GetIPInfo(context, &is_exact);

	if (s->n == DEPTH || !pc) /* its last frame is the one beyond the end */
		return _URC_END_OF_STACK;
	s->pcs[s->n] = pc;
	if (is_exact)
		s->pcs[s->n] |= UNWIND_PC_EXACT;
	s->n++;
	return _URC_NO_REASON;
}

/* What is left of the stack from where the trap was, without the handler's own frames. */
static void drop_handler(struct stack *s, uint64_t pc)
{
	unsigned int i = 0;

	while (i < s->n && s->pcs[i] != (pc | UNWIND_PC_EXACT))
		i++;
	memmove(s->pcs, s->pcs + i, (s->n - i) * sizeof(s->pcs[0]));
	s->n -= i;
	if (s->n)
		s->pcs[0] = pc;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
	struct unwind_regs regs;

	(void)info;
	if (sig == SIGTRAP)
		*flags = stepping ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
	if (sig == SIGTRAP && !stepping)
		return;
	theirs.n = 0;
	_Unwind_Backtrace(take, &theirs);
	self_regs(context, &regs);
	drop_handler(&theirs, regs.pc);
	ours.n = unwind_walk(&self.space, &regs, self_read, NULL, ours.pcs, DEPTH, &ours.result);

	seen.steps++;
	seen.ends[ours.result.end]++;
	seen.signals += ours.result.signals;
	if (ours.n > seen.deepest)
		seen.deepest = ours.n;
	if (ours.n == theirs.n && !memcmp(ours.pcs, theirs.pcs, ours.n * sizeof(ours.pcs[0])))
		return;
	if (!seen.mismatches++) {
		seen.ours = ours;
		seen.theirs = theirs;
	}
}

/* What changes the flag by itself would need the stack, and so rules of its own. */
static inline __attribute__((always_inline)) void set_stepping(bool on)
{
	stepping = on;
	if (on)
		__asm__ volatile("int3");
}

static void tell_mismatch(void)
{
	const struct stack *a = &seen.ours, *b = &seen.theirs;

	for (unsigned int i = 0; i < a->n || i < b->n; i++)
		fprintf(stderr, "%3u %18lx %18lx\n", i, i < a->n ? a->pcs[i] : 0,
			i < b->n ? b->pcs[i] : 0);
	ck_abort_msg("%zu of %zu stacks differ; the first ended with \"%s\"", seen.mismatches,
		     seen.steps, unwind_stop_text(a->result.end));
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	ck_assert_int_eq(sigaction(sig, &sa, NULL), 0);
}

static void check_steps(void (*work)(int), size_t at_least)
{
	self_open(&self);
	install(SIGTRAP, on_trap, 0);
	_Unwind_Backtrace(take, &theirs); /* loads what it needs */
	memset(&seen, 0, sizeof(seen));
	work(3);
	if (seen.mismatches)
		tell_mismatch();
	ck_assert_uint_ge(seen.steps, at_least);
	ck_assert_uint_eq(seen.ends[UNWIND_COMPLETE], seen.steps);
	self_close(&self);
}

/* ---- what is stepped through */

/* Without frame pointers, although the sanitizers' build has them; clang has no way to say so. */
#ifdef __clang__
#define PLAIN __attribute__((noinline, no_sanitize("address", "undefined")))
#else
#define PLAIN                                                                                      \
	__attribute__((noinline, noclone, optimize("O2", "omit-frame-pointer"),                    \
		       no_sanitize("address", "undefined")))
#endif

static volatile unsigned int sink;

PLAIN static int leaf(int n)
{
	return (n * sink + 1) % 1024;
}

PLAIN static int many_registers(int a, int b, int c, int d, int e, int f, int g)
{
	int v[7] = { a, b, c, d, e, f, g }, sum = 0;

	for (int i = 0; i < 7; i++)
		sum += leaf(v[i]) * leaf(v[6 - i]) + a * b - c * d + e * f;
	return sum + g;
}

PLAIN static int recurse(int n)
{
	return n ? recurse(n - 1) + leaf(n) : many_registers(1, 2, 3, 4, 5, 6, 7);
}

PLAIN static int with_alloca(int n)
{
	char *p = alloca(16 * n + 1);

	memset(p, n, 16 * n);
	sink += p[n];
	return n ? with_alloca(n - 1) + leaf(p[0]) : 0;
}

PLAIN static int with_large_frame(int n)
{
	volatile char capacity[200000];

	capacity[n] = n;
	return leaf(capacity[n]) + capacity[n];
}

/* gcc realigns with a register of its own, r10, and describes that by expressions. */
PLAIN static int with_aligned_frame(int n)
{
	_Alignas(128) volatile char capacity[256];
	char *p = alloca(n + 8);

	p[n] = capacity[n] = n;
	sink += p[n];
	return leaf(capacity[n]) + with_alloca(n);
}

PLAIN static int by_value(const void *a, const void *b)
{
	return leaf(*(const int *)a) - leaf(*(const int *)b);
}

PLAIN static void step_functions(int n)
{
	set_stepping(true);
	sink += recurse(12 * n);
	sink += with_alloca(n);
	sink += with_large_frame(n);
	sink += with_aligned_frame(n);
	set_stepping(false);
}

/* Through stubs of the PLT, hand-written assembly, callbacks from libraries, and the vdso. */
PLAIN static void step_libraries(int n)
{
	int v[] = { 5, 3, 9, 1, 7, 2, 8 };
	char text[128], copy[128];
	struct timespec t;

	/* The first call of each looks its symbol up: the loader's own business. */
	for (int i = 0; i < 2; i++) {
		set_stepping(i == 1);
		qsort(v, 7, sizeof(v[0]), by_value);
		snprintf(text, sizeof(text), "%d %s %08x", n, "words", 0xabcd);
		strcpy(copy, text);
		sink += strlen(copy) + strtol("1234", NULL, 10);
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += syscall(SYS_gettid);
	}
	set_stepping(false);
}

PLAIN static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	set_stepping(stepping); /* handlers begin without the flag */
	sink += recurse(sig % 4);
	if (sig == SIGUSR1)
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR2);
	sink += leaf(sig);
}

/* A handler within a handler, on another stack; raise(3) would block the trap too. */
PLAIN static void step_signals(int n)
{
	static _Alignas(16) char other[65536];
	stack_t ss = { .ss_sp = other, .ss_size = sizeof(other) };

	sigaltstack(&ss, NULL);
	install(SIGUSR1, on_signal, 0);
	install(SIGUSR2, on_signal, SA_ONSTACK);
	for (int i = 0; i < 2; i++) {
		set_stepping(i == 1);
		syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
		sink += leaf(n);
	}
	set_stepping(false);
}

static void *in_thread(void *arg)
{
	step_functions((intptr_t)arg);
	return NULL;
}

static void step_thread(int n)
{
	pthread_t t;

	pthread_create(&t, NULL, in_thread, (void *)(intptr_t)n);
	pthread_join(t, NULL);
}

START_TEST(test_functions)
{
	check_steps(step_functions, 1000);
	ck_assert_uint_ge(seen.deepest, 20);
}
END_TEST

START_TEST(test_libraries)
{
	check_steps(step_libraries, 1000);
}
END_TEST

START_TEST(test_signals)
{
	check_steps(step_signals, 100);
	ck_assert_uint_ge(seen.signals, 100);
}
END_TEST

START_TEST(test_thread)
{
	check_steps(step_thread, 1000);
}
END_TEST

/* What a profiler meets: any instruction of a busy program, by the clock. */
static void busy(void)
{
	int v[200];

	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < 200; i++)
			v[i] = (i * 7919 + round) % 200;
		qsort(v, 200, sizeof(v[0]), by_value);
		sink += (unsigned int)recurse(300);
		sink += (unsigned int)with_aligned_frame(20);
	}
}

START_TEST(test_by_the_clock)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	/*
	 * Longer than a walk takes under sanitizers on a busy machine, or nothing but walks would
	 * be done.
	 */
	struct itimerspec every = { { 0, 3000000 }, { 0, 3000000 } };
	timer_t timer;

	self_open(&self);
	install(SIGPROF, on_trap, SA_RESTART);
	_Unwind_Backtrace(take, &theirs);
	memset(&seen, 0, sizeof(seen));
	ck_assert_int_eq(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	ck_assert_int_eq(timer_settime(timer, 0, &every, NULL), 0);
	while (seen.steps < 500)
		busy();
	timer_delete(timer);
	if (seen.mismatches)
		tell_mismatch();
	ck_assert_uint_eq(seen.ends[UNWIND_COMPLETE], seen.steps);
	ck_assert_uint_ge(seen.deepest, 100);
	self_close(&self);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwinding this process");
	TCase *t = tcase_create("live");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_functions);
	tcase_add_test(t, test_libraries);
	tcase_add_test(t, test_signals);
	tcase_add_test(t, test_thread);
	tcase_add_test(t, test_by_the_clock);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
#else
int main(void)
{
	puts("skip unwinding this process (its registers are known on x86-64 only)");
	puts("100%: Checks: 1, Failures: 0, Errors: 0");
	return EXIT_SUCCESS;
}
#endif
