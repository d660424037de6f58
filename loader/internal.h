/* SPDX-License-Identifier: BSD-2-Clause */
/* internal.h: what the files of the loader share with each other alone. */
#ifndef LOADER_INTERNAL_H
#define LOADER_INTERNAL_H

#include <errno.h>
#include <rawprof/loader.h>
#include <rawprof/uapi.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t ptr64(const void *p)
{
	return (uintptr_t)p;
}

static inline size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- sys.c: the result or a negative errno; the kernel's 524 (ENOTSUPP), which libc cannot name,
 * is -EOPNOTSUPP here */
int rp_sys_bpf(int cmd, union rp_attr *attr);
int rp_sys_perf_event_open(const struct perf_event_attr *attr, pid_t pid, int cpu, int group);
/* Of a control group: a descriptor of its directory. */
int rp_sys_perf_event_open_cgroup(const struct perf_event_attr *attr, int cgroup, int cpu,
				  int group);
/* With flags that no kernel knows. */
int rp_sys_perf_event_nonsense(const struct perf_event_attr *attr);
int rp_sys_ioctl(int fd, unsigned long request, unsigned long arg);
int rp_sys_uprobe(void);
void rp_features_forget(void);

/* ---- log.c: rp_log() with a text of several lines behind the message, NULL: none */
void rp_log_lines(enum rp_level level, const char *lines, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- limits.c: true if it was raised, so that it is worth trying again */
bool rp_raise_memlock(void);
bool rp_raise_nofile(void);

/* ---- files.c: paths are below the root of rp_root_replace() */
int rp_root_open(const char *path, int flags);
/* The whole file with a NUL after it, malloc'd; -EFBIG above limit. */
int rp_read_fd(int fd, size_t limit, char **out, size_t *size);
int rp_read_file(const char *path, char **out);
/* A file that holds one number. */
int rp_read_number(const char *path, long long *out);

/* ---- names.c: for messages */
/* Cut to 15 characters that the kernel allows in a name ([A-Za-z0-9_.]), others become '_'. */
void rp_kernel_name(char out[16], const char *name);

/* ---- verifier_log.c */
/* The part of a verifier log that matters, malloc'd, or NULL. *insn is where it stopped, or -1. */
char *rp_verifier_log_tail(const char *log, int max_lines, long *insn);
/* What there is to say of a refusal, each line behind a newline, malloc'd; NULL: nothing. *located:
 * the line of the program is among it. */
char *rp_verifier_log_explain(const struct rp_prog *prog, const char *log, int tail_lines,
			      bool *located);

/* ---- prog.c */
/* rp_prog_load(); *located is false if the verifier refused the program and did not say which line
 * is at fault. */
int rp_prog_load_located(const struct rp_prog *prog, bool *located);

/* ---- caps.c */
/* Capabilities are of a user namespace; BPF and perf ask for those of the first one. */
bool rp_in_user_namespace(void);
#define RP_USER_NAMESPACE                                                                          \
	"these capabilities are of a user namespace (a container without root, or `unshare -r`), " \
	"and the kernel wants those of the machine: run it outside, as root"
#define RP_FILTERED                                                                                \
	"a filter of system calls (seccomp) refuses it, as containers have one: run it outside, "  \
	"or let the filter allow bpf and perf_event_open (docker: --security-opt "                 \
	"seccomp=unconfined)"

/* ---- event_pmu.c: events of a PMU that sysfs describes */
/* "cpu/event=0x3c,umask=0x0/": the PMU and what stands between the slashes, of so many bytes.
 * -ENOENT, -EINVAL after a message. */
int rp_event_parse_pmu(const char *pmu, const char *terms, size_t length, struct rp_event *e);
/* A name of a PMU's events directory, of whichever PMU has it first. -ENOENT, silently. */
int rp_event_find_alias(const char *name, struct rp_event *e);
/* Keeps in *best the name of such an event that is nearer to a misspelt one than *far. */
void rp_event_nearest_alias(const char *name, unsigned *far, char best[64]);

/* ---- perf_errors.c */
/* Say why perf_event_open refused, and what to do. Returns err. */
int rp_perf_open_failed(int err, const struct perf_event_attr *attr, const char *what,
			const char *where);

/* ---- perf.c */
/*
 * Whether an event that is enabled counts no time since *enabled_ns, which takes what it has now:
 * its CPU went away, and the event does not come back with it (perf_event_exit_cpu in
 * kernel/events/core.c). It is to have been opened with PERF_FORMAT_TOTAL_TIME_ENABLED and
 * _RUNNING. The CPU is interrupted for it.
 */
bool rp_event_stands_still(int fd, uint64_t *enabled_ns);

/* ---- attach.c */
/* Takes over the descriptor: an own perf event with a program, or a link. */
int rp_link_from_fd(int fd, struct rp_link **out);
/* Set a program on a perf event: by ioctl, which every kernel has and which needs no second
 * descriptor, or with a cookie by a link that then replaces fd. Closes fd on failure. */
int rp_link_perf_event(int fd, int prog_fd, uint64_t cookie, const char *what,
		       struct rp_link **out);
int rp_first_online_cpu(void);

/* ---- tracefs.c: rp_tp_format, but the reason of a failure goes to why (NULL: nowhere) */
int rp_tp_format_read(const char *group, const char *event, struct rp_tp_format *out, char *why,
		      size_t why_size);

/* ---- side_record.c */
/* One record of a side-band ring, which ends with the sample_id trailer (tid, time, cpu). Strings
 * point into rec. -EINVAL if it is malformed, -ENOMSG for types that are of no interest. */
int rp_side_parse(const void *rec, size_t size, struct rp_side_event *out);
/* Time of a record without parsing the rest; 0 if it is too short for one. */
uint64_t rp_side_time(const void *rec, size_t size);

#endif
