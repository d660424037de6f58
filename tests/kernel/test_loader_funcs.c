/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One function of the kernel, watched by every mechanism there is: 100 calls are 100 hits, with the
 * right argument or result each time. No kernel has all of them; what is not there is skipped here,
 * and each is there on one of the kernels of tests/vm.
 */
#include "test_loader.h"

struct hits {
	uint64_t n, sum;
};

struct config {
	uint32_t tgid;
	uint32_t at_return;
};

static const struct asm_map hits = { "hits", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct hits),
				     1,	     BPF_F_MMAPABLE };

/* Counts, and adds up what R7 is given by the lines in between: the argument or the result. */
#define OURS_ONLY                                                                                  \
	MOV_REG(R6, R1), CALL(get_current_pid_tgid), RSH(R0, 32),                                  \
		JNE_PARAM(R0, struct config, tgid, out), COUNT(hits, struct hits, n)
#define ADD_UP                                                                                     \
	MOV32_REG(R7, R7), LD_MAP_VALUE(R1, hits, offsetof(struct hits, sum)),                     \
		ATOMIC_ADD(DW, R1, 0, R7), LABEL(out), MOV(R0, 0), EXIT()

/* clang-format off */
static const struct asm_insn probe_lines[] = {
	OURS_ONLY,
	WHEN(struct config, at_return),
		LD_RET(R7, R6),
	END,
	UNLESS(struct config, at_return),
		LD_ARG(R7, R6, 1),
	END,
	ADD_UP,
};

/* The context of a BTF program is the arguments, of which there is one, and then the result. */
static const struct asm_insn trace_lines[] = {
	OURS_ONLY,
	WHEN(struct config, at_return),
		LDX(DW, R7, R6, 8),
	END,
	UNLESS(struct config, at_return),
		LDX(DW, R7, R6, 0),
	END,
	ADD_UP,
};
/* clang-format on */

#define PROGRAM(name_, lines_, ...)                                                                \
	static const struct asm_program name_ = { .name = #name_,                                  \
						  .license = "Dual BSD/GPL",                       \
						  ASM_LINES(lines_),                               \
						  .config_size = sizeof(struct config),            \
						  __VA_ARGS__ }

/* int ksys_unshare(unsigned long flags), which unshare(2) calls, refuses this flag. */
#define FUNCTION "ksys_unshare"
enum { ARGUMENT = 0x40, RESULT = -EINVAL };
PROGRAM(on_probe, probe_lines, .type = BPF_PROG_TYPE_KPROBE);
PROGRAM(on_multi, probe_lines, .type = BPF_PROG_TYPE_KPROBE, .attach_type = BPF_TRACE_KPROBE_MULTI);
PROGRAM(on_entry, trace_lines, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_FENTRY,
	.target = FUNCTION);
PROGRAM(on_exit_, trace_lines, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_FEXIT,
	.target = FUNCTION);

static struct hits *seen;

static int load(const struct asm_program *program, bool at_return)
{
	static int map = -1;
	struct config config = { (uint32_t)getpid(), at_return };
	struct asm_bindings bind = { .maps = &hits,
				     .map_fds = &map,
				     .nmaps = 1,
				     .config = &config,
				     .config_size = sizeof(config) };
	void *at;
	size_t size;
	int prog;

	if (map < 0) {
		map = rp_map_create(&hits);
		ck_assert_int_ge(map, 0);
		ck_assert_int_eq(rp_map_mmap(map, &hits, &at, &size), 0);
		seen = at;
	}
	capture_log();
	prog = rp_program_load(program, &bind);
	ck_assert_msg(prog >= 0, "%s", log_text);
	return prog;
}

static void hundred_calls(void)
{
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(syscall(SYS_unshare, ARGUMENT), -1);
		ck_assert_int_eq(errno, -RESULT);
	}
}

/* Attached, every call is seen with its argument or result; detached, none. */
static void check_hits(int prog, struct rp_link *link, bool at_return)
{
	const uint64_t each = at_return ? (uint32_t)RESULT : ARGUMENT;

	hundred_calls();
	ck_assert_uint_eq(seen->n, 100);
	ck_assert_uint_eq(seen->sum, 100 * each);
	rp_link_close(link);
	hundred_calls();
	ck_assert_uint_eq(seen->n, 100);
	close(prog);
}

static void by_kprobe(bool at_return)
{
	const struct rp_kprobe probe = { .symbol = FUNCTION, .at_return = at_return };
	const int prog = load(&on_probe, at_return);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_kprobe(prog, &probe, &link), 0);
	check_hits(prog, link, at_return);
}

static void by_kprobe_multi(bool at_return)
{
	const char *const symbols[] = { FUNCTION };
	const struct rp_kprobe_multi probe = { .symbols = symbols, .n = 1, .at_return = at_return };
	const int prog = load(&on_multi, at_return);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_kprobe_multi(prog, &probe, &link), 0);
	check_hits(prog, link, at_return);
}

static void by_trampoline(bool at_return)
{
	const int prog = load(at_return ? &on_exit_ : &on_entry, at_return);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_trace(prog, &link), 0);
	check_hits(prog, link, at_return);
}

START_TEST(test_kprobe)
{
	if (!rp_has(RP_HAS_KPROBE))
		skip_test("kprobe: %s", strerror(-rp_feature_errno(RP_HAS_KPROBE)));
	by_kprobe(false);
}
END_TEST

START_TEST(test_kretprobe)
{
	if (!rp_has(RP_HAS_KPROBE))
		skip_test("kprobe: %s", strerror(-rp_feature_errno(RP_HAS_KPROBE)));
	by_kprobe(true);
}
END_TEST

START_TEST(test_kprobe_multi)
{
	if (!rp_has(RP_HAS_KPROBE_MULTI))
		skip_test("kprobe_multi: %s", strerror(-rp_feature_errno(RP_HAS_KPROBE_MULTI)));
	by_kprobe_multi(false);
}
END_TEST

START_TEST(test_kretprobe_multi)
{
	if (!rp_has(RP_HAS_KPROBE_MULTI))
		skip_test("kprobe_multi: %s", strerror(-rp_feature_errno(RP_HAS_KPROBE_MULTI)));
	by_kprobe_multi(true);
}
END_TEST

START_TEST(test_fentry)
{
	if (!rp_has(RP_HAS_FENTRY))
		skip_test("fentry: %s", strerror(-rp_feature_errno(RP_HAS_FENTRY)));
	by_trampoline(false);
}
END_TEST

START_TEST(test_fexit)
{
	if (!rp_has(RP_HAS_FENTRY))
		skip_test("fentry: %s", strerror(-rp_feature_errno(RP_HAS_FENTRY)));
	by_trampoline(true);
}
END_TEST

/* A kernel may load a fentry program and then be unable to attach it, as arm64 before 6.0 is (its
 * errno 524). That must show when one asks, so that the next best mechanism is taken. */
START_TEST(test_next_best)
{
	struct rp_link *link = NULL;
	int prog;

	if (rp_has(RP_HAS_FENTRY))
		skip_test("fentry works here");
	if (rp_feature_errno(RP_HAS_FENTRY) == -EOPNOTSUPP) {
		prog = load(&on_entry, false);
		ck_assert_int_eq(rp_attach_trace(prog, &link), -EOPNOTSUPP);
		ck_assert_ptr_null(link);
		ck_assert_logged("its errno 524");
		close(prog);
	}
	if (rp_has(RP_HAS_KPROBE_MULTI))
		by_kprobe_multi(true);
	else if (rp_has(RP_HAS_KPROBE))
		by_kprobe(true);
	else
		skip_test("this kernel has no probes of functions at all");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: functions of the kernel");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_kprobe);
	tcase_add_test(tc, test_kretprobe);
	tcase_add_test(tc, test_kprobe_multi);
	tcase_add_test(tc, test_kretprobe_multi);
	tcase_add_test(tc, test_fentry);
	tcase_add_test(tc, test_fexit);
	tcase_add_test(tc, test_next_best);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
