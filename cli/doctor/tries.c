/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be done here: each mechanism is used for a moment, and its errno explained. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "cli/commands.h"
#include "doctor.h"
#include "record/ksym.h"
#include "cli/dry_run.h"

/* ---- rights */

static const struct {
	enum rp_cap cap;
	const char *name, *good_for;
} rights[DOCTOR_RIGHTS] = {
	{ RP_CAP_BPF, "CAP_BPF", "loading programs and maps" },
	{ RP_CAP_PERFMON, "CAP_PERFMON", "watching other processes and the kernel" },
	{ RP_CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "both, before Linux 5.8; run statistics" },
	{ RP_CAP_SYSLOG, "CAP_SYSLOG", "addresses in /proc/kallsyms" },
	{ RP_CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "files and mappings of other users' processes" },
	{ RP_CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE", "more descriptors; locked memory, before 5.11" },
};

void doctor_rights(struct finding out[DOCTOR_RIGHTS])
{
	for (int i = 0; i < DOCTOR_RIGHTS; i++) {
		out[i] = (struct finding){ .name = rights[i].name,
					   .since = "",
					   .err = rp_cap_has(rights[i].cap) ? 0 : -EPERM };
		snprintf(out[i].text, sizeof(out[i].text), "%s", rights[i].good_for);
	}
}

/* ---- mechanisms */

/* In the order in which they are shown. */
enum { HAS_CPU_CLOCK = RP_FEATURES, HAS_TRACEPOINT, HAS_KSYM, HAS_KALLSYMS };

static const struct {
	int feature;
	const char *name, *since, *good_for;
	const char *absent;    /* why a kernel that is new enough may not have it */
	enum rp_cap cap, cap2; /* what a refusal may mean, */
	const char *refused;   /* if not that; NULL: nothing is known */
} mechanisms[] = {
	{ RP_HAS_BPF, "bpf", "4.4", "programs in the kernel", "CONFIG_BPF_SYSCALL is off",
	  RP_CAP_BPF, RP_CAP_BPF },
	{ RP_HAS_RINGBUF, "ringbuf", "5.8", "records from the kernel, in order", "", RP_CAP_BPF,
	  RP_CAP_BPF },
	{ RP_HAS_BATCH, "map_batch", "5.6", "reading maps fast", "", RP_CAP_BPF, RP_CAP_BPF },
	{ RP_HAS_BPF_LOOP, "bpf_loop", "5.17", "stacks by unwind tables", "", RP_CAP_BPF,
	  RP_CAP_PERFMON },
	{ RP_HAS_TASK_REGS, "task_regs", "5.15",
	  "stacks of a program while the kernel works for it", "", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_MAY_GOTO, "may_goto", "6.10", "programs that the verifier is done with sooner", "",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_TASK_ITER, "task_iter", "5.18",
	  "stacks of threads that slept before the recording", "", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_TASK_BTF, "task_btf", "5.11",
	  "telling apart processes of a pid that was used before", "", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_PROG_BTF, "prog_btf", "5.0", "source lines in the verifier's words", "",
	  RP_CAP_BPF, RP_CAP_BPF },
	{ RP_HAS_KERNEL_BTF, "kernel_btf", "5.4", "offsets in the kernel's types",
	  "CONFIG_DEBUG_INFO_BTF is off", RP_CAP_BPF, RP_CAP_BPF },
	{ HAS_CPU_CLOCK, "cpu_clock", "2.6", "samples by a timer, of whole CPUs", "",
	  RP_CAP_PERFMON, RP_CAP_PERFMON,
	  "kernel.perf_event_paranoid above 2 asks for CAP_SYS_ADMIN" },
	{ RP_HAS_HW_EVENTS, "hw_cycles", "2.6", "samples by cycles",
	  "no such counter; virtual machines seldom have one", RP_CAP_PERFMON, RP_CAP_PERFMON },
	{ RP_HAS_PERF_LINK, "perf_link", "5.15", "cookies of attached programs", "", RP_CAP_BPF,
	  RP_CAP_PERFMON },
	{ HAS_TRACEPOINT, "tracepoint", "4.7", "events of the kernel",
	  "no tracefs, or no such event: CONFIG_FTRACE is off", RP_CAP_PERFMON, RP_CAP_SYS_ADMIN },
	{ RP_HAS_RAW_TP, "raw_tp", "4.17", "events of the kernel, without formatting a record", "",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_TP_BTF, "tp_btf", "5.5", "events of the kernel, with its types", "no kernel BTF",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_KPROBE, "kprobe", "4.17", "functions of the kernel, one at a time",
	  "CONFIG_KPROBE_EVENTS is off", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_KPROBE_MULTI, "kprobe_multi", "5.18", "functions of the kernel, many at once",
	  "CONFIG_FPROBE is off", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_FENTRY, "fentry", "5.5", "functions of the kernel, fastest, with results",
	  "programs load, but cannot be attached: ftrace has no direct calls (arm64: Linux 6.4)",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_UPROBE, "uprobe", "4.17", "functions of programs, one at a time",
	  "CONFIG_UPROBE_EVENTS is off", RP_CAP_BPF, RP_CAP_SYS_ADMIN },
	{ RP_HAS_UPROBE_MULTI, "uprobe_multi", "6.6", "functions of programs, many at once", "",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_UPROBE_MULTI_PID, "uprobe_multi_pid", "6.10",
	  "functions of programs, in one process", "", RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_UPROBE_NOP, "uprobe_nop", "6.18",
	  "functions of programs that begin with a nop, for a third of the cost", "x86-64 only",
	  RP_CAP_BPF, RP_CAP_PERFMON },
	{ RP_HAS_UPROBE_SESSION, "uprobe_session", "6.13",
	  "functions of programs, entry and return by one program", "", RP_CAP_BPF,
	  RP_CAP_PERFMON },
	{ RP_HAS_MMAP_BUILD_ID, "mmap_build_id", "5.12", "build ids of what processes map", "",
	  RP_CAP_PERFMON, RP_CAP_PERFMON },
	{ RP_HAS_STATS, "run_stats", "5.8", "what rawprof's programs cost", "", RP_CAP_SYS_ADMIN,
	  RP_CAP_SYS_ADMIN },
	{ RP_HAS_SYSCALL_PROG, "syscall_prog", "5.14", "programs that user space runs", "",
	  RP_CAP_BPF, RP_CAP_BPF },
	{ HAS_KSYM, "kernel_names", "5.13", "names of addresses, from the kernel itself",
	  "no helper bpf_snprintf", RP_CAP_BPF, RP_CAP_PERFMON },
	{ HAS_KALLSYMS, "kallsyms", "2.6", "names of addresses, from a file",
	  "CONFIG_KALLSYMS is off", RP_CAP_SYSLOG, RP_CAP_SYSLOG,
	  "kernel.kptr_restrict hides the addresses" },
};

/* Whoever adds a feature to the loader says here what it is good for. */
_Static_assert(sizeof(mechanisms) / sizeof(mechanisms[0]) == DOCTOR_MECHANISMS,
	       "a mechanism is missing");

static void be_silent(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

static int try_ksym(void)
{
	char text[SYM_KERNEL_TEXT];
	const uint64_t address = 5; /* of nothing: comes back as "0x5" */
	struct ksym k;
	int err;

	record_ksym_init(&k);
	err = record_ksym_source(&k).name(&k, &address, 1, text, sizeof(text));
	record_ksym_close(&k);
	if (err)
		return err < 0 ? err : -EINVAL;
	return strcmp(text, "0x5") ? -EINVAL : 0;
}

static int try_kallsyms(void)
{
	struct sym_kallsyms *symbols;
	int err = sym_kallsyms_open(&symbols, NULL);

	if (!err)
		sym_kallsyms_close(symbols);
	return err;
}

static int try_cpu_clock(void)
{
	struct rp_perf_options opt = { .freq = 99, .disabled = true };
	struct rp_perf *perf;
	int err = rp_event_parse("cpu-clock", &opt.event);

	if (!err)
		err = rp_perf_open(&opt, &perf);
	if (!err)
		rp_perf_close(perf);
	return err;
}

static int try_tracepoint(void)
{
	int id = rp_tp_id("sched", "sched_process_fork");

	return id < 0 ? id : 0;
}

static int try_mechanism(int feature)
{
	switch (feature) {
	case HAS_CPU_CLOCK:
		return try_cpu_clock();
	case HAS_TRACEPOINT:
		return try_tracepoint();
	case HAS_KSYM:
		return try_ksym();
	case HAS_KALLSYMS:
		return try_kallsyms();
	}
	return rp_feature_errno((enum rp_feature)feature);
}

static const char *missing_right(int i)
{
	const enum rp_cap needs[] = { mechanisms[i].cap, mechanisms[i].cap2 };

	for (int n = 0; n < 2; n++)
		for (int r = 0; r < DOCTOR_RIGHTS; r++)
			if (rights[r].cap == needs[n] && !rp_cap_has(needs[n]))
				return rights[r].name;
	return NULL;
}

/* What lies outside of the kernel: a limit, a file system that is not mounted, a filter. */
static const char *outside(int feature, int err)
{
	const bool perf = feature == HAS_CPU_CLOCK || feature == RP_HAS_HW_EVENTS ||
			  feature == RP_HAS_MMAP_BUILD_ID || feature == RP_HAS_UPROBE ||
			  feature == RP_HAS_KPROBE;

	if (err == -EMFILE || err == -ENFILE)
		return "raise ulimit -n";
	if (err == -ENOENT && feature == HAS_KALLSYMS && access("/proc/self", F_OK))
		return "/proc is not mounted";
	if (err == -ENOENT && feature != HAS_KALLSYMS && access("/sys/kernel", F_OK))
		return "/sys is not mounted";
	if ((err == -EPERM || err == -ENOSYS) && rp_filtered(err, perf))
		return "a filter of system calls (seccomp) refuses it";
	return NULL;
}

static void explain(struct finding *f, int i)
{
	const bool refused = f->err == -EPERM || f->err == -EACCES,
		   unknown = f->err == -EINVAL || f->err == -E2BIG;
	const char *right = refused ? missing_right(i) : NULL, *why = mechanisms[i].absent;

	if (!f->err || right) {
		snprintf(f->text, sizeof(f->text), "%s%s", right ? "needs " : "",
			 right ? right : mechanisms[i].good_for);
		return;
	}
	if (outside(mechanisms[i].feature, f->err))
		why = outside(mechanisms[i].feature, f->err);
	else if (refused)
		why = mechanisms[i].refused ? mechanisms[i].refused
					    : "this kernel's policy, not a capability";
	else if (unknown || !*why)
		why = "this kernel is older";
	snprintf(f->text, sizeof(f->text), "%s (%s)", why, strerror(-f->err));
}

void doctor_mechanisms(struct finding out[DOCTOR_MECHANISMS])
{
	rp_log_setup(RP_ERROR, be_silent, NULL);
	for (int i = 0; i < DOCTOR_MECHANISMS; i++) {
		out[i] = (struct finding){ .name = mechanisms[i].name,
					   .since = mechanisms[i].since,
					   .err = try_mechanism(mechanisms[i].feature) };
		explain(&out[i], i);
	}
	rp_log_setup(RP_WARN, NULL, NULL);
}

/* ---- ways */

/* Best first. The last may be one that needs nothing: a text that is no mechanism. */
static const struct {
	const char *job;
	const char *ways[5];
} jobs[DOCTOR_WAYS] = {
	{ "samples", { "hw_cycles", "cpu_clock" } },
	{ "user stacks", { "bpf_loop", "a loop of 64 frames" } },
	{ "kernel events", { "tp_btf", "raw_tp", "tracepoint" } },
	{ "kernel functions", { "fentry", "kprobe_multi", "kprobe" } },
	{ "user functions", { "uprobe_multi", "uprobe" } },
	{ "kernel symbols", { "kernel_names", "kallsyms", "bare addresses" } },
	{ "own cost", { "run_stats", "CPU time of rawprof alone" } },
};

static const struct finding *mechanism(const struct finding *all, const char *name)
{
	for (int i = 0; i < DOCTOR_MECHANISMS; i++)
		if (!strcmp(all[i].name, name))
			return &all[i];
	return NULL;
}

__attribute__((format(printf, 2, 3))) static void append(struct finding *f, const char *fmt, ...)
{
	const size_t used = strlen(f->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->text + used, sizeof(f->text) - used, fmt, args);
	va_end(args);
}

static void choose(const struct finding *all, const char *const *ways, struct finding *out)
{
	const struct finding *m = NULL;

	for (; *ways; ways++) {
		m = mechanism(all, *ways);
		if (!m || !m->err)
			break;
	}
	out->err = *ways ? 0 : m->err;
	append(out, "%s", *ways ? *ways : "there is no way here");
}

void doctor_ways(const struct finding all[DOCTOR_MECHANISMS], struct finding out[DOCTOR_WAYS])
{
	for (int i = 0; i < DOCTOR_WAYS; i++) {
		const char *before = ", instead of ";

		out[i] = (struct finding){ .name = jobs[i].job, .since = "" };
		choose(all, jobs[i].ways, &out[i]);
		for (const char *const *way = jobs[i].ways; *way; way++) {
			const struct finding *m = mechanism(all, *way);

			if (!m || !m->err)
				break;
			if (out[i].err)
				break;
			append(&out[i], "%s%s", before, m->name);
			before = ", ";
		}
	}
}

/* ---- commands */

/* The name of a command, with its option. `mem` and `lock --hold` want a target. */
static const struct {
	const char *name, *option;
	bool program;
} tried[DOCTOR_COMMANDS] = {
	{ "cpu" },
	{ "offcpu" },
	{ "offcpu", "--runq" },
	{ "wall" },
	{ "mem", NULL, true },
	{ "mem", "-k" },
	{ "mem", "--faults" },
	{ "mem", "--growth" },
	{ "lock" },
	{ "lock", "--hold", true },
	{ "io" },
	{ "func" },
	{ "trace" },
	{ "stat" },
	{ "gpu", NULL, true },
	{ "top" },
	{ "agent" },
};

/* The first error is the reason, what follows from it is not; warnings say what is lacking. */
struct said {
	char error[256], warnings[384];
};

static void keep_said(void *ctx, enum rp_level level, const char *message)
{
	struct said *said = ctx;
	const size_t used = strlen(said->warnings);

	if (level == RP_ERROR && !*said->error)
		snprintf(said->error, sizeof(said->error), "%s", message);
	if (level == RP_WARN)
		snprintf(said->warnings + used, sizeof(said->warnings) - used, "; %s", message);
}

static const struct command *find_command(const char *name)
{
	const struct command *const *c = commands;

	while (strcmp((*c)->name, name))
		c++;
	return *c;
}

static int dry_run(const struct command *c, char **argv, struct dry_run *r)
{
	struct options opt = { .command = c->name, .dry_run = r };
	int argc = 0, status;

	while (argv[argc])
		argc++;
	status = options_parse(&opt, argc, argv, c);
	if (status < 0)
		status = c->run(&opt);
	options_free(&opt, c);
	return !status ? 0 : r->err ? r->err : -EINVAL;
}

static void try_command(int i, struct finding *out)
{
	const struct command *c = find_command(tried[i].name);
	char words[4][16] = { "", "-q", "--", "true" }, option[16];
	char *argv[6] = { words[0] }, **next = argv + 1;
	struct dry_run r = { 0 };
	struct said said = { 0 };

	snprintf(words[0], sizeof(words[0]), "%s", c->name);
	snprintf(option, sizeof(option), "%s", tried[i].option ? tried[i].option : words[1]);
	*next++ = option;
	if (tried[i].program) {
		*next++ = words[2];
		*next++ = words[3];
	}
	rp_log_setup(RP_WARN, keep_said, &said);
	out->err = dry_run(c, argv, &r);
	rp_log_setup(RP_WARN, NULL, NULL);
	if (out->err) {
		append(out, "%s", *said.error ? said.error : strerror(-out->err));
		return;
	}
	dry_run_text(&r, out->text, sizeof(out->text));
	append(out, "%s", said.warnings);
}

void doctor_commands(struct finding out[DOCTOR_COMMANDS])
{
	static char names[DOCTOR_COMMANDS][17];

	for (int i = 0; i < DOCTOR_COMMANDS; i++) {
		snprintf(names[i], sizeof(names[i]), "%s%s%s", tried[i].name,
			 tried[i].option ? " " : "", tried[i].option ? tried[i].option : "");
		out[i] = (struct finding){ .name = names[i], .since = "" };
		try_command(i, &out[i]);
	}
}

bool doctor_is_main(int command)
{
	return !tried[command].option;
}
