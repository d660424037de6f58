/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a ProcessContext. Messages are nested to a depth that is known, so nothing here calls
 * itself, and each byte is looked at a few times. Fields that are not known are passed over.
 */
#include <string.h>

#include "otel_context.h"

/* Fields of opentelemetry-proto: processcontext, resource, common. */
enum {
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTES = 2,
	RESOURCE_ATTRIBUTES = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_STRING = 1,
	ANY_ARRAY = 5,
	ARRAY_VALUES = 1,
};
/* How a value is written. */
enum { VARINT, EIGHT_BYTES, BYTES, FOUR_BYTES = 5 };

struct piece {
	const uint8_t *at, *end;
};

struct field {
	uint64_t number;
	bool has_bytes;
	struct piece bytes;
};

static size_t left(const struct piece *p)
{
	return (size_t)(p->end - p->at);
}

static bool take_varint(struct piece *p, uint64_t *out)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		const uint8_t byte = *p->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*out = value;
			return true;
		}
	}
	return false;
}

static bool skip(struct piece *p, uint64_t n)
{
	if (n > left(p))
		return false;
	p->at += n;
	return true;
}

/* The next field; false at the end, and with *bad where none can be. */
static bool next_field(struct piece *p, struct field *f, bool *bad)
{
	uint64_t tag = 0, n;
	bool ok;

	if (p->at == p->end)
		return false;
	ok = take_varint(p, &tag);
	f->number = tag >> 3;
	f->has_bytes = ok && (tag & 7) == BYTES;
	if (!ok)
		;
	else if (f->has_bytes) {
		ok = take_varint(p, &n);
		f->bytes.at = p->at;
		ok = ok && skip(p, n);
		f->bytes.end = p->at;
	} else if ((tag & 7) == VARINT) {
		ok = take_varint(p, &n);
	} else {
		ok = ((tag & 7) == EIGHT_BYTES && skip(p, 8)) ||
		     ((tag & 7) == FOUR_BYTES && skip(p, 4));
	}
	*bad |= !ok;
	return ok;
}

/* The last field with this number, as whoever reads protocol buffers takes it. */
static bool find(struct piece p, uint64_t number, struct piece *out, bool *bad)
{
	struct field f;
	bool found = false;

	while (next_field(&p, &f, bad))
		if (f.number == number && f.has_bytes) {
			*out = f.bytes;
			found = true;
		}
	return found;
}

static bool is(const struct piece *p, const char *word)
{
	return left(p) == strlen(word) && !memcmp(p->at, word, left(p));
}

void record_otel_copy(const void *from, size_t n, char *to, size_t room)
{
	const char *s = from;

	if (n >= room) {
		n = room - 1;
		while (n && (s[n] & 0xc0) == 0x80)
			n--;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = s[i] ? s[i] : ' ';
	to[n] = '\0';
}

static void take_string(struct piece value, char *to, size_t room, bool *bad)
{
	struct piece text;

	if (find(value, ANY_STRING, &text, bad))
		record_otel_copy(text.at, left(&text), to, room);
}

/* A key that is no text has no name, and its number stays. */
static void take_keys(struct piece value, struct otel_context *out, bool *bad)
{
	struct piece values;
	struct field f;

	if (!find(value, ANY_ARRAY, &values, bad))
		return;
	out->nkeys = 0;
	while (out->nkeys < OTEL_KEYS && next_field(&values, &f, bad)) {
		if (f.number != ARRAY_VALUES || !f.has_bytes)
			continue;
		out->key[out->nkeys][0] = '\0';
		take_string(f.bytes, out->key[out->nkeys], OTEL_KEY_BYTES, bad);
		out->nkeys++;
	}
}

static void take_of_threads(struct piece key, struct piece value, struct otel_context *out,
			    bool *bad)
{
	if (is(&key, "threadlocal.schema_version"))
		take_string(value, out->schema, sizeof(out->schema), bad);
	else if (is(&key, "threadlocal.attribute_key_map"))
		take_keys(value, out, bad);
}

static void take_of_resource(struct piece key, struct piece value, struct otel_context *out,
			     bool *bad)
{
	static const struct {
		const char *key;
		enum otel_text text;
	} known[] = {
		{ "service.name", OTEL_SERVICE },
		{ "service.version", OTEL_VERSION },
		{ "deployment.environment.name", OTEL_ENVIRONMENT },
		{ "deployment.environment", OTEL_ENVIRONMENT }, /* as it was called before */
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is(&key, known[i].key))
			take_string(value, out->text[known[i].text], OTEL_TEXT_BYTES, bad);
}

/* Those with this field number are attributes: what they are called, and have, is taken. */
static void take_attributes(struct piece p, uint64_t number,
			    void (*take)(struct piece key, struct piece value,
					 struct otel_context *out, bool *bad),
			    struct otel_context *out, bool *bad)
{
	struct piece key, value;
	struct field f;

	while (!*bad && next_field(&p, &f, bad))
		if (f.number == number && f.has_bytes && find(f.bytes, KEY_VALUE_KEY, &key, bad) &&
		    find(f.bytes, KEY_VALUE_VALUE, &value, bad) && !*bad)
			take(key, value, out, bad);
}

bool record_otel_decode(const void *bytes, size_t n, struct otel_context *out)
{
	const struct piece all = { bytes, (const uint8_t *)bytes + n };
	struct piece resource;
	bool bad = false;

	memset(out, 0, sizeof(*out));
	if (find(all, CONTEXT_RESOURCE, &resource, &bad) && !bad)
		take_attributes(resource, RESOURCE_ATTRIBUTES, take_of_resource, out, &bad);
	if (!bad)
		take_attributes(all, CONTEXT_ATTRIBUTES, take_of_threads, out, &bad);
	return !bad;
}
