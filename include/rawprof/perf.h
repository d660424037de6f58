/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.h: perf events by name, to sample by and to count. loader.h includes it.
 *
 *	struct rp_event *events;
 *	size_t n;
 *	struct rp_counters *counters;
 *	struct rp_perf_counts counts;
 *
 *	if (!rp_events_parse("{cycles,instructions}:u,page-faults", &events, &n) &&
 *	    !rp_counters_open(&(struct rp_counters_options){ .events = events, .nevents = n,
 *			      .tasks = &pid, .ntasks = 1, .cgroup = -1 }, &counters) &&
 *	    !rp_counters_enable(counters) && !rp_counters_read(counters, 0, 0, &counts))
 *		...
 *
 * Errors and messages as in loader.h. Source: perf_event_open(2), and what
 * Documentation/ABI/testing/sysfs-bus-event_source-devices-{format,events} say of sysfs.
 */
#ifndef RAWPROF_PERF_H
#define RAWPROF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rp_cpus;

/* ---- what to count (loader/event.c, event_pmu.c, event_list.c) */

struct rp_event {
	char name[128]; /* as asked, "cycles:u", "r01c2", "cpu/event=0x3c/" */
	uint32_t type;
	uint64_t config, config1, config2;
	bool hardware; /* may be missing in a virtual machine */

	/* Behind ":" in the name, as perf(1) writes them: u k h I G H p D W. */
	bool exclude_user, exclude_kernel, exclude_hv, exclude_idle, exclude_host, exclude_guest;
	bool pinned;
	uint8_t precise;
	uint32_t group; /* events in a row with the same number, not 0, count together */
	char pmu[32];	/* its directory in sysfs; "": type says it all */
	double scale;	/* from counts to unit, as the PMU has it; 0: as it is */
	char unit[16];	/* "Joules"; "" */
};

/*
 * "cycles", "instructions", "cache-misses", "branch-misses", "cpu-clock", "task-clock",
 * "page-faults", "context-switches" …, with the aliases of perf(1); "L1-dcache-load-misses" …;
 * "rNNN" raw; "tp:group:event" or "group:event"; "PMU/event=0x3c,umask=0x0/" and "PMU/name/" as
 * sysfs describes the PMU, and a name of one of its events alone. All but "tp:" with ":u" and other
 * modifiers behind. -ENOENT is logged with the names.
 */
int rp_event_parse(const char *name, struct rp_event *out);
/* All names that rp_event_parse knows without a colon, in order; NULL at the end. */
const char *rp_event_names(size_t i);
/*
 * Events with commas between them; "{a,b}" is a group, ":u" behind it is of all in it; a tracepoint
 * may be a glob ("sched:*"). *out is malloc'd. -EINVAL, -ENOENT after a message.
 */
int rp_events_parse(const char *list, struct rp_event **out, size_t *n);
/* Does it count only what the kernel does on its own account, so that exclude_kernel leaves 0? */
bool rp_event_is_kernels(const struct rp_event *event);

/* ---- sampling, and counting of one kind (loader/perf.c) */

struct rp_perf_options {
	struct rp_event event;
	uint64_t freq;		    /* samples a second, or */
	uint64_t period;	    /* one sample every so many events; both 0: count only */
	const struct rp_cpus *cpus; /* NULL: every online CPU, and those that join later */
	/* NULL: everything on the CPUs; otherwise these threads, on any CPU (or on cpus). */
	const pid_t *tasks;
	size_t ntasks;
	bool inherit;  /* with tasks: children too */
	bool disabled; /* opened disabled; rp_perf_enable starts them */
	bool enable_on_exec;
	bool exclude_user, exclude_kernel;
	bool no_fallback; /* missing hardware is -ENOENT rather than cpu-clock with a warning */
};

/* A set of perf events of one kind, one for each CPU or task. */
struct rp_perf;

struct rp_perf_counts {
	uint64_t value;
	uint64_t enabled_ns, running_ns; /* scale by enabled/running; running 0: never counted */
};

/* -EINVAL with the limit if freq is above kernel.perf_event_max_sample_rate; -EACCES/-EPERM with
 * kernel.perf_event_paranoid and the capability; -ESRCH if none of the tasks is alive; -EMFILE
 * after the soft limit was raised. */
int rp_perf_open(const struct rp_perf_options *opt, struct rp_perf **out);
/* Attach a program of type PERF_EVENT to all of them, also to those that join. The descriptor must
 * stay open. */
int rp_perf_attach(struct rp_perf *perf, int prog_fd);
int rp_perf_enable(struct rp_perf *perf);
int rp_perf_disable(struct rp_perf *perf);
/* Follow CPUs that came or went, also those that did both since the last call: one small read and
 * one of each event, meant for once a second. Returns how many joined. */
int rp_perf_hotplug(struct rp_perf *perf);
/* Sum over CPUs and tasks. */
int rp_perf_read(const struct rp_perf *perf, struct rp_perf_counts *out);
/* What is really being measured (after the fallback), and on how many descriptors. */
const struct rp_event *rp_perf_event(const struct rp_perf *perf);
int rp_perf_count(const struct rp_perf *perf);
void rp_perf_close(struct rp_perf *perf);
/* kernel.perf_event_max_sample_rate, or -ENOENT. */
int rp_perf_max_rate(void);

/* ---- counting of many kinds (loader/counters.c) */

struct rp_counters_options {
	const struct rp_event *events;
	size_t nevents;
	const struct rp_cpus *cpus; /* NULL: tasks on any CPU; without tasks all that are online */
	const pid_t *tasks;	    /* NULL: everything on the CPUs */
	size_t ntasks;
	int cgroup;   /* a descriptor of its directory, -1: none; on cpus, without tasks */
	bool inherit; /* with tasks: threads and processes that they start from now on */
	bool threads; /* with inherit: threads alone (5.13; before that, processes too) */
	bool at_exec; /* each task counts from its next execve() on, rather than when enabled */
};

/* Some kinds of events in some places. A place is a task on any CPU, a CPU, or a task on a CPU. */
struct rp_counters;

enum rp_counter_state {
	RP_COUNTER_COUNTS,
	RP_COUNTER_NOT_SUPPORTED, /* no such event here */
	RP_COUNTER_NOT_PERMITTED, /* of the kernel, which this user may not count */
};
struct rp_counter_place {
	pid_t task; /* -1: all */
	int cpu;    /* -1: any */
};

/*
 * Opens all, disabled. An event that is not there is a state, not an error, and so is one of the
 * kernel that kernel.perf_event_paranoid forbids: where this user may not count the kernel, all
 * events become those of user mode, rp_counters_user_only(). An event that does not fit into its
 * group counts by itself, after a warning. -EACCES, -EPERM: not even that is allowed; -ESRCH: none
 * of the tasks is alive; -EMFILE after the soft limit was raised.
 */
int rp_counters_open(const struct rp_counters_options *opt, struct rp_counters **out);
int rp_counters_enable(struct rp_counters *counters);
int rp_counters_disable(struct rp_counters *counters);
enum rp_counter_state rp_counters_state(const struct rp_counters *counters, size_t event);
bool rp_counters_user_only(const struct rp_counters *counters);
size_t rp_counters_places(const struct rp_counters *counters);
struct rp_counter_place rp_counters_place(const struct rp_counters *counters, size_t place);
/* What has been counted so far. All 0: it does not count there. An inheriting event has the counts
 * of all that it was inherited by. */
int rp_counters_read(const struct rp_counters *counters, size_t event, size_t place,
		     struct rp_perf_counts *out);
void rp_counters_close(struct rp_counters *counters); /* NULL is fine */

#endif
