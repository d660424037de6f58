/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start of a program, from its execution to its first own instruction, with a stop whenever code was mapped: so
 * that probes can be put on a library before anything of it has run, its constructors included.
 *
 *	exec -> [the program and its dynamic linker are mapped] -> mmap -> [a library is mapped] -> ... -> entry point
 *
 * ptrace(2) makes the stops. The way ends at the entry point, by a breakpoint, or at a system call that the dynamic
 * linker has not made: then all that was to be loaded is there. If we are killed on the way the program is too: with
 * the breakpoint in it, it could not go on.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>
#include <rawprof/loader.h>
#include <rawprof/proc.h>

#include "target.h"

/* A breakpoint, and how far behind its start the program stops. */
#if defined(__x86_64__)
#define TRAP 0xccul
#define TRAP_BYTES 1
#define TRAP_STEP 1
#elif defined(__aarch64__)
#define TRAP 0xd4200000ul /* brk #0 */
#define TRAP_BYTES 4
#define TRAP_STEP 0
#else
#define TRAP 0x9002ul /* c.ebreak */
#define TRAP_BYTES 2
#define TRAP_STEP 0
#endif

struct load {
	pid_t pid;
	uint64_t entry;	   /* where the program begins, */
	long saved;	   /*   what is there */
	bool armed;	   /*   and a breakpoint is in its place */
	uint64_t linker;   /* an address of the dynamic linker; 0: there is none, */
	uint64_t from, to; /*   which lies here */
	bool mapping;	   /* inside of an mmap of code */
	int (*loaded)(void *ctx, pid_t pid);
	void *ctx;
};

/* ---- what the kernel has mapped --------------------------------------------------------------------------- */

static int read_auxv(struct load *l)
{
	Elf64_auxv_t v[64];
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)l->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, v, sizeof(v));
	close(fd);
	l->entry = l->linker = 0;
	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof(v[0]); i++) {
		if (v[i].a_type == AT_ENTRY)
			l->entry = v[i].a_un.a_val;
		if (v[i].a_type == AT_BASE)
			l->linker = v[i].a_un.a_val;
	}
	return 0;
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

/* ---- the breakpoint --------------------------------------------------------------------------------------- */

static void arm(struct load *l)
{
	const unsigned long mask = ~0ul >> (64 - 8 * TRAP_BYTES);

	errno = 0;
	l->saved = ptrace(PTRACE_PEEKTEXT, l->pid, l->entry, 0);
	if (errno)
		return;
	l->armed = !ptrace(PTRACE_POKETEXT, l->pid, l->entry,
			   ((unsigned long)l->saved & ~mask) | TRAP);
}

static void disarm(struct load *l)
{
	if (l->armed)
		ptrace(PTRACE_POKETEXT, l->pid, l->entry, l->saved);
	l->armed = false;
}

/* Back to the start of the instruction that was there. */
static void step_back(struct load *l)
{
#ifdef __x86_64__
	ptrace(PTRACE_POKEUSER, l->pid, offsetof(struct user_regs_struct, rip), l->entry);
#else
	(void)l;
#endif
}

/* ---- stops ------------------------------------------------------------------------------------------------ */

enum next { GO_ON, LET_GO };

static int on_exec(struct load *l)
{
	int err = l->loaded(l->ctx, l->pid);

	if (err)
		return err;
	l->armed = l->mapping = false;
	l->from = l->to = 0;
	if (read_auxv(l) || !l->linker)
		return LET_GO; /* static: all of it is there */
	if (sym_proc_maps("/proc", (uint32_t)l->pid, find_linker, l) || l->from == l->to)
		return LET_GO;
	arm(l);
	return l->armed ? GO_ON : LET_GO;
}

static int on_syscall(struct load *l)
{
	struct __ptrace_syscall_info info;
	bool mapped;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, l->pid, sizeof(info), &info) <= 0)
		return LET_GO;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		l->mapping = info.entry.nr == SYS_mmap && (info.entry.args[2] & PROT_EXEC) &&
			     !(info.entry.args[3] & MAP_ANONYMOUS);
		return info.instruction_pointer >= l->from && info.instruction_pointer <= l->to
			       ? GO_ON
			       : LET_GO;
	}
	mapped = l->mapping && info.op == PTRACE_SYSCALL_INFO_EXIT && !info.exit.is_error;
	l->mapping = false;
	return mapped ? l->loaded(l->ctx, l->pid) : GO_ON;
}

static bool is_at_entry(const struct load *l)
{
	struct __ptrace_syscall_info info;

	return l->armed && ptrace(PTRACE_GET_SYSCALL_INFO, l->pid, sizeof(info), &info) > 0 &&
	       info.instruction_pointer == l->entry + TRAP_STEP;
}

/* What to do at a stop, negative when probing has failed; *signal is to be delivered. */
static int on_stop(struct load *l, int status, int *signal)
{
	const int event = status >> 16, sig = WSTOPSIG(status);

	*signal = 0;
	if (event == PTRACE_EVENT_EXEC)
		return on_exec(l);
	if (event)
		return GO_ON; /* stopped by job control: then it goes on sooner than its user thought */
	if (sig == (SIGTRAP | 0x80))
		return on_syscall(l);
	if (sig == SIGTRAP && is_at_entry(l)) {
		step_back(l);
		return LET_GO;
	}
	*signal = sig;
	return GO_ON;
}

/* The next stop; false if the program has ended, which is left for target_finish to see. */
static bool wait_stop(struct load *l, int *status)
{
	siginfo_t info = { 0 };
	int err;

	do
		err = waitid(P_PID, (id_t)l->pid, &info, WSTOPPED | WEXITED | WNOWAIT);
	while (err && errno == EINTR);
	if (err || (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED))
		return false;
	return waitpid(l->pid, status, __WALL) == l->pid && WIFSTOPPED(*status);
}

static int follow(struct load *l)
{
	int status, signal = 0, next = GO_ON;

	while (wait_stop(l, &status)) {
		next = on_stop(l, status, &signal);
		if (next != GO_ON) {
			disarm(l);
			ptrace(PTRACE_DETACH, l->pid, 0, signal);
			break;
		}
		if (ptrace(PTRACE_SYSCALL, l->pid, 0, signal))
			break;
	}
	return next < 0 ? next : 0;
}

int target_start_watched(struct target *t, const struct options *opt,
			 int (*loaded)(void *ctx, pid_t pid), void *ctx)
{
	struct load l = { .pid = t->child, .loaded = loaded, .ctx = ctx };
	int err;

	if (!t->child)
		return 0;
	if (ptrace(PTRACE_SEIZE, l.pid, 0,
		   PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)) {
		rp_log(RP_WARN,
		       "ptrace: %s: the first calls of the program may come before its libraries are found",
		       strerror(errno));
		return target_start(t, opt);
	}
	err = target_start(t, opt);
	return err ? err : follow(&l);
}
