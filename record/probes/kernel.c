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

#include "base/grow.h"
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

static struct record_probe *find_listed(const struct record_probes *list, uint64_t addr)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_KERNEL &&
		    list->items[i]->kernel.addr == addr)
			return list->items[i];
	return NULL;
}

/* Several names of one address are one function. */
static int add_name(struct record_probes *list, struct record_probe *p, const char *name)
{
	if (!strcmp(p->symbol, name))
		return 0;
	p->also = p->also ? record_probes_textf(list, "%s, %s", p->also, name)
			  : record_probes_text(list, name);
	return p->also ? 0 : -ENOMEM;
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
	struct record_probe *listed;

	if (sym->module && !strcmp(sym->module, "bpf"))
		return 0;
	if (is_part(sym->name) && !is_part(g->glob))
		return 0;
	if (sym->module)
		p.module = record_probes_text(g->list, sym->module);
	if (!name)
		return -ENOMEM;
	g->list->patterns[g->at].found++;
	listed = find_listed(g->list, sym->addr);
	if (listed)
		return add_name(g->list, listed, name);
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
			       : " (perhaps it is inlined into others)");
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

/* A function of the list, by one of its names: tracefs and BTF may each know another. */
struct named {
	const char *name;
	struct record_probe *probe;
	bool traced;
};
struct all_named {
	struct named *items; /* sorted by name */
	size_t n, capacity;
	struct record_probe **by_addr;
	size_t nprobes;
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int compare_addr(const void *a, const void *b)
{
	const struct record_probe *const *x = a, *const *y = b;

	return (*x)->kernel.addr < (*y)->kernel.addr ? -1 : (*x)->kernel.addr > (*y)->kernel.addr;
}

static int collect_name(void *ctx, const struct sym_ksym *sym)
{
	struct all_named *all = ctx;
	const struct record_probe key = { .kernel = { .addr = sym->addr } }, *at = &key;
	struct record_probe **p =
		bsearch(&at, all->by_addr, all->nprobes, sizeof(at), compare_addr);

	return p ? RP_PUSH(all->items, all->n, all->capacity,
			   (struct named){ .name = sym->name, .probe = *p })
		 : 0;
}

/* The first with this name; n: none. */
static size_t find_named(const struct all_named *all, const char *name)
{
	size_t lo = 0, hi = all->n;

	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;

		if (strcmp(all->items[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < all->n && !strcmp(all->items[lo].name, name) ? lo : all->n;
}

static int note_args(void *ctx, const char *name, int nargs)
{
	const struct all_named *all = ctx;

	for (size_t i = find_named(all, name); i < all->n; i++) {
		if (strcmp(all->items[i].name, name))
			break;
		all->items[i].probe->kernel.nargs = nargs;
		all->items[i].probe->kernel.btf = all->items[i].name;
	}
	return 0;
}

/* Another function of the same name makes the name alone say too little. */
static int note_other(void *ctx, const struct sym_ksym *sym)
{
	const struct all_named *all = ctx;

	for (size_t i = find_named(all, sym->name); i < all->n; i++) {
		if (strcmp(all->items[i].name, sym->name))
			break;
		if (all->items[i].probe->kernel.addr != sym->addr)
			all->items[i].probe->kernel.alone = false;
	}
	return 0;
}

/* Lines are "name" or "name [module]". */
static bool read_traceable(struct all_named *all, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	bool any = false;

	while (getline(&line, &size, f) > 0) {
		line[strcspn(line, " \t\n")] = '\0';
		any = true;
		for (size_t i = find_named(all, line); i < all->n; i++) {
			if (strcmp(all->items[i].name, line))
				break;
			all->items[i].traced = true;
		}
	}
	free(line);
	return any;
}

/* False if it cannot be read: then there is nothing to be said before it is tried. */
static bool find_traceable(struct all_named *all)
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

static void check_traceable(const struct record_probes *list, struct all_named *all)
{
	const bool known = find_traceable(all);
	const char *why = NULL;
	const bool can = record_probes_can_kernel(&list->scope, &why);

	for (size_t i = 0; i < all->nprobes; i++) {
		if (known)
			all->by_addr[i]->why_not = "notrace: not among those that the kernel lets "
						   "be traced (available_filter_functions)";
		else if (!can)
			all->by_addr[i]->why_not = why;
	}
	for (size_t i = 0; known && i < all->n; i++)
		if (all->items[i].traced)
			all->items[i].probe->why_not = can ? NULL : why;
}

static int check_all(struct record_probes *list, struct all_named *all)
{
	const struct sym_kallsyms *ks;
	const struct rp_btf *btf;
	int err = functions(list, &ks);

	qsort(all->by_addr, all->nprobes, sizeof(*all->by_addr), compare_addr);
	if (!err)
		err = sym_kallsyms_glob(ks, "*", collect_name, all);
	if (err)
		return err;
	qsort(all->items, all->n, sizeof(*all->items), compare);
	sym_kallsyms_glob(ks, "*", note_other, all);
	check_traceable(list, all);
	if (!rp_btf_kernel(&btf))
		rp_btf_each_func(btf, "*", note_args, all);
	return 0;
}

int record_probes_check_kernel(struct record_probes *list)
{
	struct all_named all = { .by_addr = calloc(list->count + 1, sizeof(*all.by_addr)) };
	int err = all.by_addr ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_KERNEL) {
			list->items[i]->kernel.alone = true;
			all.by_addr[all.nprobes++] = list->items[i];
		}
	if (all.nprobes)
		err = check_all(list, &all);
	free(all.items);
	free(all.by_addr);
	return err;
}
