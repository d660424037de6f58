/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter is a program of the classic BPF that packet filters had, one instruction after the
 * other, jumps only forward: the older form of what the rest of rawprof is written in.
 *
 *	architecture, then the number of the system call
 *	those that depend on an argument: a block each, which ends in a verdict
 *	those that are always right: a comparison each
 *	-EPERM
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include "syscalls.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define X32 0x40000000 /* __X32_SYSCALL_BIT: other numbers for the same calls */
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv)
#define ARCH AUDIT_ARCH_RISCV64
#endif

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

#define MAX_INSNS 320
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct filter {
	struct sock_filter insn[MAX_INSNS];
	unsigned short n;
};

static void put(struct filter *f, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
	if (f->n < MAX_INSNS)
		f->insn[f->n] = (struct sock_filter){ code, if_true, if_false, k };
	f->n++;
}

static void load(struct filter *f, uint32_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

/* The lower half of an argument: all machines here are little-endian, and the flags fit. */
static void load_argument(struct filter *f, unsigned int n)
{
	load(f, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * n));
}

static void end(struct filter *f, uint32_t verdict)
{
	put(f, BPF_RET | BPF_K, verdict, 0, 0);
}

static void refuse(struct filter *f)
{
	end(f, SECCOMP_RET_ERRNO | EPERM);
}

/* If what is loaded is k: allowed. */
static void allow_if(struct filter *f, uint32_t k)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
	end(f, SECCOMP_RET_ALLOW);
}

/* The instructions up to otherwise() are for this call alone. Returns where they begin. */
static unsigned short only_for(struct filter *f, int call)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 0);
	return f->n;
}

static void otherwise(struct filter *f, unsigned short begin)
{
	if (begin <= MAX_INSNS)
		f->insn[begin - 1].jf = (uint8_t)(f->n - begin);
}

/* Allows a call if none of these bits of its argument is set. */
static void allow_without(struct filter *f, int call, unsigned int argument, uint32_t bits)
{
	unsigned short begin = only_for(f, call);

	load_argument(f, argument);
	put(f, BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
	end(f, SECCOMP_RET_ALLOW);
	refuse(f);
	otherwise(f, begin);
}

static void allow_each(struct filter *f, const uint32_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		allow_if(f, values[i]);
}

static void allow_values(struct filter *f, int call, unsigned int argument, const uint32_t *values,
			 size_t n)
{
	unsigned short begin = only_for(f, call);

	load_argument(f, argument);
	allow_each(f, values, n);
	refuse(f);
	otherwise(f, begin);
}

static void allow_bpf(struct filter *f, const struct record_confine *what)
{
	unsigned short begin = only_for(f, SYS_bpf);

	load_argument(f, 0);
	allow_each(f, bpf_commands, COUNT(bpf_commands));
	if (what->attaches)
		allow_each(f, bpf_loads, COUNT(bpf_loads));
	else if (what->loads)
		allow_each(f, bpf_loads, 1);
	refuse(f);
	otherwise(f, begin);
}

/* An event of one process can send it signals; those of CPUs cannot: attr.sigtrap. */
static void allow_events(struct filter *f, bool attaches)
{
	if (attaches)
		allow_if(f, SYS_perf_event_open);
	else
		allow_values(f, SYS_perf_event_open, 1, (const uint32_t[]){ (uint32_t)-1 }, 1);
}

static void allow_ioctls(struct filter *f)
{
	unsigned short begin = only_for(f, SYS_ioctl);

	load_argument(f, 1);
	allow_each(f, terminal, COUNT(terminal));
	put(f, BPF_ALU | BPF_AND | BPF_K, 0xff00, 0, 0);
	allow_if(f, ANY_IOCTL_OF_PERF);
	refuse(f);
	otherwise(f, begin);
}

/* What fork(3) asks for. */
#define FORK (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)

/* Threads. clone3() has its flags in memory: the C library then takes clone(). */
static void allow_threads(struct filter *f, bool forks)
{
	unsigned short begin = only_for(f, SYS_clone);

	load_argument(f, 0);
	if (forks) {
		allow_if(f, FORK);
		allow_if(f, SIGCHLD); /* musl, where it has no fork() */
	}
	put(f, BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
	end(f, SECCOMP_RET_ALLOW);
	refuse(f);
	otherwise(f, begin);
#ifdef SYS_fork
	if (forks)
		allow_if(f, SYS_fork);
#endif
#ifdef SYS_clone3
	begin = only_for(f, SYS_clone3);
	end(f, SECCOMP_RET_ERRNO | ENOSYS);
	otherwise(f, begin);
#endif
}

/* Two ends that lead to each other alone: one for datagrams could send to any socket. */
static void allow_stream_pair(struct filter *f)
{
	unsigned short begin = only_for(f, SYS_socketpair);

	load_argument(f, 0);
	put(f, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 1, 0);
	refuse(f);
	load_argument(f, 1);
	allow_if(f, SOCK_STREAM | SOCK_CLOEXEC);
	refuse(f);
	otherwise(f, begin);
}

/* The number of the call is loaded when this ends. */
static void begin(struct filter *f)
{
	const uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

	load(f, offsetof(struct seccomp_data, arch));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	refuse(f);
	load(f, offsetof(struct seccomp_data, nr));
#ifdef X32
	put(f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	refuse(f);
#endif
	allow_without(f, SYS_openat, 2, writes);
#ifdef SYS_open
	allow_without(f, SYS_open, 1, writes);
#endif
}

/* What every process does, and the end. */
static void finish(struct filter *f, bool forks)
{
	const uint32_t self = (uint32_t)getpid();

	allow_values(f, SYS_tgkill, 0, &self, 1); /* abort(3) */
	allow_values(f, SYS_prctl, 0, (const uint32_t[]){ PR_SET_NAME }, 1);
	allow_values(f, SYS_prlimit64, 0, (const uint32_t[]){ 0 }, 1);
	allow_threads(f, forks);
	if (forks)
		allow_stream_pair(f);
	for (size_t i = 0; i < COUNT(always); i++)
		allow_if(f, (uint32_t)always[i]);
	refuse(f);
}

static int install(struct filter *f)
{
	struct sock_fprog program = { .len = f->n, .filter = f->insn };

	if (f->n > MAX_INSNS)
		return -E2BIG;
	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 0;
	return errno == EINVAL ? -ENOSYS : -errno;
}

int record_filter_syscalls(const struct record_confine *what)
{
	const uint32_t target = (uint32_t)(what->child ? what->child : getpid());
	struct filter f = { .n = 0 };

	begin(&f);
	allow_values(&f, SYS_fcntl, 1, fcntl_commands, COUNT(fcntl_commands));
	allow_bpf(&f, what);
	allow_events(&f, what->attaches);
	allow_values(&f, SYS_kill, 0, &target, 1);
	allow_ioctls(&f);
	finish(&f, what->forks);
	return install(&f);
}

int record_filter_sender(void)
{
	unsigned short only;
	struct filter f = { .n = 0 };

	begin(&f);
	only = only_for(&f, SYS_fcntl);
	load_argument(&f, 1);
	allow_each(&f, fcntl_commands, COUNT(fcntl_commands));
	allow_if(&f, F_SETFL); /* O_NONBLOCK; whom O_ASYNC would signal cannot be set */
	refuse(&f);
	otherwise(&f, only);
	allow_values(&f, SYS_socket, 0, families, COUNT(families));
	allow_values(&f, SYS_ioctl, 1, socket_ioctls, COUNT(socket_ioctls));
	for (size_t i = 0; i < COUNT(network); i++)
		allow_if(&f, (uint32_t)network[i]);
	finish(&f, false);
	return install(&f);
}
