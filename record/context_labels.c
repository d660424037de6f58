/* SPDX-License-Identifier: BSD-2-Clause */
/* From the record that a thread has published, as it came, to labels of samples. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "context.h"
#include "published_set.h"

enum { TRACE = 2 * 16, SPAN = 2 * 8, IDS = TRACE + 1 + SPAN + 1, ENTRY_BYTES = 2 };

/* "": all of them are 0, which is none. */
static char *put_hex(char *to, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= bytes[i] != 0;
	for (size_t i = 0; any && i < n; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	*to++ = '\0';
	return to;
}

struct attribute {
	uint8_t key, bytes;
	const uint8_t *text;
};

/* The next of them; false at the end, and where not all of one is there. */
static bool next_attribute(const uint8_t **at, const uint8_t *end, struct attribute *out)
{
	if (end - *at < ENTRY_BYTES || end - *at - ENTRY_BYTES < (*at)[1])
		return false;
	*out = (struct attribute){ (*at)[0], (*at)[1], *at + ENTRY_BYTES };
	*at += ENTRY_BYTES + out->bytes;
	return true;
}

/* Of several with one key the last one counts: is there another? */
static bool comes_again(const uint8_t *at, const uint8_t *end, uint8_t key)
{
	struct attribute a;

	while (next_attribute(&at, end, &a))
		if (a.key == key)
			return true;
	return false;
}

int record_context_keep(const struct published_context *from, struct label_set *set, uint32_t *most)
{
	const uint8_t *at, *end;
	struct attribute a;
	char *to;

	if (!from->process || from->bytes < sizeof(from->head) ||
	    from->bytes > PUBLISHED_RECORD_BYTES)
		return -EBADMSG;
	at = from->record + sizeof(from->head);
	end = from->record + from->bytes;
	/* Entries take no more than they did: a length less, a 0 more. */
	set->texts = to = malloc(IDS + (size_t)(end - at) + 1);
	if (!to)
		return -ENOMEM;
	set->process = (uint32_t)from->process;
	set->start_time = from->start_time;
	to = put_hex(to, from->head.trace, sizeof(from->head.trace));
	to = put_hex(to, from->head.span, sizeof(from->head.span));
	*most = 0;
	while (set->n < PUBLISHED_LABELS && next_attribute(&at, end, &a)) {
		if (a.key > *most)
			*most = a.key;
		if (!a.bytes || comes_again(at, end, a.key))
			continue;
		*to++ = (char)a.key;
		record_otel_copy(a.text, a.bytes, to, (size_t)a.bytes + 1);
		to += strlen(to) + 1;
		set->n++;
	}
	return 0;
}

/* Another one for each request: such a label makes each sample its own. */
static bool is_id(const char *key)
{
	const size_t n = strlen(key);

	return (n >= 8 && !strcmp(key + n - 8, "trace_id")) ||
	       (n >= 7 && !strcmp(key + n - 7, "span_id"));
}

static size_t add(struct report_label *labels, size_t n, const char *key, const char *text)
{
	if (n < REPORT_MAX_LABELS && key && *text && record_label_is_free(labels, n, key))
		labels[n++] = (struct report_label){ .key = key, .str = text };
	return n;
}

size_t record_context_add(const struct record_context *c, const struct label_set *set,
			  struct report_label *labels, size_t n)
{
	const char *trace = set->texts, *span = trace + strlen(trace) + 1,
		   *at = span + strlen(span) + 1;
	const bool ids = record_context_has_ids(c);

	n = add(labels, n, "trace_id", trace);
	n = add(labels, n, "span_id", span);
	for (uint32_t i = 0; i < set->n; i++) {
		const char *key =
			record_context_key(c, set->process, set->start_time, (unsigned char)*at);

		if (key && (ids || !is_id(key)))
			n = add(labels, n, key, at + 1);
		at += 1 + strlen(at + 1) + 1;
	}
	return n;
}
