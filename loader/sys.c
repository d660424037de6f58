/* SPDX-License-Identifier: BSD-2-Clause */
/* sys.c: the one place where bpf(2), perf_event_open(2), ioctl(2) and uprobe(2) are called. */
#include "internal.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel answers with this where user space would expect EOPNOTSUPP; include/linux/errno.h, not
 * in any libc. */
enum { KERNEL_ENOTSUPP = 524 };

static int result(long r)
{
	return r < 0 ? -errno : (int)r;
}

static int kernel_bpf(int cmd, void *attr, uint32_t size)
{
	return result(syscall(SYS_bpf, cmd, attr, size));
}

static int kernel_perf_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
				  unsigned long flags)
{
	return result(syscall(SYS_perf_event_open, attr, pid, cpu, group, flags));
}

static int kernel_ioctl(int fd, unsigned long request, unsigned long arg)
{
	return result(ioctl(fd, request, arg));
}

static int kernel_uprobe(void)
{
#ifdef __x86_64__
	enum { SYS_UPROBE = 336 };

	return result(syscall(SYS_UPROBE));
#else
	return -EOPNOTSUPP; /* no kernel has it for this machine */
#endif
}

static const struct rp_sys kernel = { kernel_bpf, kernel_perf_event_open, kernel_ioctl,
				      kernel_uprobe };
static const struct rp_sys *sys = &kernel;

void rp_sys_replace(const struct rp_sys *with)
{
	sys = with ? with : &kernel;
	rp_features_forget();
}

static int normalize(int r)
{
	return r == -KERNEL_ENOTSUPP ? -EOPNOTSUPP : r;
}

/*
 * The size handed over ends with the last byte that is not zero, so that a kernel which knows fewer
 * fields is never shown one that was not asked for. Results are written behind that size too: the
 * kernel takes the pointer, not the size, for those.
 */
static uint32_t used_size(const void *attr, uint32_t size, uint32_t least)
{
	const uint8_t *byte = attr;

	while (size > least && !byte[size - 1])
		size--;
	return (uint32_t)round_up(size, 8);
}

int rp_sys_bpf(int cmd, union rp_attr *attr)
{
	/* With a log the kernel answers how long it would be (6.4), where it finds room for that.
	 * */
	const bool answers = cmd == BPF_PROG_LOAD && attr->prog.log_buf;
	const uint32_t size = answers ? sizeof(attr->prog) : used_size(attr, sizeof(*attr), 8);
	int r, tries = 0;

	/* The verifier gives up with EAGAIN when a signal is pending. */
	do
		r = normalize(sys->bpf(cmd, attr, size));
	while (r == -EAGAIN && cmd == BPF_PROG_LOAD && ++tries < 8);
	return r;
}

static int open_perf_event(const struct perf_event_attr *attr, int target, int cpu, int group,
			   unsigned long flags)
{
	struct perf_event_attr a = *attr;
	int r;

	a.size = used_size(attr, sizeof(*attr), PERF_ATTR_SIZE_VER0);
	do
		r = normalize(
			sys->perf_event_open(&a, target, cpu, group, PERF_FLAG_FD_CLOEXEC | flags));
	while (r == -EINTR);
	return r;
}

int rp_sys_perf_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
	return open_perf_event(attr, pid, cpu, group, 0);
}

int rp_sys_perf_event_open_cgroup(const struct perf_event_attr *attr, int cgroup, int cpu,
				  int group)
{
	return open_perf_event(attr, cgroup, cpu, group, PERF_FLAG_PID_CGROUP);
}

int rp_sys_perf_event_nonsense(const struct perf_event_attr *attr)
{
	return normalize(sys->perf_event_open(attr, -1, -1, -1, ~0ul));
}

int rp_sys_ioctl(int fd, unsigned long request, unsigned long arg)
{
	return normalize(sys->ioctl(fd, request, arg));
}

int rp_sys_uprobe(void)
{
	return sys->uprobe ? sys->uprobe() : -ENOSYS;
}
