/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem: who allocates in user space, and what has not been freed? */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "machine.h"
#include "mem_user.h"

struct mem_user {
	struct mem_probes *probes;
	struct mem_user_config config;
	uint64_t in_flight; /* calls that had not returned at the end */
};

static const struct mem_options *options(const struct profile *p)
{
	return p->opt->own;
}

/* ---- probes ----------------------------------------------------------------------------------------------- */

/* A probe is in user code: the kernel's side says nothing. */
static int configure(struct profile *p)
{
	const struct mem_options *mem = options(p);
	struct profile_config *c = &p->config;

	c->kernel_bytes = 0;
	if (mem->processes)
		c->user_bytes = c->user_frames = c->fp_bytes = c->eh = 0;
	return 0;
}

/* Threads that end leave nothing in the map. */
static int watch_threads(struct profile *p)
{
	struct rp_link *link;
	int err;

	if (rp_has(RP_HAS_TP_BTF))
		return profile_attach(p, &mem_thread_exit_program, NULL);
	err = profile_load(p, &mem_thread_exit_classic_program, NULL);
	if (err >= 0)
		err = rp_attach_tracepoint(err, "sched", "sched_process_exit", 0, &link);
	return err < 0 ? err : profile_hold(p, link);
}

static int attach(struct profile *p)
{
	struct mem_user *m = p->ctx;
	int err;

	m->config = (struct mem_user_config){ .profile = p->config,
					      .times = options(p)->older_ns != 0,
					      .temporary = options(p)->temporary,
					      /* for the atomic operations with a result, 5.12 */
					      .peak = rp_has(RP_HAS_PERF_LINK) };
	err = mem_probes_open(p, &m->config, &m->probes);
	return err ? err : watch_threads(p);
}

static int start(struct profile *p)
{
	struct mem_user *m = p->ctx;
	const struct id_list *pids = &p->opt->pids;
	int err = options(p)->obj ? mem_probes_object(m->probes, options(p)->obj) : 0;

	for (uint32_t i = 0; !err && i < pids->n; i++)
		err = mem_probes_process(m->probes, pids->id[i]);
	if (!err && pids->n && !mem_probes_count(m->probes))
		err = rp_fail(-ENOENT,
			      "no malloc in what %s executes from: is it another allocator's? "
			      "--symbols-prefix, or --growth, which needs none",
			      pids->n > 1 ? "these processes" : "this process");
	return err;
}

static int loaded(struct profile *p, pid_t pid)
{
	struct mem_user *m = p->ctx;

	return mem_probes_process(m->probes, (uint32_t)pid);
}

static int mapped(struct profile *p, const struct rp_side_event *e)
{
	struct mem_user *m = p->ctx;

	return mem_probes_mapped(m->probes, e);
}

static int stop(struct profile *p)
{
	struct mem_user *m = p->ctx;

	mem_probes_detach(m->probes);
	return 0;
}

/* ---- what a call is worth --------------------------------------------------------------------------------- */

static const struct report_value_type *types(const struct profile *p, size_t *n)
{
	static const struct report_value_type usual[MEM_WEIGHTS] = {
		[MEM_ALLOC_OBJECTS] = { "alloc_objects", "count" },
		[MEM_ALLOC_SPACE] = { "alloc_space", "bytes" },
		[MEM_INUSE_OBJECTS] = { "inuse_objects", "count" },
		[MEM_INUSE_SPACE] = { "inuse_space", "bytes" },
	};
	static const struct report_value_type temporary[MEM_WEIGHTS] = {
		[MEM_ALLOC_OBJECTS] = { "alloc_objects", "count" },
		[MEM_ALLOC_SPACE] = { "alloc_space", "bytes" },
		[MEM_INUSE_OBJECTS] = { "temporary_objects", "count" },
		[MEM_INUSE_SPACE] = { "temporary_space", "bytes" },
	};

	*n = MEM_WEIGHTS;
	return options(p)->temporary ? temporary : usual;
}

static bool values(const struct profile *p, const struct stack *stack, uint64_t *value)
{
	const struct mem_options *mem = options(p);

	memcpy(value, stack->value, sizeof(stack->value));
	if (mem->leaks || mem->temporary)
		return value[MEM_INUSE_OBJECTS] != 0;
	return true;
}

/* ---- books ------------------------------------------------------------------------------------------------ */

static int count_in_flight(void *ctx, const void *key, const void *value)
{
	const struct mem_thread *thread = value;
	uint64_t *n = ctx;

	(void)key;
	*n += thread->sp != 0;
	return 0;
}

static int collect(struct profile *p)
{
	struct mem_user *m = p->ctx;
	int n = rp_map_each(stacks_map(p->stacks, MEM_MAP_THREADS),
			    &stacks_maps(p->stacks)[MEM_MAP_THREADS], count_in_flight,
			    &m->in_flight);

	return n < 0 ? n : 0;
}

static void say_what_is_missing(const struct mem_user_stats *stats)
{
	if (stats->untracked)
		rp_log(RP_WARN,
		       "%" PRIu64 " blocks of %" PRIu64
		       " bytes found no room: they count as allocated, "
		       "but whether they were freed is not known",
		       stats->untracked, stats->untracked_bytes);
	if (stats->replaced)
		rp_log(RP_WARN, "%" PRIu64 " blocks were freed without our seeing it",
		       stats->replaced);
	if (stats->unsubtracted)
		rp_log(RP_WARN,
		       "%" PRIu64 " blocks were freed and are shown as in use: the ring was full",
		       stats->unsubtracted);
}

/* A call is kept if it allocated, whether or not the view shows its stack, or freed a block that we knew. */
static int books(struct profile *p, uint64_t kept, struct books *b)
{
	struct mem_user *m = p->ctx;
	const struct stack *stack = NULL;
	struct mem_user_stats stats;
	int err = stacks_stats(p->stacks, &stats);

	(void)kept;
	if (err)
		return rp_fail(err, "reading the program's counters: %s", strerror(-err));
	b->ledger.kept = stats.freed;
	while ((stack = stacks_next(p->stacks, stack)))
		b->ledger.kept += stack->value[MEM_ALLOC_OBJECTS];
	books_add(b, "inside other calls", stats.inside, REPORT_FILTERED);
	books_add(b, "free(NULL)", stats.nothing, REPORT_FILTERED);
	books_add(b, "failed", stats.failed, REPORT_FILTERED);
	books_add(b, "frees of unknown blocks", stats.unknown, REPORT_FILTERED);
	books_add(b, "under way at the end", m->in_flight, REPORT_FILTERED);
	books_add(b, "too many threads", stats.crowded, REPORT_LOST);
	books_add(b, "left without a return", stats.left, REPORT_LOST);
	say_what_is_missing(&stats);
	return 0;
}

static void describe(struct profile *p, struct report_info *info)
{
	info->event = "calls";
	(void)p;
}

/* ---- the command ------------------------------------------------------------------------------------------ */

static const struct profiler mem_profiler = {
	.command = "mem",
	.maps = mem_user_maps,
	.nmaps = MEM_USER_MAPS,
	.weight = MEM_ALLOC_SPACE,
	.at_return = true,
	.configure = configure,
	.attach = attach,
	.start = start,
	.loaded = loaded,
	.mapped = mapped,
	.stop = stop,
	.types = types,
	.values = values,
	.collect = collect,
	.describe = describe,
	.books = books,
};
static const struct profiler inuse_profiler = {
	.command = "mem",
	.maps = mem_user_maps,
	.nmaps = MEM_USER_MAPS,
	.weight = MEM_INUSE_SPACE,
	.at_return = true,
	.configure = configure,
	.attach = attach,
	.start = start,
	.loaded = loaded,
	.mapped = mapped,
	.stop = stop,
	.types = types,
	.values = values,
	.collect = collect,
	.describe = describe,
	.books = books,
};

int mem_user(const struct options *opt)
{
	const struct mem_options *mem = opt->own;
	struct mem_user m = { 0 };
	int status = profile_run(mem->leaks || mem->temporary ? &inuse_profiler : &mem_profiler,
				 opt, &m);

	mem_probes_close(m.probes);
	return status;
}
