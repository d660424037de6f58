/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests as slices of Chrome's trace events, each as it ends: a process for each disk, and in it
 * as many rows as it has requests at a time. The array may end anywhere, and readers take what is
 * there.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/text.h"
#include "cli/views.h"
#include "io.h"

/* Rows of a disk; with more requests at a time some overlap in the last one. */
#define ROWS 256

struct io_disk_rows {
	uint32_t disk;
	uint32_t n;
	uint64_t end[ROWS]; /* when the last request in it ended */
};

/*
 * Requests come in the order of their ends, so what is last in a row is all that a new one can
 * overlap with. *is_new: the row had none before.
 */
static uint32_t find_row(struct io_disk_rows *rows, uint64_t start, uint64_t end, bool *is_new)
{
	uint32_t row = 0;

	while (row < rows->n && rows->end[row] > start && row < ROWS - 1)
		row++;
	*is_new = row == rows->n;
	rows->n += *is_new;
	rows->end[row] = end;
	return row;
}

static void put_time(FILE *f, const char *key, uint64_t ns)
{
	fprintf(f, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned int)(ns % 1000));
}

/* "process_name" and the like: what a row or all of them are called. */
static void put_name(FILE *f, const char *what, uint32_t disk, uint32_t row, const char *name)
{
	fprintf(f, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what,
		disk, row);
	rp_text_print_json(f, name);
	fputs("}},\n", f);
}

static void put_slice(struct recording *rec, const struct io_record *r, uint32_t row,
		      const char *comm)
{
	const struct io_request *q = &r->request;
	const uint64_t issued = q->last_issue ? q->last_issue : r->end;
	FILE *f = output_of(rec)->stream;
	char text[IO_TEXT];

	fprintf(f, "{\"ph\":\"X\",\"cat\":\"io\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u",
		io_op_name(q->flags, text), r->disk, row);
	put_time(f, "ts", q->start);
	put_time(f, "dur", r->end > q->start ? r->end - q->start : 0);
	fputs(",\"args\":{\"comm\":", f);
	rp_text_print_json(f, comm);
	fprintf(f, ",\"process\":%u,\"thread\":%u,\"bytes\":%u", (uint32_t)(q->pid_tgid >> 32),
		(uint32_t)q->pid_tgid, q->done + q->len);
	if (io_has_sector(q))
		fprintf(f, ",\"sector\":%" PRIu64, q->sector);
	fprintf(f, ",\"flags\":\"%s\"", io_flags_text(q->flags, text));
	put_time(f, "queue_us", issued > q->start ? issued - q->start : 0);
	put_time(f, "device_us", r->end > issued ? r->end - issued : 0);
	fputs("}},\n", f);
}

int io_log_chrome(struct recording *rec, const struct io_record *r, const char *comm)
{
	struct io *io = rec->ctx;
	const uint32_t disks = io->rows.count;
	struct io_disk_rows *rows;
	char text[IO_TEXT];
	bool is_new;
	uint32_t row;

	io->rows.key_size = sizeof(rows->disk);
	io->rows.size = sizeof(*rows);
	rows = rp_hash_add(&io->rows, &r->disk);
	if (!rows)
		return -ENOMEM;
	row = find_row(rows, r->request.start, r->end, &is_new);
	if (io->rows.count > disks)
		put_name(output_of(rec)->stream, "process_name", r->disk, 0,
			 io_disk_name(&io->names, r->disk, text));
	if (is_new)
		put_name(output_of(rec)->stream, "thread_name", r->disk, row, "requests");
	put_slice(rec, r, row, comm);
	return 0;
}

void io_log_chrome_begin(struct recording *rec)
{
	fputs("[\n", output_of(rec)->stream);
}

/* No comma may stand before the end. */
void io_log_chrome_end(struct recording *rec)
{
	fputs("{\"ph\":\"M\",\"name\":\"rawprof io\",\"pid\":0,\"tid\":0,\"args\":{}}\n]\n",
	      output_of(rec)->stream);
}
