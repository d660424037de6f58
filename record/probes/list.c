/* SPDX-License-Identifier: BSD-2-Clause */
/* The list: opened from patterns, added to, read. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "list.h"
#include "record/recording.h"

/* ---- what is in it */

const char *record_probes_text(struct record_probes *list, const char *text)
{
	return sym_strings_add(&list->strings, text, strlen(text));
}

const char *record_probes_textf(struct record_probes *list, const char *fmt, ...)
{
	const char *kept = NULL;
	char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) >= 0)
		kept = record_probes_text(list, text);
	va_end(args);
	free(text);
	return kept;
}

static int say_too_many(struct record_probes *list, size_t pattern)
{
	const size_t limit = list->scope.limit;
	const char *option = list->scope.limit_option;

	if (!list->too_many)
		rp_log(RP_ERROR, "'%s': that is more than %zu to be probed: name fewer%s%s%s",
		       list->patterns[pattern].text, limit, option ? ", or raise it with " : "",
		       option ? option : "", option ? " N" : "");
	list->too_many = true;
	return -E2BIG;
}

int record_probes_add(struct record_probes *list, const struct record_probe *p,
		      struct record_probe **out)
{
	struct record_probe *item;
	int err;

	if (list->count >= list->scope.limit)
		return list->scope.show_file ? -E2BIG : say_too_many(list, p->pattern);
	item = malloc(sizeof(*item));
	if (!item)
		return -ENOMEM;
	*item = *p;
	item->id = list->count;
	err = RP_PUSH(list->items, list->count, list->capacity, item);
	if (err) {
		free(item);
		return err;
	}
	if (out)
		*out = item;
	return 0;
}

uint32_t record_probes_count(const struct record_probes *probes)
{
	return probes->count;
}

const struct record_probe *record_probes_at(const struct record_probes *probes, uint32_t id)
{
	return id < probes->count ? probes->items[id] : NULL;
}

uint32_t record_probes_kinds(const struct record_probes *probes)
{
	uint32_t kinds = 0;

	for (uint32_t i = 0; i < probes->count; i++)
		if (!probes->items[i]->why_not)
			kinds |= RECORD_PROBE_BIT(probes->items[i]->kind);
	return kinds;
}

/* In the printable form, as far as there is room. Returns the length. */
static size_t add_label(char *text, size_t size, size_t used, const char *part)
{
	char unit[RP_TEXT_UNIT];

	while (*part) {
		const size_t n = rp_text_unit(&part, unit, NULL);

		if (n >= size - used)
			break;
		memcpy(text + used, unit, n);
		used += n;
	}
	text[used] = '\0';
	return used;
}

void record_probes_label(const struct record_probe *p, char *text, size_t size)
{
	const char *slash = p->module ? strrchr(p->module, '/') : NULL;
	size_t n = 0;

	if (p->kind == RECORD_PROBE_USER || p->usdt)
		n = add_label(text, size, n, slash ? slash + 1 : p->module);
	else if (p->kind == RECORD_PROBE_SYSCALL)
		n = add_label(text, size, n, "syscall");
	if (n)
		n = add_label(text, size, n, ":");
	add_label(text, size, n, p->name);
}

size_t record_probes_syscalls(const struct record_probes *probes, uint32_t ids[RECORD_SYSCALLS])
{
	size_t n = 0;

	memset(ids, 0, RECORD_SYSCALLS * sizeof(ids[0]));
	for (uint32_t i = 0; i < probes->count; i++) {
		const struct record_probe *p = probes->items[i];

		if (p->kind != RECORD_PROBE_SYSCALL || p->why_not ||
		    p->syscall.nr >= RECORD_SYSCALLS)
			continue;
		ids[p->syscall.nr] = i + 1;
		n++;
	}
	return n;
}

/* ---- what was left out */

static bool is_same_reason(const struct record_probe *a, const struct record_probe *b)
{
	return a->why_not && b->why_not && !strcmp(a->why_not, b->why_not);
}

static void say_reason(const struct record_probes *list, uint32_t first)
{
	const struct record_probe *p = list->items[first];
	char names[160];
	size_t n = 0, used = 0;

	for (uint32_t i = first; i < list->count; i++) {
		const struct record_probe *q = list->items[i];

		if (!is_same_reason(p, q))
			continue;
		if (n++ < 4 && used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 n > 1 ? ", " : "", q->name);
		rp_log(RP_INFO, "%s is not probed: %s", q->name, q->why_not);
	}
	rp_log(RP_WARN, "%zu %s not probed, as %s %s: %s%s", n, n == 1 ? "is" : "are",
	       n == 1 ? "it is" : "they are", p->why_not, names, n > 4 ? ", ..." : "");
}

void record_probes_say_left_out(const struct record_probes *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		bool said = !list->items[i]->why_not;

		for (uint32_t k = 0; !said && k < i; k++)
			said = is_same_reason(list->items[i], list->items[k]);
		if (!said)
			say_reason(list, i);
	}
}

/* ---- opening */

static int copy_scope(struct record_probes *list, const struct record_probe_scope *scope)
{
	uint32_t *pids = calloc(scope->npids + 1, sizeof(*pids)); /* one more: confine() */

	if (!pids)
		return -ENOMEM;
	if (scope->npids)
		memcpy(pids, scope->pids, scope->npids * sizeof(*pids));
	list->scope = *scope;
	list->scope.pids = pids;
	if (!scope->limit)
		list->scope.limit = RECORD_PROBE_LIMIT;
	return 0;
}

static int parse_patterns(struct record_probes *list, const char *const *patterns, size_t n)
{
	int err = 0;

	list->patterns = calloc(n + 1, sizeof(*list->patterns));
	list->names = calloc(n + 1, sizeof(*list->names));
	if (!list->patterns || !list->names)
		return -ENOMEM;
	for (size_t i = 0; !err && i < n; i++) {
		err = record_pattern_parse(patterns[i], &list->patterns[i]);
		if (!err) {
			list->npatterns++;
			record_name_make(list->patterns[i].name, &list->names[i]);
		}
	}
	return err;
}

static bool is_of_file(const struct pattern *p)
{
	return record_pattern_place(p) != PLACE_NONE;
}

static int check_kind(const struct record_probes *list, const struct pattern *p,
		      enum record_probe_kind kind, const char *what)
{
	if (list->scope.kinds & RECORD_PROBE_BIT(kind))
		return 0;
	if (list->scope.kinds_option)
		return rp_fail(-EINVAL, "'%s' is %s, which %s leaves out", p->text, what,
			       list->scope.kinds_option);
	return rp_fail(-EINVAL, "'%s': %s cannot be measured here", p->text, what);
}

/* "a:b" is a tracepoint, not a function, where those are asked for and there is a group a. */
static bool is_event(const struct record_probes *list, const struct pattern *p)
{
	char path[300];
	int dir;

	if (!(list->scope.kinds & RECORD_PROBE_BIT(RECORD_PROBE_EVENT)))
		return false;
	if (p->kind == PATTERN_SYSCALL)
		return p->was_event;
	if (p->kind != PATTERN_LIBRARY)
		return p->kind == PATTERN_EVENT;
	if (record_pattern_is_glob(p->place))
		return true;
	dir = rp_tracefs();
	snprintf(path, sizeof(path), "events/%s", p->place);
	return dir >= 0 && !faccessat(dir, path, F_OK, 0);
}

static int find_one(struct record_probes *list, size_t at)
{
	struct pattern *p = &list->patterns[at];

	if (is_event(list, p)) {
		p->kind = PATTERN_EVENT;
		return record_probes_find_events(list, at);
	}
	switch (p->kind) {
	case PATTERN_KERNEL:
		return check_kind(list, p, RECORD_PROBE_KERNEL, "a function of the kernel")
			       ? -EINVAL
			       : record_probes_find_kernel(list, at);
	case PATTERN_SYSCALL:
		return check_kind(list, p, RECORD_PROBE_SYSCALL, "a system call")
			       ? -EINVAL
			       : record_probes_find_syscalls(list, at);
	case PATTERN_PAIR:
		return check_kind(list, p, RECORD_PROBE_PAIR, "a pair of tracepoints")
			       ? -EINVAL
			       : record_probes_find_pair(list, at);
	case PATTERN_EVENT:
		return rp_fail(-EINVAL,
			       "'%s': a single tracepoint has no end: group:begin..group:end, or "
			       "rawprof trace",
			       p->text);
	case PATTERN_USDT:
		if (p->end_name)
			return check_kind(list, p, RECORD_PROBE_PAIR, "a pair of USDT probes");
		return list->scope.kinds & RECORD_PROBE_BIT(RECORD_PROBE_USDT)
			       ? 0
			       : rp_fail(-EINVAL,
					 "'%s': a single USDT probe has no end: "
					 "usdt:PROGRAM:BEGIN..END, or rawprof trace",
					 p->text);
	default:
		return check_kind(list, p, RECORD_PROBE_USER, "a function of a program");
	}
}

static int find_all(struct record_probes *list)
{
	bool user = false;
	int err = 0;

	for (size_t i = 0; !err && i < list->npatterns; i++) {
		err = find_one(list, i);
		user |= is_of_file(&list->patterns[i]);
	}
	if (!err)
		err = record_probes_check_kernel(list);
	if (!err && user)
		err = record_probes_find_user(list);
	return err;
}

/* A pattern that is there and of which nothing can be probed is a mistake as well. */
static int check_found(const struct record_probes *list)
{
	for (size_t i = 0; i < list->npatterns; i++) {
		const char *why = NULL;
		bool can = false;

		for (uint32_t k = 0; k < list->count; k++)
			if (list->items[k]->pattern == i) {
				can |= !list->items[k]->why_not;
				why = list->items[k]->why_not;
			}
		if (!can && why)
			return rp_fail(-EOPNOTSUPP, "'%s' cannot be probed: %s",
				       list->patterns[i].text, why);
	}
	return 0;
}

int record_probes_open(const struct record_probe_scope *scope, const char *const *patterns,
		       size_t n, struct record_probes **out)
{
	struct record_probes *list = calloc(1, sizeof(*list));
	int err = list ? copy_scope(list, scope) : -ENOMEM;

	if (list)
		list->known = HASH_SET(struct file_id);
	if (!err)
		err = parse_patterns(list, patterns, n);
	if (!err)
		err = sym_demangler_open(&list->demangler);
	if (!err)
		err = find_all(list);
	if (!err && !scope->list_only)
		err = check_found(list);
	if (err == -ENOMEM)
		rp_log(RP_ERROR, "no memory for the list of what is to be probed");
	if (err)
		record_probes_close(list);
	else
		*out = list;
	return err;
}

void record_probes_empty(struct record_probes *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		record_probes_usdt_free(list->items[i]->usdt);
		record_probes_usdt_free(list->items[i]->usdt_end);
		free(list->items[i]);
	}
	list->count = 0;
	sym_strings_free(&list->strings);
}

void record_probes_close(struct record_probes *list)
{
	if (!list)
		return;
	record_probes_detach(list);
	for (size_t i = 0; list->patterns && i < list->npatterns; i++)
		record_pattern_free(&list->patterns[i]);
	record_probes_empty(list);
	for (uint32_t i = 0; i < list->nfiles; i++)
		if (list->files[i].fd >= 0)
			close(list->files[i].fd);
	sym_strings_free(&list->paths);
	rp_hash_free(&list->known);
	sym_demangler_close(list->demangler);
	sym_kernel_close(list->kernel);
	free(list->patterns);
	free(list->names);
	free(list->items);
	free(list->files);
	free(list->loaded);
	free(list->links);
	free((void *)list->scope.pids);
	free(list);
}
