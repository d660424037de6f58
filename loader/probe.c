/* SPDX-License-Identifier: BSD-2-Clause */
/* probe.c: kprobes and uprobes, one at a time by their perf PMUs, or many by one link. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- by the perf PMUs "kprobe" and "uprobe" */

/* The type's number differs from kernel to kernel, and is not to be guessed: some other PMU may
 * have the number of a missing one. */
static int pmu_type(const char *pmu)
{
	char path[96];
	long long type;
	int err;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	err = rp_read_number(path, &type);
	return err ? err : (int)type;
}

/* First bit of a PMU's format "name", written as config:0 or config:32-63. */
static int pmu_format_bit(const char *pmu, const char *name)
{
	char path[96], *text, *end;
	long bit = -1;
	int err;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/%s", pmu, name);
	err = rp_read_file(path, &text);
	if (err)
		return err;
	if (!strncmp(text, "config:", 7)) {
		bit = strtol(text + 7, &end, 10);
		if (end == text + 7)
			bit = -1;
	}
	free(text);
	return bit < 0 || bit > 63 ? -EINVAL : (int)bit;
}

static int pmu_attr(const char *pmu, bool at_return, uint64_t ref_ctr_offset,
		    struct perf_event_attr *attr)
{
	const int type = pmu_type(pmu);
	int bit;

	if (type == -ENOENT)
		return rp_fail(-EOPNOTSUPP,
			       "this kernel has no %ss (no /sys/bus/event_source/devices/%s: "
			       "CONFIG_%s_EVENTS is off)",
			       pmu, pmu, *pmu == 'k' ? "KPROBE" : "UPROBE");
	if (type < 0)
		return rp_fail(type, "cannot read /sys/bus/event_source/devices/%s/type: %s", pmu,
			       strerror(-type));
	memset(attr, 0, sizeof(*attr));
	attr->type = (uint32_t)type;
	attr->sample_period = 1;
	if (at_return) {
		bit = pmu_format_bit(pmu, "retprobe");
		if (bit < 0)
			return rp_fail(bit, "this kernel's %s PMU has no return probes", pmu);
		attr->config |= 1ULL << bit;
	}
	if (ref_ctr_offset) {
		bit = pmu_format_bit(pmu, "ref_ctr_offset");
		if (bit < 0)
			return rp_fail(
				-EOPNOTSUPP,
				"this kernel cannot count up USDT semaphores: that needs Linux "
				"4.20");
		attr->config |= ref_ctr_offset << bit;
	}
	return 0;
}

static int open_probe(const struct perf_event_attr *attr, pid_t pid)
{
	const int cpu = pid > 0 ? -1 : rp_first_online_cpu();
	int fd = rp_sys_perf_event_open(attr, pid > 0 ? pid : -1, cpu, -1);

	if (fd == -EMFILE && rp_raise_nofile())
		fd = rp_sys_perf_event_open(attr, pid > 0 ? pid : -1, cpu, -1);
	return fd;
}

static const char *describe_kprobe(const struct rp_kprobe *k, char text[160])
{
	snprintf(text, 160, "%s %s%s0x%llx", k->at_return ? "kretprobe" : "kprobe",
		 k->symbol ? k->symbol : "", k->symbol ? "+" : "", (unsigned long long)k->offset);
	return text;
}

int rp_attach_kprobe(int prog_fd, const struct rp_kprobe *probe, struct rp_link **out)
{
	struct perf_event_attr attr;
	char what[160];
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = pmu_attr("kprobe", probe->at_return, 0, &attr);
	if (fd)
		return fd;
	attr.config1 = ptr64(probe->symbol);
	attr.config2 = probe->offset;
	describe_kprobe(probe, what);
	fd = open_probe(&attr, -1);
	if (fd < 0 && probe->quiet && fd != -EMFILE)
		return fd;
	switch (fd < 0 ? fd : 0) {
	case 0:
		return rp_link_perf_event(fd, prog_fd, probe->cookie, what, out);
	case -ENOENT:
		return rp_fail(
			fd,
			"%s: the kernel has no such function (inlined, perhaps, or in a module "
			"that is not loaded)",
			what);
	case -EADDRNOTAVAIL:
		return rp_fail(fd, "%s: the name is that of several functions; give the address",
			       what);
	case -EINVAL:
	case -EILSEQ:
		return rp_fail(
			fd,
			"%s: no probe may be put there (the function is on the kernel's list of "
			"exceptions, or the address is within an instruction)",
			what);
	}
	return rp_perf_open_failed(fd, &attr, what, "all CPUs");
}

int rp_attach_uprobe(int prog_fd, const struct rp_uprobe *probe, struct rp_link **out)
{
	struct perf_event_attr attr;
	char what[160];
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = pmu_attr("uprobe", probe->at_return, probe->ref_ctr_offset, &attr);
	if (fd)
		return fd;
	attr.config1 = ptr64(probe->path);
	attr.config2 = probe->offset;
	snprintf(what, sizeof(what), "%s %s+0x%llx", probe->at_return ? "uretprobe" : "uprobe",
		 probe->path, (unsigned long long)probe->offset);
	fd = open_probe(&attr, probe->pid);
	switch (fd < 0 ? fd : 0) {
	case 0:
		return rp_link_perf_event(fd, prog_fd, probe->cookie, what, out);
	case -ENOENT:
		return rp_fail(fd, "%s: no such file", what);
	case -EINVAL:
		return rp_fail(
			fd,
			"%s: no probe may be put there (the file is not a regular one, or the "
			"offset lies outside it)",
			what);
	case -ESRCH:
		return rp_fail(fd, "%s: there is no process %d", what, (int)probe->pid);
	case -EOPNOTSUPP:
	case -EIO:
		return rp_fail(fd, "%s: the instruction there cannot be probed", what);
	}
	return rp_perf_open_failed(fd, &attr, what, "all CPUs");
}

/* ---- many by one link */

int rp_attach_kprobe_multi(int prog_fd, const struct rp_kprobe_multi *probe, struct rp_link **out)
{
	union rp_attr attr = { 0 };
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	attr.link.prog_fd = (uint32_t)prog_fd;
	attr.link.attach_type = BPF_TRACE_KPROBE_MULTI;
	attr.link.kprobe_multi.flags = probe->at_return ? BPF_F_KPROBE_MULTI_RETURN : 0;
	attr.link.kprobe_multi.cnt = probe->n;
	attr.link.kprobe_multi.syms = ptr64(probe->symbols);
	attr.link.kprobe_multi.addrs = ptr64(probe->addrs);
	attr.link.kprobe_multi.cookies = ptr64(probe->cookies);
	fd = rp_sys_bpf(BPF_LINK_CREATE, &attr);
	if (fd < 0 && probe->quiet && fd != -EMFILE)
		return fd;
	switch (fd < 0 ? fd : 0) {
	case 0:
		return rp_link_from_fd(fd, out);
	case -EOPNOTSUPP:
		return rp_fail(fd, "this kernel has no kprobe_multi (CONFIG_FPROBE is off)");
	case -ENOENT:
	case -ESRCH:
		return rp_fail(
			fd,
			"kprobe_multi: one of %u functions is not there, or ftrace does not cover "
			"it",
			probe->n);
	case -EINVAL:
		if (!rp_has(RP_HAS_KPROBE_MULTI))
			return rp_fail(-EOPNOTSUPP,
				       "this kernel has no kprobe_multi: that needs Linux 5.18");
		break;
	}
	return rp_fail(fd, "kprobe_multi on %u functions: %s", probe->n, strerror(-fd));
}

int rp_attach_uprobe_multi(int prog_fd, const struct rp_uprobe_multi *probe, struct rp_link **out)
{
	union rp_attr attr = { 0 };
	int fd;

	if (prog_fd < 0)
		return prog_fd;
	attr.link.prog_fd = (uint32_t)prog_fd;
	attr.link.attach_type = probe->session ? BPF_TRACE_UPROBE_SESSION : BPF_TRACE_UPROBE_MULTI;
	attr.link.uprobe_multi.flags =
		probe->at_return && !probe->session ? BPF_F_UPROBE_MULTI_RETURN : 0;
	attr.link.uprobe_multi.path = ptr64(probe->path);
	attr.link.uprobe_multi.cnt = probe->n;
	attr.link.uprobe_multi.offsets = ptr64(probe->offsets);
	attr.link.uprobe_multi.cookies = ptr64(probe->cookies);
	attr.link.uprobe_multi.ref_ctr_offsets = ptr64(probe->ref_ctr_offsets);
	attr.link.uprobe_multi.pid = probe->pid > 0 ? (uint32_t)probe->pid : 0;
	fd = rp_sys_bpf(BPF_LINK_CREATE, &attr);
	switch (fd < 0 ? fd : 0) {
	case 0:
		return rp_link_from_fd(fd, out);
	case -ENOENT:
		return rp_fail(fd, "uprobe_multi %s: no such file", probe->path);
	case -ESRCH:
		return rp_fail(fd, "uprobe_multi %s: there is no process %d", probe->path,
			       (int)probe->pid);
	case -EOPNOTSUPP:
		return rp_fail(fd, "uprobe_multi %s: one of the instructions cannot be probed",
			       probe->path);
	case -EINVAL:
		if (!rp_has(RP_HAS_UPROBE_MULTI))
			return rp_fail(-EOPNOTSUPP,
				       "this kernel has no uprobe_multi: that needs Linux 6.6");
		return rp_fail(fd,
			       "uprobe_multi %s, %u places: %s; it is so where another probe, of "
			       "whatever tool, is at one of them with another semaphore, or one "
			       "without",
			       probe->path, probe->n, strerror(-fd));
	}
	return rp_fail(fd, "uprobe_multi %s, %u places: %s", probe->path, probe->n, strerror(-fd));
}
