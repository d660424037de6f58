/* SPDX-License-Identifier: BSD-2-Clause */
/* From the options to the configuration of the programs: the target, and how stacks are walked. */
#include <linux/bpf_perf_event.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/subuid.h"
#include "recording.h"
#include "sampling.h"
#include "system.h"
#include "table_files.h"

/* Per-CPU memory comes in pieces of at most so much (PCPU_MIN_UNIT_SIZE). */
#define MOST_SCRATCH 32768

/* Of a stack, where nothing else is asked for; or so few. */
enum { DEFAULT_MAX_STACK = STACK_DEEPEST, SMALL_MAX_STACK = 256 };

/*
 * Every CPU has room for the deepest stack, so a machine of many CPUs and little memory goes
 * without; and without bpf_loop the verifier would walk all of it.
 */
static uint32_t default_frames(void)
{
	const uint64_t scratch =
		(uint64_t)STACK_SLOTS * MOST_SCRATCH * (uint64_t)rp_cpus_possible();

	return rp_has(RP_HAS_BPF_LOOP) && scratch <= rp_memory_part(512, UINT64_MAX)
		       ? DEFAULT_MAX_STACK
		       : SMALL_MAX_STACK;
}

uint32_t record_most_frames(const struct record_options *opt)
{
	return opt->max_stack.innermost ? opt->max_stack.innermost : default_frames();
}

/* Of these so many in a record. */
static uint32_t wanted_frames(const struct record_options *opt)
{
	const uint32_t frames = record_most_frames(opt);

	return frames < UNWIND_FRAMES ? frames : UNWIND_FRAMES;
}

/* Records that are full go on elsewhere, where there is none that waits for another. */
static void choose_deep(const struct recording *rec, struct program_config *c)
{
	const uint32_t piece = 8 * UNWIND_FRAMES, frames = record_most_frames(rec->opt);
	uint32_t elements = 1;

	if (frames <= UNWIND_FRAMES || !rec->profiler->deep || !c->eh || c->bounded ||
	    c->outermost || !c->user_bytes)
		return;
	while (elements < STACK_DEEPS && elements < (uint32_t)rp_cpus_possible())
		elements *= 2;
	c->deep_bytes = (frames - 1) / UNWIND_FRAMES * piece;
	c->deep_last = c->deep_bytes - piece;
	c->deep_blocks = c->deep_bytes >> STACK_DEEP_BLOCK_SHIFT;
	c->deep_mask = elements - 1;
}

/*
 * Stacks that no table is known for yet are walked later. Not where a sample is handed over as it
 * comes, or is weighed by what it was inside of.
 */
static void choose_copies(const struct recording *rec, struct program_config *c)
{
	uint32_t elements = 1;

	if (!rec->profiler->walks_later || !c->vma || !c->identity || !c->user_bytes || c->each ||
	    c->during || c->outermost)
		return;
	while (elements < STACK_COPIES && elements < (uint32_t)rp_cpus_possible())
		elements *= 2;
	c->copies = elements;
}

/* The kernel's own walk has a limit, and room for more would only be walked by the verifier. */
static uint32_t kernel_walk_bytes(const struct record_options *opt)
{
	char text[32];
	unsigned long limit = 127;

	if (rp_read_small_file("/proc/sys/kernel/perf_event_max_stack", text, sizeof(text)) > 0)
		limit = strtoul(text, NULL, 10);
	if (opt->max_stack.innermost > limit && opt->max_stack.innermost <= UNWIND_FRAMES &&
	    !opt->user_only)
		rp_log(RP_WARN,
		       "kernel.perf_event_max_stack allows %lu frames: kernel stacks end there",
		       limit);
	return 8 * (wanted_frames(opt) < limit ? wanted_frames(opt) : (uint32_t)limit);
}

/* What a process maps is in a tree since Linux 6.1: programs/shared/unwind_vma.c. */
static bool find_vma_fields(struct program_config *c)
{
	const struct rp_btf *btf;

	if (rp_btf_kernel(&btf) || rp_btf_find(btf, "maple_arange_64", BTF_KIND_STRUCT) < 0)
		return false;
	c->inode_changed = record_table_files_changed(btf);
	return c->inode_changed;
}

/* Kernels before 5.17 walk by tables too, with limits. */
static void choose_walk(const struct recording *rec, struct program_config *c)
{
	const bool regs = rp_has(RP_HAS_TASK_REGS) && rp_has(RP_HAS_KERNEL_BTF);

	if (rec->opt->kernel_only || rec->opt->call_graph == RECORD_CALL_GRAPH_FP)
		return;
	c->own_regs = !regs;
	c->bounded = !rp_has(RP_HAS_BPF_LOOP);
	c->eh = regs || rec->profiler->has_regs;
	c->vma = c->eh && regs && !c->bounded && find_vma_fields(c);
	if (!c->eh)
		rp_log(RP_WARN, "no unwinding by tables here, which needs Linux 5.15 with BTF: "
				"user stacks by frame pointers");
	else if (c->own_regs)
		rp_log(RP_WARN, "stacks of system calls go by frame pointers: "
				"Linux 5.15 with BTF shows their registers");
	if (c->eh && c->bounded)
		rp_log(RP_INFO, "before Linux 5.17 user stacks end after %d frames",
		       UNWIND_BOUNDED_FRAMES);
}

/* Who asks for the outermost frames too is told where they cannot be had. */
static void choose_outermost(const struct recording *rec, struct program_config *c)
{
	const struct record_options *opt = rec->opt;

	if (!opt->max_stack.outermost || opt->kernel_only)
		return;
	if (record_during_return_probes(rec))
		rp_log(RP_WARN, "no outermost frames of stacks that are too deep where functions "
				"have return probes");
	else if (!c->eh || c->bounded)
		rp_log(RP_WARN, "no outermost frames of stacks that are too deep here, which need "
				"unwinding by tables and Linux 5.17");
	else
		c->outermost = opt->max_stack.outermost;
}

static void choose_stacks(const struct recording *rec, struct program_config *c)
{
	const struct record_options *opt = rec->opt;
	const uint32_t by_kernel = kernel_walk_bytes(opt);

	choose_walk(rec, c);
	choose_outermost(rec, c);
	c->fp_bytes = opt->kernel_only ? 0 : by_kernel;
	c->user_bytes = c->eh ? 8 * (wanted_frames(opt) + c->outermost) : c->fp_bytes;
	c->user_frames = c->user_bytes / 8;
	choose_deep(rec, c);
	c->kernel_bytes = opt->user_only ? 0 : by_kernel;
	/* riscv64's context does not tell: what says so lies behind the registers that it shows. */
	c->user_code = rec->profiler->has_regs &&
		       UNWIND_MODE_REG < offsetof(struct bpf_perf_event_data, sample_period);
}

/* On 6.1 ends of threads got lost with frames of languages: there those stay off. */
static bool is_recent(const struct program_config *c)
{
	return c->may_goto || rp_has(RP_HAS_UPROBE_MULTI_PID);
}

/*
 * Frames of Python take two words each, or three where each is placed by itself. They are walked
 * behind a walk by tables, where a helper loops.
 */
static uint32_t managed_room(const struct recording *rec, const struct program_config *c)
{
	const uint32_t wanted = 3 * 8 * wanted_frames(rec->opt),
		       taken = STACK_MANAGED_SCRATCH_BYTES(c->both_bytes, c->both_bytes);
	uint32_t room = taken < MOST_SCRATCH ? (MOST_SCRATCH - taken) & ~31u : 0;

#ifndef MACHINE_LANGUAGES
	room = 0;
#endif
	if (rec->opt->native_only || !c->eh || !c->identity || c->own_regs || c->bounded ||
	    !c->user_bytes || !is_recent(c))
		return 0;
	return room < wanted ? room : wanted;
}

/* Who asks for labels of programs is told where they cannot be had. */
static uint32_t choose_published(const struct recording *rec, const struct program_config *c)
{
	uint32_t can = 0, go = 0;

	if (!rec->opt->go_labels && !rec->opt->goroutines && !rec->opt->thread_context &&
	    !rec->opt->trace_ids)
		return 0;
#ifdef MACHINE_THREAD_POINTER
	can = c->eh && c->identity && !c->own_regs && !c->bounded;
#endif
#ifdef MACHINE_LANGUAGES
	go = can;
#endif
	if (!can)
		rp_log(rec->label ? RP_INFO : RP_WARN,
		       "no labels of goroutines and threads here, which need Linux 5.17 with "
		       "BTF on x86-64 or arm64, and stacks by unwind tables");
	else if (!go && (rec->opt->go_labels || rec->opt->goroutines))
		rp_log(rec->label ? RP_INFO : RP_WARN,
		       "no labels of goroutines here, which need x86-64");
	return can;
}

/* The first pid namespace of all (include/linux/proc_ns.h: PROC_PID_INIT_INO). */
#define FIRST_PID_NAMESPACE 0xeffffffcu

/* Where the pids that we see are not the machine's, the program has to count as we do. */
static void look_at_namespace(const struct record_options *opt, struct program_config *c)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NAMESPACE)
		return;
	c->ns_device = st.st_dev;
	c->ns_inode = st.st_ino;
	rp_log(RP_INFO, "inside a pid namespace: only its own processes are seen");
	if (opt->program)
		rp_log(RP_WARN,
		       "inside a pid namespace the children of the program are not followed");
}

/* Where it is known how often samples come there is room for them beside the ring. */
static uint32_t times_mask(const struct recording *rec)
{
	const struct record_options *opt = rec->opt;
	uint32_t places;

	if (!rec->stream || opt->period || !rec->profiler->sample_freq)
		return 0;
	places = record_times_places(opt->freq ? opt->freq : rec->profiler->sample_freq);
	return places ? places - 1 : 0;
}

/* Linux 6.2. The clock that is asked where this is not known tells the same, for more. */
static bool knows_timer(const struct recording *rec)
{
	const struct rp_btf *btf;
	struct asm_access access;

	return record_sampling_by_timer(rec->opt) && !rp_btf_kernel(&btf) &&
	       rp_btf_find(btf, "bpf_cast_to_kern_ctx", BTF_KIND_FUNC) > 0 &&
	       !rp_btf_access(btf, "bpf_perf_event_data_kern", "event.hw.hrtimer.node.expires",
			      &access, NULL);
}

/* It takes the verifier milliseconds: not where nobody runs it. */
static bool may_run_java(const struct record_options *opt)
{
	const bool any = opt->program || opt->tids.n || !opt->pids.n;
	bool may = any && record_jvm_may_start();

	for (uint32_t i = 0; !any && !may && i < opt->pids.n; i++)
		may = record_jvm_may_run(opt->pids.id[i]);
	return may;
}

static uint32_t may_run_script(const struct record_options *opt, enum script_language language)
{
	const bool any = opt->program || opt->tids.n || !opt->pids.n;
	bool may = any && record_script_may_start(language);

	for (uint32_t i = 0; !any && !may && i < opt->pids.n; i++)
		may = record_script_may_run(opt->pids.id[i], language);
	return may;
}

int record_configure(struct recording *rec)
{
	const struct record_options *opt = rec->opt;
	struct program_config *c = &rec->config;
	int err = 0;

	if (!rec->profiler->no_stacks)
		choose_stacks(rec, c);
	c->hash_secret = rp_hash_secret();
	rp_subuid_spans(c->subuids, SHARE_SPANS);
	c->by_pid = opt->pids.n || opt->program;
	c->by_tid = opt->tids.n != 0;
	c->each = opt->samples;
	c->stream = rec->stream != NULL;
	c->times_mask = times_mask(rec);
	c->timer = c->times_mask && rec->profiler->has_regs && knows_timer(rec);
	c->during = rec->during != NULL;
	c->return_probes = record_during_return_probes(rec);
	c->may_goto = rp_has(RP_HAS_MAY_GOTO);
	c->identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	choose_copies(rec, c);
	if (opt->cgroup)
		err = record_cgroup_find(opt->cgroup, &c->cgroup_id, &c->cgroup_level);
	if (opt->comm && asm_comm_filter(opt->comm, &c->comm))
		rec->comm_glob = opt->comm;
	look_at_namespace(opt, c);
	c->filtering = c->ns_inode || c->by_pid || c->by_tid || c->cgroup_id || c->comm.mask[0];
	if (!err && rec->profiler->configure)
		err = rec->profiler->configure(rec);
	c->both_bytes = c->user_bytes + c->kernel_bytes;
	c->managed_bytes = managed_room(rec, c);
	c->all_bytes = c->both_bytes + c->managed_bytes;
	c->published = choose_published(rec, c);
	c->context = c->published && (opt->thread_context || opt->trace_ids);
	c->jvm = c->managed_bytes && !rec->profiler->no_java && may_run_java(opt);
	if (c->managed_bytes && !rec->profiler->no_java) {
		c->php = may_run_script(opt, SCRIPT_PHP);
		c->ruby = may_run_script(opt, SCRIPT_RUBY);
		c->perl = may_run_script(opt, SCRIPT_PERL);
		c->scripts = c->php || c->ruby || c->perl;
	}
	if (opt->python_only && !c->managed_bytes)
		rp_log(RP_WARN,
		       "no functions of languages here (Python, JavaScript, Java, PHP, Ruby, "
		       "Perl), which need Linux 6.10 on x86-64 and stacks by unwind tables: "
		       "--python-only leaves native frames");
	return err;
}
