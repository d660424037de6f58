/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockpair WHAT [ROUNDS [MS]]: two threads and a lock, of which it is known who waits how long for
 * whom.
 *
 *	mutex		"keeper" holds cache_lock for MS in rebuild(), while "asker" wants it in
 *			lookup(): ROUNDS times
 *	pi		the same with a mutex that lends priority
 *	rwlock		the same, with keeper writing and asker reading
 *	cond		asker waits in lookup() for a condition variable that keeper signals in
 *			rebuild() after MS
 *	sem		the same with a semaphore
 *	join		asker waits for a thread that ends after MS
 *	timeout		asker waits for MS for a condition variable that nobody signals
 *	again		asker asks to wait while a futex has a value that it does not have
 *	signal		asker is interrupted by a signal after MS
 *	waitv		asker waits for either of two futexes
 *	twice		as mutex, with a recursive one that keeper takes twice
 *	heap		as mutex, with one in memory that malloc gave
 *	forever		asker waits for what never comes; the program ends by itself after MS
 *
 * Prints how long asker waited by its own clock, in microseconds, and how often.
 */
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

#define NR_FUTEX_WAITV 449

pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t cache_ready = PTHREAD_COND_INITIALIZER;
sem_t slots;
uint32_t word_of_two[2];
static pthread_mutex_t pi_lock, twice_lock, *heap_lock;

static const char *what;
static int rounds;
static useconds_t hold_us;
static uint64_t waited_ns;
static pthread_barrier_t begin;
static volatile int ready;
static volatile int asks; /* asker is about to: on a busy machine it may come late */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct timespec deadline(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += (long)hold_us * 1000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static pthread_mutex_t *the_mutex(void)
{
	return !strcmp(what, "pi")	? &pi_lock
	       : !strcmp(what, "twice") ? &twice_lock
	       : !strcmp(what, "heap")	? heap_lock
					: &cache_lock;
}

static int is(const char *name)
{
	return !strcmp(what, name);
}

static int is_mutex(void)
{
	return is("mutex") || is("pi") || is("heap") || is("twice");
}

/* What keeper does in a round, once it has what asker is about to want. */
static NOINLINE void rebuild(void)
{
	if (is("rwlock"))
		pthread_rwlock_wrlock(&table_lock);
	else if (is_mutex())
		pthread_mutex_lock(the_mutex());
	if (is("twice"))
		pthread_mutex_lock(the_mutex());
	pthread_barrier_wait(&begin);
	while (!asks)
		sched_yield();
	asks = 0;
	usleep(hold_us);
	if (is("twice"))
		pthread_mutex_unlock(the_mutex());
	if (is("rwlock")) {
		pthread_rwlock_unlock(&table_lock);
	} else if (is_mutex()) {
		pthread_mutex_unlock(the_mutex());
	} else if (is("cond")) {
		pthread_mutex_lock(&cache_lock);
		ready = 1;
		pthread_cond_signal(&cache_ready);
		pthread_mutex_unlock(&cache_lock);
	} else if (is("sem")) {
		sem_post(&slots);
	} else if (is("waitv")) {
		__atomic_store_n(&word_of_two[1], 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, &word_of_two[1], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	__asm__ volatile("" ::: "memory"); /* no tail call: the function is to be on the stack */
}

static void *nap(void *arg)
{
	usleep(hold_us);
	return arg;
}

static void wait_for_either(void)
{
	struct futex_waitv two[2] = {
		{ .uaddr = (uintptr_t)&word_of_two[0], .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
		{ .uaddr = (uintptr_t)&word_of_two[1], .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG },
	};

	syscall(NR_FUTEX_WAITV, two, 2, 0, NULL, 0);
	__atomic_store_n(&word_of_two[1], 0, __ATOMIC_SEQ_CST);
}

static NOINLINE void lookup(void)
{
	struct timespec until = deadline();
	pthread_t thread;

	asks = 1;
	if (is("rwlock")) {
		pthread_rwlock_rdlock(&table_lock);
		pthread_rwlock_unlock(&table_lock);
	} else if (is_mutex()) {
		pthread_mutex_lock(the_mutex());
		pthread_mutex_unlock(the_mutex());
	} else if (is("cond") || is("timeout")) {
		pthread_mutex_lock(&cache_lock);
		while (!ready && !pthread_cond_timedwait(
					 &cache_ready, &cache_lock,
					 is("cond") ? &(struct timespec){ 1u << 31, 0 } : &until))
			;
		ready = 0;
		pthread_mutex_unlock(&cache_lock);
	} else if (is("sem")) {
		sem_wait(&slots);
	} else if (is("join")) {
		pthread_create(&thread, NULL, nap, NULL);
		pthread_join(thread, NULL);
	} else if (is("again")) {
		syscall(SYS_futex, &word_of_two[0], FUTEX_WAIT_PRIVATE, 7, NULL, NULL, 0);
	} else if (is("signal") || is("forever")) {
		syscall(SYS_futex, &word_of_two[0], FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	} else if (is("waitv")) {
		wait_for_either();
	}
	__asm__ volatile("" ::: "memory");
}

static void *keeper(void *arg)
{
	prctl(PR_SET_NAME, "keeper");
	for (int i = 0; i < rounds; i++) {
		rebuild();
		if (is("signal"))
			pthread_kill(*(pthread_t *)arg, SIGUSR1);
		pthread_barrier_wait(&begin);
	}
	return NULL;
}

static void *asker(void *arg)
{
	prctl(PR_SET_NAME, "asker");
	for (int i = 0; i < rounds; i++) {
		uint64_t before;

		pthread_barrier_wait(&begin);
		before = now_ns();
		lookup();
		waited_ns += now_ns() - before;
		pthread_barrier_wait(&begin);
	}
	return arg;
}

static void nothing(int sig)
{
	(void)sig;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = nothing };
	pthread_mutexattr_t attr;
	pthread_t threads[2];

	what = argc > 1 ? argv[1] : "mutex";
	rounds = argc > 2 ? atoi(argv[2]) : 10;
	hold_us = (useconds_t)(seconds_arg(argc, argv, 3, 20) * 1000);
	sigaction(SIGUSR1, &action, NULL);
	sem_init(&slots, 0, 0);
	pthread_barrier_init(&begin, NULL, 2);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&pi_lock, &attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&twice_lock, &attr);
	heap_lock = malloc(sizeof(*heap_lock));
	pthread_mutex_init(heap_lock, NULL);
	if (pthread_create(&threads[0], NULL, asker, NULL) ||
	    pthread_create(&threads[1], NULL, keeper, &threads[0]))
		return 1;
	if (is("forever")) {
		usleep(hold_us);
		return 0;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	printf("%.0f %d\n", (double)waited_ns / 1000, rounds);
	free(heap_lock);
	return 0;
}
