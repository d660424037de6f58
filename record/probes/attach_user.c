/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes on functions of files. Where both ends of a call are seen, the entry probe is at the entry
 * or where it is cheaper and the stack pointer still the same; the return is a uretprobe, in Go a
 * probe at each return instruction.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/machine.h"
#include "ends.h"
#include "list.h"
#include "record/recording.h"

/* The places in a file for one program. */
struct places {
	uint64_t *offsets, *cookies;
	uint32_t n, capacity, cookies_capacity, cookies_n;
	enum rp_step worst;
};

static void places_free(struct places *p)
{
	free(p->offsets);
	free(p->cookies);
}

static int places_add(struct places *p, uint64_t offset, uint64_t cookie)
{
	int err = RP_PUSH(p->offsets, p->n, p->capacity, offset);

	return err ? err : RP_PUSH(p->cookies, p->cookies_n, p->cookies_capacity, cookie);
}

/* One file's new functions, as those of Go or as all others. */
struct attaching {
	struct record_probes *list;
	const struct probe_file *file;
	enum rp_uprobe_way way;
	struct places at[PROBE_POINTS];
	bool at_returns;	   /* all of them are probed at their returns */
	bool session;		   /* both ends by one program */
	struct sym_functions *all; /* of the file; NULL: not asked for yet */
};

static bool wants(const struct record_probes *list, enum probe_point point)
{
	return list->programs.at[point][PROBE_ON_REGS] != NULL;
}

/* ---- places */

static struct rp_function function_of(const struct attaching *a, const struct record_probe *p)
{
	return (struct rp_function){ .offset = p->user.offset,
				     .size = p->user.size,
				     .alone = p->user.alone,
				     .nargs = a->list->programs.nargs,
				     .with_return = wants(a->list, PROBE_RETURN),
				     .is_go = a->file->is_go,
				     .catches = a->file->throws };
}

static size_t match_any(void *ctx, const char *name)
{
	(void)ctx;
	(void)name;
	return 0;
}

/* All functions of the file, where what one jumps to is looked for. */
static int know_all(struct attaching *a)
{
	const struct sym_functions_query query = { .fd = a->file->fd,
						   .path = a->file->path,
						   .match = match_any };
	int err = a->all || !a->list->programs.elsewhere || a->way == RP_UPROBE_PERF
			  ? 0
			  : sym_functions_match(&query, &a->all);

	return err == -ENOMEM ? err : 0;
}

static const char *how_ends(struct attaching *a, const struct probe_ends *ends)
{
	char elsewhere[64] = "";

	if (ends->elsewhere)
		snprintf(elsewhere, sizeof(elsewhere), ", %u of them in functions that it jumps to",
			 ends->elsewhere);
	return record_probes_textf(a->list, "%s, return at %u instructions%s%s",
				   rp_uprobe_way_name(a->way), ends->n, elsewhere,
				   ends->complete ? "" : " (and elsewhere, which is not seen)");
}

static int add_returns(struct attaching *a, struct rp_code *code, const struct rp_function *f,
		       struct record_probe *p)
{
	const struct record_probe_programs *programs = &a->list->programs;
	struct probe_ends ends;
	int err = know_all(a);

	if (!err)
		err = record_probes_ends(code, a->all, f, programs->at_jumps && !a->file->is_go,
					 &ends);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < ends.n; i++)
		err = places_add(&a->at[PROBE_RETURN], ends.end[i].offset,
				 p->id | (ends.end[i].elsewhere ? PROBE_ELSEWHERE : 0));
	if (!err)
		p->how = how_ends(a, &ends);
	record_probes_ends_free(&ends);
	return err;
}

static int add_function(struct attaching *a, struct rp_code *code, struct record_probe *p)
{
	const struct rp_function f = function_of(a, p);
	const bool by_session = a->session && f.with_return && !a->at_returns;
	struct rp_place place;
	int err = rp_code_entry(code, &f, &place);

	if (err == -EINVAL || err == -EIO) { /* what the symbols say is not so */
		p->why_not = "outside of the file's code";
		return 0;
	}
	if (err == -EOPNOTSUPP) {
		p->why_not =
			"one that begins with an instruction of AVX, which a probe would break";
		return 0;
	}
	if (!err && f.with_return && a->at_returns)
		err = add_returns(a, code, &f, p);
	else if (!err && f.with_return)
		err = places_add(&a->at[by_session ? PROBE_SESSION : PROBE_RETURN],
				 p->user.offset + place.offset, p->id);
	if (err || p->why_not)
		return err;
	rp_log(RP_INFO, "%s: %s", p->name, place.why);
	if (!p->how)
		p->how = rp_uprobe_way_name(by_session ? RP_UPROBE_SESSION : a->way);
	return !by_session && wants(a->list, PROBE_ENTRY)
		       ? places_add(&a->at[PROBE_ENTRY], p->user.offset + place.offset, p->id)
		       : 0;
}

static bool is_new_here(const struct attaching *a, const struct record_probe *p)
{
	return p->kind == RECORD_PROBE_USER && !p->why_not &&
	       &a->list->files[p->user.file] == a->file;
}

/*
 * Where the word on the stack is no return address at the entry, or is kept for later: a uretprobe
 * would put its own address in place of something else.
 */
static bool keeps_return_address(const char *symbol)
{
	static const char *const globs[] = {
		"_start",	  "__restore_rt",  "__restore",	   "_dl_runtime_*",
		"_dl_start_user", "*setjmp",	   "getcontext",   "__getcontext",
		"swapcontext",	  "__swapcontext", "_Unwind_*",	   "vfork",
		"__vfork",	  "__libc_vfork",  "__morestack*", "__longjmp_cancel",
	};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++)
		if (!fnmatch(globs[i], symbol, 0))
			return true;
	return false;
}

/*
 * One that calls itself may be deeper than uretprobes go. And where functions are left by
 * exceptions, these must find the return addresses as they were: a uretprobe ends the program.
 */
static int choose_returns(const struct attaching *a, struct rp_code *code, struct record_probe *p)
{
	const struct rp_function f = function_of(a, p);
	struct rp_returns returns;
	int err;

	if (!f.with_return || a->file->is_go)
		return 0;
	err = rp_code_returns(code, &f, &returns);
	if (err)
		return err == -ENOMEM ? err : 0;
	p->user.at_returns =
		a->file->throws || keeps_return_address(p->symbol) ||
		(returns.complete && (returns.calls_itself || a->list->scope.at_returns));
	rp_returns_free(&returns);
	return 0;
}

/* The places of those whose returns are probed alike. */
static int collect(struct attaching *a, struct rp_code *code, uint32_t from)
{
	int err = 0;

	for (uint32_t i = from; !err && i < a->list->count; i++)
		if (is_new_here(a, a->list->items[i]) &&
		    a->list->items[i]->user.at_returns == a->at_returns)
			err = add_function(a, code, a->list->items[i]);
	return err;
}

/* ---- programs and links */

static enum rp_uprobe_way way_of(const struct attaching *a, enum probe_point point)
{
	return point == PROBE_SESSION ? RP_UPROBE_SESSION : a->way;
}

/* Programs for the places: one, or before Linux 5.15, without cookies, one for each function. */
static int programs_for(struct attaching *a, enum probe_point point, int **out, uint32_t *nout)
{
	const struct places *places = &a->at[point];
	const bool each = a->way == RP_UPROBE_PERF;
	const uint32_t n = each ? places->n : 1;
	struct record_probe_use use = {
		.point = point,
		.context = PROBE_ON_REGS,
		.kind = RECORD_PROBE_USER,
		.config = { .by_cookie = !each,
			    .go = a->at_returns && a->file->is_go,
			    .at_returns = a->at_returns,
			    .sp_above = point == PROBE_RETURN && !a->at_returns ? RETURN_SLOT : 0 }
	};
	const uint32_t type = rp_uprobe_attach_type(way_of(a, point));
	int *fds = calloc(n, sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		use.config.id = each ? (uint32_t)places->cookies[i] : 0;
		fds[i] = record_probes_program(a->list, &use, type, NULL);
		if (fds[i] < 0) {
			const int err = fds[i];

			free(fds);
			return err;
		}
	}
	*out = fds;
	*nout = n;
	return 0;
}

static int attach_for(struct attaching *a, enum probe_point point, const int *fds, uint32_t n,
		      pid_t pid)
{
	const struct places *places = &a->at[point];
	const struct rp_uprobe_set set = { .way = way_of(a, point),
					   .fd = a->file->fd,
					   .offsets = places->offsets,
					   .cookies = a->way == RP_UPROBE_PERF ? NULL
									       : places->cookies,
					   .n = places->n,
					   .pid = pid,
					   .at_return = point == PROBE_RETURN && !a->at_returns,
					   .prog_fds = fds,
					   .nprogs = n };
	struct probe_link link = { .point = point };
	int err = rp_attach_uprobes(&set, &link.uprobes);

	return err ? err : record_probes_keep_link(a->list, &link);
}

static int attach_point(struct attaching *a, enum probe_point point)
{
	const struct record_probe_scope *scope = &a->list->scope;
	uint32_t n;
	int *fds;
	int err;

	if (!a->at[point].n)
		return 0;
	err = programs_for(a, point, &fds, &n);
	if (err)
		return err;
	if (!scope->npids)
		err = attach_for(a, point, fds, n, -1);
	for (size_t i = 0; !err && i < scope->npids; i++) {
		err = attach_for(a, point, fds, n, (pid_t)scope->pids[i]);
		err = err == -ESRCH ? 0 : err; /* it has ended meanwhile */
	}
	free(fds);
	return err;
}

static int attach_alike(struct attaching *a, struct rp_code *code, uint32_t from)
{
	int err = collect(a, code, from);

	for (int point = PROBE_POINTS - 1; !err && point >= 0; point--)
		err = attach_point(a, (enum probe_point)point);
	for (int point = 0; point < PROBE_POINTS; point++)
		places_free(&a->at[point]);
	memset(a->at, 0, sizeof(a->at));
	return err;
}

static int attach_file(struct attaching *a, uint32_t from)
{
	const struct probe_file *f = a->file;
	struct rp_code *code;
	int err = rp_code_open(f->fd, f->machine, f->text_offset, f->text_size, &code);

	if (err)
		return rp_fail(err, "%s: its code cannot be read: %s", f->path, strerror(-err));
	for (uint32_t i = from; !err && i < a->list->count; i++)
		if (is_new_here(a, a->list->items[i]))
			err = choose_returns(a, code, a->list->items[i]);
	for (int at_returns = 0; !err && at_returns < 2; at_returns++) {
		a->at_returns = at_returns;
		err = attach_alike(a, code, from);
	}
	sym_functions_free(a->all);
	a->all = NULL;
	rp_code_close(code);
	return err;
}

static bool has_new(const struct attaching *a, uint32_t from)
{
	for (uint32_t i = from; i < a->list->count; i++)
		if (is_new_here(a, a->list->items[i]))
			return true;
	return false;
}

int record_probes_attach_user(struct record_probes *list, uint32_t from)
{
	const enum rp_uprobe_way way = rp_uprobe_way(list->scope.npids ? 1 : -1, false);
	const bool session = wants(list, PROBE_SESSION) &&
			     rp_uprobe_way(list->scope.npids ? 1 : -1, true) == RP_UPROBE_SESSION;
	int err = 0;

	for (uint32_t i = 0; !err && i < list->nfiles; i++) {
		struct attaching a = {
			.list = list, .file = &list->files[i], .way = way, .session = session
		};

		if (!has_new(&a, from))
			continue;
		if (way == RP_UPROBE_NONE)
			return rp_fail(-EOPNOTSUPP,
				       "functions of programs need uprobes, which this kernel has "
				       "not, or does not permit: see rawprof doctor");
		err = attach_file(&a, from);
	}
	return err;
}
