/* SPDX-License-Identifier: BSD-2-Clause */
/* Perf events on the running kernel: rates, tasks and their children, CPUs that are not there,
 * limits. */
#include "test_loader.h"

#include <sys/stat.h>

struct counts {
	uint64_t ours, all;
};

struct config {
	uint32_t tgid;
};

static const struct asm_map counts = { "counts", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct counts),
				       1,	 BPF_F_MMAPABLE };

/* clang-format off */
static const struct asm_insn sample_lines[] = {
	COUNT(counts, struct counts, all),
	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	JNE_PARAM(R0, struct config, tgid, out),
	COUNT(counts, struct counts, ours),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct asm_program sample = {
	.name = "sample",
	.type = BPF_PROG_TYPE_PERF_EVENT,
	.license = "Dual BSD/GPL",
	ASM_LINES(sample_lines),
	.config_size = sizeof(struct config),
};

static struct counts *seen;

static int load_for(pid_t tgid)
{
	struct config config = { (uint32_t)tgid };
	struct asm_bindings bind = {
		.maps = &counts, .nmaps = 1, .config = &config, .config_size = sizeof(config)
	};
	const int map = rp_map_create(&counts);
	void *at;
	size_t size;

	bind.map_fds = &map;
	ck_assert_int_eq(rp_map_mmap(map, &counts, &at, &size), 0);
	seen = at;
	capture_log();
	return rp_program_load(&sample, &bind);
}

static struct rp_event event(const char *name)
{
	struct rp_event e;

	ck_assert_int_eq(rp_event_parse(name, &e), 0);
	return e;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Until so much CPU time has been had, however long that takes on a busy machine. */
static void burn(uint64_t ns)
{
	const uint64_t end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

/* A guest whose host is busy may have a clock that goes by ticks, when one comes. */
static void let_ticks_pass(void)
{
	usleep(20000);
}

static int look(struct rp_perf *perf)
{
	let_ticks_pass();
	return rp_perf_hotplug(perf);
}

/* ---- sampling */

START_TEST(test_samples_every_cpu)
{
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 997 };
	struct rp_perf *perf;
	struct rp_cpus online;
	const int prog = load_for(getpid());
	uint64_t expect;

	ck_assert_int_eq(rp_cpus_online(&online), 0);
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_count(perf), online.n);
	ck_assert_int_eq(rp_perf_attach(perf, prog), 0);
	expect = cpu_ns();
	burn(500000000);
	rp_perf_disable(perf);
	expect = (cpu_ns() - expect) * 997 / 1000000000;
	/* cpu-clock ticks by a timer; in a virtual machine some are late, and where the machine is
	 * emulated by a program that has to wait for its turn, many never come. */
	ck_assert_msg(seen->ours > expect * (getenv("VM_EMULATED") ? 2 : 8) / 10 &&
			      seen->ours < expect * 12 / 10,
		      "%llu samples, %llu expected", (unsigned long long)seen->ours,
		      (unsigned long long)expect);
	ck_assert_uint_ge(seen->all, seen->ours);
	expect = seen->all;
	usleep(20000);
	ck_assert_uint_eq(seen->all, expect); /* disabled is disabled */
	rp_perf_close(perf);
	rp_cpus_free(&online);
	close(prog);
}
END_TEST

START_TEST(test_period)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	struct rp_perf_options opt = {
		.event = event("task-clock"), .period = 1000000, .tasks = &self, .ntasks = 1
	};
	struct rp_perf *perf;
	const int prog = load_for(getpid());

	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_count(perf), 1);
	ck_assert_int_eq(rp_perf_attach(perf, prog), 0);
	burn(300000000);
	rp_perf_close(perf);
	ck_assert_msg(seen->ours > (getenv("VM_EMULATED") ? 60 : 240) && seen->ours < 360, "%llu",
		      (unsigned long long)seen->ours);
	ck_assert_uint_eq(seen->ours, seen->all);
	close(prog);
}
END_TEST

/* Children made after the attachment inherit event and program. */
START_TEST(test_inherited_by_children)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	struct rp_perf_options opt = { .event = event("cpu-clock"),
				       .freq = 997,
				       .tasks = &self,
				       .ntasks = 1,
				       .inherit = true };
	struct rp_perf *perf;
	const int prog = load_for(getpid());

	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_attach(perf, prog), 0);
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();

		if (child == 0) {
			burn(200000000);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
	}
	rp_perf_close(perf);
	/* 400 ms in the children, which have other process ids than ours. */
	ck_assert_msg(seen->all - seen->ours > (getenv("VM_EMULATED") ? 80 : 300) &&
			      seen->all - seen->ours < 500,
		      "%llu of %llu ours", (unsigned long long)seen->ours,
		      (unsigned long long)seen->all);
	close(prog);
}
END_TEST

START_TEST(test_hardware_falls_back)
{
	struct rp_perf_options opt = { .event = event("cycles"), .freq = 99 };
	struct rp_perf *perf = NULL;

	capture_log();
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	if (rp_has(RP_HAS_HW_EVENTS)) {
		ck_assert_str_eq(rp_perf_event(perf)->name, "cycles");
	} else {
		ck_assert_str_eq(rp_perf_event(perf)->name, "cpu-clock");
		ck_assert_logged(
			"1: perf_event_open(cycles): this machine has no such hardware counter; "
			"using cpu-clock");
	}
	rp_perf_close(perf);
	if (rp_has(RP_HAS_HW_EVENTS))
		return;
	perf = NULL;
	opt.no_fallback = true;
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -ENOENT);
	ck_assert_logged("0: perf_event_open(cycles) on CPU 0: this machine cannot measure that");
	ck_assert_ptr_null(perf);
}
END_TEST

START_TEST(test_rate_above_the_limit)
{
	struct rp_perf_options opt = { .event = event("cpu-clock"),
				       .freq = (uint64_t)rp_perf_max_rate() + 1 };
	struct rp_perf *perf = NULL;
	char limit[64];

	capture_log();
	snprintf(limit, sizeof(limit), "above the kernel's limit of %d", rp_perf_max_rate());
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -EINVAL);
	ck_assert_logged(limit);
	ck_assert_ptr_null(perf);
}
END_TEST

START_TEST(test_wrong_program)
{
	static const struct asm_insn lines[] = { MOV(R0, 0), EXIT() };
	const struct asm_program program = { .name = "wrong",
					     .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
					     ASM_LINES(lines) };
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 99 };
	const int prog = rp_program_load(&program, &(struct asm_bindings){ 0 });
	struct rp_perf *perf;

	capture_log();
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_attach(perf, prog), -EINVAL);
	ck_assert_logged("the kernel takes no BPF program on event cpu-clock");
	rp_perf_close(perf);
	close(prog);
}
END_TEST

/* ---- counting */

START_TEST(test_counts)
{
	const pid_t self = (pid_t)syscall(SYS_gettid);
	struct rp_perf_options opt = {
		.event = event("page-faults"), .tasks = &self, .ntasks = 1, .disabled = true
	};
	struct rp_perf_counts c = { 0 };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rp_perf *perf;
	char *at;

	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	at = mmap(NULL, 100 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(at, 100 * page, MADV_NOHUGEPAGE);
	ck_assert_int_eq(rp_perf_enable(perf), 0);
	for (int i = 0; i < 100; i++)
		at[(size_t)i * page] = 1;
	let_ticks_pass();
	ck_assert_int_eq(rp_perf_disable(perf), 0);
	ck_assert_int_eq(rp_perf_read(perf, &c), 0);
	ck_assert_uint_ge(c.value, 100);
	ck_assert_uint_lt(c.value, 110);
	ck_assert_uint_gt(c.enabled_ns, 0);
	ck_assert_uint_eq(c.enabled_ns, c.running_ns);
	rp_perf_close(perf);
}
END_TEST

START_TEST(test_missing_counter_is_an_answer)
{
	struct rp_perf_options opt = { .event = event("cycles") };
	struct rp_perf *perf = NULL;

	capture_log();
	if (rp_has(RP_HAS_HW_EVENTS))
		return;
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -ENOENT);
	ck_assert_not_logged("0: ");
}
END_TEST

/* ---- who and where */

START_TEST(test_dead_task)
{
	const pid_t child = fork();
	struct rp_perf_options opt = {
		.event = event("task-clock"), .freq = 99, .tasks = &child, .ntasks = 1
	};
	struct rp_perf *perf = NULL;
	char who[64];

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	capture_log();
	snprintf(who, sizeof(who), "there is no thread %d", (int)child);
	ck_assert_int_eq(rp_perf_open(&opt, &perf), -ESRCH);
	ck_assert_logged(who);
	ck_assert_ptr_null(perf);
}
END_TEST

START_TEST(test_absent_cpu)
{
	int list[] = { 0, 4000 };
	struct rp_cpus cpus = { list, 2 };
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 99, .cpus = &cpus };
	struct rp_perf *perf = NULL;

	capture_log();
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_count(perf), 1);
	ck_assert_logged("1: there is no CPU 4000: skipped");
	rp_perf_close(perf);
	perf = NULL;
	cpus = (struct rp_cpus){ list + 1, 1 };
	ck_assert_int_lt(rp_perf_open(&opt, &perf), 0);
	ck_assert_logged("on CPU 4000");
	ck_assert_ptr_null(perf);
}
END_TEST

/* ---- CPUs that come and go, by a sysfs of our own */

static char root[] = "/tmp/test_loader.XXXXXX";

static void write_online(const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", root);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void make_root(void)
{
	static const char *const dirs[] = { "/sys", "/sys/devices", "/sys/devices/system",
					    "/sys/devices/system/cpu" };
	char path[128];

	ck_assert_ptr_nonnull(mkdtemp(root));
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	rp_root_replace(root);
}

static void remove_root(void)
{
	char command[64];

	rp_root_replace(NULL);
	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(test_hotplug)
{
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 997, .disabled = true };
	const int prog = load_for(getpid());
	struct rp_perf_counts before, after;
	struct rp_perf *perf;
	cpu_set_t second;

	CPU_ZERO(&second);
	CPU_SET(1, &second);
	if (sched_setaffinity(0, sizeof(second), &second))
		return; /* a machine with one CPU cannot show it */
	make_root();
	write_online("0\n");
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	ck_assert_int_eq(rp_perf_count(perf), 1);
	ck_assert_int_eq(rp_perf_attach(perf, prog), 0);
	ck_assert_int_eq(rp_perf_enable(perf), 0);
	burn(50000000);
	ck_assert_uint_eq(seen->ours, 0); /* we run on the other CPU */
	ck_assert_int_eq(look(perf), 0);
	/* 4000 is in the list but not in the machine, as a CPU that goes between the two calls. */
	write_online("0-1,4000\n");
	ck_assert_int_eq(look(perf), 1);
	ck_assert_int_eq(rp_perf_count(perf), 2);
	burn(100000000);
	ck_assert_uint_gt(seen->ours, getenv("VM_EMULATED") ? 10 : 50);
	ck_assert_int_eq(rp_perf_read(perf, &before), 0);
	write_online("0\n");
	ck_assert_int_eq(look(perf), 0);
	ck_assert_int_eq(rp_perf_count(perf), 1);
	ck_assert_int_eq(rp_perf_read(perf, &after), 0);
	ck_assert_uint_ge(after.value, before.value); /* what the CPU counted is not forgotten */
	rp_perf_close(perf);
	remove_root();
}
END_TEST

static int count_fork(void *ctx, const struct rp_side_event *e)
{
	int *n = ctx;

	*n += e->type == RP_SIDE_FORK && e->fork.ppid == (uint32_t)getpid();
	return 0;
}

/* Of one child that is made now. */
static int forks_seen(struct rp_sideband *side)
{
	const pid_t child = fork();
	int n = 0;

	if (!child)
		_exit(0);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_ge(rp_sideband_drain(side, true, count_fork, &n), 0);
	return n;
}

/* An event whose CPU went and came between two looks counts no more, as one switched off. */
START_TEST(test_hotplug_unseen)
{
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 99, .disabled = true };
	struct rp_perf_counts before, after;
	struct rp_perf *perf;
	const int first = dup(0);
	int n;

	close(first);
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	n = rp_perf_count(perf);
	ck_assert_int_eq(look(perf), 0);
	ck_assert_int_eq(look(perf), 0); /* none is enabled yet */
	ck_assert_int_eq(rp_perf_enable(perf), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(look(perf), 0);
	let_ticks_pass();
	ck_assert_int_eq(ioctl(first, PERF_EVENT_IOC_DISABLE, 0), 0);
	ck_assert_int_eq(rp_perf_read(perf, &before), 0);
	ck_assert_int_eq(look(perf), 0); /* since the last look it had counted */
	ck_assert_int_eq(look(perf), 1);
	ck_assert_int_eq(rp_perf_count(perf), n);
	burn(20000000);
	ck_assert_int_eq(look(perf), 0);
	ck_assert_int_eq(rp_perf_read(perf, &after), 0);
	ck_assert_uint_ge(after.enabled_ns, before.enabled_ns + (uint64_t)n * 20000000);
	rp_perf_close(perf);
}
END_TEST

START_TEST(test_sideband_hotplug_unseen)
{
	const int first = dup(0);
	struct rp_sideband *side;

	close(first);
	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ 0 }, &side), 0);
	for (int fd = first; fd < first + 64; fd++)
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0); /* what is no event says so */
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(rp_sideband_hotplug(side), 0);
	ck_assert_int_eq(forks_seen(side), 1);
	rp_sideband_close(side);
}
END_TEST

START_TEST(test_sideband_hotplug)
{
	struct rp_sideband *side;

	make_root();
	write_online("0\n");
	ck_assert_int_eq(rp_sideband_open(&(struct rp_side_options){ 0 }, &side), 0);
	for (int i = 0; i < 3; i++) {
		write_online("0-1,4000\n");
		ck_assert_int_eq(rp_sideband_hotplug(side), 0);
		write_online("0\n");
		ck_assert_int_eq(rp_sideband_hotplug(side), 0);
	}
	rp_sideband_close(side);
	remove_root();
}
END_TEST

/* ---- limits */

START_TEST(test_few_files)
{
	struct rp_perf_options opt = { .event = event("cpu-clock"), .freq = 99 };
	struct rlimit limit;
	struct rp_perf *perf;
	const int next = dup(0);

	close(next);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = (rlim_t)next + 1; /* one for the list of CPUs, none for a second event */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	capture_log();
	rp_log_setup(RP_INFO, keep_log, NULL);
	ck_assert_int_eq(rp_perf_open(&opt, &perf), 0);
	if (rp_perf_count(perf) > 1)
		ck_assert_logged("raised the limit RLIMIT_NOFILE");
	rp_perf_close(perf);
}
END_TEST

/* ---- names */

START_TEST(test_event_names)
{
	struct rp_event e = { .type = 77 };
	int n = 0;

	for (; rp_event_names((size_t)n); n++)
		ck_assert_int_eq(rp_event_parse(rp_event_names((size_t)n), &e), 0);
	ck_assert_int_gt(n, 50);
	ck_assert_int_eq(rp_event_parse("LLC-load-misses", &e), 0);
	ck_assert_uint_eq(e.type, PERF_TYPE_HW_CACHE);
	ck_assert_uint_eq(e.config, PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 |
					    PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	ck_assert_int_eq(rp_event_parse("r1A2", &e), 0);
	ck_assert_uint_eq(e.type, PERF_TYPE_RAW);
	ck_assert_uint_eq(e.config, 0x1a2);
	ck_assert(e.hardware);
	ck_assert_int_eq(rp_event_parse("tp:sched:sched_switch", &e), 0);
	ck_assert_uint_eq(e.type, PERF_TYPE_TRACEPOINT);
	ck_assert_int_eq((int)e.config, rp_tp_id("sched", "sched_switch"));
	ck_assert_int_eq(rp_event_parse("sched:sched_switch", &e), 0);
	ck_assert_int_eq((int)e.config, rp_tp_id("sched", "sched_switch"));
	capture_log();
	ck_assert_int_eq(rp_event_parse("cylces", &e), -ENOENT);
	ck_assert_logged("no event is called `cylces' (did you mean cycles?)");
	ck_assert_int_eq(rp_event_parse("", &e), -ENOENT);
	ck_assert_int_eq(rp_event_parse("r", &e), -ENOENT);
	ck_assert_int_eq(rp_event_parse("rxyz", &e), -ENOENT);
	ck_assert_int_eq(rp_event_parse("tp:", &e), -ENOENT);
	ck_assert_int_eq(rp_event_parse("sched:nope", &e), -ENOENT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: perf events");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_samples_every_cpu);
	tcase_add_test(tc, test_period);
	tcase_add_test(tc, test_inherited_by_children);
	tcase_add_test(tc, test_hardware_falls_back);
	tcase_add_test(tc, test_rate_above_the_limit);
	tcase_add_test(tc, test_wrong_program);
	tcase_add_test(tc, test_counts);
	tcase_add_test(tc, test_missing_counter_is_an_answer);
	tcase_add_test(tc, test_dead_task);
	tcase_add_test(tc, test_absent_cpu);
	tcase_add_test(tc, test_hotplug);
	tcase_add_test(tc, test_hotplug_unseen);
	tcase_add_test(tc, test_sideband_hotplug);
	tcase_add_test(tc, test_sideband_hotplug_unseen);
	tcase_add_test(tc, test_few_files);
	tcase_add_test(tc, test_event_names);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
