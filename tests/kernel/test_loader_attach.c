/* SPDX-License-Identifier: BSD-2-Clause */
/* Attaching on the running kernel: 100 events are 100 hits, none before and none after; what it
 * cannot attach it says. */
#include "test_loader.h"

/* ---- programs that count what our own process does */

struct hits {
	uint64_t n, cookies;
};

struct config {
	uint32_t tgid;
	int64_t syscall;
};

static const struct asm_map hits = { "hits", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct hits),
				     1,	     BPF_F_MMAPABLE };

/* clang-format off */
static const struct asm_insn count_lines[] = {
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JNE_PARAM(R0, struct config, tgid, out),
	COUNT(hits, struct hits, n),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/* Adds up the attach cookies too. */
static const struct asm_insn cookie_lines[] = {
	MOV_REG(R6, R1),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JNE_PARAM(R0, struct config, tgid, out),
	COUNT(hits, struct hits, n),
	MOV_REG(R1, R6),
	CALL(get_attach_cookie),
	LD_MAP_VALUE(R1, hits, offsetof(struct hits, cookies)),
	ATOMIC_ADD(DW, R1, 0, R0),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};

/* Raw sys_enter: the second argument is the number of the system call. */
static const struct asm_insn syscall_lines[] = {
	LDX(DW, R6, R1, 8),
	JNE_PARAM(R6, struct config, syscall, out),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JNE_PARAM(R0, struct config, tgid, out),
	COUNT(hits, struct hits, n),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

#define PROGRAM(name_, lines_, ...)                                                                \
	static const struct asm_program name_ = { .name = #name_,                                  \
						  .license = "Dual BSD/GPL",                       \
						  ASM_LINES(lines_),                               \
						  .config_size = sizeof(struct config),            \
						  __VA_ARGS__ }

PROGRAM(on_tracepoint, count_lines, .type = BPF_PROG_TYPE_TRACEPOINT);
PROGRAM(on_tracepoint_cookie, cookie_lines, .type = BPF_PROG_TYPE_TRACEPOINT);
PROGRAM(on_raw_tp, syscall_lines, .type = BPF_PROG_TYPE_RAW_TRACEPOINT);
PROGRAM(on_tp_btf, syscall_lines, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_RAW_TP,
	.target = "sys_enter");
PROGRAM(on_fentry, count_lines, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_FENTRY,
	.target = "ksys_unshare");
PROGRAM(on_nothing, count_lines, .type = BPF_PROG_TYPE_TRACING, .attach_type = BPF_TRACE_RAW_TP,
	.target = "no_such_event");
PROGRAM(on_probe, count_lines, .type = BPF_PROG_TYPE_KPROBE);
PROGRAM(on_probe_cookie, cookie_lines, .type = BPF_PROG_TYPE_KPROBE);
PROGRAM(on_kprobe_multi, count_lines, .type = BPF_PROG_TYPE_KPROBE,
	.attach_type = BPF_TRACE_KPROBE_MULTI);
PROGRAM(on_uprobe_multi, cookie_lines, .type = BPF_PROG_TYPE_KPROBE,
	.attach_type = BPF_TRACE_UPROBE_MULTI);

static struct hits *seen;

static int load(const struct asm_program *program)
{
	static int map = -1;
	struct config config = { (uint32_t)getpid(), SYS_getpgid };
	struct asm_bindings bind = { .maps = &hits,
				     .map_fds = &map,
				     .nmaps = 1,
				     .config = &config,
				     .config_size = sizeof(config) };
	void *at;
	size_t size;

	if (map < 0) {
		map = rp_map_create(&hits);
		ck_assert_int_ge(map, 0);
		ck_assert_int_eq(rp_map_mmap(map, &hits, &at, &size), 0);
		seen = at;
	}
	capture_log();
	return rp_program_load(program, &bind);
}

static void hundred_syscalls(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getpgid, 0);
}

/* unshare(2) of nothing that there is: a call of ksys_unshare, which no compiler inlines. */
static void hundred_refusals(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_unshare, 0x40);
}

__attribute__((noinline)) static int probed(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

__attribute__((noinline)) static int probed_too(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 2;
}

static void hundred_calls(void)
{
	for (int i = 0; i < 100; i++)
		probed(i);
}

/* Where an address of ours lies in our file, by /proc/self/maps. */
static uint64_t file_offset(const void *address)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end, pgoff, want = (unsigned long)address;
	char line[512];

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &pgoff) == 3 && start <= want &&
		    want < end) {
			fclose(f);
			return want - start + pgoff;
		}
	ck_abort_msg("%p is not mapped", address);
}

/* Attached, `burst` is seen exactly n times; detached, not at all. */
static void check_hits(struct rp_link *link, void (*burst)(void), uint64_t n)
{
	seen->n = 0;
	burst();
	ck_assert_uint_eq(seen->n, n);
	rp_link_close(link);
	burst();
	ck_assert_uint_eq(seen->n, n);
}

/* ---- tracepoints of three kinds */

START_TEST(test_tracepoint)
{
	const int prog = load(&on_tracepoint);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_tracepoint(prog, "syscalls", "sys_enter_getpgid", 0, &link), 0);
	check_hits(link, hundred_syscalls, 100);
	close(prog);
}
END_TEST

START_TEST(test_tracepoint_cookie)
{
	const int prog = load(&on_tracepoint_cookie);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_tracepoint(prog, "syscalls", "sys_enter_getpgid", 7, &link), 0);
	check_hits(link, hundred_syscalls, 100);
	ck_assert_uint_eq(seen->cookies, 700);
	close(prog);
}
END_TEST

START_TEST(test_raw_tracepoint)
{
	const int prog = load(&on_raw_tp);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_raw_tracepoint(prog, "sys_enter", &link), 0);
	check_hits(link, hundred_syscalls, 100);
	ck_assert_int_eq(rp_attach_raw_tracepoint(prog, "no_such_event", &link), -ENOENT);
	ck_assert_logged("this kernel has no raw tracepoint no_such_event");
	close(prog);
}
END_TEST

START_TEST(test_tp_btf)
{
	const int prog = load(&on_tp_btf);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_raw_tracepoint(prog, NULL, &link), 0);
	check_hits(link, hundred_syscalls, 100);
	close(prog);
}
END_TEST

START_TEST(test_tp_btf_absent)
{
	ck_assert_int_eq(load(&on_nothing), -ENOENT);
	ck_assert_logged("no tracepoint no_such_event to attach to");
}
END_TEST

START_TEST(test_wrong_type)
{
	const int prog = load(&on_raw_tp);
	struct rp_link *link = NULL;

	ck_assert_int_eq(rp_attach_tracepoint(prog, "syscalls", "sys_enter_getpgid", 0, &link),
			 -EINVAL);
	ck_assert_logged(
		"cannot attach to tracepoint syscalls:sys_enter_getpgid: the program is of another "
		"type");
	ck_assert_ptr_null(link);
	close(prog);
}
END_TEST

/* ---- functions of the kernel, by whatever of it is there */

START_TEST(test_fentry)
{
	const int prog = load(&on_fentry);
	struct rp_link *link;

	if (rp_has(RP_HAS_FENTRY)) {
		ck_assert_int_ge(prog, 0);
		ck_assert_int_eq(rp_attach_trace(prog, &link), 0);
		check_hits(link, hundred_refusals, 100);
		close(prog);
	} else if (prog < 0) {
		ck_assert_logged("cannot load on_fentry (tracing (BTF) program");
		ck_assert_msg(prog == -EPERM || prog == -EOPNOTSUPP || prog == -EINVAL, "%d", prog);
		if (prog == -EPERM)
			ck_assert_logged("this kernel does not allow programs of this kind");
	} else {
		ck_assert_int_eq(rp_attach_trace(prog, &link), -EOPNOTSUPP);
		close(prog);
	}
}
END_TEST

START_TEST(test_kprobe)
{
	const struct rp_kprobe probe = { .symbol = "ksys_unshare" },
			       absent = { .symbol = "no_such_function" };
	const int prog = load(&on_probe);
	struct rp_link *link = NULL;

	if (rp_has(RP_HAS_KPROBE)) {
		ck_assert_int_eq(rp_attach_kprobe(prog, &probe, &link), 0);
		check_hits(link, hundred_refusals, 100);
		ck_assert_int_eq(rp_attach_kprobe(prog, &absent, &link), -ENOENT);
		ck_assert_logged("the kernel has no such function");
	} else {
		ck_assert_int_eq(rp_attach_kprobe(prog, &probe, &link), -EOPNOTSUPP);
		ck_assert_logged(
			"this kernel has no kprobes (no /sys/bus/event_source/devices/kprobe");
		ck_assert_ptr_null(link);
	}
	close(prog);
}
END_TEST

START_TEST(test_kprobe_multi)
{
	const char *symbols[] = { "ksys_unshare" };
	const struct rp_kprobe_multi probe = { .symbols = symbols, .n = 1 };
	const int prog = load(&on_kprobe_multi);
	struct rp_link *link = NULL;

	if (rp_has(RP_HAS_KPROBE_MULTI)) {
		ck_assert_int_eq(rp_attach_kprobe_multi(prog, &probe, &link), 0);
		check_hits(link, hundred_refusals, 100);
	} else {
		ck_assert_int_eq(rp_attach_kprobe_multi(prog, &probe, &link), -EOPNOTSUPP);
		ck_assert_logged("this kernel has no kprobe_multi");
		ck_assert_ptr_null(link);
	}
	close(prog);
}
END_TEST

/* ---- functions of our own */

START_TEST(test_uprobe)
{
	const pid_t pids[] = { -1, getpid() };
	const int prog = load(&on_probe);
	struct rp_link *link;

	for (int at_return = 0; at_return < 2; at_return++)
		for (int i = 0; i < 2; i++) {
			const struct rp_uprobe probe = { "/proc/self/exe", file_offset(probed),
							 pids[i], at_return };

			ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), 0);
			check_hits(link, hundred_calls, 100);
		}
	close(prog);
}
END_TEST

START_TEST(test_uprobe_cookie)
{
	const struct rp_uprobe probe = { "/proc/self/exe", file_offset(probed), -1, false, 3 };
	const int prog = load(&on_probe_cookie);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), 0);
	check_hits(link, hundred_calls, 100);
	ck_assert_uint_eq(seen->cookies, 300);
	close(prog);
}
END_TEST

START_TEST(test_uprobe_errors)
{
	struct rp_uprobe probe = { "/no/such/file", 0, -1 };
	const int prog = load(&on_probe);
	struct rp_link *link = NULL;

	ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), -ENOENT);
	ck_assert_logged("uprobe /no/such/file+0x0: no such file");
	probe.path = "/dev/null";
	ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), -EINVAL);
	ck_assert_logged("uprobe /dev/null+0x0: no probe may be put there");
	ck_assert_ptr_null(link);
	close(prog);
}
END_TEST

/* A USDT probe's semaphore: the kernel counts it up while the probe is there. */
static volatile unsigned short semaphore = 0x1000;

START_TEST(test_uprobe_semaphore)
{
	const struct rp_uprobe probe = {
		"/proc/self/exe",
		file_offset(probed),
		-1,
		false,
		0,
		file_offset((const void *)&semaphore),
	};
	const int prog = load(&on_probe);
	struct rp_link *link;

	ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), 0);
	ck_assert_uint_eq(semaphore, 0x1001);
	rp_link_close(link);
	ck_assert_uint_eq(semaphore, 0x1000);
	close(prog);
}
END_TEST

static void hundred_of_both(void)
{
	for (int i = 0; i < 100; i++)
		probed_too(probed(i));
}

START_TEST(test_uprobe_multi)
{
	const uint64_t offsets[] = { file_offset(probed), file_offset(probed_too) },
		       cookies[] = { 1, 10 };
	struct rp_uprobe_multi probe = { "/proc/self/exe", offsets, cookies, .n = 2, .pid = -1 };
	const int prog = load(&on_uprobe_multi);
	struct rp_link *link = NULL;

	if (!rp_has(RP_HAS_UPROBE_MULTI)) {
		ck_assert_int_eq(rp_attach_uprobe_multi(prog, &probe, &link), -EOPNOTSUPP);
		ck_assert_logged("this kernel has no uprobe_multi");
		skip_test("uprobe_multi needs Linux 6.6");
	}
	for (int at_return = 0; at_return < 2; at_return++) {
		probe.at_return = at_return;
		seen->cookies = 0;
		ck_assert_int_eq(rp_attach_uprobe_multi(prog, &probe, &link), 0);
		check_hits(link, hundred_of_both, 200);
		ck_assert_uint_eq(seen->cookies, 1100);
	}
	probe.path = "/no/such/file";
	ck_assert_int_eq(rp_attach_uprobe_multi(prog, &probe, &link), -ENOENT);
	ck_assert_logged("no such file");
	close(prog);
}
END_TEST

/* The kernel has one semaphore for a place, whoever probes it. */
START_TEST(test_uprobe_multi_semaphores)
{
	const uint64_t offset = file_offset(probed), count = file_offset((const void *)&semaphore);
	struct rp_uprobe_multi probe = { "/proc/self/exe", &offset, NULL, .n = 1, .pid = -1 };
	const int prog = load(&on_uprobe_multi);
	struct rp_link *without = NULL, *with = NULL;

	if (!rp_has(RP_HAS_UPROBE_MULTI))
		skip_test("uprobe_multi needs Linux 6.6");
	ck_assert_int_eq(rp_attach_uprobe_multi(prog, &probe, &without), 0);
	probe.ref_ctr_offsets = &count;
	ck_assert_int_eq(rp_attach_uprobe_multi(prog, &probe, &with), -EINVAL);
	ck_assert_logged("another probe");
	ck_assert_ptr_null(with);
	rp_link_close(without);
	close(prog);
}
END_TEST

/* What a program was loaded for is fixed: one for many probes does not take the place of a single
 * one's. */
START_TEST(test_uprobe_multi_program_by_pmu)
{
	const struct rp_uprobe probe = { "/proc/self/exe", file_offset(probed), -1, false, 5 };
	const int prog = load(&on_uprobe_multi);
	struct rp_link *link = NULL;

	if (!rp_has(RP_HAS_UPROBE_MULTI))
		skip_test("to a kernel without uprobe_multi such a program is like any other");
	ck_assert_int_eq(rp_attach_uprobe(prog, &probe, &link), -EINVAL);
	ck_assert_logged("the program is of another type");
	ck_assert_ptr_null(link);
	close(prog);
}
END_TEST

/*
 * Nothing stays behind: the process's death detaches. The kernel replaces the instruction in every
 * process that runs the file, so that we see it in our own memory.
 */
static bool patched_within(bool patched, uint8_t original)
{
	for (int i = 0; i < 500; i++) {
		if ((*(const volatile uint8_t *)probed != original) == patched)
			return true;
		usleep(10000);
	}
	return false;
}

START_TEST(test_death_detaches)
{
	const struct rp_uprobe probe = { "/proc/self/exe", file_offset(probed), -1 };
	const uint8_t original = *(const volatile uint8_t *)probed;
	const pid_t child = fork();
	struct rp_link *link;
	int status;

	if (child == 0) {
		if (rp_attach_uprobe(load(&on_probe), &probe, &link))
			_exit(1);
		pause();
	}
	ck_assert(patched_within(true, original));
	kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status));
	ck_assert(patched_within(false, original));
}
END_TEST

/* ---- features */

START_TEST(test_features)
{
	capture_log();
	for (int f = 0; f < RP_FEATURES; f++) {
		const bool has = rp_has(f);

		ck_assert_int_eq(rp_feature_errno(f) == 0, has);
		ck_assert_int_eq(rp_has(f), has);
		ck_assert_logged(rp_feature_name(f));
		printf("%-26s %s\n", rp_feature_name(f),
		       has ? "yes" : strerror(-rp_feature_errno(f)));
	}
	ck_assert_not_logged("0: "); /* a no is no error */
	ck_assert(rp_has(RP_HAS_BPF));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: attaching");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_tracepoint);
	tcase_add_test(tc, test_tracepoint_cookie);
	tcase_add_test(tc, test_raw_tracepoint);
	tcase_add_test(tc, test_tp_btf);
	tcase_add_test(tc, test_tp_btf_absent);
	tcase_add_test(tc, test_wrong_type);
	tcase_add_test(tc, test_fentry);
	tcase_add_test(tc, test_kprobe);
	tcase_add_test(tc, test_kprobe_multi);
	tcase_add_test(tc, test_uprobe);
	tcase_add_test(tc, test_uprobe_cookie);
	tcase_add_test(tc, test_uprobe_errors);
	tcase_add_test(tc, test_uprobe_semaphore);
	tcase_add_test(tc, test_uprobe_multi);
	tcase_add_test(tc, test_uprobe_multi_semaphores);
	tcase_add_test(tc, test_uprobe_multi_program_by_pmu);
	tcase_add_test(tc, test_death_detaches);
	tcase_add_test(tc, test_features);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
