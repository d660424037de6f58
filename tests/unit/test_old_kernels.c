/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linux 5.4 to 6.18 as tests/old/kernel.h knows them, and all else granted: each probe finds out
 * what is there and what is not, and each program of rawprof loads in the configuration that
 * follows from the probes, or says what it needs.
 */
#include "test_loader.h"

#include "programs/cpu.h"
#include "record/attach.h"

#include "../old/kernel.h"

enum { GRANTED_FD = 1000 };

static int fake_bpf(int cmd, void *attr, uint32_t size)
{
	const int err = old_bpf(cmd, attr, size);

	if (err)
		return err;
	old_remember(cmd, attr, GRANTED_FD);
	switch (cmd) {
	case BPF_MAP_CREATE:
	case BPF_PROG_LOAD:
	case BPF_BTF_LOAD:
	case BPF_LINK_CREATE:
	case BPF_RAW_TRACEPOINT_OPEN:
	case BPF_ENABLE_STATS:
		return GRANTED_FD;
	}
	return 0;
}

static int fake_perf(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	const int err = old_perf_event_open(attr);

	(void)pid;
	(void)cpu;
	(void)group;
	(void)flags;
	return err ? err : dup(0);
}

static int fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	return 0;
}

static int fake_uprobe(void)
{
	const int err = old_uprobe();

	return err ? err : -ENXIO;
}

/* A kernel with everything compiled in, except that its types are those of the running one. */
static void become(int version)
{
	static const struct rp_sys fake = { fake_bpf, fake_perf, fake_ioctl, fake_uprobe };
	char link[128];

	old_version = version;
	rp_btf_kernel_release();
	put_file("/sys/devices/system/cpu/online", "0\n");
	put_file("/sys/devices/system/cpu/possible", "0\n");
	put_file("/sys/bus/event_source/devices/kprobe/type", "6\n");
	put_file("/sys/bus/event_source/devices/uprobe/type", "7\n");
	put_file("/sys/kernel/btf/none", "");
	snprintf(link, sizeof(link), "%s/sys/kernel/btf/vmlinux", root);
	if (access(link, F_OK))
		ck_assert_int_eq(symlink("/sys/kernel/btf/vmlinux", link), 0);
	rp_sys_replace(&fake);
	capture_log();
}

static void teardown(void)
{
	rp_btf_kernel_release();
	rp_sys_replace(NULL);
	remove_root();
}

static bool no_btf(void)
{
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		return false;
	printf("skip: the running kernel has no BTF to stand in for another's\n");
	return true;
}

static const int versions[] = { 504, 505, 506, 507, 508, 509, 510, 511, 512, 513, 514,
				515, 516, 517, 518, 601, 605, 606, 610, 612, 613, 618 };

/* ---- probes */

/* As loader.h says. What an old kernel may have or not is there, as far as it is old enough. */
static const int since[RP_FEATURES] = {
	[RP_HAS_BPF] = 404,	     [RP_HAS_KERNEL_BTF] = 504,	  [RP_HAS_PROG_BTF] = 500,
	[RP_HAS_RINGBUF] = 508,	     [RP_HAS_BATCH] = 506,	  [RP_HAS_PERF_LINK] = 515,
	[RP_HAS_RAW_TP] = 417,	     [RP_HAS_TP_BTF] = 505,	  [RP_HAS_FENTRY] = 505,
	[RP_HAS_KPROBE] = 417,	     [RP_HAS_KPROBE_MULTI] = 518, [RP_HAS_UPROBE] = 417,
	[RP_HAS_UPROBE_MULTI] = 606, [RP_HAS_HW_EVENTS] = 206,	  [RP_HAS_MMAP_BUILD_ID] = 512,
	[RP_HAS_SYSCALL_PROG] = 514, [RP_HAS_STATS] = 508,	  [RP_HAS_TASK_BTF] = 511,
	[RP_HAS_TASK_REGS] = 515,    [RP_HAS_BPF_LOOP] = 517,	  [RP_HAS_UPROBE_MULTI_PID] = 610,
	[RP_HAS_TASK_ITER] = 518,    [RP_HAS_UPROBE_NOP] = 618,	  [RP_HAS_UPROBE_SESSION] = 613,
	[RP_HAS_MAY_GOTO] = 610,
};

START_TEST(test_probes)
{
	const int version = versions[_i];

	if (no_btf())
		return;
	become(version);
	for (int f = 0; f < RP_FEATURES; f++) {
		ck_assert_msg(since[f], "no version for %s", rp_feature_name(f));
		ck_assert_msg(rp_has(f) == (version >= since[f]), "%s on %d.%d: %s",
			      rp_feature_name(f), version / 100, version % 100,
			      strerror(-rp_feature_errno(f)));
	}
	ck_assert_not_logged("0: "); /* a no is no error */
}
END_TEST

/* ---- programs */

static int load(const char *name, const void *config)
{
	const struct rp_program *p = rp_program_named(name);
	int fds[STACK_MAPS];
	const struct asm_bindings bind = { .maps = p->maps,
					   .map_fds = fds,
					   .nmaps = p->nmaps,
					   .config = config,
					   .config_size = p->code.config_size };

	for (size_t i = 0; i < p->nmaps; i++)
		fds[i] = GRANTED_FD;
	return rp_program_load(&p->code, &bind);
}

static int load_cpu(bool identity, bool bounded, bool own_regs)
{
	struct cpu_config config = *(const struct cpu_config *)rp_cpu_programs->config;

	config.common.identity = identity;
	config.common.bounded = bounded;
	config.common.own_regs = own_regs;
	return load("cpu_sample", &config);
}

START_TEST(test_cpu)
{
	const int version = versions[_i];

	if (no_btf())
		return;
	become(version);
	if (version < 508) {
		ck_assert_int_eq(rp_map_create(&rp_cpu_maps[STACK_MAP_EVENTS]), -EINVAL);
		ck_assert_logged("this kernel is too old: ring buffers exist since Linux 5.8");
		return;
	}
	ck_assert_int_eq(rp_map_create(&rp_cpu_maps[STACK_MAP_EVENTS]), GRANTED_FD);
	ck_assert_int_eq(load_cpu(rp_has(RP_HAS_TASK_BTF), !rp_has(RP_HAS_BPF_LOOP),
				  !rp_has(RP_HAS_TASK_REGS)),
			 GRANTED_FD);
	ck_assert_not_logged("0: ");
	/* What the probes say is missing is really what the program would need. */
	if (!rp_has(RP_HAS_TASK_BTF)) {
		ck_assert_int_eq(load_cpu(true, true, true), -EINVAL);
		ck_assert_logged("CALL(get_current_task_btf)");
	}
	if (!rp_has(RP_HAS_TASK_REGS)) {
		capture_log();
		ck_assert_int_eq(load_cpu(false, true, false), -EINVAL);
		ck_assert_logged(rp_has(RP_HAS_TASK_BTF) ? "CALL(task_pt_regs)"
							 : "CALL(get_current_task_btf)");
	}
	if (!rp_has(RP_HAS_BPF_LOOP)) {
		capture_log();
		ck_assert_int_lt(load_cpu(false, false, true), 0);
		ck_assert_logged("refused by the verifier");
	}
}
END_TEST

START_TEST(test_follow)
{
	const int version = versions[_i];

	if (no_btf())
		return;
	become(version);
	ck_assert_int_eq(load("follow_fork_tp", NULL), GRANTED_FD);
	ck_assert_int_eq(load("follow_fork", NULL), rp_has(RP_HAS_TP_BTF) ? GRANTED_FD : -EINVAL);
	ck_assert_int_eq(load("follow_exit", NULL), rp_has(RP_HAS_TP_BTF) ? GRANTED_FD : -EINVAL);
}
END_TEST

/* bpf_snprintf came in 5.13, programs of the type syscall a version later. */
START_TEST(test_kernel_names)
{
	const int version = versions[_i];
	int loaded;

	become(version);
	loaded = load(rp_has(RP_HAS_SYSCALL_PROG) ? "ksym" : "ksym_raw", NULL);
	ck_assert_int_eq(loaded, version >= 513 ? GRANTED_FD : -EINVAL);
}
END_TEST

/* Of variants the one with types where the kernel has what it needs, else the other one. */
static const struct {
	const char *needs, *instead; /* NULL: nothing takes its place */
	enum rp_feature feature;
} chosen[] = {
	{ "offcpu_switch", "offcpu_classic", RP_HAS_TP_BTF },
	{ "offcpu_waking", "waking_classic", RP_HAS_TASK_REGS },
	{ "runq_new", "runq_new_tp", RP_HAS_TP_BTF },
	{ "follow_fork", "follow_fork_tp", RP_HAS_TP_BTF },
	{ "follow_exit", NULL, RP_HAS_TP_BTF },
	{ "asleep", NULL, RP_HAS_TASK_ITER },
	{ "lock_futex", "lock_futex_tp", RP_HAS_TP_BTF },
	{ "mem_thread_exit", "mem_exit_tp", RP_HAS_TP_BTF },
	{ "lock_freed", "lock_freed_tp", RP_HAS_TP_BTF },
	{ "ksym", "ksym_raw", RP_HAS_SYSCALL_PROG },
};

START_TEST(test_choose)
{
	become(versions[_i]);
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
		const struct rp_program *better = rp_program_named(chosen[i].needs), *got = NULL;
		int err = record_choose(better, better->role, &got);

		if (rp_has(chosen[i].feature))
			ck_assert_ptr_eq(got, better);
		else if (chosen[i].instead)
			ck_assert_str_eq(got->code.name, chosen[i].instead);
		else
			ck_assert_int_eq(err, -EOPNOTSUPP);
	}
	/* Beside classic ones alone. */
	ck_assert_int_eq(record_lacks(rp_program_named("wall_new_tp")),
			 rp_has(RP_HAS_TP_BTF) ? -EOPNOTSUPP : 0);
}
END_TEST

int main(void)
{
	const int n = sizeof(versions) / sizeof(versions[0]);
	Suite *suite = suite_create("old kernels");
	TCase *tc = tcase_create("mocked");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, test_probes, 0, n);
	tcase_add_loop_test(tc, test_cpu, 0, n);
	tcase_add_loop_test(tc, test_follow, 0, n);
	tcase_add_loop_test(tc, test_kernel_names, 0, n);
	tcase_add_loop_test(tc, test_choose, 0, n);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
