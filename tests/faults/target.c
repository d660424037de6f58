/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * target [forever]: what is profiled while faults are injected. Does a little of everything that a
 * command of rawprof looks at, again and again: burns, sleeps, allocates, maps, waits for a lock,
 * writes to a disk, comes by a USDT probe, calls a runtime with CUDA's names. Without an argument
 * it ends by itself after a fixed amount of that. When it ends it writes to the file $FAULTS_SANE
 * how it found the process that it was started in: "sane", or what rawprof left in it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../workloads/usdt.h"

#define NOINLINE static __attribute__((noinline))

int cudaMalloc(void **p, size_t bytes); /* of tests/workloads/cuda */
int cudaFree(void *p);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile bool done;
static void *volatile kept;

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

NOINLINE void faults_burn(double seconds)
{
	for (double end = now(CLOCK_THREAD_CPUTIME_ID) + seconds;
	     now(CLOCK_THREAD_CPUTIME_ID) < end;)
		for (volatile int i = 0; i < 1000; i++)
			;
}

NOINLINE void faults_sleep(void)
{
	usleep(2000);
}

/* What is kept of each round is given back so many rounds later: it may run for an hour. */
enum { ROUNDS_KEPT = 64, TOUCHED = 1 << 18 };

NOINLINE void faults_alloc(void)
{
	static void *blocks[ROUNDS_KEPT * 5];
	static unsigned int n;

	for (int i = 0; i < 20; i++) {
		kept = malloc(1000);
		if (i % 4) {
			free(kept);
			continue;
		}
		free(blocks[n % (ROUNDS_KEPT * 5)]);
		blocks[n++ % (ROUNDS_KEPT * 5)] = kept;
	}
}

NOINLINE void faults_touch(void)
{
	static char *halves[ROUNDS_KEPT];
	static unsigned int n;
	char **half = &halves[n++ % ROUNDS_KEPT];
	char *p = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (*half)
		munmap(*half, TOUCHED / 2);
	*half = NULL;
	if (p == MAP_FAILED)
		return;
	for (int i = 0; i < TOUCHED; i += 4096)
		p[i] = 1;
	munmap(p, TOUCHED / 2);
	*half = p + TOUCHED / 2;
}

NOINLINE void faults_wait(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

NOINLINE void faults_write(int fd)
{
	if (fd >= 0 && (pwrite(fd, "faults", 6, 0) != 6 || fsync(fd)))
		perror("target");
}

USDT_SEMAPHORE(faults_round_semaphore);

NOINLINE void faults_round(long i, const char *text)
{
	/* A probe of the function and one of the USDT place are not at one instruction. */
	__asm__ volatile("nop");
	USDT2(faults_round_semaphore, "faults", "round", i, text);
}

NOINLINE void faults_gpu(void)
{
	void *p = NULL;

	if (!cudaMalloc(&p, 1000))
		cudaFree(p);
}

static void *hold(void *ctx)
{
	while (!done) {
		pthread_mutex_lock(&lock);
		usleep(1500);
		pthread_mutex_unlock(&lock);
		usleep(200);
	}
	return ctx;
}

/* Looked at before anything is opened here. */
static const char *inherited(void)
{
	static char what[256];
	char path[64];
	ssize_t n;
	struct sigaction action;
	sigset_t blocked;

	for (int fd = 3; fd < 1024; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
			n = readlink(path, what, sizeof(what) - 1);
			what[n > 0 ? n : 0] = 0;
			return what;
		}
	}
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int sig = 1; sig < 32; sig++) {
		if (sigismember(&blocked, sig) > 0 ||
		    (!sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL)) {
			snprintf(what, sizeof(what), "signal %d", sig);
			return what;
		}
	}
	return getenv("LD_PRELOAD") ? "LD_PRELOAD" : "sane";
}

int main(int argc, char **argv)
{
	const char *path = getenv("FAULTS_SANE"), *found = inherited();
	const bool forever = argc > 1 && !strcmp(argv[1], "forever");
	pthread_t holder;
	FILE *f;
	int fd;

	fd = open(".", O_TMPFILE | O_RDWR, 0600); /* no name: it may be killed at any moment */
	if (pthread_create(&holder, NULL, hold, NULL))
		return 3;
	for (int i = 0; forever || i < 12; i++) {
		faults_burn(0.002);
		faults_sleep();
		faults_alloc();
		faults_touch();
		faults_wait();
		faults_round(i, "round");
		faults_gpu();
		if (i % 4 == 0)
			faults_write(fd);
		if (forever)
			usleep(8000);
		else
			faults_burn(0.002);
	}
	done = true;
	pthread_join(holder, NULL);
	f = path ? fopen(path, "w") : NULL;
	if (!f)
		return 3;
	fprintf(f, "%s\n", found);
	return fclose(f) ? 3 : 0;
}
