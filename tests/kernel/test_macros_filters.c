/* SPDX-License-Identifier: BSD-2-Clause */
/* The filters of macros.h, in the kernel: who passes, and who is dropped. */
#include "macros_world.h"

#include <fcntl.h>
#include <mntent.h>
#include <pthread.h>
#include <sched.h>

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct config {
	uint32_t pid, tid, level;
	uint64_t cgroup;
	struct asm_comm_filter comm;
};

struct frame {
	char comm[16];
	uint32_t id, unused;
};
enum { COMM = FRAME(struct frame, comm), ID = FRAME(struct frame, id) };

/* Does this thread pass? The filter jumps to `drop` if not; without a filter the way there is to
 * fall, since the verifier refuses what cannot be reached. */
static bool passes(const struct asm_insn *filter, size_t n, const struct config *config)
{
	static const struct asm_insn before[] = { MOV(R8, 0) };
	static const struct asm_insn after[] = { MOV(R8, 1), LABEL(drop) };
	struct asm_insn *lines = calloc(n + 3, sizeof(*lines));
	struct isa_cell cell;

	ck_assert_ptr_nonnull(lines);
	lines[0] = before[0];
	memcpy(lines + 1, filter, n * sizeof(*lines));
	memcpy(lines + 1 + n, after, sizeof(after));
	isa_bindings.config = config;
	isa_bindings.config_size = sizeof(*config);
	cell = world_once(lines, n + 3, 0, 0, 0);
	/* Whatever it did, R6 and R7 are the program's. */
	ck_assert_uint_eq(cell.out[6], cell.in[6]);
	ck_assert_uint_eq(cell.out[7], cell.in[7]);
	ck_assert_uint_le(cell.out[8], 1);
	free(lines);
	return cell.out[8];
}
#define PASSES(lines, ...) passes(lines, COUNT_OF(lines), &(const struct config){ __VA_ARGS__ })

/* ---- by process and thread */

static const struct asm_insn by_pid[] = { MOV(R0, 0), FILTER_PID(struct config, pid, drop) };
static const struct asm_insn by_tid[] = { MOV(R0, 0), FILTER_TID(struct config, tid, drop) };

static uint32_t tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void *as_a_thread(void *arg)
{
	uint32_t main_tid = *(uint32_t *)arg;

	ck_assert_uint_ne(tid(), main_tid);
	ck_assert(PASSES(by_pid, .pid = (uint32_t)getpid()));
	ck_assert(!PASSES(by_pid, .pid = tid()));
	ck_assert(PASSES(by_tid, .tid = tid()));
	ck_assert(!PASSES(by_tid, .tid = main_tid));
	return arg;
}

START_TEST(processes_and_threads)
{
	uint32_t me = (uint32_t)getpid();
	pthread_t thread;
	void *done = NULL;

	ck_assert(PASSES(by_pid, .pid = me));
	ck_assert(!PASSES(by_pid, .pid = me + 1));
	ck_assert(!PASSES(by_pid, .pid = 1));
	ck_assert(PASSES(by_tid, .tid = tid()));
	ck_assert(!PASSES(by_tid, .tid = tid() + 1));
	/* 0 is everyone, and no instruction is left of it. */
	ck_assert(PASSES(by_pid, .tid = 1));
	ck_assert(PASSES(by_tid, .pid = 1));
	ck_assert_int_eq(pthread_create(&thread, NULL, as_a_thread, &me), 0);
	ck_assert_int_eq(pthread_join(thread, &done), 0);
	ck_assert_ptr_eq(done, &me);
}
END_TEST

/* ---- by what is in a map */

START_TEST(sets)
{
	static const struct asm_insn seven[] = { ST(W, R10, ID, 7), FILTER_SET(set, ID, drop) };
	static const struct asm_insn both[] = {
		ST(W, R10, ID, 7),
		FILTER_SET(set, ID, drop),
		ST(W, R10, ID, 8),
		FILTER_SET(set, ID, drop),
	};
	uint8_t zero = 0; /* being there is what counts */
	uint32_t id = 8;

	ck_assert(!PASSES(seven));
	ck_assert_int_eq(rp_map_update(world_fds[SET], &id, &zero, BPF_ANY), 0);
	ck_assert(!PASSES(seven));
	ck_assert(!PASSES(both));
	id = 7;
	ck_assert_int_eq(rp_map_update(world_fds[SET], &id, &zero, BPF_ANY), 0);
	ck_assert(PASSES(seven));
	ck_assert(PASSES(both));
	id = 8;
	ck_assert_int_eq(rp_map_delete(world_fds[SET], &id), 0);
	ck_assert(!PASSES(both));
}
END_TEST

START_TEST(cpus)
{
	static const struct asm_insn lines[] = { FILTER_CPU(set, ID, drop) };
	struct rp_cpus online;
	cpu_set_t mine, before;
	uint8_t one = 1;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	ck_assert_int_eq(rp_cpus_online(&online), 0);
	ck_assert(!PASSES(lines)); /* an empty set */
	for (int i = 0; i < online.n; i++) {
		uint32_t cpu = (uint32_t)online.cpu[i];

		if (!CPU_ISSET(online.cpu[i], &before))
			continue;
		CPU_ZERO(&mine);
		CPU_SET(online.cpu[i], &mine);
		ck_assert_int_eq(sched_setaffinity(0, sizeof(mine), &mine), 0);
		ck_assert(!PASSES(lines));
		ck_assert_int_eq(rp_map_update(world_fds[SET], &cpu, &one, BPF_ANY), 0);
		ck_assert(PASSES(lines));
		ck_assert_int_eq(rp_map_delete(world_fds[SET], &cpu), 0);
	}
	ck_assert_int_eq(sched_setaffinity(0, sizeof(before), &before), 0);
	rp_cpus_free(&online);
}
END_TEST

/* ---- by command name */

static const struct asm_insn by_comm[] = {
	FRAME_PTR(R1, COMM),
	MOV(R2, 16),
	CALL(get_current_comm),
	FILTER_COMM(struct config, comm, R10, COMM, drop),
};

START_TEST(command_names)
{
	static const struct {
		const char *pattern, *name;
		bool passes;
	} cases[] = {
		{ "worker", "worker", true },
		{ "worker", "worker1", false },
		{ "worker", "worke", false },
		{ "worker", "Worker", false },
		{ "worker*", "worker", true },
		{ "worker*", "worker/3", true },
		{ "worker*", "worke", false },
		{ "w*", "worker", true },
		{ "w*", "x", false },
		/* the second half of the 16 bytes */
		{ "exactly8", "exactly8", true },
		{ "exactly8", "exactly8+", false },
		{ "exactly8*", "exactly8+", true },
		{ "kworker/u8:2", "kworker/u8:2", true },
		{ "kworker/u8:2", "kworker/u8:3", false },
		{ "kworker/u8*", "kworker/u16:1", false },
		{ "fifteen letters", "fifteen letters", true },
		{ "fifteen letters", "fifteen letterz", false },
		{ "fifteen letter*", "fifteen letterz", true },
		{ "fifteen letters*", "fifteen letters", true },
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "\xc3\xa4 b", "\xc3\xa4 b", true },
	};
	struct config config = { .pid = 0 };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		ck_assert_int_eq(prctl(PR_SET_NAME, cases[i].name), 0);
		ck_assert_int_eq(asm_comm_filter(cases[i].pattern, &config.comm), 0);
		ck_assert_msg(passes(by_comm, COUNT_OF(by_comm), &config) == cases[i].passes,
			      "pattern '%s', name '%s'", cases[i].pattern, cases[i].name);
	}
	/* No pattern: everyone. */
	ck_assert(PASSES(by_comm));
}
END_TEST

/* ---- by control group */

/* Where version 2 is mounted, in path[256]. */
static bool find_cgroup2(char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	bool found = false;

	while (mounts && !found && (entry = getmntent(mounts)) != NULL)
		if (!strcmp(entry->mnt_type, "cgroup2")) {
			snprintf(path, 256, "%s", entry->mnt_dir);
			found = true;
		}
	if (mounts)
		endmntent(mounts);
	return found;
}

static int join(const char *group)
{
	char path[512], pid[16];
	int fd, n;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	n = snprintf(pid, sizeof(pid), "%d", getpid());
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, pid, (size_t)n) == n ? 0 : -errno;
	close(fd);
	return n;
}

static uint64_t id_of(const char *group)
{
	struct stat st;

	ck_assert_int_eq(stat(group, &st), 0);
	return st.st_ino;
}

/* The group we were in: "0::/path" of /proc/self/cgroup, below where version 2 is mounted. */
static bool find_own(const char *mounted, char *path, size_t size)
{
	char line[512];
	FILE *file = fopen("/proc/self/cgroup", "r");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::", 3);
		if (found)
			snprintf(path, size, "%s%s", mounted, line + 3);
	}
	if (file)
		fclose(file);
	return found;
}

static char root[256], own[800], outer[300], inner[320], other[320];

/* Also after a failure. */
static void leave_groups(void)
{
	if (*own) {
		join(own);
		rmdir(inner);
		rmdir(outer);
		rmdir(other);
	}
	world_teardown();
}

START_TEST(control_groups)
{
	static const struct asm_insn lines[] = { FILTER_CGROUP(struct config, cgroup, level,
							       drop) };
	uint32_t top = 0; /* the mount's level: not 0 in a control group namespace */
	int err;

	world_saw(lines, COUNT_OF(lines));
	if (!find_cgroup2(root) || !find_own(root, own, sizeof(own))) {
		printf("skip: FILTER_CGROUP: no version 2 control groups are mounted\n");
		return;
	}
	snprintf(outer, sizeof(outer), "%s/rawprof-test-%d", root, getpid());
	snprintf(inner, sizeof(inner), "%s/inner", outer);
	snprintf(other, sizeof(other), "%s-other", outer);
	ck_assert_int_eq(mkdir(outer, 0755), 0);
	ck_assert_int_eq(mkdir(inner, 0755), 0);
	ck_assert_int_eq(mkdir(other, 0755), 0);
	err = join(inner);
	ck_assert_msg(!err, "%s: %s", inner, strerror(-err));

	while (!PASSES(lines, .cgroup = id_of(root), .level = top))
		ck_assert_uint_lt(top++, 16);
	ck_assert(PASSES(lines, .cgroup = id_of(inner), .level = top + 2));
	ck_assert(PASSES(lines, .cgroup = id_of(outer), .level = top + 1)); /* what is below, too */
	ck_assert(!PASSES(lines, .cgroup = id_of(other), .level = top + 1));
	ck_assert(!PASSES(lines, .cgroup = id_of(inner), .level = top + 1));
	ck_assert(!PASSES(lines, .cgroup = id_of(inner), .level = top + 3)); /* deeper than it is */
	ck_assert(PASSES(lines, .cgroup = 0, .level = 7));		     /* no filter */

	ck_assert_int_eq(join(own), 0);
	ck_assert(!PASSES(lines, .cgroup = id_of(inner), .level = top + 2));
}
END_TEST

START_TEST(nothing_is_left_out)
{
	coverage_check("filters");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("macros: filters");
	TCase *tc = tcase_create("filters");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, world_setup, leave_groups);
	if (!isa_lacks("test runs of raw tracepoints", 5, 10)) {
		tcase_add_test(tc, processes_and_threads);
		tcase_add_test(tc, sets);
		tcase_add_test(tc, cpus);
		tcase_add_test(tc, command_names);
		tcase_add_test(tc, control_groups);
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
