/* SPDX-License-Identifier: BSD-2-Clause */
/* kinds.c: what is told apart among system calls, what each is named, and how each can fail. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "faults.h"

struct call {
	int number;
	const char *name;
	int errors[3];
};

/* clang-format off */
static const struct call calls[] = {
	{ SYS_openat, "openat", { EMFILE, EACCES } },
	{ SYS_openat2, "openat2", { EMFILE, EAGAIN } },
	{ SYS_read, "read", { EIO, EINTR } },
	{ SYS_pread64, "pread64", { EIO, EINTR } },
	{ SYS_write, "write", { ENOSPC, EINTR, EIO } },
	{ SYS_writev, "writev", { ENOSPC, EIO } },
	{ SYS_pwrite64, "pwrite64", { ENOSPC, EIO } },
	{ SYS_newfstatat, "newfstatat", { EACCES, ENOMEM } },
	{ SYS_fstat, "fstat", { ENOMEM } },
	{ SYS_statx, "statx", { EACCES, ENOMEM } },
	{ SYS_lseek, "lseek", { ESPIPE } },
	{ SYS_getdents64, "getdents64", { EIO } },
	{ SYS_readlinkat, "readlinkat", { EACCES } },
	{ SYS_faccessat, "faccessat", { EACCES } },
	{ SYS_faccessat2, "faccessat2", { EACCES } },
	{ SYS_getcwd, "getcwd", { ENOENT } },
	{ SYS_mkdirat, "mkdirat", { ENOSPC, EROFS } },
	{ SYS_renameat, "renameat", { ENOSPC, EACCES } },
	{ SYS_renameat2, "renameat2", { ENOSPC, EACCES } },
	{ SYS_unlinkat, "unlinkat", { EROFS } },
	{ SYS_linkat, "linkat", { ENOSPC } },
	{ SYS_utimensat, "utimensat", { EACCES } },
	{ SYS_fchmod, "fchmod", { EPERM } },
	{ SYS_fchown, "fchown", { EPERM } },
	{ SYS_ftruncate, "ftruncate", { EIO } },
	{ SYS_fallocate, "fallocate", { ENOSPC } },
	{ SYS_fsync, "fsync", { EIO, ENOSPC } },
	{ SYS_flock, "flock", { ENOLCK } },
	{ SYS_mmap, "mmap", { ENOMEM } },
	{ SYS_mremap, "mremap", { ENOMEM } },
	{ SYS_mprotect, "mprotect", { ENOMEM } },
	{ SYS_madvise, "madvise", { EAGAIN } },
	{ SYS_mlock, "mlock", { ENOMEM } },
	{ SYS_memfd_create, "memfd_create", { EMFILE } },
	{ SYS_dup, "dup", { EMFILE } },
	{ SYS_dup3, "dup3", { EMFILE } },
	{ SYS_pipe2, "pipe2", { EMFILE } },
	{ SYS_socket, "socket", { EMFILE } },
	{ SYS_socketpair, "socketpair", { EMFILE } },
	{ SYS_sendmsg, "sendmsg", { ENOBUFS, EPIPE } },
	{ SYS_recvmsg, "recvmsg", { EINTR, ECONNRESET } },
	{ SYS_sendto, "sendto", { ENOBUFS, EPIPE } },
	{ SYS_recvfrom, "recvfrom", { EINTR, ECONNRESET } },
	{ SYS_connect, "connect", { ECONNREFUSED, EINTR } },
	{ SYS_fcntl, "fcntl", { EMFILE } },
	{ SYS_ioctl, "ioctl", { ENOMEM, EPERM } },
	{ SYS_eventfd2, "eventfd2", { EMFILE } },
	{ SYS_signalfd4, "signalfd4", { EMFILE } },
	{ SYS_timerfd_create, "timerfd_create", { EMFILE } },
	{ SYS_timerfd_settime, "timerfd_settime", { ECANCELED } },
	{ SYS_inotify_init1, "inotify_init1", { EMFILE } },
	{ SYS_epoll_create1, "epoll_create1", { EMFILE } },
	{ SYS_epoll_ctl, "epoll_ctl", { ENOMEM, ENOSPC } },
	{ SYS_epoll_pwait, "epoll_pwait", { EINTR } },
	{ SYS_ppoll, "ppoll", { EINTR, ENOMEM } },
	{ SYS_nanosleep, "nanosleep", { EINTR } },
	{ SYS_clock_nanosleep, "clock_nanosleep", { EINTR } },
	{ SYS_rt_sigtimedwait, "rt_sigtimedwait", { EINTR } },
	{ SYS_clone, "clone", { EAGAIN, ENOMEM } },
	{ SYS_clone3, "clone3", { EAGAIN, ENOMEM } },
	{ SYS_execve, "execve", { ENOMEM, EACCES } },
	{ SYS_wait4, "wait4", { ECHILD, EINTR } },
	{ SYS_waitid, "waitid", { ECHILD, EINTR } },
	{ SYS_kill, "kill", { ESRCH, EPERM } },
	{ SYS_ptrace, "ptrace", { ESRCH, EPERM } },
	{ SYS_pidfd_open, "pidfd_open", { EMFILE, ESRCH } },
	{ SYS_pidfd_send_signal, "pidfd_send_signal", { ESRCH } },
	{ SYS_pidfd_getfd, "pidfd_getfd", { EMFILE } },
	{ SYS_process_vm_readv, "process_vm_readv", { ESRCH, EPERM } },
	{ SYS_prctl, "prctl", { EINVAL, EPERM } },
	{ SYS_setgroups, "setgroups", { EPERM, ENOMEM } },
	{ SYS_setresuid, "setresuid", { EPERM, EAGAIN } },
	{ SYS_setresgid, "setresgid", { EPERM } },
	{ SYS_setitimer, "setitimer", { EINVAL } },
	{ SYS_capget, "capget", { EPERM } },
	{ SYS_capset, "capset", { EPERM } },
	{ SYS_seccomp, "seccomp", { EINVAL, ENOMEM } },
	{ SYS_prlimit64, "prlimit64", { EPERM } },
	{ SYS_setpgid, "setpgid", { EPERM } },
	{ SYS_setsid, "setsid", { EPERM } },
	{ SYS_setns, "setns", { EPERM } },
	{ SYS_unshare, "unshare", { EPERM, ENOMEM } },
	{ SYS_sched_setaffinity, "sched_setaffinity", { EINVAL } },
	{ SYS_sched_getaffinity, "sched_getaffinity", { EINVAL } },
	{ SYS_sched_setscheduler, "sched_setscheduler", { EPERM } },
	{ SYS_membarrier, "membarrier", { EPERM, EINVAL } },
	{ SYS_getrandom, "getrandom", { EAGAIN, EINTR } },
	{ SYS_statfs, "statfs", { EACCES } },
	{ SYS_fstatfs, "fstatfs", { EIO } },
	{ SYS_perf_event_open, "perf_event_open", { EMFILE, ENOMEM, EACCES } },
	{ SYS_bpf, "bpf", { ENOMEM, EPERM } },
#ifdef SYS_open
	{ SYS_open, "open", { EMFILE, EACCES } },
	{ SYS_stat, "stat", { EACCES } },
	{ SYS_lstat, "lstat", { EACCES } },
	{ SYS_access, "access", { EACCES } },
	{ SYS_readlink, "readlink", { EACCES } },
	{ SYS_rename, "rename", { ENOSPC, EACCES } },
	{ SYS_unlink, "unlink", { EROFS } },
	{ SYS_mkdir, "mkdir", { ENOSPC } },
	{ SYS_chmod, "chmod", { EPERM } },
	{ SYS_pipe, "pipe", { EMFILE } },
	{ SYS_dup2, "dup2", { EMFILE } },
	{ SYS_fork, "fork", { EAGAIN, ENOMEM } },
	{ SYS_vfork, "vfork", { EAGAIN, ENOMEM } },
	{ SYS_poll, "poll", { EINTR, ENOMEM } },
	{ SYS_epoll_wait, "epoll_wait", { EINTR } },
#endif
};

/*
 * What is never failed: it cannot fail but by a mistake of the caller (signal masks, ids, clocks),
 * the C library has no way to tell that it did (futex, close, munmap), it belongs to the start of a
 * program or of a thread, or malloc() asks elsewhere (brk), of which the preloaded library makes a
 * failure. With sendmmsg() this program itself sends the descriptor that it listens on.
 */
static const int exempt[] = {
	SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall, SYS_rt_sigprocmask,
	SYS_rt_sigaction, SYS_sigaltstack, SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid,
	SYS_geteuid, SYS_getgid, SYS_getegid, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday,
	SYS_times, SYS_futex, SYS_close, SYS_munmap, SYS_brk, SYS_set_tid_address,
	SYS_set_robust_list, SYS_rseq, SYS_sched_yield, SYS_umask, SYS_tgkill, SYS_getpgid, SYS_sendmmsg,
	SYS_uname, SYS_sysinfo, SYS_getrusage, SYS_getpriority, SYS_sched_getscheduler,
#ifdef __x86_64__
	SYS_arch_prctl, SYS_time, SYS_getpgrp, SYS_alarm, 335, 336, /* uretprobe, uprobe */
#endif
};

static const char *const bpf_names[] = {
	"MAP_CREATE", "MAP_LOOKUP_ELEM", "MAP_UPDATE_ELEM", "MAP_DELETE_ELEM", "MAP_GET_NEXT_KEY",
	"PROG_LOAD", "OBJ_PIN", "OBJ_GET", "PROG_ATTACH", "PROG_DETACH", "PROG_TEST_RUN",
	"PROG_GET_NEXT_ID", "MAP_GET_NEXT_ID", "PROG_GET_FD_BY_ID", "MAP_GET_FD_BY_ID",
	"OBJ_GET_INFO_BY_FD", "PROG_QUERY", "RAW_TRACEPOINT_OPEN", "BTF_LOAD", "BTF_GET_FD_BY_ID",
	"TASK_FD_QUERY", "MAP_LOOKUP_AND_DELETE_ELEM", "MAP_FREEZE", "BTF_GET_NEXT_ID",
	"MAP_LOOKUP_BATCH", "MAP_LOOKUP_AND_DELETE_BATCH", "MAP_UPDATE_BATCH", "MAP_DELETE_BATCH",
	"LINK_CREATE", "LINK_UPDATE", "LINK_GET_FD_BY_ID", "LINK_GET_NEXT_ID", "ENABLE_STATS",
	"ITER_CREATE", "LINK_DETACH", "PROG_BIND_MAP", "TOKEN_CREATE",
};

static const struct { uint32_t request; const char *name; } ioctls[] = {
	{ (uint32_t)PERF_EVENT_IOC_ENABLE, "ENABLE" }, { (uint32_t)PERF_EVENT_IOC_DISABLE, "DISABLE" },
	{ (uint32_t)PERF_EVENT_IOC_SET_BPF, "SET_BPF" }, { (uint32_t)PERF_EVENT_IOC_ID, "ID" },
	{ (uint32_t)PERF_EVENT_IOC_SET_OUTPUT, "SET_OUTPUT" }, { 0x5401, "TCGETS" },
	{ 0x5413, "TIOCGWINSZ" }, { (uint32_t)PERF_EVENT_IOC_SET_FILTER, "SET_FILTER" },
};
/* clang-format on */

enum { NCALLS = sizeof(calls) / sizeof(calls[0]) };

bool kind_fails(uint64_t kind)
{
	const uint32_t sub = (uint32_t)kind;

	return kind >> 32 != SYS_fcntl || sub == F_DUPFD || sub == F_DUPFD_CLOEXEC;
}

bool kind_exempt(int number)
{
	for (size_t i = 0; i < sizeof(exempt) / sizeof(exempt[0]); i++) {
		if (exempt[i] == number)
			return true;
	}
	return false;
}

uint64_t kind_of(int number, const uint64_t *args)
{
	switch (number) {
	case SYS_bpf:
	case SYS_prctl:
	case SYS_ptrace:
		return KIND(number, args[0]);
	case SYS_ioctl:
	case SYS_fcntl:
		return KIND(number, args[1]);
	case SYS_write:
	case SYS_writev:
		return KIND(number, args[0] <= 2 ? args[0] : 3);
	default:
		return KIND(number, 0);
	}
}

static const struct call *find_call(uint64_t kind)
{
	for (int i = 0; i < NCALLS; i++) {
		if (calls[i].number == (int)(kind >> 32))
			return &calls[i];
	}
	return NULL;
}

static void sub_name(int number, uint32_t sub, char *out, size_t size)
{
	snprintf(out, size, " %u", sub);
	if (number == SYS_bpf && sub < sizeof(bpf_names) / sizeof(bpf_names[0]))
		snprintf(out, size, " %s", bpf_names[sub]);
	if (number == SYS_write || number == SYS_writev)
		snprintf(out, size, " %s", sub == 1 ? "stdout" : sub == 2 ? "stderr" : "file");
	for (size_t i = 0; number == SYS_ioctl && i < sizeof(ioctls) / sizeof(ioctls[0]); i++) {
		if (ioctls[i].request == sub)
			snprintf(out, size, " %s", ioctls[i].name);
	}
	if (!strncmp(out, " 0", 3))
		*out = 0;
}

void kind_name(uint64_t kind, char *out, size_t size)
{
	static const char *const memory[] = { "malloc", "calloc", "realloc", "memalign" };
	const struct call *call = find_call(kind);
	char sub[32];

	if (kind >> 32 == KIND_MEMORY) {
		snprintf(out, size, "%s", memory[(uint32_t)kind & 3]);
		return;
	}
	sub_name((int)(kind >> 32), (uint32_t)kind, sub, sizeof(sub));
	if (call)
		snprintf(out, size, "%s%s", call->name, sub);
	else
		snprintf(out, size, "syscall-%u%s", (uint32_t)(kind >> 32), sub);
}

int kind_errors(uint64_t kind, int out[3])
{
	const struct call *call = find_call(kind);
	int n = 0;

	out[n++] = ENOMEM;
	if (!call)
		return n;
	for (n = 0; n < 3 && call->errors[n]; n++)
		out[n] = call->errors[n];
	return n;
}
