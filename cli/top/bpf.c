/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All BPF programs of the machine: runs and their time as the kernel counts them, and the samples
 * of the CPU that hit them, by source line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/hash.h"
#include "sources.h"

/* Programs that are watched; of those beyond it is said that they found no room. */
#define MAX_PROGRAMS 4096

struct program {
	uint32_t id, seen; /* seen: the window in which it was last there */
	uint64_t ns, runs; /* at the last look */
	uint64_t samples;  /* in this window */
	bool has_code;
	struct rp_prog_code code;
	struct rp_prog_stats stats;
	struct hash_map lines; /* of struct line_hits */
};
struct line_hits {
	const struct rp_prog_code_line *line;
	uint64_t n;
};

struct top_bpf {
	struct hash_map programs; /* of struct program */
	uint32_t window;
};

int top_bpf_open(struct top_bpf **out)
{
	struct top_bpf *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->programs = HASH_MAP(struct program, id);
	*out = b;
	return 0;
}

static void free_program(struct program *p)
{
	rp_prog_code_free(&p->code);
	rp_hash_free(&p->lines);
}

void top_bpf_close(struct top_bpf *b)
{
	struct program *p = b ? b->programs.items : NULL;

	for (uint32_t i = 0; b && i < b->programs.count; i++)
		free_program(&p[i]);
	if (b)
		rp_hash_free(&b->programs);
	free(b);
}

/* ---- samples */

static void hit(struct program *p, uint64_t addr)
{
	const struct line_hits key = { .line = rp_prog_code_find(&p->code, addr) };
	struct line_hits *hits;

	p->samples++;
	if (!key.line)
		return;
	hits = rp_hash_add(&p->lines, &key.line);
	if (hits)
		hits->n++;
}

/* The innermost program counts: what it called (a helper, a map) is its time too. */
void top_bpf_sample(struct top_bpf *b, const struct report_frame *frames, size_t n)
{
	struct program *p = b->programs.items;

	for (size_t f = 0; f < n && frames[f].kind == REPORT_KERNEL; f++)
		for (uint32_t i = 0; i < b->programs.count; i++) {
			/* A return address is behind the call. */
			const uint64_t addr = frames[f].address - frames[f].is_return;

			if (p[i].has_code && rp_prog_code_has(&p[i].code, addr)) {
				hit(&p[i], addr);
				return;
			}
		}
}

/* ---- a window */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *hottest_line(struct top_window *w, const struct program *p)
{
	const struct line_hits *hits = p->lines.items, *most = NULL;
	char text[256];

	for (uint32_t i = 0; i < p->lines.count; i++)
		if (!most || hits[i].n > most->n)
			most = &hits[i];
	if (!most)
		return "";
	snprintf(text, sizeof(text), "%s:%u: %s", base_name(most->line->file), most->line->line,
		 most->line->text + strspn(most->line->text, " \t"));
	return top_comm(w, text);
}

static int add_row(struct top_window *w, struct program *p, bool is_new)
{
	const union top_value key = { .number = p->id };
	struct top_row *row = top_row(w, TOP_BPF, &key);

	if (!row)
		return 0;
	row->cell[1].text = top_comm(w, *p->stats.name ? p->stats.name : "-");
	row->cell[2].text = top_text(w, rp_prog_type_name(p->stats.type));
	/* What it came to before it was first seen is of no window. */
	row->cell[3].number = is_new ? 0 : p->stats.run_cnt - p->runs;
	row->cell[4].number = row->cell[6].number = is_new ? 0 : p->stats.run_time_ns - p->ns;
	row->cell[7].number = p->samples;
	row->cell[8].text = hottest_line(w, p);
	row->cell[9].number = p->stats.run_cnt;
	row->cell[10].number = p->stats.run_time_ns;
	return row->cell[1].text && row->cell[2].text && row->cell[8].text ? 0 : -ENOMEM;
}

static int look_at(struct top_bpf *b, struct top_window *w, uint32_t id, int fd)
{
	struct program *p = rp_hash_find(&b->programs, &id);
	const bool is_new = !p;
	int err;

	if (is_new && b->programs.count == MAX_PROGRAMS) {
		w->full[TOP_BPF]++;
		return 0;
	}
	if (is_new)
		p = rp_hash_add(&b->programs, &id);
	if (!p)
		return -ENOMEM;
	if (is_new) {
		p->lines = HASH_MAP(struct line_hits, line);
		p->has_code = !rp_prog_code(fd, &p->code);
	}
	p->seen = b->window;
	if (rp_prog_stats(fd, &p->stats))
		return 0;
	err = add_row(w, p, is_new);
	p->runs = p->stats.run_cnt;
	p->ns = p->stats.run_time_ns;
	p->samples = 0;
	rp_hash_free(&p->lines);
	return err;
}

/* Programs that are gone go; ids come again only after 2^31 others. */
static bool is_there(void *ctx, void *entry)
{
	const struct top_bpf *b = ctx;
	struct program *p = entry;

	if (p->seen == b->window)
		return true;
	free_program(p);
	return false;
}

int top_bpf_read(struct top_bpf *b, struct top_window *w)
{
	uint32_t id = 0;
	int err;

	b->window++;
	w->running[TOP_BPF] = true;
	while (!(err = rp_prog_next_id(id, &id)) && id) {
		int fd = rp_prog_by_id(id);

		if (fd == -ENOENT)
			continue;
		if (fd < 0)
			return fd;
		err = look_at(b, w, id, fd);
		close(fd);
		if (err)
			return err;
	}
	if (!err)
		rp_hash_keep(&b->programs, is_there, b);
	return err;
}
