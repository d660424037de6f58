/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of flags and values of system calls: one row for each argument that has some. Constants are
 * those of the headers, so that each machine has its own.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "call.h"

struct call_name {
	uint64_t value;
	const char *name;
};

/* Names of one of several values under the mask, then of bits; 0 ends both. */
struct record_call_names {
	uint64_t mask; /* all: there are no bits */
	const struct call_name *values, *bits;
};

#define N(constant)                                                                                \
	{                                                                                          \
		(uint64_t)(constant), #constant                                                    \
	}
#define END_OF_NAMES                                                                               \
	{                                                                                          \
		0, NULL                                                                            \
	}
#define ALL UINT64_MAX

static const struct call_name access_modes[] = { N(O_RDONLY), N(O_WRONLY), N(O_RDWR),
						 END_OF_NAMES };
/* What contains another comes before it. O_LARGEFILE is 0 to 64-bit programs, not to the kernel. */
static const struct call_name open_bits[] = {
	N(O_TMPFILE), N(O_SYNC),      N(O_CREAT),    N(O_EXCL),
	N(O_NOCTTY),  N(O_TRUNC),     N(O_APPEND),   N(O_NONBLOCK),
	N(O_DSYNC),   N(O_DIRECTORY), N(O_NOFOLLOW), N(O_CLOEXEC),
	N(O_DIRECT),  N(O_NOATIME),   N(O_PATH),     { 0100000, "O_LARGEFILE" },
	N(O_ASYNC),   END_OF_NAMES
};
static const struct call_name prot_none[] = { N(PROT_NONE), END_OF_NAMES };
static const struct call_name prot_bits[] = { N(PROT_READ),	 N(PROT_WRITE),	  N(PROT_EXEC),
					      N(PROT_GROWSDOWN), N(PROT_GROWSUP), END_OF_NAMES };
static const struct call_name map_types[] = { N(MAP_SHARED), N(MAP_PRIVATE), N(MAP_SHARED_VALIDATE),
					      END_OF_NAMES };
static const struct call_name map_bits[] = {
	N(MAP_FIXED),		N(MAP_ANONYMOUS), N(MAP_GROWSDOWN), N(MAP_DENYWRITE),
	N(MAP_EXECUTABLE),	N(MAP_LOCKED),	  N(MAP_NORESERVE), N(MAP_POPULATE),
	N(MAP_NONBLOCK),	N(MAP_STACK),	  N(MAP_HUGETLB),   N(MAP_SYNC),
	N(MAP_FIXED_NOREPLACE), END_OF_NAMES
};
static const struct call_name remap_bits[] = { N(MREMAP_MAYMOVE), N(MREMAP_FIXED),
					       N(MREMAP_DONTUNMAP), END_OF_NAMES };
static const struct call_name sync_bits[] = { N(MS_ASYNC), N(MS_INVALIDATE), N(MS_SYNC),
					      END_OF_NAMES };
static const struct call_name advices[] = {
	N(MADV_NORMAL),	    N(MADV_RANDOM),    N(MADV_SEQUENTIAL),  N(MADV_WILLNEED),
	N(MADV_DONTNEED),   N(MADV_FREE),      N(MADV_REMOVE),	    N(MADV_DONTFORK),
	N(MADV_DOFORK),	    N(MADV_MERGEABLE), N(MADV_UNMERGEABLE), N(MADV_HUGEPAGE),
	N(MADV_NOHUGEPAGE), N(MADV_DONTDUMP),  N(MADV_DODUMP),	    N(MADV_WIPEONFORK),
	N(MADV_KEEPONFORK), N(MADV_COLD),      N(MADV_PAGEOUT),	    END_OF_NAMES
};
static const struct call_name families[] = { N(AF_UNSPEC), N(AF_UNIX),	  N(AF_INET),
					     N(AF_INET6),  N(AF_NETLINK), N(AF_PACKET),
					     N(AF_ALG),	   N(AF_VSOCK),	  N(AF_BLUETOOTH),
					     N(AF_XDP),	   END_OF_NAMES };
static const struct call_name socket_types[] = { N(SOCK_STREAM),    N(SOCK_DGRAM), N(SOCK_RAW),
						 N(SOCK_SEQPACKET), N(SOCK_RDM),   END_OF_NAMES };
static const struct call_name socket_bits[] = { N(SOCK_CLOEXEC), N(SOCK_NONBLOCK), END_OF_NAMES };
static const struct call_name message_bits[] = {
	N(MSG_OOB),	   N(MSG_PEEK),		N(MSG_DONTROUTE), N(MSG_CTRUNC),   N(MSG_TRUNC),
	N(MSG_DONTWAIT),   N(MSG_EOR),		N(MSG_WAITALL),	  N(MSG_NOSIGNAL), N(MSG_MORE),
	N(MSG_WAITFORONE), N(MSG_CMSG_CLOEXEC), N(MSG_ERRQUEUE),  END_OF_NAMES
};
static const struct call_name shutdowns[] = { N(SHUT_RD), N(SHUT_WR), N(SHUT_RDWR), END_OF_NAMES };
static const struct call_name signals[] = {
	N(SIGHUP),	   N(SIGINT),	      N(SIGQUIT),  N(SIGILL),  N(SIGTRAP), N(SIGABRT),
	N(SIGBUS),	   N(SIGFPE),	      N(SIGKILL),  N(SIGUSR1), N(SIGSEGV), N(SIGUSR2),
	N(SIGPIPE),	   N(SIGALRM),	      N(SIGTERM),  N(SIGCHLD), N(SIGCONT), N(SIGSTOP),
	N(SIGTSTP),	   N(SIGTTIN),	      N(SIGTTOU),  N(SIGURG),  N(SIGXCPU), N(SIGXFSZ),
	N(SIGVTALRM),	   N(SIGPROF),	      N(SIGWINCH), N(SIGIO),   N(SIGPWR),  N(SIGSYS),
	{ 32, "SIGRT_0" }, { 33, "SIGRT_1" }, END_OF_NAMES
};
/* Behind the flags the lowest byte is the signal at the end. */
static const struct call_name clone_bits[] = { N(CLONE_VM),
					       N(CLONE_FS),
					       N(CLONE_FILES),
					       N(CLONE_SIGHAND),
					       N(CLONE_PIDFD),
					       N(CLONE_PTRACE),
					       N(CLONE_VFORK),
					       N(CLONE_PARENT),
					       N(CLONE_THREAD),
					       N(CLONE_NEWNS),
					       N(CLONE_SYSVSEM),
					       N(CLONE_SETTLS),
					       N(CLONE_PARENT_SETTID),
					       N(CLONE_CHILD_CLEARTID),
					       N(CLONE_DETACHED),
					       N(CLONE_UNTRACED),
					       N(CLONE_CHILD_SETTID),
					       N(CLONE_NEWCGROUP),
					       N(CLONE_NEWUTS),
					       N(CLONE_NEWIPC),
					       N(CLONE_NEWUSER),
					       N(CLONE_NEWPID),
					       N(CLONE_NEWNET),
					       N(CLONE_IO),
					       END_OF_NAMES };
static const struct call_name at_bits[] = { N(AT_SYMLINK_NOFOLLOW), N(AT_SYMLINK_FOLLOW),
					    N(AT_NO_AUTOMOUNT),	    N(AT_EMPTY_PATH),
					    N(AT_STATX_FORCE_SYNC), N(AT_STATX_DONT_SYNC),
					    N(AT_RECURSIVE),	    END_OF_NAMES };
static const struct call_name remove_bits[] = { N(AT_REMOVEDIR), END_OF_NAMES };
static const struct call_name access_bits[] = { N(R_OK), N(W_OK), N(X_OK), END_OF_NAMES };
static const struct call_name access_exists[] = { N(F_OK), END_OF_NAMES };
static const struct call_name whences[] = { N(SEEK_SET),  N(SEEK_CUR),	N(SEEK_END),
					    N(SEEK_DATA), N(SEEK_HOLE), END_OF_NAMES };
static const struct call_name fcntl_commands[] = {
	N(F_DUPFD),	    N(F_GETFD),	    N(F_SETFD),	    N(F_GETFL),	     N(F_SETFL),
	N(F_GETLK),	    N(F_SETLK),	    N(F_SETLKW),    N(F_SETOWN),     N(F_GETOWN),
	N(F_DUPFD_CLOEXEC), N(F_OFD_GETLK), N(F_OFD_SETLK), N(F_OFD_SETLKW), N(F_SETPIPE_SZ),
	N(F_GETPIPE_SZ),    N(F_ADD_SEALS), N(F_GET_SEALS), N(F_SETLEASE),   N(F_GETLEASE),
	END_OF_NAMES
};
static const struct call_name futex_operations[] = {
	N(FUTEX_WAIT),	      N(FUTEX_WAKE),	    N(FUTEX_FD),	  N(FUTEX_REQUEUE),
	N(FUTEX_CMP_REQUEUE), N(FUTEX_WAKE_OP),	    N(FUTEX_LOCK_PI),	  N(FUTEX_UNLOCK_PI),
	N(FUTEX_TRYLOCK_PI),  N(FUTEX_WAIT_BITSET), N(FUTEX_WAKE_BITSET), N(FUTEX_LOCK_PI2),
	END_OF_NAMES
};
static const struct call_name futex_bits[] = { N(FUTEX_PRIVATE_FLAG), N(FUTEX_CLOCK_REALTIME),
					       END_OF_NAMES };
static const struct call_name epoll_operations[] = { N(EPOLL_CTL_ADD), N(EPOLL_CTL_DEL),
						     N(EPOLL_CTL_MOD), END_OF_NAMES };
static const struct call_name fd_bits[] = { N(O_CLOEXEC), N(O_NONBLOCK), N(O_DIRECT),
					    END_OF_NAMES };
static const struct call_name wait_bits[] = { N(WNOHANG),
					      N(WUNTRACED),
					      N(WEXITED),
					      N(WCONTINUED),
					      N(WNOWAIT),
					      { 0x20000000, "__WNOTHREAD" },
					      { 0x40000000, "__WALL" },
					      { 0x80000000, "__WCLONE" },
					      END_OF_NAMES };
static const struct call_name hows[] = { N(SIG_BLOCK), N(SIG_UNBLOCK), N(SIG_SETMASK),
					 END_OF_NAMES };
static const struct call_name random_bits[] = {
	N(GRND_NONBLOCK), N(GRND_RANDOM), { 4, "GRND_INSECURE" }, END_OF_NAMES
};
static const struct call_name memfd_bits[] = { N(MFD_CLOEXEC),	   N(MFD_ALLOW_SEALING),
					       N(MFD_HUGETLB),	   { 8, "MFD_NOEXEC_SEAL" },
					       { 16, "MFD_EXEC" }, END_OF_NAMES };
static const struct call_name clocks[] = { N(CLOCK_REALTIME),
					   N(CLOCK_MONOTONIC),
					   N(CLOCK_PROCESS_CPUTIME_ID),
					   N(CLOCK_THREAD_CPUTIME_ID),
					   N(CLOCK_MONOTONIC_RAW),
					   N(CLOCK_REALTIME_COARSE),
					   N(CLOCK_MONOTONIC_COARSE),
					   N(CLOCK_BOOTTIME),
					   N(CLOCK_TAI),
					   END_OF_NAMES };
static const struct call_name limits[] = {
	N(RLIMIT_CPU),	    N(RLIMIT_FSIZE), N(RLIMIT_DATA),   N(RLIMIT_STACK),
	N(RLIMIT_CORE),	    N(RLIMIT_RSS),   N(RLIMIT_NPROC),  N(RLIMIT_NOFILE),
	N(RLIMIT_MEMLOCK),  N(RLIMIT_AS),    N(RLIMIT_LOCKS),  N(RLIMIT_SIGPENDING),
	N(RLIMIT_MSGQUEUE), N(RLIMIT_NICE),  N(RLIMIT_RTPRIO), N(RLIMIT_RTTIME),
	END_OF_NAMES
};
static const struct call_name rename_bits[] = {
	{ 1, "RENAME_NOREPLACE" }, { 2, "RENAME_EXCHANGE" }, { 4, "RENAME_WHITEOUT" }, END_OF_NAMES
};
static const struct call_name mount_bits[] = { N(MS_RDONLY),   N(MS_NOSUID),	  N(MS_NODEV),
					       N(MS_NOEXEC),   N(MS_SYNCHRONOUS), N(MS_REMOUNT),
					       N(MS_NOATIME),  N(MS_BIND),	  N(MS_MOVE),
					       N(MS_REC),      N(MS_SILENT),	  N(MS_UNBINDABLE),
					       N(MS_PRIVATE),  N(MS_SLAVE),	  N(MS_SHARED),
					       N(MS_RELATIME), END_OF_NAMES };
static const struct call_name statx_bits[] = { { STATX_BASIC_STATS, "STATX_BASIC_STATS" },
					       N(STATX_TYPE),
					       N(STATX_MODE),
					       N(STATX_NLINK),
					       N(STATX_UID),
					       N(STATX_GID),
					       N(STATX_ATIME),
					       N(STATX_MTIME),
					       N(STATX_CTIME),
					       N(STATX_INO),
					       N(STATX_SIZE),
					       N(STATX_BLOCKS),
					       N(STATX_BTIME),
					       N(STATX_MNT_ID),
					       END_OF_NAMES };

#define BITS(list)                                                                                 \
	{                                                                                          \
		0, NULL, list                                                                      \
	}
#define VALUES(list)                                                                               \
	{                                                                                          \
		ALL, list, NULL                                                                    \
	}
static const struct {
	const char *calls, *arg; /* of one of these calls, with a blank on each side */
	struct record_call_names names;
} rows[] = {
	{ " open openat open_by_handle_at ", "flags", { O_ACCMODE, access_modes, open_bits } },
	{ " mmap mprotect pkey_mprotect ", "prot", { 0, prot_none, prot_bits } },
	{ " mmap ", "flags", { MAP_TYPE, map_types, map_bits } },
	{ " mremap ", "flags", BITS(remap_bits) },
	{ " msync ", "flags", BITS(sync_bits) },
	{ " madvise process_madvise ", "behavior", VALUES(advices) },
	{ " socket socketpair ", "family", VALUES(families) },
	{ " socket socketpair ", "type", { 0xf, socket_types, socket_bits } },
	{ " sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg ", "flags", BITS(message_bits) },
	{ " shutdown ", "how", VALUES(shutdowns) },
	{ " accept4 ", "flags", BITS(socket_bits) },
	{ " kill tkill tgkill rt_sigaction rt_sigqueueinfo pidfd_send_signal ", "sig",
	  VALUES(signals) },
	{ " clone ", "clone_flags", { 0xff, signals, clone_bits } },
	{ " unshare ", "unshare_flags", BITS(clone_bits) },
	{ " setns ", "flags", BITS(clone_bits) },
	{ " newfstatat fstatat statx ", "flags", BITS(at_bits) },
	{ " newfstatat fchownat fchmodat2 linkat execveat faccessat2 utimensat name_to_handle_at ",
	  "flag", BITS(at_bits) },
	{ " linkat execveat faccessat2 utimensat ", "flags", BITS(at_bits) },
	{ " unlinkat ", "flag", BITS(remove_bits) },
	{ " access faccessat faccessat2 ", "mode", { 0, access_exists, access_bits } },
	{ " lseek ", "whence", VALUES(whences) },
	{ " fcntl ", "cmd", VALUES(fcntl_commands) },
	{ " futex ", "op", { 0x7f, futex_operations, futex_bits } },
	{ " epoll_ctl ", "op", VALUES(epoll_operations) },
	{ " pipe2 dup3 eventfd2 epoll_create1 inotify_init1 signalfd4 timerfd_create ", "flags",
	  BITS(fd_bits) },
	{ " wait4 waitid ", "options", BITS(wait_bits) },
	{ " rt_sigprocmask ", "how", VALUES(hows) },
	{ " getrandom ", "flags", BITS(random_bits) },
	{ " memfd_create ", "flags", BITS(memfd_bits) },
	{ " clock_gettime clock_settime clock_getres clock_nanosleep timer_create ", "which_clock",
	  VALUES(clocks) },
	{ " prlimit64 getrlimit setrlimit ", "resource", VALUES(limits) },
	{ " renameat2 ", "flags", BITS(rename_bits) },
	{ " mount ", "flags", BITS(mount_bits) },
	{ " statx ", "mask", BITS(statx_bits) },
};

const struct record_call_names *record_call_names(const char *call, const char *arg)
{
	const size_t n = strlen(call);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].arg, arg) != 0)
			continue;
		for (const char *at = rows[i].calls; (at = strstr(at, call)); at++)
			if (at[-1] == ' ' && at[n] == ' ')
				return &rows[i].names;
	}
	return NULL;
}

const char *record_call_name(const struct record_call_names *names, size_t i, uint64_t *value)
{
	const struct call_name *lists[] = { names->values, names->bits };

	for (size_t l = 0; l < 2; l++)
		for (const struct call_name *n = lists[l]; n && n->name; n++)
			if (!i--) {
				*value = n->value;
				return n->name;
			}
	return NULL;
}

/* Puts the name of one value; false: it has none. */
static bool put_value(const struct call_name *names, uint64_t value, struct record_out *out)
{
	for (; names && names->name; names++)
		if (names->value == value) {
			record_out_str(out, names->name);
			return true;
		}
	return false;
}

static void between(bool *first, struct record_out *out)
{
	if (!*first)
		record_out_char(out, '|');
	*first = false;
}

void record_call_put_names(const struct record_call_names *names, uint64_t value,
			   struct record_out *out)
{
	bool first = true;

	if (names->mask == ALL) {
		if (!put_value(names->values, value, out))
			record_out_signed(out, (int64_t)value);
		return;
	}
	/* Without a mask the values are names of 0. */
	if ((names->mask || !value) && put_value(names->values, value & names->mask, out)) {
		value &= ~names->mask;
		first = false;
	}
	for (const struct call_name *b = names->bits; b->name; b++)
		if (b->value && (value & b->value) == b->value) {
			between(&first, out);
			record_out_str(out, b->name);
			value &= ~b->value;
		}
	if (value || first) {
		between(&first, out);
		if (value)
			record_out_hex(out, value);
		else
			record_out_char(out, '0');
	}
}
