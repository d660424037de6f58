/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles of several services in one request, as Pyroscope and Parca take them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto.h"
#include "report.h"
#include "text.h"

int report_pprof_bytes(const struct report *r, char **bytes, size_t *size)
{
	FILE *f = open_memstream(bytes, size);
	int err = f ? report_write_pprof(r, f, NULL) : -ENOMEM;

	if (f && fclose(f) && !err)
		err = -ENOMEM;
	if (err && f)
		free(*bytes);
	return err;
}

/* ---- push.v1.PushRequest */

enum {
	PUSH_SERIES = 1,
	SERIES_LABELS = 1,
	SERIES_SAMPLES = 2,
	PAIR_NAME = 1,
	PAIR_VALUE = 2,
	SAMPLE_RAW_PROFILE = 1,
};

/* Protobuf's texts are UTF-8. */
static void add_text(struct buf *b, unsigned int field, const char *s)
{
	struct buf clean = { 0 };

	report_buf_clean(&clean, s, 0, 0);
	report_proto_add_message(b, field, &clean);
	report_buf_free(&clean);
}

/* message and part are empty, or what was left from the part before. */
static int add_series(const struct report_part *p, struct buf *message, struct buf *part)
{
	char *pprof;
	size_t size;
	int err = report_pprof_bytes(p->report, &pprof, &size);

	if (err)
		return err;
	report_buf_reset(message);
	for (size_t i = 0; i < p->nlabels; i++) {
		report_buf_reset(part);
		add_text(part, PAIR_NAME, p->labels[i].key);
		add_text(part, PAIR_VALUE, p->labels[i].str);
		report_proto_add_message(message, SERIES_LABELS, part);
	}
	report_buf_reset(part);
	report_proto_add_bytes(part, SAMPLE_RAW_PROFILE, pprof, size);
	report_proto_add_message(message, SERIES_SAMPLES, part);
	free(pprof);
	return message->err;
}

int report_parts_write_pyroscope(const struct report_part *parts, size_t n, FILE *file)
{
	struct buf message = { 0 }, part = { 0 }, whole = { 0 };
	struct out out = { .file = file };
	int err = 0;

	for (size_t i = 0; i < n && !err && !out.err; i++) {
		err = add_series(&parts[i], &message, &part);
		report_buf_reset(&whole);
		report_proto_add_message(&whole, PUSH_SERIES, &message);
		report_out_buf(&out, &whole);
	}
	report_buf_free(&message);
	report_buf_free(&part);
	report_buf_free(&whole);
	return err ? err : report_out_end(&out);
}

/* ---- WriteRawRequest */

static void write_base64(struct out *out, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		const size_t left = size - i;
		const uint32_t three = (uint32_t)bytes[i] << 16 |
				       (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				       (left > 2 ? bytes[i + 2] : 0);
		const char four[4] = { digits[three >> 18], digits[three >> 12 & 63],
				       left > 1 ? digits[three >> 6 & 63] : '=',
				       left > 2 ? digits[three & 63] : '=' };

		report_out_write(out, four, sizeof(four));
	}
}

static int write_raw_series(struct out *out, const struct report_part *p)
{
	char *pprof;
	size_t size;
	int err = report_pprof_bytes(p->report, &pprof, &size);

	if (err)
		return err;
	report_out_puts(out, "{\"labels\":{\"labels\":[");
	for (size_t i = 0; i < p->nlabels; i++) {
		report_out_puts(out, i ? ",{\"name\":" : "{\"name\":");
		report_out_json(out, p->labels[i].key);
		report_out_puts(out, ",\"value\":");
		report_out_json(out, p->labels[i].str);
		report_out_putc(out, '}');
	}
	report_out_puts(out, "]},\"samples\":[{\"raw_profile\":\"");
	write_base64(out, (const unsigned char *)pprof, size);
	report_out_puts(out, "\"}]}");
	free(pprof);
	return 0;
}

int report_parts_write_parca(const struct report_part *parts, size_t n, FILE *file)
{
	struct out out = { .file = file };
	int err = 0;

	report_out_puts(&out, "{\"normalized\":false,\"series\":[");
	for (size_t i = 0; i < n && !err && !out.err; i++) {
		if (i)
			report_out_putc(&out, ',');
		err = write_raw_series(&out, &parts[i]);
	}
	report_out_puts(&out, "]}\n");
	return err ? err : report_out_end(&out);
}
