/* SPDX-License-Identifier: BSD-2-Clause */
/* A format file with its "print fmt", and a record of it: what is shown stays within both. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "record/events/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A NUL stands between the two. */
	const uint8_t *end = size ? memchr(data, 0, size) : NULL;
	const size_t text_size = end ? (size_t)(end - data) : size;
	const size_t bytes = end ? size - text_size - 1 : 0;
	unsigned char *record = malloc(bytes + 1);
	char *text = strndup((const char *)data, text_size);
	struct record_out out = { 0 };
	struct record_event *event;

	if (record && text && bytes)
		memcpy(record, end + 1, bytes);
	if (record && text && !record_event_parse(text, &event)) {
		for (uint32_t i = 0; i < event->nfields; i++) {
			record_field_text(event, &event->fields[i], record, bytes, NULL, &out);
			record_field_json(event, &event->fields[i], record, bytes, NULL, &out);
		}
		record_event_free(event);
	}
	record_out_free(&out);
	free(record);
	free(text);
	return 0;
}
