/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns taken apart. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <rawprof/loader.h>

#include "pattern.h"

bool record_pattern_is_glob(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

void record_pattern_free(struct pattern *p)
{
	free(p->place);
	free(p->name);
	free(p->end_place);
	free(p->end_name);
	*p = (struct pattern){ 0 };
}

/* The first colon that is not one of C++'s "::"; NULL: there is none. */
static const char *find_colon(const char *s)
{
	while ((s = strchr(s, ':')) && s[1] == ':')
		s += 2;
	return s;
}

static char *cut(const char *from, const char *to)
{
	return strndup(from, (size_t)(to - from));
}

/* What stands behind "syscalls:", if that names system calls: without sys_enter_. */
static const char *syscall_of(const char *event)
{
	if (!strncmp(event, "sys_enter_", 10))
		return event + 10;
	return strncmp(event, "sys_exit_", 9) ? NULL : event + 9;
}

static int wrong(const char *text, const char *why)
{
	return rp_fail(-EINVAL, "'%s': %s", text, why);
}

static int parse_pair(const char *text, const char *dots, struct pattern *p)
{
	const char *colon = find_colon(text), *end = dots + 2, *end_colon = find_colon(end);

	if (!colon || colon > dots || colon == text || colon + 1 == dots || !*end ||
	    (end_colon && (end_colon == end || !end_colon[1])))
		return wrong(text, "from one tracepoint to another is group:begin..group:end, "
				   "e.g. irq:irq_handler_entry..irq_handler_exit");
	p->kind = PATTERN_PAIR;
	p->place = cut(text, colon);
	p->name = cut(colon + 1, dots);
	p->end_place = end_colon ? cut(end, end_colon) : cut(text, colon);
	p->end_name = strdup(end_colon ? end_colon + 1 : end);
	return p->place && p->name && p->end_place && p->end_name ? 0 : -ENOMEM;
}

/* Behind the dots may be no more than the name of the other probe. */
static int parse_usdt_pair(const char *text, const char *name, const char *dots, struct pattern *p)
{
	const char *end = dots + 2;
	const size_t n = p->place ? strlen(p->place) : 0;

	if (!strncmp(end, "usdt:", 5)) {
		if (strncmp(end + 5, p->place ? p->place : "", n) || end[5 + n] != ':')
			return wrong(text, "both USDT probes of a pair are of one file");
		end += 5 + n + 1;
	}
	if (dots == name || !*end || record_pattern_is_glob(name))
		return wrong(text, "from one USDT probe to another is usdt:PROGRAM:BEGIN..END, "
				   "two names");
	p->name = cut(name, dots);
	p->end_name = strdup(end);
	return p->place && p->name && p->end_name ? 0 : -ENOMEM;
}

static int parse_usdt(const char *text, const char *rest, struct pattern *p)
{
	const char *colon = strchr(rest, ':'), *dots;

	if (!strcmp(rest, "*"))
		colon = rest; /* all of the target */
	if (!colon || (*colon == ':' && !colon[1]))
		return wrong(text, "a USDT probe is usdt:PROGRAM:NAME, "
				   "usdt:PROGRAM:PROVIDER:NAME, or usdt::NAME of the target");
	p->kind = PATTERN_USDT;
	p->place = cut(rest, colon);
	colon += *colon == ':';
	dots = strstr(colon, "..");
	if (dots)
		return parse_usdt_pair(text, colon, dots, p);
	p->name = strdup(colon);
	return p->place && p->name ? 0 : -ENOMEM;
}

static int parse_event(const char *text, const char *rest, struct pattern *p)
{
	const char *colon = find_colon(rest);

	if (!colon || colon == rest || !colon[1])
		return wrong(text, "a tracepoint is tp:GROUP:EVENT");
	p->kind = PATTERN_EVENT;
	p->place = cut(rest, colon);
	p->name = strdup(colon + 1);
	return p->place && p->name ? 0 : -ENOMEM;
}

static int parse_placed(const char *text, const char *colon, struct pattern *p)
{
	const char *name = colon + 1, *call;
	const size_t n = (size_t)(colon - text);

	if (!*name)
		return wrong(text, "no function is named behind the colon");
	p->kind = memchr(text, '/', n) ? PATTERN_FILE : PATTERN_LIBRARY;
	if (!n) {
		p->kind = PATTERN_TARGET;
	} else if (n == 6 && !strncmp(text, "kernel", n)) {
		p->kind = PATTERN_KERNEL;
	} else if (n == 7 && !strncmp(text, "syscall", n)) {
		p->kind = PATTERN_SYSCALL;
	} else if (n == 8 && !strncmp(text, "syscalls", n)) {
		call = syscall_of(name);
		p->kind = PATTERN_SYSCALL;
		p->was_event = true;
		name = call ? call : name;
		if (!call && strcmp(name, "*"))
			return wrong(text, "the tracepoints of system calls are "
					   "syscalls:sys_enter_NAME and sys_exit_NAME");
	}
	if (!*name)
		return wrong(text, "no system call is named");
	p->place = cut(text, colon);
	p->name = strdup(name);
	return p->place && p->name ? 0 : -ENOMEM;
}

static int parse(const char *text, struct pattern *p)
{
	const char *colon = find_colon(text);
	const char *dots = strchr(text, '/') ? NULL : strstr(text, "..");

	if (!*text)
		return wrong(text, "the pattern is empty");
	if (strlen(text) > PATTERN_MAX)
		return rp_fail(-EINVAL, "a pattern is longer than %d letters", PATTERN_MAX);
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s < ' ')
			return rp_fail(-EINVAL, "a pattern has a control character in it");
	if (!strncmp(text, "usdt:", 5))
		return parse_usdt(text, text + 5, p);
	if (!strncmp(text, "tp:", 3))
		return parse_event(text, text + 3, p);
	if (dots && dots != text && colon && colon < dots)
		return parse_pair(text, dots, p);
	if (colon)
		return parse_placed(text, colon, p);
	if (strchr(text, '/'))
		return wrong(text, "which function of that file? FILE:FUNCTION, or 'FILE:*' for "
				   "all");
	p->kind = PATTERN_KERNEL;
	p->name = strdup(text);
	return p->name ? 0 : -ENOMEM;
}

int record_pattern_parse(const char *text, struct pattern *out)
{
	struct pattern p = { .text = text };
	int err = parse(text, &p);

	if (err) {
		record_pattern_free(&p);
		return err;
	}
	*out = p;
	return 0;
}

/* ---- short names of files */

/* What may stand behind a library's name: ".so", ".so.6", "-2.31.so". */
static bool is_suffix(const char *s)
{
	if (*s == '-' && isdigit((unsigned char)s[1]))
		s += 1 + strspn(s + 1, "0123456789.");
	else if (!*s)
		return true;
	if (s[-1] == '.') /* the digits ended at the dot of ".so" */
		s--;
	return !strncmp(s, ".so", 3) && (!s[3] || s[3] == '.');
}

bool record_pattern_is_library(const char *name, const char *path)
{
	const char *base = strrchr(path, '/');
	const size_t n = strlen(name);

	base = base ? base + 1 : path;
	if (!strncmp(base, name, n) && is_suffix(base + n))
		return true;
	return !strncmp(base, "lib", 3) && !strncmp(base + 3, name, n) && base[3 + n] &&
	       is_suffix(base + 3 + n);
}

/* ---- the nearest name */

void record_nearest_begin(struct nearest *n, const char *name)
{
	const unsigned int length = (unsigned int)strlen(name), most = length / 3 + (length > 3);

	*n = (struct nearest){ .name = name, .distance = most < 5 ? most + 1 : 6 };
}

void record_nearest_try(struct nearest *n, const char *candidate, const char *shown)
{
	unsigned int d;

	if (strlen(candidate) > 63 || record_pattern_is_glob(n->name))
		return;
	d = rp_name_distance(n->name, candidate);
	/* The same in small letters, or behind underscores, is near. */
	if (d && !strcasecmp(n->name, candidate))
		d = 1;
	if (d >= n->distance)
		return;
	n->distance = d;
	snprintf(n->best, sizeof(n->best), "%s", shown);
}

const char *record_nearest_hint(struct nearest *n, char *text, size_t size)
{
	*text = '\0';
	if (!*n->best)
		return text;
	snprintf(text, size, "; did you mean %s?", n->best);
	return text;
}
