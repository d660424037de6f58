/* SPDX-License-Identifier: BSD-2-Clause */
/* attach.c: links, and programs on tracepoints of the three kinds. Probes are in probe.c. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Closing the descriptor detaches, whatever it is: a link, or a perf event that carries a
 * program. */
struct rp_link {
	int fd;
};

int rp_link_from_fd(int fd, struct rp_link **out)
{
	struct rp_link *link = malloc(sizeof(*link));

	if (!link) {
		close(fd);
		return -ENOMEM;
	}
	link->fd = fd;
	*out = link;
	return 0;
}

void rp_link_close(struct rp_link *link)
{
	if (!link)
		return;
	close(link->fd);
	free(link);
}

void rp_quiesce(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* A link holds the perf event, so that its own descriptor can go. */
static int replace_by_link(int fd, int prog_fd, uint64_t cookie)
{
	union rp_attr attr = { 0 };
	int link;

	attr.link.prog_fd = (uint32_t)prog_fd;
	attr.link.target_fd = (uint32_t)fd;
	attr.link.attach_type = BPF_PERF_EVENT;
	attr.link.perf.cookie = cookie;
	link = rp_sys_bpf(BPF_LINK_CREATE, &attr);
	if (link == -EMFILE && rp_raise_nofile())
		link = rp_sys_bpf(BPF_LINK_CREATE, &attr);
	if (link < 0)
		return link == -EINVAL && !rp_has(RP_HAS_PERF_LINK) ? -EOPNOTSUPP : link;
	close(fd);
	return link;
}

static int attach_failed(int err, const char *what)
{
	switch (err) {
	case -EACCES:
		return rp_fail(err,
			       "cannot attach to %s: the program reads beyond the event's record",
			       what);
	case -EINVAL:
		return rp_fail(err, "cannot attach to %s: the program is of another type", what);
	case -EOPNOTSUPP:
		return rp_fail(err, "cannot attach to %s with a cookie: that needs Linux 5.15",
			       what);
	case -E2BIG:
		return rp_fail(err, "cannot attach to %s: 64 programs are attached there already",
			       what);
	}
	return rp_fail(err, "cannot attach to %s: %s", what, strerror(-err));
}

int rp_link_perf_event(int fd, int prog_fd, uint64_t cookie, const char *what, struct rp_link **out)
{
	int err = 0;

	if (cookie) {
		err = replace_by_link(fd, prog_fd, cookie);
		if (err >= 0)
			return rp_link_from_fd(err, out);
	} else {
		err = rp_sys_ioctl(fd, PERF_EVENT_IOC_SET_BPF, (unsigned long)prog_fd);
		if (!err)
			return rp_link_from_fd(fd, out);
	}
	close(fd);
	return attach_failed(err, what);
}

int rp_attach_tracepoint(int prog_fd, const char *group, const char *event, uint64_t cookie,
			 struct rp_link **out)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 };
	char what[160];
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = rp_tp_id(group, event);
	if (fd < 0)
		return fd;
	snprintf(what, sizeof(what), "tracepoint %s:%s", group, event);
	attr.config = (uint64_t)fd;
	/* The program runs on every CPU, whichever the event was opened on. */
	fd = rp_sys_perf_event_open(&attr, -1, rp_first_online_cpu(), -1);
	if (fd == -EMFILE && rp_raise_nofile())
		fd = rp_sys_perf_event_open(&attr, -1, rp_first_online_cpu(), -1);
	if (fd < 0)
		return rp_perf_open_failed(fd, &attr, what, "all CPUs");
	return rp_link_perf_event(fd, prog_fd, cookie, what, out);
}

/* Also serves programs whose target was fixed at load (name NULL), on kernels before
 * BPF_LINK_CREATE knew them. */
static int raw_tracepoint(int prog_fd, const char *name)
{
	union rp_attr attr = { 0 };
	int fd;

	attr.raw_tp.prog_fd = (uint32_t)prog_fd;
	attr.raw_tp.name = ptr64(name);
	fd = rp_sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	if (fd == -EMFILE && rp_raise_nofile())
		fd = rp_sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
	return fd;
}

int rp_iterator(int prog_fd)
{
	union rp_attr attr = { 0 };
	int link, fd;

	if (prog_fd < 0)
		return prog_fd;
	attr.link.prog_fd = (uint32_t)prog_fd;
	attr.link.attach_type = BPF_TRACE_ITER;
	link = rp_sys_bpf(BPF_LINK_CREATE, &attr);
	attr = (union rp_attr){ 0 };
	attr.iter.link_fd = (uint32_t)link;
	fd = link < 0 ? link : rp_sys_bpf(BPF_ITER_CREATE, &attr);
	if (link >= 0)
		close(link);
	return fd < 0 ? rp_fail(fd, "cannot run an iterator: %s", strerror(-fd)) : fd;
}

int rp_attach_raw_tracepoint(int prog_fd, const char *name, struct rp_link **out)
{
	char what[160];
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = raw_tracepoint(prog_fd, name);
	if (fd >= 0)
		return rp_link_from_fd(fd, out);
	snprintf(what, sizeof(what), "raw tracepoint %s",
		 name ? name : "of the program's BTF target");
	if (fd == -ENOENT)
		return rp_fail(fd, "this kernel has no %s", what);
	if (fd == -EPERM && !rp_cap_has(RP_CAP_PERFMON))
		return rp_fail(fd, "cannot attach to %s: %s", what, rp_cap_hint(RP_CAP_PERFMON));
	return attach_failed(fd, what);
}

int rp_attach_trace(int prog_fd, struct rp_link **out)
{
	const int fd = prog_fd < 0 ? prog_fd : raw_tracepoint(prog_fd, NULL);

	if (prog_fd < 0)
		return prog_fd;

	if (fd >= 0)
		return rp_link_from_fd(fd, out);
	if (fd == -EOPNOTSUPP)
		return rp_fail(
			fd,
			"this kernel loads fentry and fexit programs but cannot attach them (its "
			"errno 524: no direct calls from ftrace on this architecture)");
	if (fd == -EBUSY)
		return rp_fail(fd,
			       "cannot attach to the function's entry: something else patches it "
			       "(kprobe, livepatch)");
	return attach_failed(fd, "the function's entry or exit");
}
