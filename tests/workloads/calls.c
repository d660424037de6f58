/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of functions whose number and length are known. `calls WHAT [N]`:
 *
 *	sleep N		naps() N times, each with 3 ms of sleep: prints how many microseconds all
 *			took, and how many the longest
 *	jump N		leaps() N times, each left by longjmp from leaps_inside(); then steps() once
 *	over N		dives() N deep, left by one longjmp from the bottom; then steps() once
 *	recurse N	dives() N deep, which returns
 *	mutual N	even() and odd() by turns, N deep
 *	tail N		hands() N times, which jumps to takes(): no call
 *	threads N	in 4 threads steps() N times each
 *	signal N	N times a handler on a stack of its own calls steps() inside naps()
 *	exit		steps() ends the process
 *	values N	gives() N times: 0, 1, ... 4, -2 and so on
 *	cost N		costs() N times: prints how many nanoseconds each call took
 *	stay N [UID]	in N threads dives() 4,000 deep, which returns; then it prints a line,
 *			and all stay until the end of its input. Each dives() once before it becomes
 *			that user
 *	exec N		dives() N deep in a second thread, which executes `calls sleep 100` there
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static jmp_buf back;
static volatile int sink;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static APART void naps(void)
{
	const struct timespec t = { .tv_nsec = 3000000 };

	nanosleep(&t, NULL);
	sink++;
}

static APART void steps(void)
{
	sink++;
}

static APART void leaps_inside(void)
{
	sink++;
	longjmp(back, 1);
}

static APART void leaps(void)
{
	leaps_inside();
	sink++;
}

enum { RETURN, JUMP, EXECUTE };

static APART int dives(int deep, int then)
{
	if (!deep && then == JUMP)
		longjmp(back, 1);
	if (!deep && then == EXECUTE)
		execl("/proc/self/exe", "calls", "sleep", "100", (char *)NULL);
	if (!deep)
		return 0;
	return dives(deep - 1, then) + (sink & 1);
}

static APART int odd(int deep);
static APART int even(int deep)
{
	return deep ? odd(deep - 1) + (sink & 1) : 0;
}
static APART int odd(int deep)
{
	return deep ? even(deep - 1) + (sink & 1) : 0;
}

static APART int takes(int a)
{
	sink += a;
	return sink;
}
#define JUMPS optimize("omit-frame-pointer", "optimize-sibling-calls")
static APART __attribute__((JUMPS)) int hands(int a)
{
	return takes(a + 1); /* a jump */
}

static APART int gives(int i)
{
	sink++;
	return i % 6 == 5 ? -2 : i % 6;
}

static APART void costs(void)
{
	steps();
}

static void cost_often(int n)
{
	const uint64_t from = now_ns();

	for (int i = 0; i < n; i++)
		costs();
	printf("%.1f\n", (double)(now_ns() - from) / n);
}

static void nap_often(int n)
{
	uint64_t all = 0, longest = 0;

	for (int i = 0; i < n; i++) {
		const uint64_t from = now_ns();
		uint64_t took;

		naps();
		took = now_ns() - from;
		all += took;
		longest = took > longest ? took : longest;
	}
	printf("%llu %llu\n", (unsigned long long)all / 1000, (unsigned long long)longest / 1000);
}

static void *thread(void *n)
{
	for (int i = 0; i < *(int *)n; i++)
		steps();
	return NULL;
}

static void in_threads(int n)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, thread, &n))
			exit(1);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void on_signal(int number)
{
	(void)number;
	steps();
}

static APART void raises(void)
{
	raise(SIGUSR1);
	sink++;
}

static void in_signals(int n)
{
	static char room[65536];
	const stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		exit(1);
	for (int i = 0; i < n; i++)
		raises();
}

static APART void ends(void)
{
	exit(0);
}

static pthread_barrier_t all_dived;

/* Of this thread alone. */
static void become(const char *uid)
{
	const long id = atol(uid);

	sink += dives(0, RETURN);
	if (syscall(SYS_setresuid, id, id, id))
		abort();
}

static void *dives_and_stays(void *uid)
{
	if (uid)
		become(uid);
	sink += dives(4000, RETURN);
	pthread_barrier_wait(&all_dived);
	pause();
	return NULL;
}

static void stay(int threads, char *uid)
{
	pthread_t thread;

	pthread_barrier_init(&all_dived, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, dives_and_stays, uid))
			abort();
	pthread_barrier_wait(&all_dived);
	puts("all stay");
	fflush(stdout);
	while (getchar() != EOF) {
	}
}

static void *dives_and_executes(void *deep)
{
	sink += dives(*(int *)deep, EXECUTE);
	return NULL;
}

static void execute(int deep)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, dives_and_executes, &deep))
		abort();
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	volatile int n = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(what, "sleep"))
		nap_often(n);
	else if (!strcmp(what, "cost"))
		cost_often(n);
	else if (!strcmp(what, "recurse"))
		sink += dives(n, RETURN);
	else if (!strcmp(what, "mutual"))
		sink += even(n);
	else if (!strcmp(what, "threads"))
		in_threads(n);
	else if (!strcmp(what, "stay"))
		stay(n, argv[3]); /* or NULL */
	else if (!strcmp(what, "exec"))
		execute(n);
	else if (!strcmp(what, "signal"))
		in_signals(n);
	else if (!strcmp(what, "exit"))
		ends();
	else if (!strcmp(what, "over")) {
		if (!setjmp(back))
			dives(n, JUMP);
		steps();
	} else if (!strcmp(what, "jump")) {
		for (volatile int i = 0; i < n; i++)
			if (!setjmp(back))
				leaps();
		steps();
	} else if (!strcmp(what, "tail")) {
		for (int i = 0; i < n; i++)
			sink += hands(i);
	} else if (!strcmp(what, "values")) {
		for (int i = 0; i < n; i++)
			sink += gives(i);
	} else {
		return 2;
	}
	return 0;
}
