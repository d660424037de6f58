/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * waits [SECONDS]: threads that wait in different ways, and know for how long.
 *
 * Each is named after its wait: nap (nanosleep), read (an empty pipe), futex, poll, vfork
 * (uninterruptible, until the child ends), burn (does not wait, but burns CPU time). At the end
 * each prints "NAME TID WAITED BURNT TIMES", the two in the middle in microseconds by its own
 * clocks. Those who wait are real-time threads where that is allowed: on a busy machine others
 * would be preempted on their way to sleep, which is time of the call, but no wait.
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define ROUND_MS 40

static uint32_t word; /* what the futex waits for */
static int feed[2];   /* what the reader reads from */
static uint64_t end_ns;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

NOINLINE static void wait_nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = ROUND_MS * 1000000 }, NULL);
	__asm__ volatile("");
}

NOINLINE static void wait_read(void)
{
	char byte;

	if (read(feed[0], &byte, 1) < 0)
		perror("read");
}

NOINLINE static void wait_futex(void)
{
	uint32_t seen = __atomic_load_n(&word, __ATOMIC_ACQUIRE);

	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	__asm__ volatile("");
}

NOINLINE static void wait_poll(void)
{
	poll(NULL, 0, ROUND_MS);
	__asm__ volatile("");
}

NOINLINE static void wait_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		usleep(ROUND_MS * 1000);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

NOINLINE static void burn(void)
{
	burn_until(thread_cpu_ns() + ROUND_MS * 1000000u);
	__asm__ volatile("");
}

/* Wakes the two that wait for somebody. */
static void wait_and_feed(void)
{
	wait_nap();
	if (write(feed[1], "", 1) != 1)
		perror("write");
	__atomic_add_fetch(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static struct waiter {
	const char *name;
	void (*wait)(void);
	uint64_t waited_ns, burnt_ns;
	long tid, times;
	pthread_t thread;
} waiters[] = {
	{ .name = "nap", .wait = wait_nap },	 { .name = "read", .wait = wait_read },
	{ .name = "futex", .wait = wait_futex }, { .name = "poll", .wait = wait_poll },
	{ .name = "vfork", .wait = wait_vfork }, { .name = "burn", .wait = burn },
};
#define WAITERS (sizeof(waiters) / sizeof(waiters[0]))

static void *run(void *arg)
{
	struct waiter *w = arg;
	uint64_t cpu = thread_cpu_ns();

	w->tid = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), w->name);
	if (w->wait != burn)
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	while (now_ns() < end_ns) {
		uint64_t from = now_ns();

		w->wait();
		w->waited_ns += now_ns() - from;
		w->times++;
	}
	w->burnt_ns = thread_cpu_ns() - cpu;
	return NULL;
}

int main(int argc, char **argv)
{
	end_ns = now_ns() + (uint64_t)(seconds_arg(argc, argv, 1, 1) * 1e9);
	if (pipe(feed))
		return 1;
	for (size_t i = 0; i < WAITERS; i++)
		if (pthread_create(&waiters[i].thread, NULL, run, &waiters[i]))
			return 1;
	while (now_ns() < end_ns + 2 * ROUND_MS * 1000000u) /* until nobody waits for us any more */
		wait_and_feed();
	for (size_t i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		printf("%s %ld %llu %llu %ld\n", waiters[i].name, waiters[i].tid,
		       (unsigned long long)waiters[i].waited_ns / 1000,
		       (unsigned long long)waiters[i].burnt_ns / 1000, waiters[i].times);
	}
	return 0;
}
