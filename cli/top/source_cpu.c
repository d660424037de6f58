/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU time by process, thread and function: samples as `rawprof cpu` takes them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/clock.h"
#include "sources.h"

/*
 * Samples a second of a CPU unless --freq says otherwise, and of all CPUs together: what they cost
 * is mostly the processes that are met, whose mappings are read.
 */
#define MOST_HZ 31
#define LEAST_HZ 5
#define SAMPLES_A_SECOND 500
#define FRAMES 512

struct cpu_state {
	uint64_t ns;	/* that a sample stands for */
	uint64_t marks; /* samples so far */
};

/* ---- which language */

static bool in_module(const struct report_frame *f, const char *name)
{
	return f->module && strstr(f->module, name);
}

/* From REPORT_PYTHON on. */
static const char *const managed[] = { "python", "javascript", "java", "php", "ruby", "perl" };

static const char *frame_language(const struct report_frame *f)
{
	if (f->kind == REPORT_KERNEL)
		return "kernel";
	if (f->kind >= REPORT_PYTHON)
		return managed[f->kind - REPORT_PYTHON];
	if (f->kind == REPORT_JIT)
		return "jit";
	if (f->name && strstr(f->name, "::"))
		return "c++";
	return "native";
}

/* Of a process, by what it alone has on its stacks; "": this stack does not tell. */
static const char *process_language(const struct report_frame *f, size_t n)
{
	static const struct {
		const char *module, *language;
	} modules[] = { { "libjvm.so", "java" },   { "libpython", "python" },
			{ "/python3", "python" },  { "libruby", "ruby" },
			{ "/perl", "perl" },	   { "libperl", "perl" },
			{ "libcoreclr", ".net" },  { "/node", "javascript" },
			{ "libphp", "php" },	   { "/php", "php" },
			{ "libstdc++.so", "c++" }, { "libbeam", "erlang" },
			{ "/lua", "lua" } };

	for (size_t i = 0; i < n; i++) {
		if (f[i].kind >= REPORT_PYTHON)
			return managed[f[i].kind - REPORT_PYTHON];
		if (f[i].name && (!strcmp(f[i].name, "runtime.goexit") ||
				  !strncmp(f[i].name, "runtime.goexit.", 15)))
			return "go";
		if (f[i].name && strstr(f[i].name, "std::rt::lang_start"))
			return "rust";
		for (size_t m = 0; m < sizeof(modules) / sizeof(modules[0]); m++)
			if (in_module(&f[i], modules[m].module))
				return modules[m].language;
	}
	return n && f[n - 1].kind == REPORT_KERNEL ? "kernel" : "native";
}

/* ---- a sample */

/* What a frame says, if it is a process's, is that process's. */
static const char *name_of(struct top_window *w, const struct report_event *e, size_t i,
			   const char *name)
{
	return top_name(w, e->frames[i].kind == REPORT_KERNEL ? 0 : (uint32_t)e->pid, name);
}

static const char *last_part(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && slash[1] ? slash + 1 : path ? path : "";
}

/* The last cell, which is no column, is the number of the sample that last had the function. */
#define MARK (TOP_COLUMNS - 1)

static int add_function(struct top_window *w, const struct report_event *e, size_t i,
			const struct cpu_state *c, const char **name)
{
	const struct report_frame *f = &e->frames[i];
	const union top_value keys[4] = {
		{ .number = (uint64_t)e->pid },
		{ .text = name_of(w, e, i, f->name ? f->name : "[unknown]") },
		{ .text = name_of(w, e, i, last_part(f->module)) },
		{ .text = top_text(w, frame_language(f)) },
	};
	struct top_row *row;

	if (!keys[1].text || !keys[2].text || !keys[3].text)
		return -ENOMEM;
	if (!i)
		*name = keys[1].text;
	row = top_row(w, TOP_FUNCTIONS, keys);
	if (!row)
		return 0; /* counted as left out */
	if (!i)
		row->cell[4].number += c->ns;
	if (row->cell[MARK].number != c->marks) /* one that calls itself counts once */
		row->cell[5].number += c->ns;
	row->cell[MARK].number = c->marks;
	return 0;
}

static void add_process(struct top_window *w, const struct report_event *e, const char *comm,
			const struct cpu_state *c)
{
	const union top_value keys[2] = { { .number = (uint64_t)e->pid },
					  { .number = (uint64_t)e->tid } };
	const char *language = process_language(e->frames, e->nframes);
	struct top_row *process = top_row(w, TOP_PROCESSES, keys),
		       *thread = top_row(w, TOP_THREADS, keys);

	if (process) {
		if (!process->cell[1].text || e->pid == e->tid)
			process->cell[1].text = comm;
		if (!process->cell[2].text || !strcmp(process->cell[2].text, "native") ||
		    !strcmp(process->cell[2].text, "kernel"))
			process->cell[2].text = top_text(w, language);
		process->cell[3].number += c->ns;
	}
	if (thread) {
		if (process)
			process->cell[4].number += !thread->cell[3].number;
		thread->cell[2].text = comm;
		thread->cell[3].number += c->ns;
	}
}

static int keep_stack(struct top_window *w, const struct report_event *e, const char *comm)
{
	struct top_frame frames[FRAMES];
	const struct top_sample sample = {
		.comm = comm,
		.pid = (uint32_t)e->pid,
		.tid = (uint32_t)e->tid,
		.n = (uint32_t)(e->nframes < FRAMES ? e->nframes : FRAMES),
	};

	for (uint32_t i = 0; i < sample.n; i++) {
		const struct report_frame *f = &e->frames[i];

		frames[i] = (struct top_frame){ .name = f->name ? name_of(w, e, i, f->name) : NULL,
						.module = f->module ? name_of(w, e, i, f->module)
								    : NULL,
						.kind = f->kind };
	}
	return top_window_sample(w, &sample, frames);
}

static int on_sample(void *ctx, const struct report_event *e)
{
	struct top_source *s = ctx;
	struct cpu_state *c = s->state_of_kind;
	struct top_window *w = s->all->window;
	const char *comm, *name = NULL;
	int err = 0;

	if (!e)
		return 0;
	c->marks++;
	w->sample_ns = c->ns;
	comm = top_comm(w, e->comm);
	if (!comm)
		return -ENOMEM;
	add_process(w, e, comm, c);
	for (size_t i = 0; !err && i < e->nframes; i++)
		err = add_function(w, e, i, c, &name);
	if (s->all->bpf)
		top_bpf_sample(s->all->bpf, e->frames, e->nframes);
	return err ? err : keep_stack(w, e, comm);
}

/* ---- a window */

/* Where each process was most of the time; the last cell of its row is how long. */
static int add_hottest(struct top_window *w)
{
	const struct hash_map *map = &w->rows[TOP_FUNCTIONS];
	const struct top_row *row = map->items;

	for (uint32_t i = 0; i < map->count; i++) {
		struct top_row *process = rp_hash_find(&w->rows[TOP_PROCESSES], &row[i].cell[0]);

		if (!process || row[i].cell[4].number <= process->cell[MARK].number)
			continue;
		process->cell[MARK].number = row[i].cell[4].number;
		process->cell[5].text = row[i].cell[1].text;
	}
	return 0;
}

static int read_cpu(struct top_source *s, struct top_window *w)
{
	(void)s;
	return add_hottest(w);
}

static int open_cpu(struct top_source *s)
{
	struct cpu_state *c = s->state_of_kind;
	int cpus = rp_cpus_possible();
	uint64_t hz = SAMPLES_A_SECOND / (uint64_t)(cpus > 0 ? cpus : 1);

	if (!s->options.freq)
		s->options.freq = hz > MOST_HZ ? MOST_HZ : hz < LEAST_HZ ? LEAST_HZ : hz;
	s->options.period = 0;
	c->ns = NS_PER_SECOND / s->options.freq;
	s->options.samples = true;
	s->options.sample = on_sample;
	s->options.ctx = s;
	s->profiler = record_cpu;
	s->profiler.languages = NULL; /* it stays on, so they are loaded at once */
	return 0;
}

const struct top_source_kind top_source_cpu = {
	.name = "cpu",
	.panel = TOP_FUNCTIONS,
	.at_once = true,
	.needed = true,
	.size = sizeof(struct cpu_state),
	.open = open_cpu,
	.read = read_cpu,
};
