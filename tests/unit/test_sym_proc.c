/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that are already running and generated code, read from a procfs made here. */
#include "sym_user.h"

/* Process @pid, of our user, that began one second before now, with @ns_pid in its namespace. */
static uint64_t make_proc(int pid, int ns_pid, uid_t uid, const char *maps)
{
	char path[256], text[512];
	struct timespec boot, mono;
	uint64_t ticks;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ticks = (boot.tv_sec - 1) * sysconf(_SC_CLK_TCK);
	run("mkdir -p %s/proc/%d/root/tmp", dir, pid);
	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
		 "%d (a ) b\\nc) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %" PRIu64
		 " 23 24\n",
		 pid, ticks);
	write_file(in_dir(path), text, strlen(text));
	snprintf(path, sizeof(path), "proc/%d/comm", pid);
	write_file(in_dir(path), "a ) b\nc\n", 8);
	snprintf(path, sizeof(path), "proc/%d/status", pid);
	snprintf(text, sizeof(text), "Name:\tx\nNStgid:\t%d\t%d\nUid:\t%u\t%u\t%u\t%u\n", pid,
		 ns_pid, uid, uid, uid, uid);
	write_file(in_dir(path), text, strlen(text));
	snprintf(path, sizeof(path), "proc/%d/maps", pid);
	write_file(in_dir(path), maps, strlen(maps));
	return mono.tv_sec * 1000000000ULL + mono.tv_nsec;
}

START_TEST(test_snapshot)
{
	char maps[1024];
	const char *path = in_dir("a\nb");
	struct stat st;
	uint64_t now;

	write_elf(path, one, NULL);
	ck_assert_int_eq(stat(path, &st), 0);
	snprintf(maps, sizeof(maps),
		 "1000-2000 r-xp 00001000 %02x:%02x %lu    %s/a\\012b\n"
		 "2000-3000 rw-p 00000000 00:00 0 \n"
		 "3000-4000 r-xp 00000000 00:00 0 \n"
		 "nonsense\n"
		 "7ffe1000-7ffe2000 r-xp 00000000 00:00 0                  [vdso]\n",
		 major(st.st_dev), minor(st.st_dev), (unsigned long)st.st_ino, dir);
	now = make_proc(50, 50, getuid(), maps);
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_assert_pstr_eq(look(50, now, 0x1010).name, "one");
	ck_assert_pstr_eq(look(50, now - 500, 0x1010).name, "one"); /* it was there before */
	ck_module(50, now, 0x2010, NULL);
	ck_module(50, now, 0x3010, "[anon]");
	ck_assert_int_eq(look(50, now, 0x7ffe1010).kind, SYM_VDSO);
	ck_comm(50, now + 5, "a ) b\nc");
	ck_comm(50, now - 500, "a ) b\nc");
	ck_assert_int_eq(sym_user_snapshot(user, 51, now), -ESRCH);
}
END_TEST

/* Events before and after the snapshot, told before and after it. */
START_TEST(test_snapshot_merged)
{
	uint64_t now = make_proc(50, 50, getuid(),
				 "1000-2000 r-xp 0 00:01 7 /old\n"
				 "3000-4000 r-xp 0 00:01 7 /loaded\n"
				 "5000-6000 r-xp 0 00:01 7 /kept\n");

	map(now - 100, 50, 0x3000, 0x4000, 0, "/loaded");
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	map(now + 100, 50, 0x1000, 0x2000, 0, "/new");
	sym_user_fork(user, now - 50, 60, 50);
	ck_module(50, now - 200, 0x1000, "/old");
	ck_module(50, now - 200, 0x3000, NULL); /* it came at now - 100 */
	ck_module(50, now - 99, 0x3000, "/loaded");
	ck_module(50, now + 99, 0x1000, "/old");
	ck_module(50, now + 100, 0x1000, "/new");
	ck_module(60, now, 0x5000, "/kept"); /* a child from before the snapshot */
	ck_comm(60, now, "a ) b\nc");
	sym_user_exec(user, now + 200, 50);
	ck_module(50, now + 199, 0x5000, "/kept");
	ck_module(50, now + 200, 0x5000, NULL);
}
END_TEST

/* The pid was somebody else's before: the snapshot says nothing about that one. */
START_TEST(test_snapshot_reused)
{
	uint64_t now = make_proc(50, 50, getuid(), "1000-2000 r-xp 0 00:01 7 /second\n");
	uint64_t before = now - 10000000000;

	sym_user_fork(user, before, 50, 1);
	map(before + 1, 50, 0x1000, 0x2000, 0, "/first");
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_module(50, before + 5, 0x1000, "/first");
	ck_module(50, now, 0x1000, "/second");
	ck_module(50, now - 500000000, 0x1000, "/second");
	ck_module(50, before + 5, 0x3000, NULL);
}
END_TEST

/* ---- generated code */

static void write_jit(int pid, int ns_pid, const char *text)
{
	char name[128];

	snprintf(name, sizeof(name), "proc/%d/root/tmp/perf-%d.map", pid, ns_pid);
	write_file(in_dir(name), text, strlen(text));
}

static void ck_jit(uint32_t pid, uint64_t time, uint64_t addr, const char *name, uint64_t offset)
{
	struct sym_frame f = look(pid, time, addr);

	ck_assert_pstr_eq(f.name, name);
	ck_assert_uint_eq(f.offset, offset);
	ck_assert_int_eq(f.kind, name ? SYM_JIT : SYM_UNKNOWN);
}

START_TEST(test_jit)
{
	uint64_t now = make_proc(50, 7, getuid(), "1000-9000 rwxp 0 00:00 0 \n");
	struct sym_frame f;

	write_jit(50, 7,
		  "2000 100 LazyCompile:~add /home/x y/add.js:3\n"
		  "0x3000 0x10 with prefix\n"
		  "2080 10 replaced\n"
		  "garbage\n\n \n3000 zz x\n3000  10\n5000 0 empty\nffffffffffffffff 10 wraps\n"
		  "4000 20 r\xc3\xa9sum\xc3\xa9 \x1b[31m\n"
		  "11112222333344445555 10 long\n"
		  "6000 10 torn");
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_jit(50, now, 0x2004, "LazyCompile:~add /home/x y/add.js:3", 4);
	ck_jit(50, now, 0x2085, "replaced", 5);
	ck_jit(50, now, 0x2090, "LazyCompile:~add /home/x y/add.js:3", 0x90);
	ck_jit(50, now, 0x3000, "with prefix", 0);
	ck_jit(50, now, 0x3010, NULL, 0);
	ck_jit(50, now, 0x4000, "r\xc3\xa9sum\xc3\xa9 \x1b[31m", 0);
	ck_jit(50, now, 0x5000, NULL, 0);
	ck_jit(50, now, 0x6000, NULL, 0);
	sym_user_lookup(user, 50, now, 0x2100, true, &f);
	ck_assert_pstr_eq(f.name, "LazyCompile:~add /home/x y/add.js:3");
	ck_assert_uint_eq(f.offset, 0x100);
	ck_assert_str_eq(f.module, "/tmp/perf-7.map");
	ck_jit(50, now, 0xa000, NULL, 0); /* not mapped, not named */
	/* It goes on writing. */
	write_jit(50, 7, "2000 100 first\n6000 10 torn no more\n6000 10 and again\n");
	ck_jit(50, now, 0x6004, "and again", 4);
	ck_jit(50, now, 0x2004, "first", 4);
}
END_TEST

START_TEST(test_jit_refused)
{
	uint64_t now = make_proc(50, 50, getuid() + 1, "1000-9000 rwxp 0 00:00 0 \n");

	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	if (getuid()) { /* ours, but the process is somebody else's; root's would be believed */
		write_jit(50, 50, "1000 100 forged\n");
		ck_jit(50, now, 0x1000, NULL, 0);
	} else {
		write_jit(50, 50, "1000 100 forged\n");
		run("chown 12345 %s/proc/50/root/tmp/perf-50.map", dir);
		ck_jit(50, now, 0x1000, NULL, 0);
		/* Root's, which it cannot read itself: it may be mounted there. */
		run("chown 0 %s/proc/50/root/tmp/perf-50.map", dir);
		run("chmod 0640 %s/proc/50/root/tmp/perf-50.map", dir);
		ck_jit(50, now + 2000000000, 0x1000, NULL, 0);
		run("chown %u %s/proc/50/root/tmp/perf-50.map", getuid() + 1, dir);
		ck_jit(50, now + 4000000000, 0x1000, "forged", 0);
	}
	now = make_proc(51, 51, getuid(), "1000-9000 rwxp 0 00:00 0 \n");
	write_file(in_dir("elsewhere"), "1000 100 linked\n", 16);
	run("ln -s %s/elsewhere %s/proc/51/root/tmp/perf-51.map", dir, dir);
	ck_assert_int_eq(sym_user_snapshot(user, 51, now), 0);
	ck_jit(51, now, 0x1000, NULL, 0);
	now = make_proc(52, 52, getuid(), "1000-9000 rwxp 0 00:00 0 \n");
	run("mkfifo %s/proc/52/root/tmp/perf-52.map", dir);
	ck_assert_int_eq(sym_user_snapshot(user, 52, now), 0);
	ck_jit(52, now, 0x1000, NULL, 0);
}
END_TEST

/* A link in the process's own root leads nowhere but into that root. */
START_TEST(test_jit_root)
{
	uint64_t now = make_proc(50, 50, getuid(), "1000-9000 rwxp 0 00:00 0 \n");

	run("cd %s/proc/50/root && rmdir tmp && mkdir -p jail/out && ln -s /jail/out tmp", dir);
	run("echo 1000 100 inside > %s/proc/50/root/jail/out/perf-50.map", dir);
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_jit(50, now, 0x1000, "inside", 0);
}
END_TEST

START_TEST(test_jit_kept)
{
	uint64_t now = make_proc(50, 50, getuid(), "1000-9000 rwxp 0 00:00 0 \n");

	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_assert_int_eq(sym_user_keep(user, 50), 0); /* there is no map yet */
	write_jit(50, 50, "1000 100 early\n");
	ck_assert_int_eq(sym_user_keep(user, 50), 0);
	write_jit(50, 50, "1000 100 early\n2000 100 late\n");
	sym_user_fork(user, now + 1, 60, 50);
	run("rm -r %s/proc/50", dir);
	ck_assert_int_eq(sym_user_keep(user, 50), -ESRCH);
	ck_jit(50, now, 0x1000, "early", 0);
	ck_jit(50, now, 0x2000, "late", 0);
	ck_jit(60, now + 2, 0x2000, "late", 0); /* the child runs its parent's code */
}
END_TEST

START_TEST(test_jit_of_another_life)
{
	uint64_t now = make_proc(50, 50, getuid(), "1000-9000 rwxp 0 00:00 0 \n");
	uint64_t before = now - 10000000000;

	write_jit(50, 50, "1000 100 second\n");
	sym_user_fork(user, before, 50, 1);
	map(before + 1, 50, 0x1000, 0x2000, 0, "//anon");
	ck_assert_int_eq(sym_user_snapshot(user, 50, now), 0);
	ck_jit(50, before + 2, 0x1000, NULL, 0);
	ck_jit(50, now, 0x1000, "second", 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("procfs");
	TCase *t = tcase_create("procfs");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_snapshot);
	tcase_add_test(t, test_snapshot_merged);
	tcase_add_test(t, test_snapshot_reused);
	tcase_add_test(t, test_jit);
	tcase_add_test(t, test_jit_refused);
	tcase_add_test(t, test_jit_root);
	tcase_add_test(t, test_jit_kept);
	tcase_add_test(t, test_jit_of_another_life);
	return run_all(s, t);
}
