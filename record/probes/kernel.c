/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of the kernel: /proc/kallsyms has them with their addresses, the file
 * available_filter_functions of tracefs those that may be traced, BTF their arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "list.h"

static int functions(struct record_probes *list, const struct sym_kallsyms **out)
{
	int err = list->kernel ? 0 : sym_kernel_open(&list->kernel, NULL);

	return err ? err : sym_kernel_kallsyms(list->kernel, out);
}

/* ---- by name */

struct globbing {
	struct record_probes *list;
	size_t at;
	const char *glob;
};

/* Parts of functions, which the compiler has moved elsewhere. */
static bool is_part(const char *name)
{
	const char *cold = strstr(name, ".cold"), *part = strstr(name, ".part.");

	return part || (cold && (!cold[5] || cold[5] == '.'));
}

static bool is_listed(const struct record_probes *list, uint64_t addr)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_KERNEL &&
		    list->items[i]->kernel.addr == addr)
			return true;
	return false;
}

static int take(void *ctx, const struct sym_ksym *sym)
{
	const struct globbing *g = ctx;
	const char *name = record_probes_text(g->list, sym->name);
	struct record_probe p = { .kind = RECORD_PROBE_KERNEL,
				  .pattern = g->at,
				  .name = name,
				  .symbol = name,
				  .kernel = { .addr = sym->addr, .nargs = -ENOENT } };

	if (sym->module && !strcmp(sym->module, "bpf"))
		return 0;
	if (is_part(sym->name) && !is_part(g->glob))
		return 0;
	if (sym->module)
		p.module = record_probes_text(g->list, sym->module);
	if (!name)
		return -ENOMEM;
	g->list->patterns[g->at].found++;
	/* Patterns may overlap, and an address may have several names: the first one counts. */
	if (g->list->npatterns > 1 && is_listed(g->list, sym->addr))
		return 0;
	return record_probes_add(g->list, &p, NULL);
}

static int try_near(void *ctx, const struct sym_ksym *sym)
{
	record_nearest_try(ctx, sym->name, sym->name);
	return 0;
}

static int missing(const struct sym_kallsyms *ks, const struct pattern *p)
{
	struct nearest nearest;
	const struct rp_btf *btf;
	char hint[300];

	if (!rp_btf_kernel(&btf) && rp_btf_find(btf, p->name, BTF_KIND_FUNC) >= 0)
		return rp_fail(-ENOENT, "'%s': the kernel has inlined it everywhere", p->text);
	for (uint32_t nr = 0; nr < RECORD_SYSCALLS; nr++)
		if (record_syscall_name(nr) && !strcmp(record_syscall_name(nr), p->name))
			return rp_fail(-ENOENT,
				       "'%s': the kernel has no function of that name; the system "
				       "call is syscall:%s",
				       p->text, p->name);
	record_nearest_begin(&nearest, p->name);
	sym_kallsyms_glob(ks, "*", try_near, &nearest);
	return rp_fail(-ENOENT,
		       "'%s': the kernel has no such function%s%s; functions of programs are "
		       "FILE:FUNCTION, or :FUNCTION with -p or -- PROGRAM",
		       p->text, record_nearest_hint(&nearest, hint, sizeof(hint)),
		       *nearest.best || record_pattern_is_glob(p->name)
			       ? ""
			       : " (it may be inlined into others)");
}

/* Clones that the compiler made of the whole function are it, too. */
static int find_clones(struct globbing *g, const struct sym_kallsyms *ks)
{
	static const char *const endings[] = { ".isra.*", ".constprop.*", ".llvm.*" };
	char glob[PATTERN_MAX + 16];
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(glob, sizeof(glob), "%s%s", g->list->patterns[g->at].name, endings[i]);
		g->glob = glob;
		err = sym_kallsyms_glob(ks, glob, take, g);
	}
	return err;
}

int record_probes_find_kernel(struct record_probes *list, size_t at)
{
	const struct pattern *p = &list->patterns[at];
	struct globbing g = { list, at, p->name };
	const struct sym_kallsyms *ks;
	int err = functions(list, &ks);

	if (err == -EACCES)
		return rp_fail(err,
			       "'%s': /proc/kallsyms shows no addresses: that needs CAP_SYSLOG "
			       "and kernel.kptr_restrict below 2",
			       p->text);
	if (err)
		return rp_fail(err, "'%s': /proc/kallsyms cannot be read: %s", p->text,
			       strerror(-err));
	err = sym_kallsyms_glob(ks, p->name, take, &g);
	if (!err && !record_pattern_is_glob(p->name))
		err = find_clones(&g, ks);
	return err || p->found ? err : missing(ks, p);
}

/* ---- what may be traced, and how it is called */

/* The kernel's functions of the list by name, as a sorted array. */
struct named {
	struct record_probe **items;
	size_t n;
	bool *traced;
};

static int compare(const void *a, const void *b)
{
	const struct record_probe *const *x = a, *const *y = b;

	return strcmp((*x)->symbol, (*y)->symbol);
}

/* The first with this name; n: none. */
static size_t find_named(const struct named *all, const char *name)
{
	size_t lo = 0, hi = all->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (strcmp(all->items[mid]->symbol, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < all->n && !strcmp(all->items[lo]->symbol, name) ? lo : all->n;
}

static int note_args(void *ctx, const char *name, int nargs)
{
	const struct named *all = ctx;

	for (size_t i = find_named(all, name); i < all->n; i++) {
		if (strcmp(all->items[i]->symbol, name))
			break;
		all->items[i]->kernel.nargs = nargs;
	}
	return 0;
}

/* Lines are "name" or "name [module]". */
static bool read_traceable(struct named *all, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	bool any = false;

	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		any = true;
		for (size_t i = find_named(all, line); i < all->n; i++) {
			if (strcmp(all->items[i]->symbol, line))
				break;
			all->traced[i] = true;
		}
	}
	free(line);
	return any;
}

/* False if it cannot be read: then there is nothing to be said before it is tried. */
static bool find_traceable(struct named *all)
{
	const int dir = rp_tracefs();
	const int fd =
		dir < 0 ? dir : openat(dir, "available_filter_functions", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	bool any;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	any = read_traceable(all, f);
	fclose(f);
	return any;
}

static void check_all(struct record_probes *list, struct named *all)
{
	const struct rp_btf *btf;
	const bool known = find_traceable(all);
	const char *why = NULL;
	const bool can = record_probes_can_kernel(&list->scope, &why);

	for (size_t i = 0; i < all->n; i++) {
		struct record_probe *p = all->items[i];

		p->kernel.alone = (!i || compare(&all->items[i - 1], &all->items[i])) &&
				  (i + 1 == all->n || compare(&all->items[i + 1], &all->items[i]));
		if (known && !all->traced[i])
			p->why_not = "notrace: not among available_filter_functions, which the "
				     "kernel lets be traced";
		else if (!can)
			p->why_not = why;
	}
	if (!rp_btf_kernel(&btf))
		rp_btf_each_func(btf, "*", note_args, all);
}

int record_probes_check_kernel(struct record_probes *list)
{
	struct named all = { .items = calloc(list->count + 1, sizeof(*all.items)),
			     .traced = calloc(list->count + 1, sizeof(*all.traced)) };
	const int err = all.items && all.traced ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_KERNEL)
			all.items[all.n++] = list->items[i];
	if (!err && all.n) {
		qsort(all.items, all.n, sizeof(*all.items), compare);
		check_all(list, &all);
	}
	free(all.items);
	free(all.traced);
	return err;
}
