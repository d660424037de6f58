/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls as they come: a line for each as it returns, with --graph as it begins and ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/views.h"
#include "func.h"
#include "record/events/call.h"

/* ---- what a line says */

/* Small numbers as they are, negative ones too; what looks like an address or flags in hex. */
static void print_number(FILE *out, uint64_t n)
{
	const int64_t wide = (int64_t)n;
	const int32_t narrow = (int32_t)n;

	if (wide >= -4096 && wide < 1 << 16)
		fprintf(out, "%" PRId64, wide);
	else if (n >> 32 == 0 && narrow < 0 && narrow >= -4096)
		fprintf(out, "%" PRId32, narrow);
	else
		fprintf(out, "%#" PRIx64, n);
}

/* A system call that is known; NULL: another function. */
static const struct record_call *call_of(const struct func *f, const struct record_probe *p)
{
	return f->calls && p->kind == RECORD_PROBE_SYSCALL ? f->calls[p->syscall.nr] : NULL;
}

/* How many there are, as far as is known. */
static unsigned int known_args(const struct func *f, const struct record_probe *p)
{
	const struct record_call *call = call_of(f, p);

	if (call)
		return call->nargs;
	if (p->kind == RECORD_PROBE_KERNEL && p->kernel.nargs >= 0)
		return (unsigned int)p->kernel.nargs < FUNC_ARGS ? (unsigned int)p->kernel.nargs
								 : FUNC_ARGS;
	return p->kind == RECORD_PROBE_PAIR ? 0 : 3;
}

static unsigned int args_of(const struct func *f, const struct record_probe *p)
{
	return f->own->args ? (unsigned int)f->own->args : known_args(f, p);
}

/* Texts are no longer there when the call has returned: their addresses. */
static int print_call_args(FILE *out, const struct record_call *call, const uint64_t *args,
			   unsigned int n)
{
	struct record_out o = { 0 };
	int err;

	for (unsigned int i = 0; i < n && i < call->nargs; i++) {
		if (record_arg_is_idle(call, i, args))
			continue;
		record_out_str(&o, i ? ", " : "");
		record_arg_text(&call->arg[i], args[i], NULL, &o);
	}
	err = o.failed ? -ENOMEM : 0;
	if (o.text)
		fwrite(o.text, 1, o.n, out);
	record_out_free(&o);
	return err;
}

int func_print_call(struct recording *rec, const struct func_event *e)
{
	const struct func *f = rec->ctx;
	const struct record_probe *p = record_probes_at(f->probes, e->function);
	const struct record_call *call = p ? call_of(f, p) : NULL;
	FILE *out = output_of(rec)->stream;
	int err = rp_text_print(out, "%s(", func_name(f, e->function));

	if (call && !err)
		err = print_call_args(out, call, e->args, args_of(f, p));
	for (unsigned int i = 0; p && !call && i < args_of(f, p); i++) {
		fputs(i ? ", " : "", out);
		print_number(out, e->args[i]);
	}
	fputc(')', out);
	return err;
}

void func_print_value(struct recording *rec, const struct func_event *e)
{
	const struct func *f = rec->ctx;
	const struct record_probe *p = record_probes_at(f->probes, e->function);
	FILE *out = output_of(rec)->stream;
	const char *name = func_error(f, e->function, (int32_t)e->value);

	if (p && p->kind == RECORD_PROBE_PAIR)
		return;
	fputs(" = ", out);
	print_number(out, e->value);
	if (name && (e->value >> 32 == UINT32_MAX || e->value >> 32 == 0))
		fprintf(out, " %s", name);
}

void func_print_time(FILE *out, uint64_t ns)
{
	if (ns < 10000000)
		fprintf(out, "%10.3f us", (double)ns / 1e3);
	else
		fprintf(out, "%10.3f ms", (double)ns / 1e6);
}

double func_seconds(const struct recording *rec, uint64_t time)
{
	return (double)(int64_t)(time - rec->begin_ns) / NS_PER_SECOND;
}

static int put_line(struct recording *rec, const struct func_event *e)
{
	FILE *out = output_of(rec)->stream;
	int err = rp_text_print(out, "%12.6f %-16.16s %7u %7u ", func_seconds(rec, e->time),
				e->comm, (uint32_t)(e->ids >> 32), (uint32_t)e->ids);

	func_print_time(out, e->ns);
	fputs("  ", out);
	if (!err)
		err = func_print_call(rec, e);
	func_print_value(rec, e);
	fputc('\n', out);
	return err;
}

static void put_json(struct recording *rec, const struct func_event *e)
{
	static const char *const kinds[] = { "begins", "returns", "left" };
	const struct func *f = rec->ctx;
	const struct record_probe *p = record_probes_at(f->probes, e->function);
	FILE *out = output_of(rec)->stream;
	char comm[17];

	snprintf(comm, sizeof(comm), "%.16s", e->comm);
	fprintf(out, "{\"time_ns\":%" PRIu64 ",\"event\":\"%s\",\"function\":",
		e->time + rec->wall_offset, kinds[e->kind % 3]);
	rp_text_print_json(out, func_name(rec->ctx, e->function));
	fputs(",\"comm\":", out);
	rp_text_print_json(out, comm);
	fprintf(out, ",\"pid\":%u,\"tid\":%u,\"cpu\":%u,\"depth\":%u", (uint32_t)(e->ids >> 32),
		(uint32_t)e->ids, e->cpu, e->depth);
	if (e->kind != FUNC_BEGINS)
		fprintf(out, ",\"duration_ns\":%" PRIu64, e->ns);
	if (e->kind == FUNC_RETURNS)
		fprintf(out, ",\"value\":%" PRId64 ",\"value32\":%" PRId32, (int64_t)e->value,
			(int32_t)e->value); /* the latter is that of an int */
	fputs(",\"args\":[", out);
	for (unsigned int i = 0; p && i < args_of(f, p); i++)
		fprintf(out, "%s%" PRIu64, i ? "," : "", e->args[i]);
	fputs("]}\n", out);
}

/* ---- as they come */

static int take_event(void *ctx, const void *record, size_t size)
{
	struct recording *rec = ctx;
	struct func *f = rec->ctx;
	const struct func_event *e = record;
	char comm[17];
	int err = 0;

	if (size != sizeof(*e))
		return -EBADMSG;
	snprintf(comm, sizeof(comm), "%.16s", e->comm);
	/* Each line of ours would bring new ones. */
	if (!record_comm_wanted(rec, comm) || e->ids >> 32 == (uint64_t)getpid()) {
		rec->not_wanted += e->kind == FUNC_RETURNS;
		return 0;
	}
	if (options_of(rec)->format->json)
		put_json(rec, e);
	else
		err = f->own->graph ? func_graph_event(rec, e) : put_line(rec, e);
	return err ? err : ferror(output_of(rec)->stream) ? output_flush(output_of(rec)) : 0;
}

int func_log_drain(struct recording *rec)
{
	struct func *f = rec->ctx;
	int n = rp_ring_drain(f->ring, take_event, rec);

	if (n > 0)
		n = output_flush(output_of(rec));
	return n < 0 ? output_failed(output_of(rec), n) : 0;
}

static int open_calls(struct func *f)
{
	int err = 0;

	if (!(record_probes_kinds(f->probes) & RECORD_PROBE_BIT(RECORD_PROBE_SYSCALL)))
		return 0;
	f->calls = calloc(RECORD_SYSCALLS, sizeof(*f->calls));
	if (!f->calls)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < record_probes_count(f->probes); i++) {
		const struct record_probe *p = record_probes_at(f->probes, i);

		if (p->kind == RECORD_PROBE_SYSCALL && !f->calls[p->syscall.nr])
			err = record_call_open(p->syscall.nr, p->name, &f->calls[p->syscall.nr]);
	}
	return err;
}

void func_log_free(struct func *f)
{
	for (uint32_t nr = 0; f->calls && nr < RECORD_SYSCALLS; nr++)
		record_call_free(f->calls[nr]);
	free(f->calls);
}

int func_log_begin(struct recording *rec)
{
	struct func *f = rec->ctx;
	FILE *out = output_of(rec)->stream;
	int err = open_calls(f);

	if (!err)
		err = output_empty(output_of(rec));

	if (err || options_of(rec)->format->json)
		return err;
	if (f->own->graph)
		fprintf(out, "%12s %-16s %7s %13s\n", "TIME(s)", "COMMAND", "TID", "DURATION");
	else
		fprintf(out, "%12s %-16s %7s %7s %13s  %s\n", "TIME(s)", "COMMAND", "PID", "TID",
			"DURATION", "CALL");
	return 0;
}

int func_log_report(struct recording *rec)
{
	const struct func *f = rec->ctx;
	int err = f->own->graph && !options_of(rec)->format->json ? func_graph_end(rec) : 0;

	if (!err)
		err = output_flush(output_of(rec));
	return err ? err : ledger_print(rec, 0, "calls");
}
