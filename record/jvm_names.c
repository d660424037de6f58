/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of Java's frames, read as soon as these have been seen. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "symbolize/jvm.h"

#include "jvm.h"
#include "names.h"
#include "process_names.h"

/* A method; const_method tells it from others at its address. */
struct method {
	uint64_t address, const_method;
	struct jvm_method read;
};

/* What two words stand for. */
struct place {
	uint64_t words[2];
	uint32_t first, count; /* in parts, innermost first; count 0: only the name is known, */
	char *name;	       /*   of a stub; NULL: nothing is, and it is looked for again */
	uint16_t skip, tries;  /*   when it has been seen so often, each time twice as often */
};
struct part {
	uint32_t method;
	int32_t bci;
};

/* Of compiled code that is gone at another pc: its method. */
struct compiled {
	uint64_t address, id;
	uint32_t method;
};

#define MOST_INLINED 48
#define STUB_NAME_BYTES 64

/* A place without a name is looked for in each of the first stacks with it. */
#define AT_FIRST 8

/* What each takes of its user's share of the memory for names. Maps and arrays have more room. */
enum {
	PLACE_BYTES = 2 * (sizeof(struct place) + sizeof(struct compiled)),
	PART_BYTES = 2 * sizeof(struct part),
	METHOD_BYTES = 2 * sizeof(struct method),
	MOST_BYTES = MOST_INLINED * (70 << 10), /* a place, with methods that have 64 KB of lines */
};

/* Of one process. */
struct kept {
	struct name_account account;
	struct hash_map methods;  /* of struct method */
	struct hash_map places;	  /* of struct place */
	struct hash_map compiled; /* of struct compiled */
	struct part *parts;
	uint32_t nparts, capacity;
};

struct jvm_names {
	struct process_names all; /* of struct kept */
};

static void free_method(struct jvm_method *m)
{
	free(m->name);
	free(m->file);
	free(m->lines);
}

static void empty(void *of_process)
{
	struct kept *k = of_process;
	struct method *m = k->methods.items;
	const struct place *p = k->places.items;

	for (uint32_t i = 0; i < k->methods.count; i++)
		free_method(&m[i].read);
	for (uint32_t i = 0; i < k->places.count; i++)
		free(p[i].name);
	rp_hash_free(&k->methods);
	rp_hash_free(&k->places);
	rp_hash_free(&k->compiled);
	free(k->parts);
}

int record_jvm_names_open(struct jvm_names **out, struct name_share *share)
{
	struct jvm_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->all = record_process_names(share, sizeof(struct kept), empty);
	*out = names;
	return 0;
}

void record_jvm_names_forget(struct jvm_names *names)
{
	record_process_names_settle(&names->all);
}

void record_jvm_names_close(struct jvm_names *names)
{
	if (!names)
		return;
	record_process_names_free(&names->all);
	free(names);
}

/* Where one more place has room; *out NULL: it has none. 0 or -ENOMEM. */
static int keep_of(struct jvm_names *names, const struct name_owner *owner, struct kept **out)
{
	void *kept;
	bool is_new;
	int err = record_process_names_add(&names->all, owner, MOST_BYTES, &kept, &is_new);

	*out = kept;
	if (*out && is_new) {
		(*out)->methods = HASH_MAP(struct method, const_method);
		(*out)->places = HASH_MAP(struct place, words);
		(*out)->compiled = HASH_MAP(struct compiled, id);
	}
	return err;
}

static struct place *find_place(const struct kept *k, const uint64_t words[2])
{
	return k ? rp_hash_find(&k->places, words) : NULL;
}

static enum jvm_kind kind_of(const uint64_t words[2])
{
	return (enum jvm_kind)((words[0] & (MANAGED_PLACE - 1)) >> JVM_KIND_SHIFT);
}

static uint64_t address_of(const uint64_t words[2])
{
	return words[0] & JVM_ADDRESS_MASK;
}

/* ---- what is read */

static size_t bytes_of(const struct jvm_method *m)
{
	return METHOD_BYTES + strlen(m->name) + (m->file ? strlen(m->file) : 0) + m->nlines;
}

/* Its number; const_method 0: as it is now. -ESRCH: there is none. */
static int add_method(struct kept *k, const struct jvm_process_memory *p, uint64_t address,
		      uint64_t const_method, uint32_t *number)
{
	struct method key = { address, const_method };
	struct method *m;
	int err;

	if (!const_method &&
	    !record_jvm_read_all(&p->memory, address + p->layout->at[JVM_METHOD_CONST],
				 &key.const_method, sizeof(key.const_method)))
		return -ESRCH;
	m = rp_hash_find(&k->methods, &key);
	if (!m) {
		err = record_jvm_read_method(&p->memory, p->layout, address, key.const_method,
					     &key.read);
		m = err ? NULL : rp_hash_add(&k->methods, &key);
		if (!m) {
			free_method(&key.read);
			return err ? err : -ENOMEM;
		}
		m->read = key.read;
		record_name_add(&k->account, bytes_of(&key.read));
	}
	*number = (uint32_t)(m - (struct method *)k->methods.items);
	return 0;
}

static int add_part(struct kept *k, struct place *place, uint32_t method, int32_t bci)
{
	int err = RP_PUSH(k->parts, k->nparts, k->capacity, (struct part){ method, bci });

	place->count += !err;
	return err;
}

static int read_interpreted(struct kept *k, const struct jvm_process_memory *p, struct place *place)
{
	const uint64_t const_method = (place->words[1] >> JVM_CONST_SHIFT & JVM_CONST_MASK) << 3;
	const uint32_t bci = place->words[1] & JVM_NO_BCI;
	uint32_t method;
	int err = add_method(k, p, address_of(place->words), const_method, &method);

	return err ? err : add_part(k, place, method, bci == JVM_NO_BCI ? -1 : (int32_t)bci);
}

static int read_compiled(struct kept *k, const struct jvm_process_memory *p, struct place *place)
{
	const uint64_t *words = place->words;
	const uint32_t id = words[1] >> JVM_ID_SHIFT & JVM_ID_MASK;
	const struct compiled key = { address_of(words), id };
	struct jvm_place scopes[MOST_INLINED];
	const size_t n = record_jvm_read_scopes(&p->memory, p->layout, key.address, id,
						words[1] & JVM_OFFSET_MASK,
						words[1] & JVM_IS_RETURN, scopes, MOST_INLINED);
	const struct compiled *before;
	struct compiled *compiled;
	uint32_t method = 0;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		err = add_method(k, p, scopes[i].method, 0, &method);
		if (!err)
			err = add_part(k, place, method, scopes[i].bci);
	}
	if (!err && n) {
		compiled = rp_hash_add(&k->compiled, &key);
		if (compiled)
			compiled->method = method;
		return compiled ? 0 : -ENOMEM;
	}
	before = rp_hash_find(&k->compiled, &key);
	return !err && before ? add_part(k, place, before->method, -1) : err;
}

static bool is_interpreter(const struct jvm_process_memory *p, uint64_t at)
{
	uint64_t queue, begin;

	return record_jvm_read_all(&p->memory, p->layout->at[JVM_INTERPRETER] + p->memory.bias,
				   &queue, sizeof(queue)) &&
	       record_jvm_read_all(&p->memory, queue + p->layout->at[JVM_QUEUE_BUFFER], &begin,
				   sizeof(begin)) &&
	       begin == at;
}

/* "StubRoutines (1)", as the virtual machine calls it. */
static int read_stub(const struct jvm_process_memory *p, struct place *place)
{
	const uint64_t at = address_of(place->words);
	const uint64_t pc = at + (place->words[1] & JVM_OFFSET_MASK);
	char text[STUB_NAME_BYTES] = "call_stub";
	uint64_t name, call_stub = 0;

	record_jvm_read_all(&p->memory, p->layout->at[JVM_CALL_STUB] + p->memory.bias, &call_stub,
			    sizeof(call_stub));
	if (is_interpreter(p, at)) {
		strcpy(text, "Interpreter");
	} else if (pc != call_stub) {
		if (!record_jvm_read_all(&p->memory, at + p->layout->at[JVM_BLOB_NAME], &name,
					 sizeof(name)))
			return -ESRCH;
		record_jvm_read_text(&p->memory, name, text, sizeof(text));
	}
	place->name = *text ? strdup(text) : NULL;
	return 0;
}

static int read_place(struct kept *k, const struct jvm_process_memory *p, struct place *place)
{
	switch (kind_of(place->words)) {
	case JVM_INTERPRETED:
		return read_interpreted(k, p, place);
	case JVM_COMPILED:
		return read_compiled(k, p, place);
	default:
		return read_stub(p, place);
	}
}

/* False: it has been read, or the next time may have more luck. */
static bool is_due(struct place *place)
{
	if (place->count || place->name)
		return false;
	return !place->skip || !place->skip--;
}

/* A place that is known to have no name, or a new one. */
static int add_place(struct kept *k, const struct jvm_process_memory *p, const uint64_t words[2])
{
	const struct jvm_memory *m = &p->memory;
	struct place *place = find_place(k, words);
	uint64_t began;
	int err;

	if (!record_costs_begin(m->costs, m->uid, &began))
		return 0;
	if (!place) {
		place = rp_hash_add(&k->places, words);
		if (!place)
			return -ENOMEM;
		record_name_add(&k->account, PLACE_BYTES);
	}
	place->first = k->nparts;
	err = read_place(k, p, place);
	record_costs_end(m->costs, m->uid, began);
	record_name_add(&k->account, place->count * PART_BYTES);
	place->skip = place->tries / AT_FIRST;
	place->tries = (uint16_t)(2 * place->tries + 1);
	return err == -ENOMEM ? err : 0;
}

int record_jvm_names_add(struct jvm_names *names, const struct jvm_process_memory *p,
			 const struct name_owner *owner, const uint64_t words[2])
{
	struct kept *k = record_process_names_find(&names->all, owner);
	struct place *place = find_place(k, words);
	int err;

	if (place && !is_due(place))
		return 0;
	err = keep_of(names, owner, &k);
	return err || !k ? err : add_place(k, p, words);
}

/* ---- what is known */

static void name_part(const struct kept *k, const struct part *part, struct report_frame *out)
{
	struct jvm_method *m = &((struct method *)k->methods.items)[part->method].read;

	out->name = m->name;
	out->file = m->file;
	if (part->bci < 0 || (uint32_t)part->bci >= m->code_bytes)
		return;
	out->symbol_offset = (uint32_t)part->bci;
	if (record_name_may_scan(k->account.share, k->account.uid, m->nlines))
		out->line = sym_jvm_line(m->lines, &m->nlines, m->excluded, (uint32_t)part->bci);
}

size_t record_jvm_names_find(const struct jvm_names *names, const struct name_owner *owner,
			     const uint64_t words[2], struct report_frame *out, size_t max)
{
	const struct kept *k = record_process_names_find(&names->all, owner);
	const struct place *place = find_place(k, words);
	const uint64_t offset = kind_of(words) == JVM_INTERPRETED ? 0 : words[1] & JVM_OFFSET_MASK;
	const struct report_frame frame = { .name = "[java]",
					    .module = "java",
					    .kind = REPORT_JVM,
					    .address = address_of(words) + offset };
	size_t n = place ? place->count : 0;

	*out = frame;
	if (place && place->name)
		out->name = place->name;
	if (n > max)
		n = max;
	for (size_t i = 0; i < n; i++) {
		out[i] = frame;
		name_part(k, &k->parts[place->first + i], &out[i]);
	}
	return n ? n : 1;
}
