/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks of two profiles in one tree of names, and the weights of each name on both sides. */
#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "diff.h"

/* ---- names */

/* The names of one side, as the other side knows them too. */
struct side_names {
	struct frame_names own;
	uint32_t *shared; /* of each own name */
	float *clump;	  /* of each own name: see clump_of() */
	uint32_t empty;	  /* the shared name of a stack without frames */
};

static int share_name(struct report_diff *d, const struct frame_names *own, uint32_t name,
		      uint32_t *shared)
{
	struct diff_name key = { .is_comm = name_get(own, name)->kind == KIND_COMM };
	int err = report_strings_add(&d->strings, name_text(own, name), &key.text);

	return err ? err : rp_hash_number(&d->names, &key, shared);
}

/*
 * What the kernel does for a program depends on others too: who wakes whom and when, what is in the
 * cache, how often a pipe is full. What interrupts a program is not its own doing at all. Both come
 * in bursts, that one run has and another has not: so many samples of them say no more than one of
 * the program's own does.
 */
static float clump_of(const char *name)
{
	static const struct {
		float samples;
		const char *prefixes;
	} groups[] = {
		{ 64,
		  /* the tick of the clock, longer the more others wait for it; and devices */
		  "asm_sysvec_apic_timer_interrupt\0"
		  "hrtimer_interrupt\0"
		  "asm_common_interrupt\0" },
		{ 16,
		  /* other interrupts: x86, arm64, riscv; what they leave to be done */
		  "asm_sysvec_\0"
		  "asm_exc_nmi\0"
		  "el0t_64_irq\0"
		  "el0t_64_fiq\0"
		  "el1h_64_irq\0"
		  "do_irq\0"
		  "handle_softirqs\0"
		  "__do_softirq\0"
		  "irqentry_exit\0"
		  /* on the way out of a system call another program had its turn */
		  "exit_to_user_mode_loop\0"
		  "do_notify_resume\0"
		  /* waiting, being woken, and the two sides of a pipe or socket */
		  "schedule\0"
		  "__schedule\0"
		  "try_to_wake_up\0"
		  "__wake_up\0"
		  "anon_pipe_\0"
		  "pipe_\0"
		  "do_futex\0"
		  "sock_\0"
		  "unix_stream_\0"
		  "do_epoll_wait\0"
		  "do_poll\0"
		  "do_sys_poll\0"
		  /* where interrupts that were held back come in */
		  "_raw_spin_unlock_irq\0"
		  /* requests of disks */
		  "submit_bio\0"
		  "blk_mq_\0" },
		{ 64,
		  /* others who trace: probes come and go with them */
		  "__traceiter_\0"
		  "bpf_trace_run\0"
		  "syscall_trace_enter\0"
		  "syscall_exit_work\0"
		  "syscall_exit_to_user_mode_prepare\0"
		  "uprobe_\0"
		  "asm_exc_int3\0"
		  "uretprobe_\0" },
		{ 4,
		  /* any system call: x86, arm64, riscv */
		  "entry_SYSCALL_64\0"
		  "do_syscall_64\0"
		  "el0_svc\0"
		  "do_trap_ecall_u\0" },
		{ 8,
		  /* faults, whose cost is that of the memory which others leave */
		  "asm_exc_page_fault\0"
		  "handle_mm_fault\0" },
		{ 64, "try_to_free_pages\0" },
	};

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		for (const char *p = groups[i].prefixes; *p; p += strlen(p) + 1)
			if (!strncmp(name, p, strlen(p)))
				return groups[i].samples;
	return 1;
}

static int share_names(struct report_diff *d, const struct report *r, struct side_names *names)
{
	static const struct report_options plain;
	int err = report_names_make(r, &plain, false, &names->own);

	if (err)
		return err;
	names->shared = malloc(((size_t)names->own.pool.count + 1) * sizeof(*names->shared));
	names->clump = malloc(((size_t)names->own.pool.count + 1) * sizeof(*names->clump));
	if (!names->shared || !names->clump)
		return -ENOMEM;
	for (uint32_t i = 0; i < names->own.pool.count && !err; i++) {
		err = share_name(d, &names->own, i, &names->shared[i]);
		names->clump[i] = clump_of(name_text(&names->own, i));
	}
	if (!err)
		names->empty = names->shared[names->own.empty_stack];
	return err;
}

static void side_names_free(struct side_names *names)
{
	if (names->own.of_frame)
		report_names_free(&names->own);
	free(names->shared);
	free(names->clump);
}

/* Which of its strings are names of processes; NULL if memory ran out. */
static bool *find_comms(const struct report *r)
{
	bool *is_comm = calloc((size_t)r->strings.count + 1, sizeof(*is_comm));

	for (uint32_t i = 0; is_comm && i < r->samples.count; i++)
		is_comm[sample_of(r, i)->comm] = true;
	if (is_comm)
		is_comm[0] = false; /* no name */
	return is_comm;
}

/* ---- weights */

/* Which value counts the events whose weights are shown: the last one before it whose unit is a
 * count, as pprof has them in pairs. -1: there is none. */
static int counting_type(const struct report *r, unsigned int weight)
{
	for (int i = (int)weight; i >= 0; i--)
		if (!strcmp(text(r, r->types[i].unit), "count"))
			return i;
	return -1;
}

/* How many events a sample's weight is made of; at least one. */
static double events_of(const struct report *r, unsigned int weight, uint32_t sample)
{
	const struct report_info *info = &r->meta.info;
	const int type = counting_type(r, weight);
	const char *unit = text(r, r->types[weight].unit);
	const uint64_t w = value_of(r, sample, weight);
	const bool by_period =
		info->period > 1 && info->period_type.unit && !strcmp(info->period_type.unit, unit);
	double n = type < 0 ? 1 : (double)value_of(r, sample, (size_t)type), limit;

	/* One event stands for a period; what counts more has been multiplied (heap profiles). */
	limit = by_period ? (double)w / (double)info->period : n;
	if (type < 0 || limit < n)
		n = limit;
	return n < 1 ? 1 : n;
}

static void add_weight(struct diff_weight *to, const struct diff_weight *w)
{
	to->w = add_saturating(to->w, w->w);
	to->spread += w->spread;
}

static void add_pair(struct diff_pair *to, const struct diff_pair *p)
{
	for (int side = 0; side < SIDES; side++)
		add_weight(&to->of[side], &p->of[side]);
}

/* ---- processes */

/* How much of the weight of @r is of processes whose names @other has too; of 1. */
static double common_share(const struct report *r, const bool *is_comm, unsigned int weight,
			   const struct report *other, const bool *is_others)
{
	double all = 0, common = 0;
	bool *is_common = calloc((size_t)r->strings.count + 1, sizeof(*is_common));
	struct strings names;
	int err = report_strings_init(&names);
	uint32_t id, n;

	for (uint32_t i = 0; !err && i < other->strings.count; i++)
		if (is_others[i])
			err = report_strings_add(&names, text(other, i), &id);
	n = names.count;
	for (uint32_t i = 0; !err && is_common && i < r->strings.count; i++) {
		if (is_comm[i])
			err = report_strings_add(&names, text(r, i), &id);
		is_common[i] = is_comm[i] && id < n;
	}
	report_strings_free(&names);
	if (err || !is_common) {
		free(is_common);
		return -1;
	}
	for (uint32_t i = 0; i < r->samples.count; i++) {
		const double w = (double)value_of(r, i, weight);

		all += w;
		common += is_common[sample_of(r, i)->comm] ? w : 0;
	}
	free(is_common);
	return all > 0 ? common / all : 0;
}

/*
 * Has one of them most from processes that both have? Not all formats can tell them apart; and a
 * program under another name, prog-v1 and prog-v2, is compared function by function all the same,
 * whatever else was there a moment: the profiler itself, as a child before it becomes the program.
 */
static int have_same_comms(const struct report_diff *d, bool *same)
{
	const struct report *a = d->r[SIDE_A], *b = d->r[SIDE_B];
	bool *of_a = find_comms(a), *of_b = find_comms(b);
	double share_a = -1, share_b = -1;

	if (of_a && of_b) {
		share_a = common_share(a, of_a, d->weight[SIDE_A], b, of_b);
		share_b = common_share(b, of_b, d->weight[SIDE_B], a, of_a);
	}
	free(of_a);
	free(of_b);
	*same = share_a >= 0.5 || share_b >= 0.5;
	return share_a < 0 || share_b < 0 ? -ENOMEM : 0;
}

/* ---- the tree */

static int step(struct report_diff *d, uint32_t parent, uint32_t name, uint32_t *node)
{
	uint32_t hash = rp_hash_pair(parent, name), at = hash, found;
	int err = rp_index_reserve(&d->index);

	if (err)
		return err;
	while ((found = rp_index_next(&d->index, hash, &at)) != NONE) {
		if (d->nodes[found].parent == parent && d->nodes[found].name == name) {
			*node = found;
			return 0;
		}
	}
	err = RP_PUSH(d->nodes, d->nnodes, d->nodes_cap,
		      (struct diff_node){ .parent = parent, .name = name });
	if (err)
		return err;
	rp_index_put(&d->index, hash, d->nnodes - 1);
	*node = d->nnodes - 1;
	return 0;
}

/* *leaf is the node of its stack; 0: it weighs nothing. */
static int add_sample(struct report_diff *d, int side, const struct report *r,
		      const struct side_names *names, bool comms, uint32_t sample, uint32_t *leaf)
{
	const struct sample *s = sample_of(r, sample);
	uint32_t path[REPORT_MAX_STACK], depth = 0, at = 0;
	struct diff_weight w = { .w = value_of(r, sample, d->weight[side]) };
	float clump = 1;
	int err = 0;

	if (!w.w)
		return 0;
	for (uint32_t node = s->node; node; node = r->nodes[node].parent) {
		const uint32_t name = names->own.of_frame[r->nodes[node].frame];

		if (names->clump[name] > clump)
			clump = names->clump[name];
		path[depth++] = names->shared[name];
	}
	w.spread = clump * (double)w.w * (double)w.w / events_of(r, d->weight[side], sample);
	if (comms)
		err = step(d, at, names->shared[names->own.of_comm[s->comm]], &at);
	while (depth && !err)
		err = step(d, at, path[--depth], &at);
	if (!err && !s->node)
		err = step(d, at, names->empty, &at);
	if (!err)
		add_weight(&d->nodes[at].self.of[side], &w);
	*leaf = at;
	return err;
}

static int add_run(struct report_diff *d, int side, const struct report *r, bool comms,
		   uint32_t **leaf_of)
{
	const uint32_t n = r->samples.count;
	struct side_names names = { .shared = NULL };
	int err = share_names(d, r, &names);

	*leaf_of = calloc((size_t)n + 1, sizeof(**leaf_of));
	if (!err && !*leaf_of)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++)
		err = add_sample(d, side, r, &names, comms, i, &(*leaf_of)[i]);
	side_names_free(&names);
	return err;
}

static int add_side(struct report_diff *d, int side, bool comms, uint32_t ***leaf_of)
{
	const struct report_runs *runs = &d->runs[side];
	int err = 0;

	*leaf_of = calloc(runs->n, sizeof(**leaf_of));
	if (!*leaf_of)
		return -ENOMEM;
	for (size_t i = 0; !err && i < runs->n; i++)
		err = add_run(d, side, runs->runs[i], comms, &(*leaf_of)[i]);
	return err;
}

/* ---- rows */

/* What a name is, for people: of the first frame that has it. */
static int describe(struct report_diff *d, const struct report *r)
{
	struct side_names names = { .shared = NULL };
	int err = share_names(d, r, &names);

	for (uint32_t i = 0; !err && i < r->frames.count; i++) {
		struct diff_row *row = &d->rows[names.shared[names.own.of_frame[i]]];
		const struct function *fn = function_of(r, frame_of(r, i)->function);

		if (!row->module)
			row->module = text(r, fn->path);
		if (!row->kind)
			row->kind = fn->kind;
	}
	side_names_free(&names);
	return err;
}

/* A stack's weight goes to the total of a name once, however often it is in it. */
static int weigh(struct report_diff *d)
{
	uint32_t *seen = calloc((size_t)d->names.count + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	for (uint32_t leaf = 1; leaf < d->nnodes; leaf++) {
		const struct diff_pair *p = &d->nodes[leaf].self;

		if (!p->of[SIDE_A].w && !p->of[SIDE_B].w)
			continue;
		add_pair(&d->whole, p);
		add_pair(&d->rows[d->nodes[leaf].name].self, p);
		for (uint32_t node = leaf; node; node = d->nodes[node].parent) {
			const uint32_t name = d->nodes[node].name;

			if (seen[name] != leaf)
				add_pair(&d->rows[name].total, p);
			seen[name] = leaf;
		}
	}
	free(seen);
	return 0;
}

static int make_rows(struct report_diff *d)
{
	int err = 0;

	d->rows = calloc((size_t)d->names.count + 1, sizeof(*d->rows));
	if (!d->rows)
		return -ENOMEM;
	for (int side = 0; side < SIDES; side++)
		for (size_t i = 0; i < d->runs[side].n && !err; i++)
			err = describe(d, d->runs[side].runs[i]);
	for (uint32_t i = 0; i < d->names.count; i++)
		if (diff_name_of(d, i)->is_comm)
			d->rows[i].kind = KIND_COMM;
	return err ? err : weigh(d);
}

/* How much weights vary: between runs, or, of one of each, within it. */
static int find_spreads(struct report_diff *d, uint32_t **const leaf_of[SIDES])
{
	uint32_t *const *const of[SIDES] = { leaf_of[SIDE_A], leaf_of[SIDE_B] };

	return diff_has_runs(d) ? report_diff_compare_runs(d, of) : report_diff_find_scatter(d, of);
}

int report_diff_merge(struct report_diff *d)
{
	uint32_t **leaf_of[SIDES] = { NULL };
	bool comms;
	int err = have_same_comms(d, &comms);

	if (err)
		return err;
	err = RP_PUSH(d->nodes, d->nnodes, d->nodes_cap,
		      (struct diff_node){ .parent = NONE, .name = NONE });

	for (int side = 0; side < SIDES && !err; side++)
		err = add_side(d, side, comms, &leaf_of[side]);
	rp_index_free(&d->index);
	if (!err)
		err = make_rows(d);
	if (!err && d->whole.of[SIDE_A].w && d->whole.of[SIDE_B].w)
		err = find_spreads(d, leaf_of);
	for (int side = 0; side < SIDES; side++) {
		for (size_t i = 0; leaf_of[side] && i < d->runs[side].n; i++)
			free(leaf_of[side][i]);
		free(leaf_of[side]);
	}
	return err;
}
