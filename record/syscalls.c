/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "base/syscall_filter.h"
#include "syscalls.h"

#define ANY_IOCTL_OF_PERF ('$' << 8)

/* ---- which calls */

/* The more often, the earlier: kernels before 5.11 walk the list for each call. */
static const int always[] = {
	SYS_read,
	SYS_pread64,
	SYS_process_vm_readv,
	SYS_close,
	SYS_mmap,
	SYS_munmap,
	SYS_newfstatat,
	SYS_fstat,
	SYS_ppoll,
	SYS_lseek,
	SYS_brk,
	SYS_write,
	SYS_futex,
	SYS_clock_gettime,
	SYS_statx,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_statfs,
	SYS_fstatfs,
	SYS_writev,
	SYS_readv,
	SYS_pwrite64,
	SYS_ftruncate,
	SYS_fsync,
	SYS_dup,
	SYS_memfd_create,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendto,
	SYS_recvfrom,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	SYS_eventfd2,
	SYS_signalfd4,
	SYS_wait4,
	SYS_waitid,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_membarrier,
	SYS_clock_nanosleep,
	SYS_nanosleep,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getcpu,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrusage,
	SYS_getrandom,
	SYS_uname,
	SYS_sysinfo,
	SYS_capget,
	SYS_capset, /* nobody gains any by it */
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_sigaltstack,
	SYS_setitimer, /* names that take too long: symbolize/demangle.c */
	SYS_restart_syscall,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_exit,
	SYS_exit_group,
#ifdef SYS_rseq
	SYS_rseq,
#endif
#ifdef SYS_poll /* the older names, which newer machines never had */
	SYS_poll,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_dup2,
	SYS_epoll_wait,
	SYS_time,
	SYS_arch_prctl,
#endif
};

/* What is done with maps and programs that are there. An iterator is a link of its own. */
static const uint32_t bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_UPDATE_ELEM,
	BPF_MAP_DELETE_ELEM,
	BPF_MAP_LOOKUP_BATCH,
	BPF_MAP_LOOKUP_AND_DELETE_BATCH,
	BPF_MAP_CREATE,
	BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_FREEZE,
	BPF_BTF_LOAD,
	BPF_PROG_TEST_RUN,
	BPF_OBJ_GET_INFO_BY_FD,
	BPF_LINK_CREATE,
	BPF_ITER_CREATE,
};

/* A program may send signals to whatever runs it, so only those that must load some may. */
static const uint32_t bpf_loads[] = { BPF_PROG_LOAD, BPF_RAW_TRACEPOINT_OPEN };

/* Not F_SETOWN, F_SETSIG, F_NOTIFY, F_SETLEASE: the kernel sends signals for them. */
static const uint32_t fcntl_commands[] = { F_GETFL, F_DUPFD_CLOEXEC, F_DUPFD, F_GETFD, F_SETFD };

static const uint32_t terminal[] = { 0x5401 /* TCGETS */, 0x5413 /* TIOCGWINSZ */ };

/* What speaks to servers does besides: names are asked for by way of threads, netlink, nscd. */
static const int network[] = {
	SYS_connect,	SYS_bind,     SYS_getsockname, SYS_getpeername, SYS_getsockopt,
	SYS_setsockopt, SYS_shutdown, SYS_sendmmsg,    SYS_socketpair,	SYS_pipe2,
};
static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };
static const uint32_t socket_ioctls[] = { FIONREAD, FIONBIO };

/* ---- the program */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void allow_bpf(struct syscall_filter *f, const struct record_confine *what)
{
	unsigned short begin = rp_filter_only_for(f, SYS_bpf);

	rp_filter_load(f, 0);
	rp_filter_allow_each(f, bpf_commands, COUNT(bpf_commands));
	if (what->attaches)
		rp_filter_allow_each(f, bpf_loads, COUNT(bpf_loads));
	else if (what->loads)
		rp_filter_allow_each(f, bpf_loads, 1);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, begin);
}

/* An event of one process can send it signals; those of CPUs cannot: attr.sigtrap. */
static void allow_events(struct syscall_filter *f, bool attaches)
{
	if (attaches)
		rp_filter_allow(f, SYS_perf_event_open);
	else
		rp_filter_allow_values(f, SYS_perf_event_open, 1,
				       (const uint32_t[]){ (uint32_t)-1 }, 1);
}

static void allow_ioctls(struct syscall_filter *f)
{
	unsigned short begin = rp_filter_only_for(f, SYS_ioctl);

	rp_filter_load(f, 1);
	rp_filter_allow_each(f, terminal, COUNT(terminal));
	rp_filter_put(f, BPF_ALU | BPF_AND | BPF_K, 0xff00, 0, 0);
	rp_filter_allow(f, ANY_IOCTL_OF_PERF);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, begin);
}

/* What fork(3) asks for. */
#define FORK (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/* Threads. clone3() has its flags in memory: the C library then takes clone(). */
static void allow_threads(struct syscall_filter *f, bool forks)
{
	unsigned short begin = rp_filter_only_for(f, SYS_clone);

	rp_filter_load(f, 0);
	if (forks) {
		rp_filter_allow(f, FORK);
		rp_filter_allow(f, SIGCHLD); /* musl, where it has no fork() */
	}
	rp_filter_put(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	rp_filter_end(f, SECCOMP_RET_ALLOW);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, begin);
#ifdef SYS_fork
	if (forks)
		rp_filter_allow(f, SYS_fork);
#endif
#ifdef SYS_clone3
	begin = rp_filter_only_for(f, SYS_clone3);
	rp_filter_end(f, SECCOMP_RET_ERRNO | ENOSYS);
	rp_filter_otherwise(f, begin);
#endif
}

/* Two ends that lead to each other alone: one for datagrams could send to any socket. */
static void allow_stream_pair(struct syscall_filter *f)
{
	unsigned short begin = rp_filter_only_for(f, SYS_socketpair);

	rp_filter_load(f, 0);
	rp_filter_put(f, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
	rp_filter_refuse(f);
	rp_filter_load(f, 1);
	rp_filter_allow(f, SOCK_STREAM | SOCK_CLOEXEC);
	rp_filter_refuse(f);
	rp_filter_otherwise(f, begin);
}

/* Files are opened to be read. */
static void begin(struct syscall_filter *f)
{
	const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

	rp_filter_begin(f);
	rp_filter_allow_without(f, SYS_openat, 2, writes);
#ifdef SYS_open
	rp_filter_allow_without(f, SYS_open, 1, writes);
#endif
}

/* What every process does, and the end. */
static void finish(struct syscall_filter *f, bool forks)
{
	const uint32_t self = (uint32_t)getpid();

	rp_filter_allow_values(f, SYS_tgkill, 0, &self, 1); /* abort(3) */
	/* A second filter can only refuse more. */
	rp_filter_allow_values(f, SYS_prctl, 0, (const uint32_t[]){ PR_SET_NAME, PR_SET_SECCOMP },
			       forks ? 2 : 1);
	rp_filter_allow_values(f, SYS_prlimit64, 0, (const uint32_t[]){ 0 }, 1);
	allow_threads(f, forks);
	if (forks)
		allow_stream_pair(f);
	for (size_t i = 0; i < COUNT(always); i++)
		rp_filter_allow(f, (uint32_t)always[i]);
	rp_filter_refuse(f);
}

int record_filter_syscalls(const struct record_confine *what)
{
	const uint32_t target = (uint32_t)(what->child ? what->child : getpid());
	struct syscall_filter f = { .n = 0 };

	begin(&f);
	rp_filter_allow_values(&f, SYS_fcntl, 1, fcntl_commands, COUNT(fcntl_commands));
	allow_bpf(&f, what);
	allow_events(&f, what->attaches);
	rp_filter_allow_values(&f, SYS_kill, 0, &target, 1);
	allow_ioctls(&f);
	finish(&f, what->forks);
	return rp_filter_install(&f);
}

int record_filter_sender(void)
{
	unsigned short only;
	struct syscall_filter f = { .n = 0 };

	begin(&f);
	only = rp_filter_only_for(&f, SYS_fcntl);
	rp_filter_load(&f, 1);
	rp_filter_allow_each(&f, fcntl_commands, COUNT(fcntl_commands));
	rp_filter_allow(&f, F_SETFL); /* O_NONBLOCK; whom O_ASYNC would signal cannot be set */
	rp_filter_refuse(&f);
	rp_filter_otherwise(&f, only);
	rp_filter_allow_values(&f, SYS_socket, 0, families, COUNT(families));
	rp_filter_allow_values(&f, SYS_ioctl, 1, socket_ioctls, COUNT(socket_ioctls));
	for (size_t i = 0; i < COUNT(network); i++)
		rp_filter_allow(&f, (uint32_t)network[i]);
	finish(&f, false);
	return rp_filter_install(&f);
}
