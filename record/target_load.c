/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start of a program, from its execution to its first own instruction, with a stop whenever
 * code was mapped: so that probes can be put on a library before anything of it has run, its
 * constructors included.
 *
 *	exec -> [program and dynamic linker mapped] -> mmap -> [library mapped] -> ... -> own code
 *
 * ptrace(2) makes the stops. The way ends at a system call that the dynamic linker has not made:
 * then all that was to be loaded is there. A program that makes none for a while is stopped for a
 * look where it is. Nothing of ours is in the program, so it goes on by itself if we are killed on
 * the way.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>
#include <rawprof/loader.h>
#include "symbolize/proc.h"

#include "target.h"

#define LOOK_AFTER_MS 50 /* since the last stop */
#define KILLED_WITHIN_MS 1000

struct load {
	pid_t pid;
	uint64_t linker;   /* an address of the dynamic linker; 0: there is none, */
	uint64_t from, to; /*   which lies here */
	bool mapping;	   /* inside of an mmap of code */
	int (*loaded)(void *ctx, pid_t pid);
	void *ctx;
};

/* ---- what the kernel has mapped */

static int read_auxv(struct load *l)
{
	Elf64_auxv_t v[64];
	char path[64];
	ssize_t n;
	int fd, err;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)l->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, v, sizeof(v));
	err = n < 0 ? -errno : 0;
	close(fd);
	l->linker = 0;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(v[0]); i++)
		if (v[i].a_type == AT_BASE)
			l->linker = v[i].a_un.a_val;
	return err;
}

/* The linker's mappings are one behind the other; the first one begins at its base. */
static int find_linker(void *ctx, const struct sym_proc_map *m)
{
	struct load *l = ctx;

	if (m->start == l->linker)
		l->from = l->to = m->start;
	if (m->start == l->to && m->inode)
		l->to = m->end;
	return 0;
}

/* ---- stops */

enum next { GO_ON, LET_GO };

static int failed(const char *call, int err)
{
	return rp_fail(-err,
		       "%s: %s: the program cannot be followed through its start, and is killed",
		       call, strerror(err));
}

static void tell_unfollowed(const char *what, int err)
{
	rp_log(RP_WARN,
	       "%s: %s: the first calls of the program may come before its libraries are found",
	       what, strerror(-err));
}

static int on_exec(struct load *l)
{
	int err = l->loaded(l->ctx, l->pid);

	if (err)
		return err;
	l->mapping = false;
	l->from = l->to = 0;
	err = read_auxv(l);
	if (!err && l->linker)
		err = sym_proc_maps("/proc", (uint32_t)l->pid, find_linker, l);
	if (err == -EACCES || err == -EPERM) {
		tell_unfollowed("its auxv and maps", err);
		return LET_GO;
	}
	if (err && err != -ESRCH) /* it was killed */
		return failed("reading its auxv and maps", -err);
	return l->from < l->to ? GO_ON : LET_GO; /* static: all of it is there */
}

static bool is_linker(const struct load *l, uint64_t address)
{
	return address >= l->from && address <= l->to;
}

/* Where it stands. One that was killed while it stood still need not be followed. */
static int ask(const struct load *l, struct __ptrace_syscall_info *out)
{
	if (ptrace(PTRACE_GET_SYSCALL_INFO, l->pid, sizeof(*out), out) > 0)
		return GO_ON;
	return errno == ESRCH ? LET_GO : failed("ptrace", errno);
}

static int on_syscall(struct load *l)
{
	struct __ptrace_syscall_info info;
	const int next = ask(l, &info);
	bool mapped;

	if (next != GO_ON)
		return next;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		l->mapping = info.entry.nr == SYS_mmap && (info.entry.args[2] & PROT_EXEC) &&
			     !(info.entry.args[3] & MAP_ANONYMOUS);
		return is_linker(l, info.instruction_pointer) ? GO_ON : LET_GO;
	}
	mapped = l->mapping && info.op == PTRACE_SYSCALL_INFO_EXIT && !info.exit.is_error;
	l->mapping = false;
	return mapped ? l->loaded(l->ctx, l->pid) : GO_ON;
}

/* We have stopped it. Before it is executed it is nowhere. */
static int on_look(const struct load *l)
{
	struct __ptrace_syscall_info info;
	int next;

	if (!l->to)
		return GO_ON;
	next = ask(l, &info);
	if (next != GO_ON)
		return next;
	return is_linker(l, info.instruction_pointer) ? GO_ON : LET_GO;
}

/* What to do at a stop, negative when probing has failed; *signal is to be delivered. */
static int on_stop(struct load *l, int status, int *signal)
{
	const int event = status >> 16, sig = WSTOPSIG(status);

	*signal = 0;
	if (event == PTRACE_EVENT_EXEC)
		return on_exec(l);
	if (event == PTRACE_EVENT_STOP && sig == SIGTRAP)
		return on_look(l);
	if (event)
		return GO_ON; /* stopped by job control: it goes on sooner than its user thought */
	if (sig == (SIGTRAP | 0x80))
		return on_syscall(l);
	*signal = sig;
	return GO_ON;
}

/* A signal that ends rawprof, which is blocked. */
static bool is_interrupted(void)
{
	sigset_t pending;

	return !sigpending(&pending) &&
	       (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1);
}

static bool is_there(const struct load *l)
{
	const int err = errno;
	bool there = !kill(l->pid, 0);

	errno = err;
	return there;
}

/*
 * Waits for the next stop: 1; 0: the program has ended, as record_target_finish() will see.
 * SIGCHLD is blocked.
 */
static int wait_stop(struct load *l, const sigset_t *child, int *status)
{
	const struct timespec pause = { .tv_nsec = LOOK_AFTER_MS * 1000000l };
	siginfo_t info = { 0 };

	for (;;) {
		if (waitid(P_PID, (id_t)l->pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG))
			return errno == ECHILD && !is_there(l) ? 0 : failed("waitid", errno);
		if (info.si_pid)
			break;
		if (is_interrupted())
			return -EINTR;
		if (sigtimedwait(child, NULL, &pause) < 0 && errno == EAGAIN)
			ptrace(PTRACE_INTERRUPT, l->pid, 0, 0);
	}
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return 0;
	if (waitpid(l->pid, status, __WALL) != l->pid)
		return failed("waitpid", errno);
	return WIFSTOPPED(*status);
}

/* Lets it go on. One that was killed while it stood still does not obey, and ends. */
static int resume(const struct load *l, int request, int signal)
{
	siginfo_t info = { 0 };
	int err;

	if (!ptrace(request, l->pid, 0, signal))
		return 0;
	err = errno;
	for (int ms = 0; ms < KILLED_WITHIN_MS && !info.si_pid; ms++) {
		poll(NULL, 0, 1);
		waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOWAIT | WNOHANG);
	}
	errno = err;
	return info.si_pid ? 0 : failed("ptrace", errno);
}

static int follow(struct load *l)
{
	int status, signal = 0, err;
	sigset_t child, before;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	while ((err = wait_stop(l, &child, &status)) > 0) {
		int next = on_stop(l, status, &signal);

		err = resume(l, next == GO_ON ? PTRACE_SYSCALL : PTRACE_DETACH, signal);
		err = next < 0 ? next : err;
		if (err || next != GO_ON)
			break;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return err;
}

int record_target_start_watched(struct target *t, const struct record_options *opt,
				int (*loaded)(void *ctx, pid_t pid), void *ctx)
{
	struct load l = { .pid = t->child, .loaded = loaded, .ctx = ctx };
	int err;

	if (!t->child)
		return 0;
	if (ptrace(PTRACE_SEIZE, l.pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)) {
		tell_unfollowed("ptrace", -errno);
		return record_target_start(t, opt);
	}
	err = record_target_start(t, opt);
	return err ? err : follow(&l);
}
