/* SPDX-License-Identifier: BSD-2-Clause */
/* A history that forgets: what may still be asked about is answered as if it did not. */
#include "sym_user.h"

/* Bit N of *ctx: pid N will be asked about. */
static enum sym_wanted is_wanted(void *ctx, uint32_t pid)
{
	return pid < 64 && *(uint64_t *)ctx >> pid & 1 ? SYM_WANTED : SYM_NOT_WANTED;
}

static void prune(uint64_t before, uint64_t wanted)
{
	ck_assert_int_eq(sym_user_prune(user, before, is_wanted, &wanted), 0);
}

static void run_program(uint64_t time, uint32_t pid, const char *path)
{
	sym_user_comm(user, time, pid, pid, path + 1, true);
	map(time + 1, pid, 0x1000, 0x2000, 0, path);
}

START_TEST(test_ended)
{
	map(1, 1, 0x1000, 0x2000, 0, "/shell");
	for (uint32_t pid = 2; pid < 6; pid++) {
		sym_user_fork(user, 10, pid, 1);
		run_program(20, pid, "/tool");
		sym_user_comm(user, 25, pid, 100 + pid, "thread", false);
	}
	sym_user_exit(user, 30, 2);
	sym_user_exit(user, 30, 3); /* asked about */
	sym_user_exit(user, 50, 4); /* too late */
	prune(40, 1 << 3);
	ck_module(2, 25, 0x1000, NULL);
	ck_comm(2, 25, NULL);
	ck_comm(102, 26, NULL);
	ck_module(3, 25, 0x1000, "/tool");
	ck_module(3, 15, 0x1000, "/shell");
	ck_comm(103, 26, "thread");
	ck_module(4, 45, 0x1000, "/tool");
	ck_comm(104, 45, "thread");
	ck_module(5, 60, 0x1000, "/tool");
	ck_comm(5, 60, "tool");
	ck_module(1, 60, 0x1000, "/shell");
	/* What comes later is put in order with what was kept. */
	map(55, 5, 0x1800, 0x2000, 0, "/late");
	map(45, 5, 0x1800, 0x2000, 0, "/earlier");
	ck_module(5, 50, 0x1900, "/earlier");
	ck_module(5, 60, 0x1900, "/late");
}
END_TEST

START_TEST(test_mappings_of_the_dead)
{
	size_t events;

	map(1, 1, 0x1000, 0x2000, 0, "/daemon");
	sym_user_comm(user, 1, 1, 1, "daemon", false);
	sym_user_fork(user, 10, 2, 1);
	sym_user_exit(user, 11, 1);
	sym_user_fork(user, 12, 3, 2);
	sym_user_exit(user, 13, 2);
	prune(20, 0);
	ck_module(3, 30, 0x1000, "/daemon"); /* its grandparent's */
	ck_comm(3, 30, "daemon");
	run_program(40, 3, "/worker");
	ck_module(3, 35, 0x1000, "/daemon");
	events = sym_user_events(user);
	prune(50, 0);
	ck_assert_uint_eq(sym_user_events(user), 3); /* the exec, its name and its mapping */
	ck_assert_uint_gt(events, 3);
	ck_module(3, 60, 0x1000, "/worker");
	ck_comm(3, 60, "worker");
	ck_module(1, 5, 0x1000, NULL);
}
END_TEST

START_TEST(test_pid_reused)
{
	sym_user_fork(user, 10, 5, 1);
	run_program(11, 5, "/first");
	sym_user_exit(user, 20, 5);
	sym_user_fork(user, 30, 5, 1);
	run_program(31, 5, "/second");
	prune(40, 0);
	ck_module(5, 15, 0x1000, NULL);
	ck_module(5, 45, 0x1000, "/second");
	sym_user_exit(user, 50, 5);
	prune(60, 1ULL << 5); /* all who had that pid */
	ck_module(5, 45, 0x1000, "/second");
	prune(60, 0);
	ck_assert_uint_eq(sym_user_events(user), 0);
}
END_TEST

/* The leader's end is not the end of the process. */
START_TEST(test_threads)
{
	map(10, 1, 0x1000, 0x2000, 0, "/a");
	sym_user_exit(user, 20, 1);
	map(25, 1, 0x5000, 0x6000, 0, "/b");
	prune(30, 0);
	ck_module(1, 35, 0x1000, "/a");
	ck_module(1, 35, 0x5000, "/b");
}
END_TEST

START_TEST(test_snapshot)
{
	uint32_t self = getpid();
	struct sym_frame f;
	char path[512] = "";

	ck_assert_int_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	sym_user_close(user);
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
	for (uint32_t pid = 2; pid < 40; pid++) { /* so that all numbers change */
		map(1, pid, 0x1000, 0x2000, 0, "/a");
		sym_user_exit(user, 2, pid);
	}
	ck_assert_int_eq(sym_user_snapshot(user, self, 10), 0);
	prune(20, 0);
	sym_user_lookup(user, self, 30, (uintptr_t)run_program, false, &f);
	ck_assert_str_eq(f.module, path);
	ck_assert_str_eq(f.name, "run_program");
	ck_assert_pstr_eq(sym_user_comm_at(user, self, 30), program_invocation_short_name);
}
END_TEST

/* ---- against a history that forgets nothing */

enum { PIDS = 12, STEPS = 300, PRUNE_AT = 200 };

/* What happens to a random pid at @time; alive[] says who is there. */
static void happen(struct sym_user *u, uint64_t time, bool alive[PIDS], unsigned int *seed)
{
	static const char *const paths[] = { "/a", "/b", "/c", "/d" };
	uint32_t pid = 1 + rand_r(seed) % (PIDS - 1), other = 1 + rand_r(seed) % (PIDS - 1);
	uint64_t start = 0x1000 * (1 + rand_r(seed) % 3);
	const char *path = paths[rand_r(seed) % 4];
	struct sym_mmap m = {
		.time = time, .pid = pid, .start = start, .len = 0x1000, .filename = path
	};

	if (!alive[pid]) {
		alive[pid] = alive[other] && pid != other;
		if (alive[pid])
			ck_assert_int_eq(sym_user_fork(u, time, pid, other), 0);
		return;
	}
	switch (rand_r(seed) % 5) {
	case 0:
		sym_user_comm(u, time, pid, pid, path, true);
		break;
	case 1:
		if (pid > 1)
			sym_user_exit(u, time, pid);
		alive[pid] = pid == 1;
		break;
	default:
		sym_user_mmap(u, &m);
	}
}

START_TEST(test_random)
{
	bool alive[PIDS] = { [1] = true }, also[PIDS] = { [1] = true }, asked[PIDS];
	uint64_t wanted = 0;
	unsigned int seed = _i, same = _i;
	struct sym_user *all;
	int compared = 0;

	ck_assert_int_eq(sym_user_open(&all, in_dir("proc")), 0);
	for (uint64_t time = 1; time < STEPS; time++) {
		happen(user, 10 * time, alive, &seed);
		happen(all, 10 * time, also, &same);
		if (time % 50 == 0) /* asked in between, or not */
			look(2, 10 * time, 0x1000);
		if (time != PRUNE_AT)
			continue;
		wanted = rand_r(&seed) % (1 << PIDS) & rand_r(&seed);
		rand_r(&same);
		rand_r(&same);
		prune(10 * time + 5, wanted);
		ck_assert_uint_lt(sym_user_events(user), sym_user_events(all));
		memcpy(asked, alive, sizeof(asked));
	}
	for (uint32_t pid = 1; pid < PIDS; pid++) {
		uint64_t from = wanted >> pid & 1 ? 1 : 10 * PRUNE_AT + 5;

		for (uint64_t time = from; time < 10 * STEPS; time += 7) {
			for (uint64_t addr = 0x1000; addr < 0x4000; addr += 0x1000) {
				struct sym_frame f;

				sym_user_lookup(all, pid, time, addr, false, &f);
				if (wanted >> pid & 1 || asked[pid]) {
					ck_module(pid, time, addr, f.module);
					compared++;
				}
			}
		}
	}
	ck_assert_int_gt(compared, 100);
	sym_user_close(all);
}
END_TEST

/* Days of a build machine: what is remembered does not grow. */
START_TEST(test_long)
{
	size_t most = 0;

	map(1, 1, 0x1000, 0x2000, 0, "/make");
	for (uint64_t i = 1; i < 100000; i++) {
		uint32_t pid = 2 + i % 30000;

		sym_user_fork(user, 100 * i, pid, 1);
		run_program(100 * i + 1, pid, "/cc");
		map(100 * i + 3, pid, 0x3000, 0x4000, 0, "/libc");
		sym_user_exit(user, 100 * i + 50, pid);
		if (sym_user_events(user) > most)
			most = sym_user_events(user);
		if (i % 1000 == 0)
			prune(100 * i, 0);
	}
	ck_assert_uint_lt(most, 8000);
	ck_module(2 + 99999 % 30000, 99999 * 100 + 40, 0x3000, "/libc");
	ck_module(1, 100, 0x1000, "/make");
}
END_TEST

/* ---- what was used */

static enum sym_wanted is_used(void *ctx, uint32_t pid)
{
	(void)ctx;
	(void)pid;
	return SYM_WANTED_USED;
}

static void forget(uint64_t before)
{
	ck_assert_int_eq(sym_user_prune(user, before, is_used, NULL), 0);
}

START_TEST(test_used)
{
	map(1, 1, 0x1000, 0x2000, 0, "/shell");
	for (uint32_t pid = 2; pid < 5; pid++) {
		sym_user_fork(user, 10, pid, 1);
		run_program(20, pid, "/first");
		map(22, pid, 0x4000, 0x5000, 0, "/libfirst");
		run_program(30, pid, "/second");
		sym_user_exit(user, 40, pid);
	}
	ck_assert_int_eq(sym_user_use(user, 2, 25, 0x1000), 0);
	ck_assert_int_eq(sym_user_use(user, 3, 15, 0x1000), 0);
	ck_assert_int_eq(sym_user_use(user, 3, 35, 0x9000), -ENOENT);
	forget(50);
	ck_module(2, 25, 0x1000, "/first");
	ck_module(2, 25, 0x4000, NULL);
	ck_module(3, 15, 0x1000, "/shell");
	ck_module(3, 35, 0x9000, NULL);
	ck_module(3, 35, 0x1000, NULL);
	ck_module(4, 25, 0x1000, NULL);
	forget(60); /* what was used is not forgotten later on either */
	ck_module(2, 25, 0x1000, "/first");
	ck_module(3, 15, 0x1000, "/shell");
	/* Fork, exec, exit, two names each; the mapping of the one, and the shell. */
	ck_assert_uint_eq(sym_user_events(user), 2 * 5 + 1 + 1);
}
END_TEST

/* A build machine of which each process was met: what each is remembered by is what was asked. */
START_TEST(test_all_used)
{
	for (uint32_t i = 1; i <= 10000; i++) {
		uint32_t pid = 2 + i % 100;

		sym_user_fork(user, 100 * i, pid, 1);
		run_program(100 * i + 1, pid, "/cc");
		for (uint64_t j = 0; j < 20; j++)
			map(100 * i + 10 + j, pid, 0x4000 + j * 0x1000, 0x5000 + j * 0x1000, 0,
			    "/lib");
		sym_user_exit(user, 100 * i + 50, pid);
		if (i % 100 == 7)
			ck_assert_int_eq(sym_user_use(user, pid, 100 * i + 40, 0x6000), 0);
		if (i % 1000 == 0)
			forget(100 * i);
	}
	forget(100 * 10001);
	ck_assert_uint_eq(sym_user_events(user), 100 * 5);
	for (uint32_t i = 7; i < 10000; i += 100)
		ck_module(2 + i % 100, 100 * i + 40, 0x6000, "/lib");
}
END_TEST

/* One that maps without end: what it has mapped now is known from /proc. */
START_TEST(test_flood)
{
	enum { FLOOD = 200000, OFTEN = 10000, USED = 12345 };
	const uint64_t base = 0x100000000000;
	uint32_t self = getpid();
	struct sym_frame f;

	sym_user_close(user);
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
	for (uint64_t i = 1; i < FLOOD; i++) {
		map(i, self, base + i * 0x1000, base + (i + 1) * 0x1000, 0, "/flood");
		if (i == USED)
			ck_assert_int_eq(sym_user_use(user, self, i, base + i * 0x1000), 0);
		if (i % OFTEN)
			continue;
		ck_assert_int_eq(sym_user_snapshot(user, self, i), 0);
		forget(i);
		ck_assert_uint_lt(sym_user_events(user), OFTEN);
	}
	ck_module(self, FLOOD, base + USED * 0x1000, "/flood");
	ck_module(self, FLOOD, base + (FLOOD - 1) * 0x1000, "/flood");
	ck_module(self, FLOOD, base + 0x2000, NULL);
	sym_user_lookup(user, self, FLOOD, (uintptr_t)run_program, false, &f);
	ck_assert_str_eq(f.name, "run_program");
}
END_TEST

/* One that maps without end and cannot be looked at, or no longer. */
static void flood_unseen(uint32_t pid)
{
	enum { FLOOD = 100000, OFTEN = 10000, USED = 12345 };

	for (uint64_t i = 1; i < FLOOD; i++) {
		map(i, pid, i * 0x1000, (i + 1) * 0x1000, 0, "/flood");
		if (i == USED)
			ck_assert_int_eq(sym_user_use(user, pid, i, i * 0x1000), 0);
		if (i % OFTEN)
			continue;
		forget(i);
		ck_assert_uint_lt(sym_user_events(user), OFTEN);
	}
	ck_module(pid, FLOOD, USED * 0x1000, "/flood");
	ck_module(pid, FLOOD, (FLOOD - 1) * 0x1000, "/flood");
	ck_module(pid, FLOOD, 0x2000, NULL);
}

START_TEST(test_flood_unseen)
{
	flood_unseen(1);
}
END_TEST

START_TEST(test_flood_seen_once)
{
	struct sym_frame f;

	sym_user_close(user);
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
	ck_assert_int_eq(sym_user_snapshot(user, getpid(), 0), 0);
	flood_unseen(getpid());
	sym_user_lookup(user, getpid(), 200000, (uintptr_t)run_program, false, &f);
	ck_assert_str_eq(f.name, "run_program");
}
END_TEST

/* Each process forks the next one and ends: what one inherited is from few of them. */
START_TEST(test_chain)
{
	enum { CHAIN = 20000, NEAR = 50, OFTEN = 1000 };

	for (uint32_t i = 1; i < CHAIN; i++) {
		if (i == CHAIN - NEAR)
			map(10 * i - 5, i, 0x1000, 0x2000, 0, "/near");
		sym_user_fork(user, 10 * i, i + 1, i);
		sym_user_exit(user, 10 * i + 1, i);
		if (i % OFTEN == 0 || i == CHAIN - 1) {
			forget(10 * i + 5);
			ck_assert_uint_lt(sym_user_events(user), 200);
		}
	}
	ck_module(CHAIN, 10 * CHAIN, 0x1000, "/near");
}
END_TEST

/* What is told late, after questions, changes what it would have changed if told in time. */
START_TEST(test_late)
{
	bool alive[PIDS] = { [1] = true }, also[PIDS] = { [1] = true };
	unsigned int seed = _i, same = _i, late = _i;
	struct sym_user *in_order;

	ck_assert_int_eq(sym_user_open(&in_order, in_dir("proc")), 0);
	for (uint64_t time = 1; time < STEPS; time++)
		happen(in_order, 10 * time, also, &same);
	for (uint64_t time = 1; time < STEPS; time += 2) {
		if (rand_r(&late) % 4 == 0) {
			struct sym_mmap m = { .time = 10 * time + 5,
					      .pid = 1,
					      .start = 0x1000 * (1 + time % 3),
					      .len = 0x1000,
					      .filename = "/late" };

			ck_assert_int_eq(sym_user_mmap(in_order, &m), 0);
			happen(user, 10 * time, alive, &seed);
			happen(user, 10 * (time + 1), alive, &seed);
			look(2, 10 * time, 0x1000);
			ck_assert_int_eq(sym_user_mmap(user, &m), 0);
			continue;
		}
		happen(user, 10 * time, alive, &seed);
		happen(user, 10 * (time + 1), alive, &seed);
	}
	for (uint32_t pid = 1; pid < PIDS; pid++)
		for (uint64_t time = 1; time < 10 * (STEPS - 1); time += 7)
			for (uint64_t addr = 0x1000; addr < 0x4000; addr += 0x1000) {
				struct sym_frame f;

				sym_user_lookup(in_order, pid, time, addr, false, &f);
				ck_module(pid, time, addr, f.module);
			}
	sym_user_close(in_order);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("forgetting");
	TCase *t = tcase_create("forgetting");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_ended);
	tcase_add_test(t, test_mappings_of_the_dead);
	tcase_add_test(t, test_pid_reused);
	tcase_add_test(t, test_threads);
	tcase_add_test(t, test_snapshot);
	tcase_add_loop_test(t, test_random, 0, 50);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_used);
	tcase_add_test(t, test_all_used);
	tcase_add_test(t, test_flood);
	tcase_add_test(t, test_flood_unseen);
	tcase_add_test(t, test_flood_seen_once);
	tcase_add_test(t, test_chain);
	tcase_add_loop_test(t, test_late, 0, 20);
	tcase_set_timeout(t, 60);
	return run_all(s, t);
}
