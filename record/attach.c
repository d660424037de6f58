/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of a recording: loaded, attached, detached. */
#include <errno.h>
#include <string.h>

#include <rawprof/loader.h>

#include "attach.h"
#include "recording.h"

/* ---- loading */

static int load(struct recording *rec, const struct rp_program *program,
		const struct asm_program *code, const void *config)
{
	int fd;

	if (rec->nprograms == RECORD_PROGRAMS)
		return rp_fail(-E2BIG, "%s: more than %d programs in a recording", code->name,
			       RECORD_PROGRAMS);
	fd = record_stacks_load(rec->stacks, code, config);
	if (fd < 0)
		return fd;
	rec->loaded[rec->nprograms] = program;
	rec->attach_type[rec->nprograms] = code->attach_type;
	rec->program[rec->nprograms++] = fd;
	return fd;
}

int record_load(struct recording *rec, const struct rp_program *program, const void *config)
{
	return load(rec, program, &program->code, config);
}

int record_load_as(struct recording *rec, const struct rp_program *program,
		   const struct asm_program *code, const void *config)
{
	return load(rec, program, code, config);
}

int record_load_probe(struct recording *rec, const struct rp_program *program,
		      enum rp_uprobe_way way, const void *config)
{
	struct asm_program code = program->code;

	code.attach_type = rp_uprobe_attach_type(way);
	return load(rec, program, &code, config);
}

static bool has_event(const struct rp_program *program)
{
	return program->hook.kind == RP_HOOK_TP_BTF || program->hook.kind == RP_HOOK_RAW_TP ||
	       program->hook.kind == RP_HOOK_TP;
}

/* Adds the variant for the role of first, if there is one and it has an event of its own. */
static int choose(const struct rp_program *list, const struct rp_program *first,
		  const struct rp_program **chosen, size_t *n)
{
	int err = record_choose(list, first->role, &chosen[*n]);

	if (err)
		return first->optional ? 0
				       : rp_fail(err, "%s cannot run here: %s", first->code.name,
						 strerror(-err));
	if (!has_event(chosen[*n]))
		return 0;
	if (chosen[*n]->instead)
		rp_log(RP_INFO, "%s", chosen[*n]->instead);
	++*n;
	return 0;
}

int record_load_list(struct recording *rec, const struct rp_program *list, uint32_t roles,
		     const void *config)
{
	const struct rp_program *chosen[32];
	uint32_t met = 0;
	size_t n = 0;
	int err = 0;

	for (const struct rp_program *p = list; !err && p->code.name; p++) {
		if (p->role ? !(p->role & roles & ~met) : p != list)
			continue;
		met |= p->role;
		err = choose(list, p, chosen, &n);
	}
	for (int begins = 0; begins < 2; begins++)
		for (size_t i = 0; err >= 0 && i < n; i++)
			if (chosen[i]->ends == !begins)
				err = record_load(rec, chosen[i], config);
	return err < 0 ? err : 0;
}

/* ---- attaching */

static bool is_of(const struct rp_program *program, const struct rp_program *list)
{
	if (!list)
		return true;
	while (list->code.name && list != program)
		list++;
	return list == program;
}

static int attach(int fd, const struct rp_hook *hook, struct rp_link **out)
{
	if (hook->kind == RP_HOOK_TP)
		return rp_attach_tracepoint(fd, hook->group, hook->name, 0, out);
	return rp_attach_raw_tracepoint(fd, hook->kind == RP_HOOK_RAW_TP ? hook->name : NULL, out);
}

int record_attach_list(struct recording *rec, const struct rp_program *list)
{
	int err = 0;

	for (size_t i = 0; err >= 0 && i < rec->nprograms; i++) {
		const struct rp_program *program = rec->loaded[i];

		if (!rec->link[i] && has_event(program) && is_of(program, list))
			err = attach(rec->program[i], &program->hook, &rec->link[i]);
	}
	return err < 0 ? err : 0;
}

int record_attach(struct recording *rec, const struct rp_program *list, uint32_t roles,
		  const void *config)
{
	int err = record_load_list(rec, list, roles, config);

	return err ? err : record_attach_list(rec, list);
}

void record_detach_list(struct recording *rec, const struct rp_program *list)
{
	for (size_t i = rec->nprograms; i-- > 0;)
		if (is_of(rec->loaded[i], list)) {
			rp_link_close(rec->link[i]);
			rec->link[i] = NULL;
		}
}

/* ---- what they cost */

struct record_runs record_runs(const struct recording *rec, const struct rp_program *list,
			       uint32_t roles)
{
	struct record_runs sum = { 0 };

	for (size_t i = 0; i < rec->nprograms; i++) {
		struct rp_prog_stats stats;

		if (!is_of(rec->loaded[i], list) ||
		    (list && rec->loaded[i]->role && !(rec->loaded[i]->role & roles)) ||
		    rp_prog_stats(rec->program[i], &stats))
			continue;
		sum.ns += stats.run_time_ns;
		sum.runs += stats.run_cnt;
		sum.missed += stats.recursion_misses;
	}
	return sum;
}
