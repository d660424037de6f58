/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of USDT probes as people read them, and the list of the probes that there are. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "cli/views.h"
#include "record/confine.h"
#include "symbolize/maps.h"
#include "trace.h"

bool trace_usdt_strings(const char *text, uint32_t *out)
{
	char *end;

	*out = 0;
	for (;; text = end + 1) {
		const unsigned long n = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;

		if (n < 1 || n > RP_USDT_ARGS || (*end && *end != ','))
			return false;
		*out |= 1U << (n - 1);
		if (!*end)
			return true;
	}
}

/* ---- values */

/* What the data of a record are, which may be shorter than they should be. */
struct values {
	const struct trace_usdt *head;
	const struct rp_usdt_args *args;
	uint32_t n;
	const char *texts;
	size_t ntexts;
};

static bool find_values(const struct record_probe *p, const struct trace_record *r,
			uint32_t strings, struct values *out)
{
	const struct trace_usdt *u = (const void *)r->data;
	const size_t head = sizeof(*u);
	size_t n;

	if (r->bytes < head || u->args >= p->usdt->nargs)
		return false;
	n = p->usdt->args[u->args].n;
	*out = (struct values){ .head = u, .args = &p->usdt->args[u->args] };
	for (uint32_t i = 0; i < p->usdt->nargs; i++)
		if (p->usdt->args[i].n > n)
			n = p->usdt->args[i].n; /* the record has room for the most */
	if (n > RP_USDT_ARGS)
		n = RP_USDT_ARGS;
	out->n = (uint32_t)n;
	out->texts = (const char *)&u->value[n];
	out->ntexts = (size_t)__builtin_popcount(strings & ((1U << n) - 1));
	return r->bytes >= head + 8 * n + TRACE_USDT_TEXT * out->ntexts;
}

static void put_float(const struct rp_usdt_arg *arg, uint64_t bits, bool json,
		      struct record_out *out)
{
	double value;
	float narrow;

	if (arg->size == 4) {
		const uint32_t low = (uint32_t)bits;

		memcpy(&narrow, &low, sizeof(narrow));
		value = (double)narrow;
	} else {
		memcpy(&value, &bits, sizeof(value));
	}
	if (json && !isfinite(value))
		record_out_str(out, "null");
	else
		record_out_printf(out, arg->size == 4 ? "%.9g" : "%.17g", value);
}

static void put_value(const struct values *v, uint32_t i, const char *text, bool json,
		      struct record_out *out)
{
	const struct rp_usdt_arg *arg = i < v->args->n ? &v->args->arg[i] : NULL;
	const uint64_t value = v->head->value[i];

	if (!arg || v->head->failed >> i & 1 || (text && v->head->failed >> (16 + i) & 1))
		record_out_str(out, json ? "null" : "?");
	else if (text && json)
		record_out_json(out, text, TRACE_USDT_TEXT);
	else if (text)
		record_out_quoted(out, text, TRACE_USDT_TEXT);
	else if (arg->is_float)
		put_float(arg, value, json, out);
	else if (arg->is_signed)
		record_out_signed(out, (int64_t)value);
	else
		record_out_number(out, value);
}

void trace_usdt_put(const struct trace *trace, const struct record_probe *p,
		    const struct trace_record *r, bool json, struct record_out *out)
{
	const uint32_t strings = trace->usdt.strings;
	struct values v;
	size_t text = 0;

	if (!find_values(p, r, strings, &v))
		return;
	for (uint32_t i = 0; i < v.n; i++) {
		const bool is_text = strings >> i & 1;

		record_out_printf(out, json ? ",\"arg%u\":" : " arg%u=", i + 1);
		put_value(&v, i, is_text ? v.texts + TRACE_USDT_TEXT * text : NULL, json, out);
		text += is_text;
	}
}

/* ---- --list */

static void list_arg(const struct record_usdt *usdt, uint32_t i)
{
	const struct rp_usdt_arg *arg = &usdt->args[0].arg[i];
	char type[16];

	if (arg->size && arg->is_float)
		snprintf(type, sizeof(type), "%s", arg->size == 4 ? "float" : "double");
	else
		snprintf(type, sizeof(type), arg->size ? "%sint%d_t" : "?",
			 arg->is_signed ? "" : "u", 8 * arg->size);
	printf("    arg%-2u %-10s %.*s%s%s\n", i + 1, type, (int)arg->length, arg->text,
	       arg->why ? ": not read: " : "", arg->why ? arg->why : "");
}

static void list_probe(const struct record_probe *p)
{
	const struct record_usdt *usdt = p->usdt;
	char label[512];

	trace_usdt_label(p, label, sizeof(label));
	fputs(label, stdout);
	if (usdt->nplaces > 1)
		printf(" (%u places%s)", usdt->nplaces,
		       usdt->nargs > 1 ? "; arguments at the first" : "");
	printf("%s\n", usdt->places[0].semaphore ? " (has a semaphore)" : "");
	for (uint32_t i = 0; i < usdt->args[0].n && i < RP_USDT_ARGS; i++)
		list_arg(usdt, i);
}

/* A thread of the kernel has no files mapped; of others not all can be looked at. */
static bool can_look(uint32_t pid)
{
	struct sym_maps maps;
	char c;
	const bool can = !sym_maps_open(&maps, "/proc", pid) && sym_maps_read(&maps, &c, 1) == 1;

	sym_maps_close(&maps);
	return can;
}

/* Every process that there is. */
static int all_processes(struct record_ids *out)
{
	DIR *proc = opendir("/proc");
	struct record_ids ids = { 0 };
	size_t n = 0, capacity = 0;
	struct dirent *d;
	int err = proc ? 0 : -errno;

	while (!err && (d = readdir(proc))) {
		char *end;
		const uint32_t pid = (uint32_t)strtoul(d->d_name, &end, 10);

		if (isdigit((unsigned char)*d->d_name) && !*end && can_look(pid))
			err = RP_PUSH(ids.id, n, capacity, pid);
	}
	if (proc)
		closedir(proc);
	ids.n = (uint32_t)n;
	if (err)
		free(ids.id);
	else
		*out = ids;
	return err;
}

static void list_probes(const struct record_probes *probes)
{
	for (uint32_t i = 0; i < record_probes_count(probes); i++)
		list_probe(record_probes_at(probes, i));
}

/* Without a target, the target are all processes, whose files are read as in a recording. */
int trace_usdt_list(const struct options *opt, const char *word)
{
	static const struct record_confine nothing_more;
	const bool has_target = opt->record.program || opt->record.pids.n;
	struct record_ids all = { 0 };
	int err = record_confine(&nothing_more);
	struct record_probe_scope scope = { .pids = opt->record.pids.id,
					    .npids = opt->record.pids.n,
					    .kinds = RECORD_PROBE_BIT(RECORD_PROBE_USDT),
					    .limit = 20000,
					    .list_only = true,
					    .show_file = list_probes };
	struct record_probes *probes;

	if (!err && !has_target)
		err = all_processes(&all);
	if (opt->record.program)
		scope.program = opt->record.program[0];
	if (!has_target) {
		scope.pids = all.id;
		scope.npids = all.n;
	}
	if (!err)
		err = record_probes_open(&scope, &word, 1, &probes);
	free(all.id);
	if (!err)
		record_probes_close(probes);
	return err;
}
