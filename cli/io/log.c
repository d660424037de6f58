/* SPDX-License-Identifier: BSD-2-Clause */
/* A line for each request as it ends, for a person, as JSON, or as a slice of Chrome's trace. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/views.h"

/* Times of a request whose sum is the whole. */
struct times {
	double queue, device; /* ms: before the device had it, and since */
};

static struct times times_of(const struct io_record *r)
{
	const struct io_request *q = &r->request;
	const uint64_t issued = q->last_issue ? q->last_issue : r->end;

	return (struct times){ .queue = (double)(int64_t)(issued - q->start) / 1e6,
			       .device = (double)(int64_t)(r->end - issued) / 1e6 };
}

static double seconds_since_start(const struct recording *rec, uint64_t time)
{
	return (double)(int64_t)(time - rec->begin_ns) / NS_PER_SECOND;
}

bool io_has_sector(const struct io_request *q)
{
	return q->issues && q->sector != UINT64_MAX;
}

static int put_line(struct recording *rec, const struct io_record *r, const char *comm)
{
	struct io *io = rec->ctx;
	const struct io_request *q = &r->request;
	const struct times t = times_of(r);
	char disk[IO_TEXT], op[IO_TEXT], flags[IO_TEXT], sector[24] = "-";

	if (io_has_sector(q))
		snprintf(sector, sizeof(sector), "%" PRIu64, q->sector);
	return rp_text_print(output_of(rec)->stream,
			     "%12.6f %-16s %7u %-10s %-12s %12s %9u %10.3f %10.3f %10.3f %s\n",
			     seconds_since_start(rec, r->end), comm, (uint32_t)(q->pid_tgid >> 32),
			     io_disk_name(&io->names, r->disk, disk), io_op_name(q->flags, op),
			     sector, q->done + q->len, t.queue, t.device, t.queue + t.device,
			     io_flags_text(q->flags, flags));
}

static void put_json(struct recording *rec, const struct io_record *r, const char *comm)
{
	struct io *io = rec->ctx;
	const struct io_request *q = &r->request;
	FILE *f = output_of(rec)->stream;
	char text[IO_TEXT];

	fprintf(f, "{\"time_ns\":%" PRIu64 ",\"comm\":", r->end + rec->wall_offset);
	rp_text_print_json(f, comm);
	fprintf(f, ",\"pid\":%u,\"tid\":%u,\"disk\":", (uint32_t)(q->pid_tgid >> 32),
		(uint32_t)q->pid_tgid);
	rp_text_print_json(f, io_disk_name(&io->names, r->disk, text));
	fprintf(f, ",\"op\":\"%s\",", io_op_name(q->flags, text));
	fprintf(f, "\"flags\":\"%s\",", io_flags_text(q->flags, text));
	if (io_has_sector(q))
		fprintf(f, "\"sector\":%" PRIu64 ",", q->sector);
	fprintf(f, "\"bytes\":%u,\"issues\":%u", q->done + q->len, q->issues);
	fprintf(f, ",\"start_ns\":%" PRIu64, q->start);
	fprintf(f, ",\"insert_ns\":%" PRIu64, q->insert);
	fprintf(f, ",\"issue_ns\":%" PRIu64, q->issue);
	fprintf(f, ",\"last_issue_ns\":%" PRIu64, q->last_issue);
	fprintf(f, ",\"data_done_ns\":%" PRIu64, q->data_done);
	fprintf(f, ",\"end_ns\":%" PRIu64 "}\n", r->end);
}

static bool is_chrome(const struct recording *rec)
{
	return !strcmp(options_of(rec)->format->name, "chrome");
}

static int take_record(void *ctx, const void *record, size_t size)
{
	const struct io_record *r = record;
	struct recording *rec = ctx;
	struct io *io = rec->ctx;
	char comm[17];
	int err = 0;

	if (size != sizeof(*r))
		return -EBADMSG;
	snprintf(comm, sizeof(comm), "%.16s", r->request.comm);
	if (!record_comm_wanted(rec, comm)) {
		rec->not_wanted++;
		return 0;
	}
	io->kept++;
	if (is_chrome(rec))
		err = io_log_chrome(rec, r, comm);
	else if (options_of(rec)->format->json)
		put_json(rec, r, comm);
	else
		err = put_line(rec, r, comm);
	return err ? err : ferror(output_of(rec)->stream) ? output_flush(output_of(rec)) : 0;
}

static int drain(struct recording *rec)
{
	struct io *io = rec->ctx;
	int n = rp_ring_drain(io->ring, take_record, rec);

	if (n > 0)
		n = output_flush(output_of(rec));
	return n < 0 ? output_failed(output_of(rec), n) : 0;
}

static int begin(struct recording *rec)
{
	int err = output_empty(output_of(rec));

	if (err)
		return err;
	if (is_chrome(rec))
		io_log_chrome_begin(rec);
	else if (!options_of(rec)->format->json)
		fprintf(output_of(rec)->stream,
			"%12s %-16s %7s %-10s %-12s %12s %9s %10s %10s %10s %s\n", "TIME(s)",
			"COMMAND", "PID", "DISK", "OP", "SECTOR", "BYTES", "QUEUE(ms)",
			"DEVICE(ms)", "TOTAL(ms)", "FLAGS");
	return io_record_start(rec);
}

static int report(struct recording *rec)
{
	const struct io *io = rec->ctx;

	if (is_chrome(rec))
		io_log_chrome_end(rec);
	return ledger_print(rec, io->kept, "requests");
}

int io_log_setup(struct io *io)
{
	struct io_config *c = &io->config;

	c->records = c->timeline = c->extent = 1;
	io->maps[IO_MAP_HISTS].max_entries = io->maps[IO_MAP_TOTALS].max_entries =
		io->maps[IO_MAP_ENDS].max_entries = 1;
	io->maps[IO_MAP_RING].max_entries = 1 << 24;
	io->profiler.output = RECORD_LINES;
	io->profiler.often = true;
	io->profiler.start = begin;
	io->profiler.drain = drain;
	io->profiler.report = report;
	return 0;
}
