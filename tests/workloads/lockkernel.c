/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lockkernel WHAT [SECONDS [DIRECTORY]]: threads that are in each other's way inside the kernel.
 *
 *	mmap	map and unmap memory of one process: its mmap_lock, an rwsem, for writing
 *	rename	rename files within one directory: its i_rwsem, for writing
 *	epoll	ask one epoll which of many files are ready: its mutex
 *	signals	ignore a signal while many are pending: the siglock of the process, a spinlock
 *	groups	look through all processes, and start a process group: tasklist_lock, which
 *		spins, of readers and writers
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

#define THREADS 4
#define FILES 500
#define PENDING 1000

static const char *what, *directory;
static double seconds;
static void (*once)(void);
static int epoll;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void map_once(void)
{
	char *at = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (at != MAP_FAILED)
		munmap(at, 1 << 20);
}

static void rename_once(const char *from, const char *to)
{
	if (rename(from, to))
		perror(from);
}

/* All of them are, always, and the mutex is held until that has been told of each. */
static void ask_once(void)
{
	struct epoll_event events[FILES];

	epoll_wait(epoll, events, FILES, 0);
}

/*
 * Those that are pending, of which there are many, are looked through for the one that is to be
 * ignored.
 */
static void signal_once(void)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };

	kill(getpid(), SIGUSR1);
	sigaction(SIGUSR1, &ignored, NULL);
}

static void group_once(void)
{
	kill(-1, 0);
	setpgid(0, 0);
}

static void leave_signals_pending(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (int i = 0; i < PENDING; i++)
		sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 });
}

static int open_files(void)
{
	struct epoll_event event = { .events = EPOLLIN };

	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < FILES; i++) {
		int fd = eventfd(1, EFD_CLOEXEC);

		if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
			return -1;
	}
	return 0;
}

static const struct {
	const char *name;
	void (*once)(void);
} others[] = { { "mmap", map_once },
	       { "epoll", ask_once },
	       { "signals", signal_once },
	       { "groups", group_once } };

/*
 * Who spins is on a CPU, and so is who has the lock. On a busy machine all threads may well be left
 * on the same CPU, or have two CPUs by turns: so each is told where to be, and goes before others
 * there.
 */
static void spread_out(long number)
{
	cpu_set_t allowed, one;
	long n;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), -10);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	n = number % CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || n-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void *run(void *arg)
{
	const long number = (long)arg;
	const double end = now() + seconds;
	char a[4096], b[4096];

	snprintf(a, sizeof(a), "%s/a%ld", directory, number);
	snprintf(b, sizeof(b), "%s/b%ld", directory, number);
	if (!strcmp(what, "rename"))
		close(open(a, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (once == signal_once || once == group_once)
		spread_out(number);
	while (now() < end) {
		if (!strcmp(what, "rename")) {
			rename_once(a, b);
			rename_once(b, a);
		} else {
			once();
		}
	}
	unlink(a);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	what = argc > 1 ? argv[1] : "mmap";
	seconds = seconds_arg(argc, argv, 2, 1);
	directory = argc > 3 ? argv[3] : ".";
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(what, others[i].name))
			once = others[i].once;
	if ((!once && strcmp(what, "rename")) || open_files())
		return 1;
	if (!strcmp(what, "signals"))
		leave_signals_pending();
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
