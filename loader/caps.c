/* SPDX-License-Identifier: BSD-2-Clause */
/* caps.c: what this process may do, asked of the kernel rather than concluded from the user id. */
#include "internal.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	int bit;
	bool admin; /* CAP_SYS_ADMIN includes it */
	const char *hint;
} caps[] = {
	[RP_CAP_BPF] = { CAP_BPF, true,
			 "CAP_BPF is needed to load BPF programs (before Linux 5.8: "
			 "CAP_SYS_ADMIN): run as root, or give the file the right with `setcap "
			 "cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace+ep`" },
	[RP_CAP_PERFMON] = { CAP_PERFMON, true,
			     "CAP_PERFMON is needed to watch other processes and the kernel "
			     "(before Linux 5.8: CAP_SYS_ADMIN): run as root, or give the file "
			     "the right with `setcap cap_bpf,cap_perfmon+ep` (tracepoints need "
			     "/sys/kernel/tracing readable too)" },
	[RP_CAP_SYS_ADMIN] = { CAP_SYS_ADMIN, false, "CAP_SYS_ADMIN is needed: run as root" },
	[RP_CAP_SYSLOG] = { CAP_SYSLOG, false,
			    "CAP_SYSLOG is needed to read kernel addresses (/proc/kallsyms): run "
			    "as root, or give the file the right with `setcap "
			    "cap_bpf,cap_perfmon,cap_syslog+ep`" },
	[RP_CAP_SYS_PTRACE] = { CAP_SYS_PTRACE, false,
				"CAP_SYS_PTRACE is needed to read the memory maps and files of "
				"other users' processes: run as root, or give the file the right "
				"with `setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep`" },
	[RP_CAP_SYS_RESOURCE] = { CAP_SYS_RESOURCE, false,
				  "CAP_SYS_RESOURCE is needed to raise limits (`ulimit -n`, "
				  "`ulimit -l`): run as root, or raise them before the start" },
};

bool rp_cap_has(enum rp_cap cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	int bit = caps[cap].bit;

	if (syscall(SYS_capget, &header, data))
		return false;
	if (data[bit / 32].effective & (1U << bit % 32))
		return true;
	return caps[cap].admin && (data[0].effective & (1U << CAP_SYS_ADMIN));
}

/* A call that makes no sense, which the kernel refuses as such before it looks at any right. */
static int call_nonsense(bool perf)
{
	const struct perf_event_attr event = { 0 };
	union rp_attr attr = { 0 };

	return perf ? rp_sys_perf_event_nonsense(&event) : rp_sys_bpf(-1, &attr);
}

bool rp_filtered(int err, bool perf)
{
	char *text;
	bool filter = false;

	if (err == -EPERM)
		return (perf || rp_cap_has(RP_CAP_BPF)) && !rp_in_user_namespace() &&
		       call_nonsense(perf) == -EPERM;
	if (err == -ENOSYS && !rp_read_file("/proc/self/status", &text)) {
		filter = strstr(text, "\nSeccomp:\t2");
		free(text);
	}
	return filter;
}

bool rp_in_user_namespace(void)
{
	struct stat st;

	/* include/linux/proc_ns.h: PROC_USER_INIT_INO, the number of the first one */
	return !stat("/proc/self/ns/user", &st) && st.st_ino != 0xeffffffd;
}

const char *rp_cap_hint(enum rp_cap cap)
{
	return caps[cap].hint;
}
