/* SPDX-License-Identifier: BSD-2-Clause */
/* Loading programs on the running kernel: acceptance, refusal with the verifier's words, BTF and
 * tracepoint fields. */
#include "test_loader.h"

/* ---- acceptance */

static const struct asm_insn answer_lines[] = {
	MOV(R0, 42),
	EXIT(),
};

static const struct asm_program answer = {
	.name = "an odd/name, too long",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "Dual BSD/GPL",
	ASM_LINES(answer_lines),
};

START_TEST(test_loads_and_runs)
{
	struct rp_test_run run = { 0 };
	struct rp_prog_stats stats;
	const int fd = rp_program_load(&answer, &(struct asm_bindings){ 0 });

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rp_prog_test_run(fd, &run), 0);
	ck_assert_uint_eq(run.retval, 42);
	ck_assert_int_eq(rp_prog_stats(fd, &stats), 0);
	ck_assert_str_eq(stats.name, "an_odd_name__to");
	ck_assert_uint_eq(stats.type, BPF_PROG_TYPE_RAW_TRACEPOINT);
	ck_assert_uint_eq(stats.xlated_bytes, 16);
	ck_assert_uint_eq(stats.verified_insns, 2);
	close(fd);
}
END_TEST

START_TEST(test_loads_without_btf)
{
	capture_log();
	without_commands(1ULL << BPF_BTF_LOAD);
	const int fd = rp_program_load(&answer, &(struct asm_bindings){ 0 });

	ck_assert_int_ge(fd, 0);
	ck_assert_logged("will not quote source lines");
	close(fd);
}
END_TEST

/* What the JIT and the verifier made of it can be read back. */
START_TEST(test_code)
{
	const int fd = rp_program_load(&answer, &(struct asm_bindings){ 0 });
	struct bpf_insn *insns;
	uint8_t *code;
	uint32_t n, size;

	ck_assert_int_eq(rp_prog_xlated(fd, &insns, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_uint_eq(insns[0].code, BPF_ALU64 | BPF_MOV | BPF_K);
	ck_assert_int_eq(insns[0].imm, 42);
	free(insns);
	if (rp_prog_jited(fd, &code, &size) == 0) {
		ck_assert_uint_gt(size, 0);
		free(code);
	}
	close(fd);
}
END_TEST

START_TEST(test_run_statistics)
{
	const int stats_fd = rp_stats_enable(),
		  fd = rp_program_load(&answer, &(struct asm_bindings){ 0 });
	struct rp_test_run run = { 0 };
	struct rp_prog_stats stats;

	ck_assert_int_ge(stats_fd, 0);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(rp_prog_test_run(fd, &run), 0);
	ck_assert_int_eq(rp_prog_stats(fd, &stats), 0);
	ck_assert_uint_eq(stats.run_cnt, 100);
	ck_assert_uint_gt(stats.run_time_ns, 0);
	close(stats_fd);
	close(fd);
}
END_TEST

/* ---- refusal */

static const struct asm_map counts = { "counts", BPF_MAP_TYPE_HASH, 4, 8, 10 };

/* clang-format off */
static const struct asm_insn unchecked_lines[] = {
	ST(W, R10, -4, 0),
	LD_MAP(R1, counts),
	MOV_REG(R2, R10),
	ADD(R2, -4),
	CALL(map_lookup_elem),
	LDX(DW, R0, R0, 0),
	EXIT(),
};
/* clang-format on */
static const int unchecked_line = __LINE__ - 4;

static const struct asm_program unchecked = {
	.name = "unchecked",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "Dual BSD/GPL",
	ASM_LINES(unchecked_lines),
};

static void check_refused(void)
{
	int map = rp_map_create(&counts);
	const struct asm_bindings bind = { .maps = &counts, .map_fds = &map, .nmaps = 1 };
	char place[256];

	capture_log();
	ck_assert_int_eq(rp_program_load(&unchecked, &bind), -EACCES);
	ck_assert_logged(
		"cannot load unchecked (raw tracepoint program, 8 instructions): refused by the "
		"verifier");
	snprintf(place, sizeof(place), "at %s:%d: LDX(DW, R0, R0, 0)", __FILE__, unchecked_line);
	ck_assert_logged(place);
	ck_assert_logged("R0 invalid mem access 'map_value_or_null'");
	ck_assert_not_logged("processed ");
	close(map);
}

START_TEST(test_refusal_quotes_the_line)
{
	check_refused();
	ck_assert_logged(
		"; LDX(DW, R0, R0, 0)"); /* by the verifier itself; with the file since 6.9 */
}
END_TEST

START_TEST(test_refusal_quotes_the_line_without_btf)
{
	without_commands(1ULL << BPF_BTF_LOAD);
	check_refused();
}
END_TEST

/*
 * A program that fails only after hundreds of thousands of steps: the log of all of them is
 * megabytes, the first buffers overflow (ENOSPC), and what is shown is the end.
 */
START_TEST(test_log_grows)
{
	enum { N = 20000 };
	struct bpf_insn *insns = calloc(N + 2, sizeof(*insns));
	struct rp_prog prog = { "long", BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = insns,
				.ninsns = N + 2 };
	char *log = NULL;

	for (int i = 0; i < N; i++)
		insns[i] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_K,
					      .dst_reg = 0,
					      .imm = i };
	insns[N] = (struct bpf_insn){ .code = BPF_ALU64 | BPF_MOV | BPF_X,
				      .dst_reg = 0,
				      .src_reg = 9 };
	insns[N + 1] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };
	capture_log();
	ck_assert_int_eq(rp_prog_load(&prog), -EACCES);
	ck_assert_logged("R9 !read_ok");
	ck_assert_uint_lt(strlen(log_text), 4096);
	ck_assert_int_eq(rp_prog_load_verbose(&prog, 1, &log), -EACCES);
	ck_assert_uint_gt(strlen(log), 64 << 10);
	ck_assert_ptr_nonnull(strstr(log, "0: R1=ctx("));
	ck_assert_ptr_nonnull(strstr(log, "R9 !read_ok"));
	free(log);
	free(insns);
}
END_TEST

START_TEST(test_verbose_of_an_accepted_program)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct rp_prog prog = { "fine", BPF_PROG_TYPE_RAW_TRACEPOINT, .insns = insns,
				      .ninsns = 2 };
	char *log = NULL;
	const int fd = rp_prog_load_verbose(&prog, 2, &log);

	ck_assert_int_ge(fd, 0);
	ck_assert_ptr_nonnull(strstr(log, "processed 2 insns"));
	close(fd);
	free(log);
}
END_TEST

START_TEST(test_assembly_error_is_logged)
{
	static const struct asm_insn lines[] = { JA(nowhere), MOV(R0, 0), EXIT() };
	const struct asm_program program = { .name = "bad",
					     .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					     ASM_LINES(lines) };

	capture_log();
	ck_assert_int_eq(rp_program_load(&program, &(struct asm_bindings){ 0 }), -EINVAL);
	ck_assert_logged("nowhere");
	ck_assert_logged("test_loader_prog.c:");
}
END_TEST

/* ---- what the kernel does not say the line of, asked of the lint */

/* The line that the case is about is the third of its array. */
#define CASE(name, ...)                                                                            \
	static const struct asm_insn name[] = { CALL(ktime_get_ns), MOV(R1, 1), __VA_ARGS__ }
CASE(no_exit, MOV(R0, 0));
CASE(never_called, MOV(R0, 0), EXIT(), FUNC(lonely), MOV(R0, 1), EXIT());
CASE(reserved, INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R1, 0, 1), EXIT());
CASE(no_opcode, INSN(0xff, R0, 0, 0, 0), MOV(R0, 0), EXIT());
CASE(recursive, CALL_FUNC(f), EXIT(), FUNC(f), JEQ(R1, 0, out), CALL_FUNC(f), LABEL(out),
     MOV(R0, 0), EXIT());
CASE(in_turn, CALL_FUNC(f), EXIT(), FUNC(f), CALL_FUNC(g), MOV(R0, 0), EXIT(), FUNC(g), MOV(R1, 0),
     CALL_FUNC(f), EXIT());

static const struct {
	const struct asm_insn *lines;
	size_t nlines;
	const char *says, *text;
} unlocated[] = {
#define ROW(name, says, text)                                                                      \
	{                                                                                          \
		name, sizeof(name) / sizeof((name)[0]), says, text                                 \
	}
	ROW(no_exit, "lets control run past its end", "MOV(R0, 0)"),
	ROW(never_called, "function 'lonely' is never called", "MOV(R0, 1)"),
	ROW(reserved, "reserved", "INSN(BPF_ALU64 | BPF_MOV | BPF_K, R0, R1, 0, 1)"),
	ROW(no_opcode, "unknown opcode ff", "INSN(0xff, R0, 0, 0, 0)"),
	ROW(recursive, "f calls itself", "CALL_FUNC(f)"),
	ROW(in_turn, "f calls g, which calls f", "CALL_FUNC(g)"),
#undef ROW
};

START_TEST(test_the_lint_names_the_line)
{
	const struct asm_program program = {
		.name = "wrong",
		.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.license = "GPL",
		.lines = unlocated[_i].lines,
		.nlines = unlocated[_i].nlines,
		.file = "wrong.c",
	};

	capture_log();
	ck_assert_int_lt(rp_program_load(&program, &(struct asm_bindings){ 0 }), 0);
	ck_assert_logged("cannot load wrong");
	ck_assert_logged("wrong.c:");
	ck_assert_logged(unlocated[_i].says);
	ck_assert_logged(unlocated[_i].text);
}
END_TEST

/* Where the verifier names the line there is nothing to add. */
START_TEST(test_the_lint_is_silent_where_the_line_is_known)
{
	check_refused();
	ck_assert_not_logged("error: ");
}
END_TEST

/* ---- the verifier's log of one's own program */

START_TEST(test_explain)
{
	int map = rp_map_create(&counts);
	const struct asm_bindings bind = { .maps = &counts, .map_fds = &map, .nmaps = 1 };
	static const struct asm_insn lines[] = { JA(nowhere), EXIT() };
	struct asm_program bad = answer;
	char *log;

	capture_log();
	ck_assert_int_eq(rp_program_explain(&answer, NULL, &log), 0);
	ck_assert_ptr_nonnull(strstr(log, "; MOV(R0, 42)"));
	ck_assert_ptr_nonnull(strstr(log, "=42")); /* level 2: the states; R0_w before 6.18 */
	free(log);
	ck_assert_int_eq(rp_program_explain(&unchecked, &bind, &log), -EACCES);
	ck_assert_ptr_nonnull(strstr(log, "; CALL(map_lookup_elem)"));
	ck_assert_ptr_nonnull(strstr(log, "R0 invalid mem access"));
	free(log);
	ck_assert_not_logged("cannot load"); /* the log says it all */
	bad.lines = lines;
	ck_assert_int_eq(rp_program_explain(&bad, NULL, &log), -EINVAL);
	ck_assert_ptr_null(log);
	ck_assert_logged("nowhere");
	close(map);
}
END_TEST

START_TEST(test_explain_by_the_environment)
{
	int fd;

	capture_log();
	rp_log_setup(RP_WARN, keep_log, NULL);
	for (int i = 0; i < 3; i++) {
		static const char *const values[] = { "", "0", "1" };

		setenv("RAWPROF_EXPLAIN", values[i], 1);
		fd = rp_program_load(&answer, NULL);
		ck_assert_int_ge(fd, 0);
		close(fd);
		if (i < 2)
			ck_assert_str_eq(log_text, "");
	}
	ck_assert_logged("the verifier, of an odd/name, too long:\n");
	ck_assert_logged("; MOV(R0, 42)");
	ck_assert_logged("=42");
	unsetenv("RAWPROF_EXPLAIN");
}
END_TEST

/* ---- bindings */

START_TEST(test_nothing_to_bind)
{
	const int fd = rp_program_load(&answer, NULL);

	ck_assert_int_ge(fd, 0);
	close(fd);
}
END_TEST

START_TEST(test_forgotten_map_fds)
{
	const struct asm_bindings bind = { .maps = &counts, .nmaps = 1 };
	char place[256];

	capture_log();
	ck_assert_int_eq(rp_program_load(&unchecked, &bind), -EINVAL);
	snprintf(place, sizeof(place), "%s:%d: error: ", __FILE__, unchecked_line - 4);
	ck_assert_logged(place);
	ck_assert_logged("map 'counts' has no descriptor: bindings.map_fds is missing");
	ck_assert_not_logged("cannot load");
	/* A program that uses none of them is none the worse. */
	ck_assert_int_ge(rp_program_load(&answer, &bind), 0);
}
END_TEST

/* ---- kernel types */

static struct asm_access access_of(const char *type, const char *path)
{
	struct asm_access a = { 0 };
	char why[ASM_WHY_SIZE] = "";
	const int err = rp_bind_field(NULL, type, path, &a, why);

	ck_assert_msg(!err, "%s.%s: %s", type, path, why);
	return a;
}

START_TEST(test_kernel_fields)
{
	const struct asm_access comm = access_of("task_struct", "comm");
	const struct asm_access comm3 = access_of("task_struct", "comm[3]");
	const struct asm_access parent = access_of("task_struct", "real_parent.tgid");
	const struct asm_access inode = access_of("task_struct", "mm.exe_file.f_inode.i_ino");
	const struct asm_access prio = access_of("task_struct", "prio");

	ck_assert_uint_eq(comm.nhops, 1);
	ck_assert_uint_eq(comm.hop[0].size, 16);
	ck_assert_uint_eq(comm3.hop[0].offset, comm.hop[0].offset + 3);
	ck_assert_uint_eq(comm3.hop[0].size, 1);
	ck_assert_uint_eq(parent.nhops, 2);
	ck_assert_uint_eq(parent.hop[0].offset,
			  access_of("task_struct", "real_parent").hop[0].offset);
	ck_assert_uint_eq(parent.hop[0].size, 8);
	ck_assert_uint_eq(parent.hop[1].offset, access_of("task_struct", "tgid").hop[0].offset);
	ck_assert_uint_eq(parent.hop[1].size, 4);
	ck_assert_int_eq(parent.hop[1].is_signed, 1);
	ck_assert_uint_eq(inode.nhops, 4);
	ck_assert_uint_eq(inode.hop[3].size, 8);
	ck_assert_int_eq(inode.hop[3].is_signed, 0);
	ck_assert_int_eq(prio.hop[0].is_signed, 1);
}
END_TEST

/* The BTF reader's answer is what the kernel itself finds at run time. */
START_TEST(test_field_is_right_at_run_time)
{
	static const struct asm_insn lines[] = {
		CALL(get_current_task_btf),
		LD_FIELD(R0, R0, "task_struct", "real_parent.tgid"),
		EXIT(),
	};
	const struct asm_program program = {
		.name = "ppid",
		.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
		.license = "Dual BSD/GPL",
		ASM_LINES(lines),
	};
	struct rp_test_run run = { 0 };
	const int fd = rp_program_load(&program, &(struct asm_bindings){ 0 });

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rp_prog_test_run(fd, &run), 0);
	ck_assert_uint_eq(run.retval, (uint32_t)getppid());
	close(fd);
}
END_TEST

static const struct {
	const char *type, *path;
	int err;
	const char *why;
} bad_fields[] = {
	{ "no_such_type", "x", -ENOENT, "no type `no_such_type'" },
	{ "task_struct", "no_such_member", -ENOENT, "task_struct has no member `no_such_member'" },
	{ "task_struct", "real_parent.nope", -ENOENT, "no member `nope'" },
	{ "task_struct", "comm[16]", -EINVAL, "[16] of an array of 16" },
	{ "task_struct", "tgid[0]", -EINVAL, "no array" },
	{ "task_struct", "tgid.x", -EINVAL, "no struct or union" },
	{ "task_struct", "in_execve", -EOPNOTSUPP, "bit field" },
	{ "task_struct", "", -EINVAL, "a name is missing" },
	{ "task_struct", "comm.", -EINVAL, "a name is missing" },
	{ "task_struct", "comm[", -EINVAL, "not an index" },
	{ "task_struct", "comm[-1]", -EINVAL, "not an index" },
	{ "task_struct", "comm-pid", -EINVAL, "`.' expected" },
};

START_TEST(test_bad_field)
{
	struct asm_access a = { .nhops = 77 };
	char why[ASM_WHY_SIZE] = "";

	ck_assert_int_eq(rp_bind_field(NULL, bad_fields[_i].type, bad_fields[_i].path, &a, why),
			 bad_fields[_i].err);
	ck_assert_msg(strstr(why, bad_fields[_i].why), "\"%s\" is not \"%s\"", why,
		      bad_fields[_i].why);
	ck_assert_uint_eq(a.nhops, 77);
}
END_TEST

START_TEST(test_kernel_enums_and_functions)
{
	const struct rp_btf *btf;
	int64_t value = 0;

	ck_assert_int_eq(rp_btf_kernel(&btf), 0);
	ck_assert_int_eq(rp_btf_enum(btf, "bpf_map_type", "BPF_MAP_TYPE_RINGBUF", &value), 0);
	ck_assert_int_eq(value, BPF_MAP_TYPE_RINGBUF);
	ck_assert_int_eq(rp_btf_enum(btf, NULL, "PERF_COUNT_SW_DUMMY", &value), 0);
	ck_assert_int_eq(value, 9);
	ck_assert_int_eq(rp_btf_enum(btf, NULL, "NO_SUCH_ENUMERATOR_AT_ALL", &value), -ENOENT);
	ck_assert_int_eq(rp_btf_func_nargs(btf, "vfs_read"), 4);
	ck_assert_int_eq(rp_btf_size(btf, "pid_t"), 4);
	ck_assert_int_eq(rp_btf_size(btf, "bpf_insn"), 8);
	rp_btf_kernel_release();
}
END_TEST

static int count_name(void *ctx, const char *name, int nargs)
{
	(void)nargs;
	int *n = ctx;

	ck_assert_int_eq(strncmp(name, "vfs_", 4), 0);
	(*n)++;
	return 0;
}

START_TEST(test_functions_by_glob)
{
	const struct rp_btf *btf;
	int n = 0;

	ck_assert_int_eq(rp_btf_kernel(&btf), 0);
	ck_assert_int_eq(rp_btf_each_func(btf, "vfs_*", count_name, &n), n);
	ck_assert_int_gt(n, 20);
	rp_btf_kernel_release();
}
END_TEST

START_TEST(test_btf_is_fast)
{
	const struct rp_btf *btf;
	const uint64_t start = now_ns();
	uint64_t took;

	ck_assert_int_eq(rp_btf_kernel(&btf), 0);
	ck_assert_int_gt(rp_btf_find(btf, "task_struct", 4), 0);
	ck_assert_int_gt(rp_btf_find(btf, "btf_trace_sched_switch", 8), 0);
	took = now_ns() - start;
	printf("BTF: opened and two names found in %.2f ms\n", (double)took / 1e6);
	/* 2 ms when nothing else runs */
	ck_assert_uint_lt(took, (getenv("VM_EMULATED") ? 2000 : 100) * 1000000ULL);
	rp_btf_kernel_release();
}
END_TEST

/* ---- tracepoint formats */

START_TEST(test_tracepoint_fields)
{
	struct rp_tp_format f;
	struct asm_access a;
	char why[ASM_WHY_SIZE];

	ck_assert_int_eq(rp_tp_format("sched", "sched_process_fork", &f), 0);
	ck_assert_int_eq(rp_tp_id("sched", "sched_process_fork"), (int)f.id);
	ck_assert_str_eq(f.group, "sched");
	ck_assert_ptr_nonnull(strstr(f.print, "child_pid"));
	ck_assert_ptr_null(rp_tp_format_field(&f, "nope"));
	ck_assert_int_eq(
		rp_bind_tp_field(NULL, "sched", "sched_process_fork", "child_pid", &a, why), 0);
	ck_assert_uint_eq(a.nhops, 1);
	ck_assert_uint_eq(a.hop[0].offset, rp_tp_format_field(&f, "child_pid")->offset);
	ck_assert_uint_eq(a.hop[0].size, 4);
	ck_assert_int_eq(a.hop[0].is_signed, 1);
	ck_assert_int_eq(rp_bind_tp_field(NULL, "sched", "sched_process_fork", "nope", &a, why),
			 -ENOENT);
	ck_assert_int_eq(
		rp_bind_tp_field(NULL, "sched", "sched_process_fork", "common_pid", &a, why),
		-EOPNOTSUPP);
	rp_tp_format_free(&f);
}
END_TEST

static int count_event(void *ctx, const char *group, const char *event)
{
	int *n = ctx;
	struct rp_tp_format f;

	/* Every event of this kernel has a format that can be read. */
	ck_assert_msg(!rp_tp_format(group, event, &f), "%s:%s", group, event);
	rp_tp_format_free(&f);
	(*n)++;
	return 0;
}

START_TEST(test_all_formats)
{
	int n = 0, sched = 0;

	ck_assert_int_eq(rp_tp_each("sched:*", count_event, &sched), sched);
	ck_assert_int_gt(sched, 10);
	ck_assert_int_eq(rp_tp_each("*", count_event, &n), n);
	ck_assert_int_gt(n, sched);
	printf("tracepoints: %d formats read\n", n);
}
END_TEST

START_TEST(test_wrong_tracepoint)
{
	capture_log();
	ck_assert_int_eq(rp_tp_id("sched", "sched_swich"), -ENOENT);
	ck_assert_logged("no tracepoint sched:sched_swich; did you mean sched:sched_switch?");
	ck_assert_int_eq(rp_tp_id("..", ".."), -ENOENT);
	ck_assert_int_eq(rp_tp_id("sched/sched_switch", "."), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: programs");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_loads_and_runs);
	tcase_add_test(tc, test_loads_without_btf);
	tcase_add_test(tc, test_code);
	tcase_add_test(tc, test_run_statistics);
	tcase_add_test(tc, test_refusal_quotes_the_line);
	tcase_add_test(tc, test_refusal_quotes_the_line_without_btf);
	tcase_add_test(tc, test_log_grows);
	tcase_add_test(tc, test_verbose_of_an_accepted_program);
	tcase_add_test(tc, test_assembly_error_is_logged);
	tcase_add_loop_test(tc, test_the_lint_names_the_line, 0,
			    sizeof(unlocated) / sizeof(unlocated[0]));
	tcase_add_test(tc, test_the_lint_is_silent_where_the_line_is_known);
	tcase_add_test(tc, test_explain);
	tcase_add_test(tc, test_explain_by_the_environment);
	tcase_add_test(tc, test_nothing_to_bind);
	tcase_add_test(tc, test_forgotten_map_fds);
	tcase_add_test(tc, test_kernel_fields);
	tcase_add_test(tc, test_field_is_right_at_run_time);
	tcase_add_loop_test(tc, test_bad_field, 0, sizeof(bad_fields) / sizeof(bad_fields[0]));
	tcase_add_test(tc, test_kernel_enums_and_functions);
	tcase_add_test(tc, test_functions_by_glob);
	tcase_add_test(tc, test_btf_is_fast);
	tcase_add_test(tc, test_tracepoint_fields);
	tcase_add_test(tc, test_all_formats);
	tcase_add_test(tc, test_wrong_tracepoint);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
