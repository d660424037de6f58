/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of events: in lists and groups, and as a sysfs of our own describes its PMUs; and counters
 * on kernels that refuse. */
#include <fcntl.h>
#include <linux/perf_event.h>

#include "test_loader.h"

#define CPU "/sys/bus/event_source/devices/cpu/"

static void put_pmus(void)
{
	put_file(CPU "type", "4\n");
	put_file(CPU "format/event", "config:0-7\n");
	put_file(CPU "format/umask", "config:8-15\n");
	put_file(CPU "format/edge", "config:18\n");
	put_file(CPU "format/split", "config:0-3,32-35\n");
	put_file(CPU "format/ldlat", "config1:0-15\n");
	put_file(CPU "format/frontend", "config2:0-23\n");
	put_file(CPU "format/odd", "config9:0-7\n");
	put_file(CPU "events/cpu-cycles", "event=0x3c\n");
	put_file(CPU "events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
	put_file(CPU "events/open", "event=?,umask=1\n");
	put_file(CPU "events/loop", "loop\n");
	put_file("/sys/bus/event_source/devices/power/type", "19\n");
	put_file("/sys/bus/event_source/devices/power/cpumask", "0\n");
	put_file("/sys/bus/event_source/devices/power/format/event", "config:0-7\n");
	put_file("/sys/bus/event_source/devices/power/events/energy-pkg", "event=0x02\n");
	put_file("/sys/bus/event_source/devices/power/events/energy-pkg.scale",
		 "2.3283064365386962890625e-10\n");
	put_file("/sys/bus/event_source/devices/power/events/energy-pkg.unit", "Joules\n");
}

START_TEST(test_pmu_terms)
{
	static const struct {
		const char *name;
		uint64_t config, config1, config2;
	} cases[] = {
		{ "cpu/event=0x3c/", 0x3c },
		{ "cpu/event=0x3c,umask=0x0/", 0x3c },
		{ "cpu/event=60,umask=0x2,edge/", 0x4023c },
		{ "cpu/split=0xa5/", 0xa00000005ull },
		{ "cpu/cpu-cycles/", 0x3c },
		{ "cpu/mem-loads/", 0x1cd, 3 },
		{ "cpu/mem-loads,ldlat=30/", 0x1cd, 30 },
		{ "cpu/config=0x123456789a,config1=7,config2=8/", 0x123456789aull, 7, 8 },
		{ "cpu/frontend=0xffffff/", 0, 0, 0xffffff },
		{ "mem-loads", 0x1cd, 3 },
		{ "cpu/event=0xff,event=0x1/", 1 },
	};
	struct rp_event e;

	put_pmus();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(rp_event_parse(cases[i].name, &e), 0);
		ck_assert_str_eq(e.name, cases[i].name);
		ck_assert_uint_eq(e.type, 4);
		ck_assert_uint_eq(e.config, cases[i].config);
		ck_assert_uint_eq(e.config1, cases[i].config1);
		ck_assert_uint_eq(e.config2, cases[i].config2);
		ck_assert(e.hardware);
	}
	ck_assert_int_eq(rp_event_parse("cpu/event=1,name=loads/u", &e), 0);
	ck_assert_str_eq(e.name, "loads");
	ck_assert(e.exclude_kernel && !e.exclude_user);
	ck_assert_int_eq(rp_event_parse("power/energy-pkg/", &e), 0);
	ck_assert_str_eq(e.unit, "Joules");
	ck_assert(e.scale > 2.328e-10 && e.scale < 2.329e-10);
	ck_assert_uint_eq(e.type, 19);
}
END_TEST

START_TEST(test_pmu_refused)
{
	static const struct {
		const char *name, *why;
	} cases[] = {
		{ "cpuu/event=1/",
		  "no PMU `cpuu' (/sys/bus/event_source/devices); did you mean cpu?" },
		{ "cpu/evnt=1/", "no term `evnt'; did you mean event?" },
		{ "cpu/mem-lods/", "no event or term `mem-lods'; did you mean mem-loads?" },
		{ "cpu/event=0x100/", "too large: it goes to config:0-7" },
		{ "cpu/event=x/", "the value is no number" },
		{ "cpu/event=?/", "a number belongs there" },
		{ "cpu/odd=1/", "newer than rawprof" },
		{ "cpu/loop/", "stands for itself" },
		{ "cpu/event=1", "a second `/' is missing" },
		{ "cpu/event=1/z", "are no modifiers" },
		{ "cpu/../../x/", "no event or term `../../x'" },
		{ "mem-lods", "did you mean mem-loads?" },
	};
	struct rp_event e = { .type = 77 };

	put_pmus();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		capture_log();
		ck_assert_int_lt(rp_event_parse(cases[i].name, &e), 0);
		ck_assert_logged(cases[i].why);
		ck_assert_uint_eq(e.type, 77);
	}
}
END_TEST

START_TEST(test_modifiers)
{
	static const struct {
		const char *name;
		bool user, kernel, hv, host, guest, idle, pinned; /* excluded */
		int precise;
	} cases[] = {
		{ "cycles" },
		{ "cycles:u", .kernel = true, .hv = true },
		{ "cycles:k", .user = true, .hv = true },
		{ "cycles:uk", .hv = true },
		{ "cycles:ukh" },
		{ "cycles:G", .host = true },
		{ "cycles:H", .guest = true },
		{ "cycles:GH" },
		{ "r1a8:uI", .kernel = true, .hv = true, .idle = true },
		{ "cycles:ppD", .pinned = true, .precise = 2 },
		{ "LLC-load-misses:W" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rp_event e;

		ck_assert_int_eq(rp_event_parse(cases[i].name, &e), 0);
		ck_assert_int_eq(e.exclude_user, cases[i].user);
		ck_assert_int_eq(e.exclude_kernel, cases[i].kernel);
		ck_assert_int_eq(e.exclude_hv, cases[i].hv);
		ck_assert_int_eq(e.exclude_host, cases[i].host);
		ck_assert_int_eq(e.exclude_guest, cases[i].guest);
		ck_assert_int_eq(e.exclude_idle, cases[i].idle);
		ck_assert_int_eq(e.pinned, cases[i].pinned);
		ck_assert_int_eq(e.precise, cases[i].precise);
		ck_assert_str_eq(e.name, cases[i].name);
	}
}
END_TEST

START_TEST(test_lists)
{
	struct rp_event *e;
	size_t n;

	put_pmus();
	ck_assert_int_eq(
		rp_events_parse("cs,{cycles,cpu/event=1,umask=2/}:u,faults,{r1,r2}", &e, &n), 0);
	ck_assert_uint_eq(n, 6);
	ck_assert_str_eq(e[0].name, "cs");
	ck_assert_uint_eq(e[0].group, 0);
	ck_assert_str_eq(e[1].name, "cycles:u");
	ck_assert_uint_eq(e[1].group, 1);
	ck_assert(e[1].exclude_kernel);
	ck_assert_uint_eq(e[2].config, 0x201);
	ck_assert_uint_eq(e[2].group, 1);
	ck_assert(e[2].exclude_kernel);
	ck_assert_uint_eq(e[3].group, 0);
	ck_assert(!e[3].exclude_kernel);
	ck_assert_uint_eq(e[4].group, 2);
	ck_assert_uint_eq(e[5].group, 2);
	free(e);
	ck_assert_int_eq(rp_events_parse("cs", &e, &n), 0);
	ck_assert_uint_eq(n, 1);
	free(e);
	for (const char *const *bad =
		     (const char *const[]){ "", ",", "cs,", "{cs", "{cs,}", "{}", "{cs}x", "{{cs}}",
					    "{cs}:", "{cs}:z", "cs}", "cpu/event=1,cs", NULL };
	     *bad; bad++) {
		capture_log();
		ck_assert_int_lt(rp_events_parse(*bad, &e, &n), 0);
		ck_assert_logged("0: ");
	}
}
END_TEST

/* ---- counters on a kernel of our own: each descriptor is a file that holds three numbers */

static struct {
	int calls, refuse_group, refuse_kernel;
	uint32_t missing_type;
	struct perf_event_attr last;
	unsigned long flags;
} k;

static int fake_bpf(int cmd, void *attr, uint32_t size)
{
	(void)cmd;
	(void)attr;
	(void)size;
	return -ENOSYS;
}

static int fake_perf(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
		     unsigned long flags)
{
	const uint64_t counts[] = { 600 + (uint64_t)attr->config, 4000, 1000 };
	char path[] = "/tmp/test_events.XXXXXX";
	int fd;

	(void)pid;
	(void)cpu;
	memset(&k.last, 0, sizeof(k.last));
	memcpy(&k.last, attr, attr->size);
	k.flags = flags;
	k.calls++;
	if (k.missing_type == attr->type + 1)
		return -ENOENT;
	if (k.refuse_kernel && !attr->exclude_kernel)
		return -EACCES;
	if (k.refuse_group && group >= 0)
		return -EINVAL;
	if (attr->inherit_thread)
		return -EINVAL; /* before 5.13 */
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	unlink(path);
	ck_assert_int_eq(write(fd, counts, sizeof(counts)), sizeof(counts));
	lseek(fd, 0, SEEK_SET);
	return fd;
}

static int fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	(void)fd;
	(void)request;
	(void)arg;
	return 0;
}

static const struct rp_sys fake = { fake_bpf, fake_perf, fake_ioctl, NULL };

static struct rp_counters *open_counters(const char *list, struct rp_counters_options *opt)
{
	struct rp_counters *c = NULL;
	struct rp_event *events;

	rp_sys_replace(&fake);
	capture_log();
	put_file("/sys/devices/system/cpu/online", "0-1\n");
	put_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
	ck_assert_int_eq(rp_events_parse(list, &events, &opt->nevents), 0);
	opt->events = events;
	ck_assert_int_eq(rp_counters_open(opt, &c), 0);
	free(events);
	return c;
}

START_TEST(test_counters)
{
	const pid_t tasks[] = { 100, 200, 300 };
	struct rp_counters_options opt = {
		.cgroup = -1, .tasks = tasks, .ntasks = 3, .inherit = true, .threads = true
	};
	struct rp_perf_counts counts;
	struct rp_counters *c;

	k.missing_type = PERF_TYPE_HARDWARE + 1;
	c = open_counters("cycles,page-faults,r7", &opt);
	ck_assert_uint_eq(rp_counters_places(c), 3);
	ck_assert_int_eq(rp_counters_place(c, 2).task, 300);
	ck_assert_int_eq(rp_counters_place(c, 2).cpu, -1);
	ck_assert_int_eq(rp_counters_state(c, 0), RP_COUNTER_NOT_SUPPORTED);
	ck_assert_int_eq(rp_counters_state(c, 1), RP_COUNTER_COUNTS);
	ck_assert_int_eq(rp_counters_read(c, 2, 1, &counts), 0);
	ck_assert_uint_eq(counts.value, 607);
	ck_assert_uint_eq(counts.enabled_ns, 4000);
	ck_assert_uint_eq(counts.running_ns, 1000);
	ck_assert_int_eq(rp_counters_read(c, 0, 1, &counts), 0);
	ck_assert_uint_eq(counts.enabled_ns, 0);
	ck_assert(k.last.inherit && !k.last.inherit_thread && k.last.disabled);
	ck_assert_logged("before Linux 5.13");
	ck_assert(!rp_counters_user_only(c));
	rp_counters_close(c);
}
END_TEST

START_TEST(test_counters_of_user_mode)
{
	const pid_t task = 100;
	struct rp_counters_options opt = { .cgroup = -1, .tasks = &task, .ntasks = 1 };
	struct rp_counters *c;

	k.refuse_kernel = true;
	c = open_counters("task-clock,cs,page-faults,cycles:k", &opt);
	ck_assert(rp_counters_user_only(c));
	ck_assert_int_eq(rp_counters_state(c, 0), RP_COUNTER_COUNTS);
	ck_assert_int_eq(rp_counters_state(c, 1), RP_COUNTER_NOT_PERMITTED);
	ck_assert_int_eq(rp_counters_state(c, 2), RP_COUNTER_COUNTS);
	ck_assert_int_eq(rp_counters_state(c, 3), RP_COUNTER_NOT_PERMITTED);
	rp_counters_close(c);
}
END_TEST

START_TEST(test_counters_of_a_group)
{
	struct rp_counters_options opt = { .cgroup = 9 };
	struct rp_counters *c;

	k.refuse_group = true;
	c = open_counters("{r1,r2},{r3,r4}", &opt);
	ck_assert_uint_eq(rp_counters_places(c), 2); /* CPUs */
	ck_assert_int_eq(k.calls, 2 * (1 + 2) * 2);
	ck_assert_logged("r2 does not fit into its group");
	ck_assert_logged("r4 does not fit into its group");
	ck_assert_not_logged("r1 does not");
	ck_assert(k.flags & PERF_FLAG_PID_CGROUP);
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(rp_counters_state(c, i), RP_COUNTER_COUNTS);
	rp_counters_close(c);
}
END_TEST

/* A PMU beside the cores counts on the CPUs of its mask, and not for a task. */
START_TEST(test_counters_of_a_package)
{
	const pid_t task = 100;
	struct rp_counters_options opt = { .cgroup = -1 };
	struct rp_counters *c;

	put_pmus();
	c = open_counters("power/energy-pkg/,cs", &opt);
	ck_assert_int_eq(k.calls, 1 + 2);
	rp_counters_close(c);
	opt.tasks = &task;
	opt.ntasks = 1;
	c = open_counters("power/energy-pkg/,cs", &opt);
	ck_assert_int_eq(rp_counters_state(c, 0), RP_COUNTER_NOT_SUPPORTED);
	ck_assert_logged("power/energy-pkg/ counts whole CPUs alone");
	rp_counters_close(c);
}
END_TEST

static void setup(void)
{
	memset(&k, 0, sizeof(k));
	capture_log();
}

static void teardown(void)
{
	rp_sys_replace(NULL);
	remove_root();
}

int main(void)
{
	Suite *suite = suite_create("loader: events by name, counters");
	TCase *tc = tcase_create("events");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_pmu_terms);
	tcase_add_test(tc, test_pmu_refused);
	tcase_add_test(tc, test_modifiers);
	tcase_add_test(tc, test_lists);
	tcase_add_test(tc, test_counters);
	tcase_add_test(tc, test_counters_of_user_mode);
	tcase_add_test(tc, test_counters_of_a_group);
	tcase_add_test(tc, test_counters_of_a_package);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
