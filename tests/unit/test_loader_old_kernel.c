/* SPDX-License-Identifier: BSD-2-Clause */
/* The loader against kernels that are older, stricter or poorer than the running one: the system
 * calls answer as those would. */
#include "test_loader.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * ---- a kernel of our own: it counts what it is asked, refuses what the test says, and grants the
 * rest
 */

enum { GRANTED_FD = 1000 };

static struct {
	int calls[64]; /* by bpf(2) command */
	int perf_calls;
	uint32_t last_size;
	union rp_attr last;
	struct perf_event_attr last_perf;
	uint32_t largest_attr;	    /* E2BIG for more */
	uint64_t unknown;	    /* commands, one bit each: EINVAL */
	int refuse_cmd, refuse_err; /* with this errno */
	const char *verifier_says;
	uint32_t largest_log; /* EINVAL for more room, as before 5.2 */
	bool memlock;	      /* counts maps against the limit, as before 5.11 */
	int perf_err;
	bool no_build_id;
} k;

static int end_of_log(struct rp_attr_prog *p)
{
	char *log = (char *)(uintptr_t)p->log_buf;

	/* The kernel's rules: a buffer if and only if a level, and ENOSPC when it does not fit. */
	if (!p->log_level != !p->log_size || !p->log_level != !p->log_buf)
		return -EINVAL;
	if (k.largest_log && p->log_size > k.largest_log)
		return -EINVAL;
	if (!p->log_level || !k.verifier_says)
		return 0;
	snprintf(log, p->log_size, "%s", k.verifier_says);
	return strlen(k.verifier_says) >= p->log_size ? -ENOSPC : 0;
}

static int fake_bpf(int cmd, void *attr, uint32_t size)
{
	struct rlimit limit;
	int err;

	k.calls[cmd]++;
	k.last_size = size;
	memset(&k.last, 0, sizeof(k.last));
	memcpy(&k.last, attr, size);
	if (k.unknown >> cmd & 1)
		return -EINVAL;
	if (k.largest_attr && size > k.largest_attr)
		return -E2BIG;
	if (k.memlock && (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur != RLIM_INFINITY))
		return -EPERM;
	if (cmd == BPF_PROG_LOAD) {
		err = end_of_log(&((union rp_attr *)attr)->prog);
		if (err)
			return err;
	}
	if (k.refuse_err && cmd == k.refuse_cmd)
		return k.refuse_err;
	return cmd == BPF_MAP_CREATE || cmd == BPF_PROG_LOAD || cmd == BPF_BTF_LOAD ? GRANTED_FD
										    : 0;
}

static int fake_perf(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	uint64_t flag_bits;

	(void)pid;
	(void)cpu;
	(void)group;
	ck_assert_uint_eq(flags, PERF_FLAG_FD_CLOEXEC);
	k.perf_calls++;
	memset(&k.last_perf, 0, sizeof(k.last_perf));
	memcpy(&k.last_perf, attr, attr->size);
	memcpy(&flag_bits, (const char *)attr + 40, sizeof(flag_bits));
	if (k.no_build_id && flag_bits >> 34 & 1)
		return -EINVAL;
	return k.perf_err ? k.perf_err : dup(0);
}

static int fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	return 0;
}

static void setup(void)
{
	static const struct rp_sys fake = { fake_bpf, fake_perf, fake_ioctl };

	memset(&k, 0, sizeof(k));
	rp_sys_replace(&fake);
	capture_log();
}

static void teardown(void)
{
	rp_sys_replace(NULL);
	remove_root();
}

/* Give up all capabilities, if there are any. */
static void drop_caps(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	ck_assert_int_eq(syscall(SYS_capset, &header, none), 0);
	ck_assert(!rp_cap_has(RP_CAP_BPF));
}

/* ---- programs */

static const struct bpf_insn insns[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
	{ .code = BPF_JMP | BPF_EXIT },
};
static const struct bpf_func_info func_info = { 0, 3 };
static const struct bpf_line_info line_info = { 0, 1, 1, 1 << 10 };

static const char *line_of(void *ctx, uint32_t insn)
{
	(void)ctx;
	return insn == 1 ? "prog.c:12: EXIT()" : "prog.c:11: MOV(R0, 0)";
}

static struct rp_prog program(void)
{
	return (struct rp_prog){
		.name = "prog",
		.type = BPF_PROG_TYPE_KPROBE,
		.insns = insns,
		.ninsns = 2,
		.btf = "btf",
		.btf_size = 3,
		.func_info = &func_info,
		.nfunc_info = 1,
		.line_info = &line_info,
		.nline_info = 1,
		.line = line_of,
	};
}

START_TEST(test_new_kernel)
{
	const struct rp_prog prog = program();

	ck_assert_int_eq(rp_prog_load(&prog), GRANTED_FD);
	ck_assert_int_eq(k.calls[BPF_PROG_LOAD], 1);
	ck_assert_uint_eq(k.last.prog.btf_fd, GRANTED_FD);
	ck_assert_uint_eq(k.last.prog.line_info_cnt, 1);
	ck_assert_uint_eq(k.last.prog.log_level, 0);
	ck_assert_str_eq((const char *)(uintptr_t)k.last.prog.license, "GPL");
}
END_TEST

/* 4.18 and its like: the attribute ends before btf_fd, and there is no BPF_BTF_LOAD for us. */
START_TEST(test_no_btf)
{
	const struct rp_prog prog = program();

	k.unknown = 1ULL << BPF_BTF_LOAD;
	k.largest_attr = offsetof(struct rp_attr_prog, ifindex);
	ck_assert_int_eq(rp_prog_load(&prog), GRANTED_FD);
	ck_assert_int_eq(k.calls[BPF_PROG_LOAD], 1);
	ck_assert_uint_le(k.last_size, offsetof(struct rp_attr_prog, ifindex));
	ck_assert_logged("takes no BTF for prog");
	ck_assert_not_logged("0: ");
}
END_TEST

/* 4.19: BTF by itself, but not with programs: E2BIG for the fields that say so. */
START_TEST(test_btf_but_not_for_programs)
{
	const struct rp_prog prog = program();

	k.largest_attr = offsetof(struct rp_attr_prog, btf_fd);
	ck_assert_int_eq(rp_prog_load(&prog), GRANTED_FD);
	ck_assert_int_eq(k.calls[BPF_PROG_LOAD], 2);
	ck_assert_uint_eq(k.last.prog.btf_fd, 0);
	ck_assert_uint_eq(k.last.prog.func_info_rec_size, 0);
	ck_assert_logged("takes no source lines for prog");
	ck_assert_not_logged("0: ");
}
END_TEST

START_TEST(test_btf_not_permitted)
{
	const struct rp_prog prog = program();

	k.refuse_cmd = BPF_BTF_LOAD;
	k.refuse_err = -EPERM;
	ck_assert_int_eq(rp_prog_load(&prog), GRANTED_FD);
	ck_assert_uint_eq(k.last.prog.btf_fd, 0);
}
END_TEST

START_TEST(test_refused)
{
	const struct rp_prog prog = program();

	k.refuse_cmd = BPF_PROG_LOAD;
	k.refuse_err = -EACCES;
	k.verifier_says =
		"0: (b7) r0 = 0\n1: (95) exit\nR0 is wrong today\nprocessed 2 insns (limit "
		"1000000) max_states_per_insn 0\n";
	ck_assert_int_eq(rp_prog_load(&prog), -EACCES);
	ck_assert_logged(
		"0: cannot load prog (kprobe program, 2 instructions): refused by the verifier\n"
		"at prog.c:12: EXIT()\nthe verifier's last words:\n"
		"0: (b7) r0 = 0\n1: (95) exit\nR0 is wrong today\n");
	ck_assert_not_logged("processed");
}
END_TEST

static void check_long_log(void)
{
	enum { LINES = 200000 };
	const struct rp_prog prog = program();
	char *text = malloc(LINES * 16 + 64), *log, *at = text;

	for (int i = 0; i < LINES; i++)
		at += sprintf(at, "from 1 to 2:\n");
	strcpy(at, "the reason\n");
	k.refuse_cmd = BPF_PROG_LOAD;
	k.refuse_err = -EINVAL;
	k.verifier_says = text;
	ck_assert_int_eq(rp_prog_load_verbose(&prog, 2, &log), -EINVAL);
	ck_assert_str_eq(log, text);
	free(log);
	ck_assert_int_eq(rp_prog_load(&prog), -EINVAL);
	ck_assert_logged("the reason");
	ck_assert_uint_lt(strlen(log_text), 2000);
	free(text);
}

/* There is room for a long log at once: ENOSPC is never the answer. */
START_TEST(test_long_log)
{
	check_long_log();
	/* Twice: with and without source lines, then with a log. */
	ck_assert_int_eq(k.calls[BPF_PROG_LOAD], 2 * 3);
}
END_TEST

START_TEST(test_long_log_of_an_old_kernel)
{
	k.largest_log = UINT32_MAX >> 8;
	check_long_log();
}
END_TEST

static int again;

static int interrupted_bpf(int cmd, void *attr, uint32_t size)
{
	(void)attr;
	(void)size;
	return cmd == BPF_PROG_LOAD && again-- > 0 ? -EAGAIN : GRANTED_FD;
}

START_TEST(test_interrupted)
{
	static const struct rp_sys fake = { interrupted_bpf, fake_perf, fake_ioctl };
	const struct rp_prog prog = program();

	rp_sys_replace(&fake);
	again = 3;
	ck_assert_int_eq(rp_prog_load(&prog), GRANTED_FD);
}
END_TEST

START_TEST(test_errno_524)
{
	struct rp_link *link = NULL;

	k.refuse_cmd = BPF_RAW_TRACEPOINT_OPEN;
	k.refuse_err = -524;
	ck_assert_int_eq(rp_attach_trace(5, &link), -EOPNOTSUPP);
	ck_assert_logged("its errno 524");
	ck_assert_ptr_null(link);
}
END_TEST

START_TEST(test_no_kernel_btf)
{
	struct rp_prog prog = program();
	struct asm_access a;
	char why[ASM_WHY_SIZE] = "";

	put_file("/sys/empty", "");
	prog.type = BPF_PROG_TYPE_TRACING;
	prog.attach_type = BPF_TRACE_FENTRY;
	prog.target = "vfs_read";
	ck_assert_int_eq(rp_prog_load(&prog), -ENOENT);
	ck_assert_logged("attaches to vfs_read by kernel BTF, which this kernel has not");
	ck_assert_int_eq(k.calls[BPF_PROG_LOAD], 0);
	ck_assert_int_eq(rp_bind_field(NULL, "task_struct", "pid", &a, why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "CONFIG_DEBUG_INFO_BTF"));
	ck_assert(!rp_has(RP_HAS_KERNEL_BTF));
	ck_assert(!rp_has(RP_HAS_TP_BTF));
	ck_assert(!rp_has(RP_HAS_FENTRY));
}
END_TEST

/* ---- capabilities and limits */

START_TEST(test_no_capability)
{
	static const struct asm_map map = { "counts", BPF_MAP_TYPE_HASH, 4, 8, 10 };
	const struct rp_prog prog = program();

	drop_caps();
	k.refuse_cmd = BPF_MAP_CREATE;
	k.refuse_err = -EPERM;
	ck_assert_int_eq(rp_map_create(&map), -EPERM);
	ck_assert_logged(
		"cannot create map counts (hash, key 4, value 8 bytes, 10 entries): CAP_BPF is "
		"needed");
	k.refuse_cmd = BPF_PROG_LOAD;
	ck_assert_int_eq(rp_prog_load(&prog), -EPERM);
	ck_assert_logged("cannot load prog (kprobe program, 2 instructions): CAP_BPF is needed");
}
END_TEST

START_TEST(test_perf_not_permitted)
{
	struct rp_perf_options opt = { .event = { "cpu-clock", PERF_TYPE_SOFTWARE }, .freq = 99 };
	struct rp_perf *perf = NULL;

	put_file("/proc/sys/kernel/perf_event_paranoid", "3\n");
	put_file("/sys/devices/system/cpu/online", "0-3\n");
	drop_caps();
	k.perf_err = -EACCES;
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -EACCES);
	ck_assert_logged("perf_event_open(cpu-clock) on CPU 0: Permission denied: "
			 "kernel.perf_event_paranoid is 3. CAP_PERFMON is needed");
	ck_assert_int_eq(k.perf_calls, 1); /* not once a CPU */
	ck_assert_ptr_null(perf);
}
END_TEST

/* Before 5.11 maps are locked memory. The limit is raised when the kernel refuses, not before. */
START_TEST(test_memlock)
{
	static const struct asm_map map = { "counts", BPF_MAP_TYPE_HASH, 4, 8, 10 };
	struct rlimit limit;

	if (!rp_cap_has(RP_CAP_BPF) || !rp_cap_has(RP_CAP_SYS_RESOURCE))
		return; /* without them the kernel's EPERM means those */
	ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
	limit.rlim_cur = 65536;
	ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	ck_assert_int_eq(rp_map_create(&map), GRANTED_FD);
	getrlimit(RLIMIT_MEMLOCK, &limit);
	ck_assert_uint_eq(limit.rlim_cur, 65536);
	k.memlock = true;
	ck_assert_int_eq(rp_map_create(&map), GRANTED_FD);
	ck_assert_logged("raised the limit RLIMIT_MEMLOCK");
	getrlimit(RLIMIT_MEMLOCK, &limit);
	ck_assert_uint_eq(limit.rlim_cur, RLIM_INFINITY);
}
END_TEST

/* ---- perf */

START_TEST(test_perf_attr_is_no_longer_than_needed)
{
	struct rp_perf_options opt = { .event = { "cpu-clock", PERF_TYPE_SOFTWARE }, .freq = 99 };
	struct rp_perf *perf;

	put_file("/sys/devices/system/cpu/online", "0,2\n");
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(k.perf_calls, 2);
	ck_assert_uint_eq(k.last_perf.size, PERF_ATTR_SIZE_VER0);
	ck_assert_uint_eq(k.last_perf.freq, 1);
	ck_assert_uint_eq(k.last_perf.sample_freq, 99);
	rp_perf_close(perf);
}
END_TEST

START_TEST(test_rate_limit)
{
	struct rp_perf_options opt = { .event = { "cpu-clock", PERF_TYPE_SOFTWARE }, .freq = 5001 };
	struct rp_perf *perf = NULL;

	put_file("/proc/sys/kernel/perf_event_max_sample_rate", "5000\n");
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -EINVAL);
	ck_assert_logged("5001 samples a second are above the kernel's limit of 5000");
	ck_assert_int_eq(k.perf_calls, 0);
}
END_TEST

/* Before 5.12 the bit for build ids is unknown; here the rings then cannot be mapped, since the
 * descriptors are not real. */
START_TEST(test_sideband_without_build_ids)
{
	struct rp_sideband *side = NULL;

	put_file("/sys/devices/system/cpu/online", "0\n");
	k.no_build_id = true;
	ck_assert_int_lt(rp_sideband_open(&(struct rp_side_options){ .build_ids = true }, &side),
			 0);
	ck_assert_int_eq(k.perf_calls, 2);
	ck_assert_logged("no build ids into mmap records");
	ck_assert_uint_eq(k.last_perf.mmap2, 1);
	ck_assert_uint_eq(k.last_perf.mmap_data, 0);
	ck_assert_int_eq(k.last_perf.clockid, CLOCK_MONOTONIC);
	ck_assert_ptr_null(side);
}
END_TEST

/* ---- maps without newer commands */

/* A map of three keys 10, 20, 30 whose values are ten times the key. */
static int three_keys(int cmd, void *attr, uint32_t size)
{
	const struct rp_attr_elem *e = attr;
	const uint32_t *key = (const uint32_t *)(uintptr_t)e->key;
	uint32_t now;

	if (cmd == BPF_MAP_GET_NEXT_KEY) {
		uint32_t *next;

		ck_assert_uint_ge(size, offsetof(struct rp_attr_elem, value));
		next = (uint32_t *)(uintptr_t)e->value;
		now = key ? *key : 0;
		if (now == 30)
			return -ENOENT;
		*next = now + 10;
		return 0;
	}
	if (cmd == BPF_MAP_LOOKUP_ELEM) {
		const uint64_t value = *key * 10ULL;

		memcpy((void *)(uintptr_t)e->value, &value, sizeof(value));
		return 0;
	}
	k.calls[cmd]++;
	return cmd == BPF_MAP_DELETE_ELEM ? 0 : -EINVAL;
}

static int add_value(void *ctx, const void *key, const void *value)
{
	uint64_t v;

	(void)key;
	memcpy(&v, value, sizeof(v));
	*(uint64_t *)ctx += v;
	return 0;
}

START_TEST(test_no_batches)
{
	static const struct rp_sys fake = { three_keys, fake_perf, fake_ioctl };
	static const struct asm_map map = { "m", BPF_MAP_TYPE_HASH, 4, 8, 10 };
	uint64_t sum = 0;

	rp_sys_replace(&fake);
	ck_assert_int_eq(rp_map_each(5, &map, add_value, &sum), 3);
	ck_assert_uint_eq(sum, 600);
	ck_assert_int_eq(k.calls[BPF_MAP_LOOKUP_BATCH], 1);
	ck_assert_int_eq(rp_map_drain(5, &map, add_value, &sum), 3);
	ck_assert_uint_eq(sum, 1200);
	/* neither lookup-and-delete is there: a lookup and a delete each */
	ck_assert_int_eq(k.calls[BPF_MAP_DELETE_ELEM], 3);
}
END_TEST

/* A program that deletes while we walk sends the kernel back to the first key each time: the walk
 * ends all the same. */
static int endless(int cmd, void *attr, uint32_t size)
{
	const struct rp_attr_elem *e = attr;

	(void)size;
	if (cmd == BPF_MAP_GET_NEXT_KEY)
		*(uint32_t *)(uintptr_t)e->value = 1;
	return cmd == BPF_MAP_GET_NEXT_KEY || cmd == BPF_MAP_LOOKUP_ELEM ? 0 : -EINVAL;
}

START_TEST(test_endless_map)
{
	static const struct rp_sys fake = { endless, fake_perf, fake_ioctl };
	static const struct asm_map map = { "m", BPF_MAP_TYPE_HASH, 4, 8, 10 };
	uint64_t sum = 0;

	rp_sys_replace(&fake);
	ck_assert_int_le(rp_map_each(5, &map, add_value, &sum), 100);
}
END_TEST

START_TEST(test_map_attr)
{
	static const struct asm_map map = {
		"a name/too long for it", BPF_MAP_TYPE_ARRAY, 4, 8, 10, BPF_F_MMAPABLE
	};

	ck_assert_int_eq(rp_map_create(&map), GRANTED_FD);
	ck_assert_str_eq(k.last.map.name, "a_name_too_long");
	ck_assert_uint_eq(k.last.map.flags, BPF_F_MMAPABLE);
	ck_assert_uint_eq(k.last_size, round_up(offsetof(struct rp_attr_map, ifindex), 8));
	k.refuse_cmd = BPF_MAP_CREATE;
	k.refuse_err = -E2BIG;
	ck_assert_int_eq(rp_map_create(&map), -E2BIG);
	ck_assert_logged("larger than the kernel allows");
}
END_TEST

/* ---- probes */

START_TEST(test_probe_pmu_type_is_read)
{
	const struct rp_kprobe probe = { .symbol = "vfs_read", .at_return = true };
	struct rp_link *link;

	put_file("/sys/devices/system/cpu/online", "3\n");
	put_file("/sys/bus/event_source/devices/kprobe/type", "42\n");
	put_file("/sys/bus/event_source/devices/kprobe/format/retprobe", "config:5\n");
	ck_assert_int_eq(rp_attach_kprobe(5, &probe, &link), 0);
	ck_assert_uint_eq(k.last_perf.type, 42);
	ck_assert_uint_eq(k.last_perf.config, 1 << 5);
	ck_assert_str_eq((const char *)(uintptr_t)k.last_perf.config1, "vfs_read");
	rp_link_close(link);
}
END_TEST

START_TEST(test_no_probe_pmu)
{
	const struct rp_uprobe probe = { "/bin/true", 0x1000, -1 };
	struct rp_link *link = NULL;

	put_file("/sys/devices/system/cpu/online", "0\n");
	ck_assert_int_eq(rp_attach_uprobe(5, &probe, &link), -EOPNOTSUPP);
	ck_assert_logged("this kernel has no uprobes (no /sys/bus/event_source/devices/uprobe: "
			 "CONFIG_UPROBE_EVENTS is off)");
	ck_assert_int_eq(k.perf_calls, 0);
	ck_assert_ptr_null(link);
}
END_TEST

START_TEST(test_multi_probes_unknown)
{
	const struct rp_uprobe_multi probe = { .path = "/bin/true", .n = 1 };
	struct rp_link *link = NULL;

	k.refuse_cmd = BPF_LINK_CREATE;
	k.refuse_err = -EINVAL;
	ck_assert_int_eq(rp_attach_uprobe_multi(5, &probe, &link), -EOPNOTSUPP);
	ck_assert_logged("that needs Linux 6.6");
	ck_assert(!rp_has(RP_HAS_UPROBE_MULTI));
	ck_assert(!rp_has(RP_HAS_PERF_LINK));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: other kernels");
	TCase *tc = tcase_create("mocked");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_new_kernel);
	tcase_add_test(tc, test_no_btf);
	tcase_add_test(tc, test_btf_but_not_for_programs);
	tcase_add_test(tc, test_btf_not_permitted);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_long_log);
	tcase_add_test(tc, test_long_log_of_an_old_kernel);
	tcase_add_test(tc, test_interrupted);
	tcase_add_test(tc, test_errno_524);
	tcase_add_test(tc, test_no_kernel_btf);
	tcase_add_test(tc, test_no_capability);
	tcase_add_test(tc, test_perf_not_permitted);
	tcase_add_test(tc, test_memlock);
	tcase_add_test(tc, test_perf_attr_is_no_longer_than_needed);
	tcase_add_test(tc, test_rate_limit);
	tcase_add_test(tc, test_sideband_without_build_ids);
	tcase_add_test(tc, test_no_batches);
	tcase_add_test(tc, test_endless_map);
	tcase_add_test(tc, test_map_attr);
	tcase_add_test(tc, test_probe_pmu_type_is_read);
	tcase_add_test(tc, test_no_probe_pmu);
	tcase_add_test(tc, test_multi_probes_unknown);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
