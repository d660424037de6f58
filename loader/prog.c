/* SPDX-License-Identifier: BSD-2-Clause */
/* prog.c: BPF_PROG_LOAD, and what the verifier has to say when it refuses. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	LOG_MOST = 256 << 20,	       /* the kernel itself stops at 1 GB */
	LOG_OLD_MOST = (16 << 20) - 1, /* of kernels before 5.2 */
	TAIL_LINES = 24,
};

static int load_btf(const struct rp_prog *prog)
{
	union rp_attr attr = { 0 };
	int fd;

	if (!prog->btf_size)
		return -ENOENT;
	attr.btf.btf = ptr64(prog->btf);
	attr.btf.size = prog->btf_size;
	fd = rp_sys_bpf(BPF_BTF_LOAD, &attr);
	if (fd == -EPERM && rp_cap_has(RP_CAP_BPF) && rp_raise_memlock())
		fd = rp_sys_bpf(BPF_BTF_LOAD, &attr);
	if (fd < 0)
		rp_log(RP_INFO,
		       "the kernel takes no BTF for %s (%s): its messages will not quote source "
		       "lines",
		       prog->name, strerror(-fd));
	return fd;
}

/* ---- what a BTF program attaches to */

static const char *target_prefix(uint32_t attach_type)
{
	switch (attach_type) {
	case BPF_TRACE_RAW_TP:
		return "btf_trace_";
	case BPF_TRACE_ITER:
		return "bpf_iter_";
	case BPF_LSM_MAC:
		return "bpf_lsm_";
	}
	return "";
}

static int find_target(const struct rp_prog *prog, uint32_t *id)
{
	const bool tracepoint = prog->attach_type == BPF_TRACE_RAW_TP;
	const struct rp_btf *btf;
	char name[256];
	int found;

	if (!prog->target)
		return 0;
	found = rp_btf_kernel(&btf);
	if (found == -ENOENT)
		return rp_fail(found,
			       "%s attaches to %s by kernel BTF, which this kernel has not "
			       "(/sys/kernel/btf/vmlinux)",
			       prog->name, prog->target);
	if (found)
		return found;
	if (snprintf(name, sizeof(name), "%s%s", target_prefix(prog->attach_type), prog->target) >=
	    (int)sizeof(name))
		return rp_fail(-ENAMETOOLONG, "%s: the name of its target is too long", prog->name);
	found = rp_btf_find(btf, name, tracepoint ? BTF_KIND_TYPEDEF : BTF_KIND_FUNC);
	if (found < 0)
		return rp_fail(
			found,
			"%s: this kernel has no %s %s to attach to (not in its BTF; in a module, "
			"perhaps)",
			prog->name, tracepoint ? "tracepoint" : "function", prog->target);
	*id = (uint32_t)found;
	return 0;
}

/* ---- loading */

static int fill_attr(union rp_attr *attr, const struct rp_prog *prog)
{
	*attr = (union rp_attr){ 0 };
	attr->prog.type = prog->type;
	attr->prog.expected_attach_type = prog->attach_type;
	attr->prog.flags = prog->flags;
	attr->prog.insns = ptr64(prog->insns);
	attr->prog.insn_cnt = prog->ninsns;
	attr->prog.license = ptr64(prog->license ? prog->license : "GPL");
	rp_kernel_name(attr->prog.name, prog->name);
	return find_target(prog, &attr->prog.attach_btf_id);
}

static void set_source(union rp_attr *attr, const struct rp_prog *prog, int btf_fd)
{
	const bool on = btf_fd >= 0;

	attr->prog.btf_fd = on ? (uint32_t)btf_fd : 0;
	attr->prog.func_info = on ? ptr64(prog->func_info) : 0;
	attr->prog.func_info_cnt = on ? prog->nfunc_info : 0;
	attr->prog.func_info_rec_size = on && prog->nfunc_info ? sizeof(struct bpf_func_info) : 0;
	attr->prog.line_info = on ? ptr64(prog->line_info) : 0;
	attr->prog.line_info_cnt = on ? prog->nline_info : 0;
	attr->prog.line_info_rec_size = on && prog->nline_info ? sizeof(struct bpf_line_info) : 0;
}

/*
 * Room for a log. Memory is taken for what the kernel writes alone, so there is room for the
 * longest from the start: a log that turns out to be too long has been written out by the kernel
 * for nothing. Less is for machines that promise no more memory than they have.
 */
static const uint32_t log_rooms[] = { LOG_MOST, 64 << 20, LOG_OLD_MOST, 1 << 20 };

static int load_into(union rp_attr *attr, uint32_t level, char *buf, uint32_t size)
{
	int fd;

	buf[0] = '\0';
	attr->prog.log_level = level;
	attr->prog.log_buf = ptr64(buf);
	attr->prog.log_size = size;
	fd = rp_sys_bpf(BPF_PROG_LOAD, attr);
	attr->prog.log_level = attr->prog.log_size = 0;
	attr->prog.log_buf = 0;
	buf[size - 1] = '\0';
	return fd;
}

/* Load with a log. -ENOSPC is about the log and hides the real result. */
static int load_logged(union rp_attr *attr, uint32_t level, char **log)
{
	int fd = -ENOMEM;

	for (size_t i = 0; i < sizeof(log_rooms) / sizeof(log_rooms[0]); i++) {
		char *buf = malloc(log_rooms[i]);

		if (!buf)
			continue;
		fd = load_into(attr, level, buf, log_rooms[i]);
		/* An old kernel says so, and no word more, of more room than it knows what to do
		 * with. */
		if (fd != -EINVAL || buf[0] || log_rooms[i] <= LOG_OLD_MOST) {
			*log = buf;
			return fd;
		}
		free(buf);
	}
	return fd;
}

static const char *reason(int err, const struct rp_prog *prog)
{
	switch (err) {
	case -EPERM:
		if (!rp_cap_has(RP_CAP_BPF))
			return rp_cap_hint(RP_CAP_BPF);
		if (rp_in_user_namespace())
			return RP_USER_NAMESPACE;
		if (rp_filtered(err, false))
			return RP_FILTERED;
		if (prog->type == BPF_PROG_TYPE_TRACING)
			return "not permitted: this kernel does not allow programs of this kind "
			       "(locked down, or no BPF trampolines)";
		if (!rp_cap_has(RP_CAP_PERFMON))
			return rp_cap_hint(RP_CAP_PERFMON);
		return "not permitted (is the kernel locked down? see "
		       "/sys/kernel/security/lockdown)";
	case -EMFILE:
	case -ENFILE:
		return "too many open files: raise `ulimit -n`";
	case -EOPNOTSUPP:
		return "this kernel cannot attach programs of this kind (its errno 524)";
	case -E2BIG:
		return "too much for the verifier: too long, more than a million steps, or too "
		       "deep a stack of calls";
	case -EINVAL:
	case -EACCES:
		return "refused by the verifier";
	}
	return strerror(-err);
}

static void report_refusal(int err, const struct rp_prog *prog, const char *log, bool *located)
{
	char *said = rp_verifier_log_explain(prog, log ? log : "", TAIL_LINES, located);

	rp_log_lines(RP_ERROR, said, "cannot load %s (%s program, %u instructions): %s", prog->name,
		     rp_prog_type_name(prog->type), prog->ninsns, reason(err, prog));
	free(said);
	/* Where the verifier gave up is not the fault; a back-edge may be a call of a function. */
	if (err == -E2BIG || (log && strstr(log, "back-edge")))
		*located = false;
	else if (err != -EINVAL && err != -EACCES)
		*located = true; /* not the verifier's word */
}

/*
 * The first try is without a log, which costs time. Then whatever may be the kernel's age rather
 * than the program's fault is taken away: the memory limit, the source lines.
 */
static int load_quietly(union rp_attr *attr, const struct rp_prog *prog, int btf_fd)
{
	int fd = rp_sys_bpf(BPF_PROG_LOAD, attr);

	if (fd == -EPERM && rp_cap_has(RP_CAP_BPF) && rp_raise_memlock())
		fd = rp_sys_bpf(BPF_PROG_LOAD, attr);
	if (btf_fd >= 0 && (fd == -EINVAL || fd == -E2BIG)) {
		const int with = fd;

		set_source(attr, prog, -1);
		fd = rp_sys_bpf(BPF_PROG_LOAD, attr);
		if (fd >= 0)
			rp_log(RP_INFO, "the kernel takes no source lines for %s (%s)", prog->name,
			       strerror(-with));
		else
			set_source(attr, prog, btf_fd);
	}
	return fd;
}

int rp_prog_load(const struct rp_prog *prog)
{
	bool located;

	return rp_prog_load_located(prog, &located);
}

int rp_prog_load_located(const struct rp_prog *prog, bool *located)
{
	union rp_attr attr;
	char *log = NULL;
	int btf_fd, fd;

	*located = true;
	fd = fill_attr(&attr, prog);
	if (fd)
		return fd;
	btf_fd = load_btf(prog);
	if (btf_fd == -EMFILE || btf_fd == -ENFILE)
		return rp_fail(btf_fd, "cannot load %s: too many open files: raise `ulimit -n`",
			       prog->name);
	set_source(&attr, prog, btf_fd);
	fd = load_quietly(&attr, prog, btf_fd);
	if (fd < 0) {
		const int first = fd;

		fd = load_logged(&attr, 1, &log);
		if (fd == -ENOSPC || fd == -ENOMEM)
			fd = first;
		if (fd < 0)
			report_refusal(fd, prog, log, located);
		free(log);
	}
	if (btf_fd >= 0)
		close(btf_fd);
	return fd;
}

int rp_prog_load_verbose(const struct rp_prog *prog, uint32_t level, char **log)
{
	union rp_attr attr;
	int btf_fd, fd;

	*log = NULL;
	fd = fill_attr(&attr, prog);
	if (fd)
		return fd;
	btf_fd = load_btf(prog);
	set_source(&attr, prog, btf_fd);
	fd = load_quietly(&attr, prog, btf_fd);
	if (fd >= 0)
		close(fd);
	fd = load_logged(&attr, level, log);
	if (btf_fd >= 0)
		close(btf_fd);
	return fd;
}
