/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that keeps the lock of its mappings by what it does to very many pages (base/aside.h):
 * whoever reads its memory waits, each time for as long as that takes, and there may be thousands
 * of reads, and stacks.
 */
#include <dirent.h>

#include "no_fuse.h"
#include "test_loader.h"

#include "base/clock.h"
#include "programs/threads/offcpu.h"
#include "record/asleep.h"
#include "record/recording.h"
#include "record/remote.h"
#include "record/stacks.h"

enum { UID = 4321, SLEEPERS = 50, READS = 100000, VISITS = 10, PAGES = 1 << 18 };

/* ---- the process */

static void *sleep_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* No memory but for its page tables: all are the page of zeroes. */
static char *map_very_much(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		_exit(1);
	madvise(at, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += bytes / PAGES)
		if (((volatile char *)at)[i])
			_exit(1);
	return at;
}

static const char text[] = "what is read";

static void live(int ready, bool keeps_lock)
{
	const size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	char *at = keeps_lock ? map_very_much(bytes) : NULL;
	pthread_t thread;

	for (int i = 0; i < SLEEPERS; i++)
		if (pthread_create(&thread, NULL, sleep_for_ever, NULL))
			_exit(1);
	if (write(ready, text, 1) != 1)
		_exit(1);
	while (keeps_lock)
		if (mprotect(at, bytes, PROT_NONE) || mprotect(at, bytes, PROT_READ))
			_exit(1);
	sleep_for_ever(NULL);
}

/* How many of its threads sleep. */
static int count_sleepers(pid_t pid)
{
	char path[64], line[256];
	struct dirent *entry;
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	ck_assert_ptr_nonnull(d);
	while ((entry = readdir(d))) {
		const char *state;
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid, entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		memset(line, 0, sizeof(line));
		if (fd >= 0 && read(fd, line, sizeof(line) - 1) > 0)
			n += (state = strstr(line, ") ")) && state[2] == 'S';
		close(fd);
	}
	closedir(d);
	return n;
}

static pid_t start(bool keeps_lock)
{
	char byte;
	int ready[2];
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid && !setgid(UID) && !setuid(UID))
		live(ready[1], keeps_lock);
	if (!pid)
		_exit(1);
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	while (count_sleepers(pid) < SLEEPERS)
		usleep(10000);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- reads */

static int read_text(struct record_remote *r)
{
	char out[sizeof(text)];

	return record_remote_read(r, (uintptr_t)text, out, sizeof(out)) ? 0 : r->error;
}

START_TEST(reads_come_to_an_end)
{
	struct record_remote own = { .pid = getpid() }, other, again;
	int err = 0;

	if (!knows_of_no_fuse())
		skip_test("FUSE may be served here");
	other = again = (struct record_remote){ .pid = start(true) };
	for (int i = 0; i < READS && !err; i++)
		err = read_text(&other);
	ck_assert_int_eq(err, EBUSY);
	for (int i = err = 0; i < READS && !err; i++)
		err = read_text(&again);
	ck_assert_int_eq(err, EBUSY);
	ck_assert_int_eq(read_text(&own), 0);
	record_remote_close(&own);
	record_remote_close(&other);
	record_remote_close(&again);
	end(other.pid);
}
END_TEST

/* ---- stacks of threads that sleep */

static struct sched_config config;
static int visitor;

/* A real-time kernel has another lock there. */
static bool tells_locks(void)
{
	const struct rp_btf *btf;
	struct asm_access unused;

	return !rp_btf_kernel(&btf) &&
	       !rp_btf_access(btf, "mm_struct", "mmap_lock.count.counter", &unused, NULL);
}

static int attach(struct recording *rec)
{
	const struct rp_btf *btf;
	struct asm_access access;
	const int err = rp_btf_kernel(&btf);

	if (err)
		return err;
	config = rp_offcpu_usual_config;
	config.common = rec->config;
	config.state_renamed = !rp_btf_access(btf, "task_struct", "__state", &access, NULL);
	return record_asleep_load(rec, &config, &visitor);
}

/* All threads are met anew each time. */
static int visit(struct recording *rec)
{
	int err = record_stacks_gate(rec->stacks, SCHED_MAP_GATE, rp_monotonic_ns());

	for (int i = 0; i < VISITS && !err; i++) {
		err = record_asleep_visit(rec, visitor);
		if (!err)
			err = record_stacks_clear(rec->stacks, SCHED_MAP_THREADS);
	}
	return err;
}

static const struct record_profiler visiting = {
	.command = "test",
	.maps = rp_offcpu_maps,
	.nmaps = SCHED_MAPS,
	.thread_map = SCHED_MAP_THREADS,
	.attach = attach,
	.start = visit,
};

/* One or another may be met in the moment that the lock is free. */
START_TEST(stacks_are_left_out)
{
	uint32_t pids[2];
	const struct record_options options = { .pids = { pids, 2 }, .duration = 1 };
	const struct rp_program *unused;
	struct sched_stats stats;
	struct recording *rec;

	if (record_choose(rp_asleep_programs, 0, &unused) || !tells_locks())
		skip_test("this kernel visits no threads");
	if (!knows_of_no_fuse())
		skip_test("FUSE may be served here");
	pids[0] = (uint32_t)start(true);
	pids[1] = (uint32_t)start(false);
	capture_log();
	ck_assert_msg(!record_new(&visiting, &options, &rec), "%s", log_text);
	ck_assert_msg(!record_run(rec), "%s", log_text);
	ck_assert_int_eq(record_stacks_stats(rec->stacks, &stats), 0);
	record_free(rec);
	end((pid_t)pids[0]);
	end((pid_t)pids[1]);
	if (visitor < 0)
		skip_test("not here");
	ck_assert_uint_ge(stats.asleep, VISITS * SLEEPERS);
	ck_assert_uint_le(stats.asleep, VISITS * (SLEEPERS + 1 + SLEEPERS / 2));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kept locks");
	TCase *tc = tcase_create("locks");

	tcase_add_test(tc, reads_come_to_an_end);
	tcase_add_test(tc, stacks_are_left_out);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
