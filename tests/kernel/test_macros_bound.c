/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines bound at load time, in the kernel: parameters, members of its own types, fields of a
 * tracepoint, and the registers of a probed function of this very test.
 */
#include "macros_world.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- parameters */

struct config {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	int8_t s8;
	int16_t s16;
	int32_t s32;
	int64_t s64;
};

/* Whose type a parameter has is of no consequence: the number is. */
START_TEST(parameters)
{
	static const struct config config = { .u8 = 0xfe,
					      .u16 = 0xfffe,
					      .u32 = 0xfffffffe,
					      .u64 = 0xfedcba9876543210,
					      .s8 = -2,
					      .s16 = -300,
					      .s32 = INT32_MIN,
					      .s64 = INT64_MIN };
	static const struct {
		struct asm_insn line;
		uint64_t want;
	} cases[] = {
		{ LD_PARAM(R0, struct config, u8), 0xfe },
		{ LD_PARAM(R0, struct config, u16), 0xfffe },
		{ LD_PARAM(R0, struct config, u32), 0xfffffffe },
		{ LD_PARAM(R0, struct config, u64), 0xfedcba9876543210 },
		{ LD_PARAM(R0, struct config, s8), 0xfffffffffffffffe },
		{ LD_PARAM(R0, struct config, s16), 0xfffffffffffffed4 },
		{ LD_PARAM(R0, struct config, s32), 0xffffffff80000000 },
		{ LD_PARAM(R0, struct config, s64), 0x8000000000000000 },
	};

	isa_bindings.config = &config;
	isa_bindings.config_size = sizeof(config);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		ck_assert_uint_eq(world_once(&cases[i].line, 1, 0, 0, 0).out[0], cases[i].want);
}
END_TEST

START_TEST(jumps_on_parameters)
{
	static const struct asm_insn lines[] = {
		MOV(R0, 0), JEQ_PARAM(R1, struct config, s32, eq), OR(R0, 1),
		LABEL(eq),  JNE_PARAM(R1, struct config, s32, ne), OR(R0, 2),
		LABEL(ne),  JGT_PARAM(R1, struct config, s32, gt), OR(R0, 4),
		LABEL(gt),  JGE_PARAM(R1, struct config, s32, ge), OR(R0, 8),
		LABEL(ge),  JLT_PARAM(R1, struct config, s32, lt), OR(R0, 16),
		LABEL(lt),  JLE_PARAM(R1, struct config, s32, le), OR(R0, 32),
		LABEL(le),
	};
	static const int32_t params[] = { 0, 1, 1000, INT32_MAX, -1, INT32_MIN };
	static const uint64_t numbers[] = {
		0, 1, 999, 1000, 1001, 0x7fffffff, 0xffffffff, (uint64_t)-1, 0xffffffff80000000
	};

	for (size_t p = 0; p < COUNT_OF(params); p++) {
		const struct config config = { .s32 = params[p] };
		uint64_t b = (uint64_t)(int64_t)params[p]; /* compared unsigned, in 64 bits */
		int fd;

		isa_bindings.config = &config;
		isa_bindings.config_size = sizeof(config);
		fd = LOAD(lines);
		for (size_t i = 0; i < COUNT_OF(numbers); i++) {
			uint64_t a = numbers[i];
			uint64_t want = (a != b) * 1 + (a == b) * 2 + (a <= b) * 4 + (a < b) * 8 +
					(a >= b) * 16 + (a > b) * 32;

			ck_assert_uint_eq(world_run(fd, a, 0, 0).out[0], want);
		}
		close(fd);
	}
}
END_TEST

START_TEST(when_and_unless)
{
	static const struct asm_insn lines[] = {
		MOV(R0, 0),
		WHEN(struct config, u8),
		OR(R0, 1),
		UNLESS(struct config, s64),
		OR(R0, 2),
		END,
		WHEN(struct config, s64),
		OR(R0, 4),
		END,
		END,
		UNLESS(struct config, u8),
		OR(R0, 8),
		WHEN(struct config, s64),
		OR(R0, 16),
		END,
		END,
	};
	static const struct {
		struct config config;
		uint64_t want;
	} cases[] = {
		{ { .u8 = 0, .s64 = 0 }, 8 },
		{ { .u8 = 0, .s64 = -1 }, 8 + 16 },
		{ { .u8 = 255, .s64 = 0 }, 1 + 2 },
		{ { .u8 = 1, .s64 = INT64_MIN }, 1 + 4 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		isa_bindings.config = &cases[i].config;
		isa_bindings.config_size = sizeof(cases[i].config);
		ck_assert_uint_eq(RUN(lines, 0, 0, 0).out[0], cases[i].want);
	}
}
END_TEST

/* ---- members of the kernel's types */

static void *exit_signal_of_a_thread(void *arg)
{
	static const struct asm_insn lines[] = {
		CALL(get_current_task_btf),
		LD_FIELD(R0, R0, "task_struct", "exit_signal"),
	};

	*(uint64_t *)arg = RUN(lines, 0, 0, 0).out[0];
	return NULL;
}

START_TEST(members)
{
	static const struct asm_insn lines[] = {
		CALL(get_current_task_btf),
		MOV_REG(R6, R0),
		LD_FIELD(R7, R6, "task_struct", "tgid"),
		LD_FIELD(R8, R6, "task_struct", "real_parent.tgid"),
		LD_FIELD(R0, R6, "task_struct", "pid"),
		LD_FIELD(R6, R6, "task_struct", "exit_signal"),
	};
	struct isa_cell cell;
	uint64_t exit_signal = 0;
	pthread_t thread;

	world_saw(lines, COUNT_OF(lines));
	if (isa_lacks("get_current_task_btf", 5, 11))
		return;
	cell = RUN(lines, 0, 0, 0);
	ck_assert_uint_eq(cell.out[7], (uint64_t)getpid());
	ck_assert_uint_eq(cell.out[8], (uint64_t)getppid());
	ck_assert_uint_eq(cell.out[0], (uint64_t)syscall(SYS_gettid));
	ck_assert_uint_eq(cell.out[6], SIGCHLD);

	/* An int that is -1 (kernel/fork.c: a thread tells nobody of its end). */
	ck_assert_int_eq(pthread_create(&thread, NULL, exit_signal_of_a_thread, &exit_signal), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq((int64_t)exit_signal, -1);
}
END_TEST

START_TEST(offsets_and_sizes)
{
	/* By its address, which is what the helper says plus what BTF says. */
	static const struct asm_insn lines[] = {
		CALL(get_current_task),
		FIELD_OFFSET(R6, "task_struct", "comm"),
		ADD_REG(R6, R0),
		MOV_REG(R7, R0),
		ADD_FIELD_OFFSET(R7, "task_struct", "comm"),
		SUB_REG(R7, R6), /* the same twice */
		FIELD_SIZE(R8, "task_struct", "comm"),
		MOV_REG(R3, R6),
		MOV_REG(R1, R10),
		ADD(R1, -16),
		MOV(R2, 16),
		CALL(probe_read_kernel),
		LDX(DW, R0, R10, -16),
		LDX(DW, R6, R10, -8),
	};
	static const struct asm_insn sizes[] = {
		FIELD_SIZE(R6, "task_struct", "tgid"),
		FIELD_SIZE(R7, "task_struct", "start_time"),
		FIELD_SIZE(R8, "task_struct", "real_parent"),
	};
	char name[16] = "fieldsandsizes";
	struct isa_cell cell;
	uint64_t want[2];

	memcpy(want, name, sizeof(want));
	ck_assert_int_eq(prctl(PR_SET_NAME, name), 0);
	cell = RUN(lines, 0, 0, 0);
	ck_assert_uint_eq(cell.out[0], want[0]);
	ck_assert_uint_eq(cell.out[6], want[1]);
	ck_assert_uint_eq(cell.out[7], 0);
	ck_assert_uint_eq(cell.out[8], 16);
	cell = RUN(sizes, 0, 0, 0);
	ck_assert_uint_eq(cell.out[6], sizeof(pid_t));
	ck_assert_uint_eq(cell.out[7], sizeof(uint64_t));
	ck_assert_uint_eq(cell.out[8], sizeof(void *));
}
END_TEST

/* ---- programs that are attached: what they see lies in the cell's out */

/* Assembled and loaded as they are, without what isa.h puts around. */
static int load_attached(const struct asm_insn *lines, size_t n, uint32_t type)
{
	const struct asm_program program = {
		.name = "attached", .type = type, .license = "GPL", .lines = lines, .nlines = n
	};
	int fd = rp_program_load(&program, &isa_bindings);

	ck_assert_msg(fd >= 0, "%s: %s", lines[0].text, strerror(-fd));
	world_saw(lines, n);
	return fd;
}

static struct isa_cell read_cell(void)
{
	struct isa_cell cell;
	uint32_t zero = 0;

	ck_assert_int_eq(rp_map_lookup(world_fds[CELL], &zero, &cell), 0);
	return cell;
}

/* SIGUSR1 to this process: how often, and the code of the last, which is a negative int. */
START_TEST(tracepoint_fields)
{
	static const struct asm_insn lines[] = {
		LD_MAP_VALUE(R6, cell, 0),
		LD_TP(R2, R1, "signal", "signal_generate", "pid"),
		LDX(DW, R3, R6, 0), /* in[0]: whom we look at */
		JNE_REG(R2, R3, out),
		LD_TP(R2, R1, "signal", "signal_generate", "sig"),
		JNE(R2, SIGUSR1, out),
		LD_TP(R2, R1, "signal", "signal_generate", "code"),
		STX(DW, R6, ISA_OUT + 8, R2),
		MOV(R2, 1),
		ATOMIC_ADD(DW, R6, ISA_OUT, R2),
		LABEL(out),
		MOV(R0, 0),
		EXIT(),
	};
	const uint32_t zero = 0;
	const struct timespec now = { 0 };
	struct isa_cell cell = { .in = { (uint64_t)getpid() } };
	siginfo_t info = { .si_code = -6 };
	struct rp_link *link = NULL;
	sigset_t usr1, before;
	int fd = load_attached(lines, COUNT_OF(lines), BPF_PROG_TYPE_TRACEPOINT), status;
	pid_t child;

	ck_assert_int_eq(rp_map_update(world_fds[CELL], &zero, &cell, BPF_ANY), 0);
	ck_assert_int_eq(rp_attach_tracepoint(fd, "signal", "signal_generate", 0, &link), 0);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(kill(child, SIGUSR1), 0); /* not ours to count */
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert_int_eq(sigprocmask(SIG_BLOCK, &usr1, &before), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &info), 0);
	rp_link_close(link);
	while (sigtimedwait(&usr1, NULL, &now) == SIGUSR1)
		;
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &before, NULL), 0);

	cell = read_cell();
	ck_assert_uint_eq(cell.out[0], 3);
	ck_assert_int_eq((int64_t)cell.out[1], -6);
	close(fd);
}
END_TEST

/* ---- registers of a probed function */

#if defined(__clang__)
#define AS_WRITTEN __attribute__((noinline))
#else
#define AS_WRITTEN __attribute__((noinline, noclone))
#endif

static uintptr_t frame_of_caller, frame_of_probed;

AS_WRITTEN static long probed(long a, long b, long c, long d, long e, long f)
{
	frame_of_probed = (uintptr_t)__builtin_frame_address(0);
	__asm__ volatile("" ::: "memory");
	return a - b - c - d - e - f;
}

AS_WRITTEN static long call_probed(void)
{
	long r;

	frame_of_caller = (uintptr_t)__builtin_frame_address(0);
	r = probed(-1, 0x222222222222, 3, -4, 0x555555555555, INT64_MIN + 6);
	__asm__ volatile("" ::: "memory");
	return r;
}

struct place {
	uintptr_t address;
	uint64_t offset;
};

/* Where an address of a loaded file lies in the file. */
static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && place->address >= start &&
		    place->address < start + p->p_filesz) {
			place->offset = place->address - start + p->p_offset;
			return 1;
		}
	}
	return 0;
}

/* Calls the function once with the program at its entry or return. */
static long call_with(int fd, bool at_return, struct isa_cell *cell)
{
	struct place place = { .address = (uintptr_t)probed };
	struct rp_uprobe probe = { .path = "/proc/self/exe",
				   .pid = getpid(),
				   .at_return = at_return };
	struct rp_link *link = NULL;
	long r;

	ck_assert_int_eq(dl_iterate_phdr(find_place, &place), 1);
	probe.offset = place.offset;
	ck_assert_int_eq(rp_attach_uprobe(fd, &probe, &link), 0);
	r = call_probed();
	rp_link_close(link);
	*cell = read_cell();
	close(fd);
	return r;
}

START_TEST(registers_at_entry)
{
	static const struct asm_insn arguments[] = {
		LD_MAP_VALUE(R6, cell, 0),
		MOV_REG(R7, R1),
		LD_ARG(R2, R7, 1),
		STX(DW, R6, ISA_OUT, R2),
		LD_ARG(R2, R7, 2),
		STX(DW, R6, ISA_OUT + 8, R2),
		LD_ARG(R2, R7, 3),
		STX(DW, R6, ISA_OUT + 16, R2),
		LD_ARG(R2, R7, 4),
		STX(DW, R6, ISA_OUT + 24, R2),
		LD_ARG(R2, R7, 5),
		STX(DW, R6, ISA_OUT + 32, R2),
		LD_ARG(R2, R7, 6),
		STX(DW, R6, ISA_OUT + 40, R2),
		MOV(R0, 0),
		EXIT(),
	};
	static const struct asm_insn others[] = {
		LD_MAP_VALUE(R6, cell, 0),
		LD_IP(R2, R1),
		STX(DW, R6, ISA_OUT, R2),
		LD_SP(R2, R1),
		STX(DW, R6, ISA_OUT + 8, R2),
		LD_FP(R2, R1),
		STX(DW, R6, ISA_OUT + 16, R2),
		MOV(R0, 0),
		EXIT(),
	};
	static const int64_t want[] = { -1, 0x222222222222, 3, -4, 0x555555555555, INT64_MIN + 6 };
	struct isa_cell cell;

	call_with(load_attached(arguments, COUNT_OF(arguments), BPF_PROG_TYPE_KPROBE), false,
		  &cell);
	for (size_t i = 0; i < COUNT_OF(want); i++)
		ck_assert_int_eq((int64_t)cell.out[i], want[i]);

	call_with(load_attached(others, COUNT_OF(others), BPF_PROG_TYPE_KPROBE), false, &cell);
	ck_assert_uint_eq(cell.out[0], (uintptr_t)probed);
#if defined(__x86_64__)
	/* The function then pushes the frame pointer, and points it there. */
	ck_assert_uint_eq(cell.out[1], frame_of_probed + 8);
#endif
	ck_assert_uint_ge(cell.out[1], frame_of_probed);
	ck_assert_uint_lt(cell.out[1], frame_of_caller + 256);
	ck_assert_uint_eq(cell.out[2], frame_of_caller);
}
END_TEST

START_TEST(result_at_return)
{
	static const struct asm_insn lines[] = {
		LD_MAP_VALUE(R6, cell, 0),
		LD_RET(R2, R1),
		STX(DW, R6, ISA_OUT, R2),
		MOV(R0, 0),
		EXIT(),
	};
	struct isa_cell cell;
	long r =
		call_with(load_attached(lines, COUNT_OF(lines), BPF_PROG_TYPE_KPROBE), true, &cell);

	ck_assert_int_ne(r, 0);
	ck_assert_int_eq((int64_t)cell.out[0], r);
}
END_TEST

START_TEST(nothing_is_left_out)
{
	coverage_check("bound");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("macros: bound lines");
	TCase *tc = tcase_create("bound");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, world_setup, world_teardown);
	if (!isa_lacks("test runs of raw tracepoints", 5, 10)) {
		tcase_add_test(tc, parameters);
		tcase_add_test(tc, jumps_on_parameters);
		tcase_add_test(tc, when_and_unless);
		tcase_add_test(tc, members);
		tcase_add_test(tc, offsets_and_sizes);
		tcase_add_test(tc, tracepoint_fields);
		tcase_add_test(tc, registers_at_entry);
		tcase_add_test(tc, result_at_return);
		tcase_add_test(tc, nothing_is_left_out);
	}
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
