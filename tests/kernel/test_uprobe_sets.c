/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs on many functions, by every way that the kernel has, in files that have no path; and
 * nothing of them stays behind.
 */
#include "test_uprobes.h"

#include <sys/mount.h>
#include <sys/prctl.h>

/* ---- ways */

int probed(int n);
int probed_too(int n);

__attribute__((noinline)) int probed(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}
__attribute__((noinline)) int probed_too(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 2;
}

static void *call_hundred(void *arg)
{
	for (int i = 0; i < 100; i++)
		probed_too(probed(i));
	return arg;
}

/* Two hundred each, half of them on another thread. */
static void call_on_threads(void)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, call_hundred, NULL), 0);
	call_hundred(NULL);
	pthread_join(thread, NULL);
}

START_TEST(test_ways)
{
	const enum rp_uprobe_way best = rp_uprobe_way(getpid(), false);
	const uint64_t cookies[] = { 3, 5 };
	struct target a, b;

	open_own(&a, "probed", false);
	open_own(&b, "probed_too", false);
	for (int w = RP_UPROBE_PERF_LINK; w <= (int)best; w++)
		for (int at_return = 0; at_return < 2; at_return++) {
			const uint64_t offsets[] = { a.function.offset, b.function.offset };
			const int prog = LOAD(count_lines, (enum rp_uprobe_way)w);
			struct rp_uprobes *probes = attach(&a, (enum rp_uprobe_way)w, prog, offsets,
							   cookies, 2, at_return);

			call_on_threads();
			rp_uprobes_close(probes);
			call_on_threads();
			ck_assert_msg(seen->hits[3] == 200 && seen->hits[5] == 200, "%s: %lu, %lu",
				      rp_uprobe_way_name((enum rp_uprobe_way)w),
				      (unsigned long)seen->hits[3], (unsigned long)seen->hits[5]);
			close(prog);
		}
	close_target(&a);
	close_target(&b);
}
END_TEST

/* Before cookies: a program for each place. */
START_TEST(test_program_each)
{
	const uint64_t cookies[] = { 3, 5 };
	int progs[] = { LOAD(plain_lines, RP_UPROBE_PERF), LOAD(plain_lines, RP_UPROBE_PERF) };
	struct rp_uprobes *probes = NULL;
	struct target a, b;

	open_own(&a, "probed", false);
	open_own(&b, "probed_too", false);
	const uint64_t offsets[] = { a.function.offset, b.function.offset };
	struct rp_uprobe_set set = { .way = RP_UPROBE_PERF,
				     .fd = a.fd,
				     .offsets = offsets,
				     .cookies = cookies,
				     .n = 2,
				     .pid = -1,
				     .prog_fds = progs,
				     .nprogs = 2 };

	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), 0);
	call_hundred(NULL);
	rp_uprobes_close(probes);
	ck_assert_uint_eq(seen->hits[0], 200);
	capture_log();
	set.nprogs = 1;
	probes = NULL;
	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), -EOPNOTSUPP);
	ck_assert_logged("have no cookies");
	set.way = RP_UPROBE_NONE;
	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), -EOPNOTSUPP);
	set.n = 0;
	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), -EINVAL);
	ck_assert_ptr_null(probes);
	close(progs[0]);
	close(progs[1]);
	close_target(&a);
	close_target(&b);
}
END_TEST

/* All or none: where one of the places cannot be probed, none is. */
START_TEST(test_all_or_none)
{
	const enum rp_uprobe_way best = rp_uprobe_way(getpid(), false);
	struct rp_uprobes *probes = NULL;
	struct target a;

	open_own(&a, "probed", false);
	for (int w = RP_UPROBE_PERF; w <= (int)best; w++) {
		const uint64_t offsets[] = { a.function.offset, 1ULL << 40 };
		const int prog = LOAD(plain_lines, (enum rp_uprobe_way)w);
		const struct rp_uprobe_set set = { .way = (enum rp_uprobe_way)w,
						   .fd = a.fd,
						   .offsets = offsets,
						   .n = 2,
						   .pid = getpid(),
						   .prog_fds = &prog,
						   .nprogs = 1 };

		ck_assert_int_lt(rp_attach_uprobes(&set, &probes), 0);
		ck_assert_ptr_null(probes);
		call_hundred(NULL);
		ck_assert_uint_eq(seen->hits[0], 0);
		close(prog);
	}
	close_target(&a);
}
END_TEST

/* ---- nothing stays behind */

static void read_memory(pid_t pid, const void *at, uint8_t bytes[8])
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, bytes, 8, (off_t)(uintptr_t)at), 8);
	close(fd);
}

static void write_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

/* A child of ours that says a byte when it is ready, and dies with us. */
static pid_t start(void (*run)(int ready), int *ready)
{
	int ends[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		run(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	*ready = ends[0];
	return pid;
}

static void call_for_ever(int ready)
{
	write_byte(ready);
	for (;;) {
		probed(1);
		usleep(1000);
	}
}

static pid_t victim;

static void attach_and_wait(int ready)
{
	const enum rp_uprobe_way way = rp_uprobe_way(victim, false);
	const int prog = LOAD(plain_lines, way);
	struct rp_uprobes *probes;
	struct target t;

	open_own(&t, "probed", false);
	const struct rp_uprobe_set set = { .way = way,
					   .fd = t.fd,
					   .offsets = &t.function.offset,
					   .n = 1,
					   .pid = victim,
					   .prog_fds = &prog,
					   .nprogs = 1 };
	if (!rp_attach_uprobes(&set, &probes))
		write_byte(ready);
	pause();
}

START_TEST(test_killed)
{
	uint8_t before[8], now[8];
	int victim_ready, ready;
	pid_t attacher;

	victim = start(call_for_ever, &victim_ready);
	read_memory(victim, (const void *)probed, before);
	attacher = start(attach_and_wait, &ready);
	read_memory(victim, (const void *)probed, now);
	ck_assert_int_ne(memcmp(before, now, sizeof(now)), 0);
	kill(attacher, SIGKILL);
	waitpid(attacher, NULL, 0);
	for (int i = 0; i < 500 && memcmp(before, now, sizeof(now)) != 0; i++) {
		usleep(10000);
		read_memory(victim, (const void *)probed, now);
	}
	ck_assert_mem_eq(now, before, sizeof(now));
	ck_assert_int_eq(kill(victim, SIGKILL), 0);
	waitpid(victim, NULL, 0);
	close(victim_ready);
	close(ready);
}
END_TEST

/* ---- a file that has no path here: in a mount namespace of its own, and deleted */

static void run_elsewhere(int ready)
{
	char number[16], *const argv[] = { (char *)"elsewhere", (char *)"--elsewhere", number,
					   NULL };

	snprintf(number, sizeof(number), "%d", ready);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) || system("cp /proc/$PPID/exe /mnt/elsewhere"))
		_exit(1);
	execv("/mnt/elsewhere", argv);
}

/* In there: deletes itself, says so, calls when it is told to, and says that it did. */
static int elsewhere(int ready)
{
	if (unlink("/mnt/elsewhere"))
		return 1;
	write_byte(ready);
	raise(SIGSTOP);
	call_on_threads();
	return 0;
}

static int keep_file(void *ctx, const struct sym_mapped_functions *m)
{
	struct target *t = ctx;

	if (!strstr(m->path, "elsewhere"))
		return 0;
	ck_assert_ptr_nonnull(strstr(m->path, "(deleted)"));
	open_target(t, fcntl(m->fd, F_DUPFD_CLOEXEC, 0), "probed", 0, false);
	ck_assert_uint_eq(m->functions->items[0].offset, t->function.offset);
	return 1;
}

START_TEST(test_elsewhere)
{
	static const char *const names[] = { "no_such_function", "probed" };
	const enum rp_uprobe_way way = rp_uprobe_way(1, false);
	struct target t = { .fd = -1 };
	struct rp_uprobes *probes;
	int ready, status, prog;
	size_t unread = 99;
	pid_t pid;

	pid = start(run_elsewhere, &ready);
	waitpid(pid, &status, WUNTRACED);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(
		sym_functions_mapped(NULL, (uint32_t)pid, names, 2, NULL, keep_file, &t, &unread),
		1);
	ck_assert_uint_eq(unread, 0);
	prog = LOAD(plain_lines, way);
	const struct rp_uprobe_set set = { .way = way,
					   .fd = t.fd,
					   .offsets = &t.function.offset,
					   .n = 1,
					   .pid = pid,
					   .prog_fds = &prog,
					   .nprogs = 1 };

	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), 0);
	call_hundred(NULL); /* ours is another file, and another process */
	kill(pid, SIGCONT);
	waitpid(pid, &status, 0);
	ck_assert_int_eq(status, 0);
	rp_uprobes_close(probes);
	ck_assert_uint_eq(seen->hits[0], 200);
	close(prog);
	close(ready);
	close_target(&t);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *s = suite_create("sets of probes");
	TCase *tc = tcase_create("live");

	if (argc == 3 && !strcmp(argv[1], "--elsewhere"))
		return elsewhere(atoi(argv[2]));
	if (rp_uprobe_way(-1, false) == RP_UPROBE_NONE) {
		printf("skip: no uprobes here\n");
		return 0;
	}
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_ways);
	tcase_add_test(tc, test_program_each);
	tcase_add_test(tc, test_all_or_none);
	tcase_add_test(tc, test_killed);
	tcase_add_test(tc, test_elsewhere);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
