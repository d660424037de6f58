/* SPDX-License-Identifier: BSD-2-Clause */
/* Labels that programs publish: of which processes, and their texts. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "programs/shared/stack.h"
#include "symbolize/object.h"

#include "context.h"
#include "mapped_file.h"
#include "names.h"
#include "published.h"
#include "published_set.h"
#include "tables_read.h"
#include "uid_share.h"

/* Sets of labels, of which a program may make a new one for each request: 20,000 of one user. */
#define MAX_SETS 40000

/* A file that is mapped, as it was looked at the first time. */
struct known_file {
	struct file_key key;
	struct published_process what;
};

struct record_published {
	int seen_fd;
	struct published_wanted wanted;
	struct record_context *context; /* NULL: not asked for */
	uint32_t pid;			/* that was asked last who it is: */
	uid_t uid;
	struct hash_map files; /* of struct known_file */
	struct hash_map sets;  /* of struct label_set */
	struct record_share room;
	struct report_label label[REPORT_MAX_LABELS];
};

int record_published_open(struct record_published **out, int seen,
			  const struct published_wanted *wanted)
{
	struct record_published *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	if (wanted->context && record_context_open(&p->context, wanted->ids)) {
		free(p);
		return -ENOMEM;
	}
	p->seen_fd = seen;
	p->wanted = *wanted;
	p->room = RECORD_SHARE(MAX_SETS, "sets of labels");
	p->files = HASH_MAP(struct known_file, key);
	p->sets = HASH_MAP(struct label_set, hash);
	*out = p;
	return 0;
}

static void forget_sets(struct record_published *p)
{
	const struct label_set *set = p->sets.items;

	for (uint32_t i = 0; i < p->sets.count; i++)
		free(set[i].texts);
	rp_hash_free(&p->sets);
	record_share_empty(&p->room);
}

void record_published_close(struct record_published *p)
{
	if (!p)
		return;
	forget_sets(p);
	record_share_free(&p->room);
	rp_hash_free(&p->files);
	record_context_close(p->context);
	free(p);
}

/* ---- which processes */

/*
 * Where members lie, by version: as the debug data of programs that 1.20, 1.22 to 1.26 have made
 * says, and the runtime's sources of the others. A version that is not here has no labels.
 */
static const struct go_layout {
	unsigned int first, last;
	struct published_process at;
} layouts[] = {
	{ 17, 20, { PUBLISHED_GO_MAP, .curg = 192, .labels = 360, .goid = 152 } },
	{ 21, 22, { PUBLISHED_GO_MAP, .curg = 192, .labels = 344, .goid = 152 } },
	{ 23, 23, { PUBLISHED_GO_MAP, .curg = 192, .labels = 352, .goid = 160 } },
	{ 24, 24, { PUBLISHED_GO, .curg = 192, .labels = 352, .goid = 160 } },
	{ 25, 25, { PUBLISHED_GO, .curg = 184, .labels = 344, .goid = 152 } },
	{ 26, 26, { PUBLISHED_GO, .curg = 184, .labels = 352, .goid = 152 } },
};

static void look_at(struct record_published *p, struct known_file *f, const char *path, int fd)
{
	struct sym_object *object;
	unsigned int version;

	if (sym_object_open(&object, fd))
		return;
	version = object->is64 && object->machine == EM_X86_64 ? record_go_version(object) : 0;
	for (size_t i = 0; version && i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (version >= layouts[i].first && version <= layouts[i].last)
			f->what = layouts[i].at;
	if (f->what.kind != PUBLISHED_NONE && !record_go_tls(object, &f->what.tls))
		f->what.kind = PUBLISHED_NONE;
	if (version && f->what.kind == PUBLISHED_NONE)
		rp_log(RP_INFO, "%s: no labels of goroutines, of Go 1.%u as it was built", path,
		       version);
	if (!p->wanted.goid)
		f->what.goid = 0;
	sym_object_close(object);
}

void record_published_mapped(struct record_published *p, const struct mapped_file *file,
			     struct published_process *out)
{
	struct known_file *f;
	int fd;

	if (!p->wanted.go)
		return;
	f = record_known_file(&p->files, &file->key, file, &fd);
	if (f && fd >= 0)
		look_at(p, f, file->map->path, fd);
	if (f && f->what.kind != PUBLISHED_NONE)
		*out = f->what;
}

/* ---- what came */

/* Without a character that was cut, where there was no room for more, and without a 0 in it. */
static size_t copy_text(const char *from, size_t n, size_t room, char *to)
{
	if (n == room) {
		while (n && (from[n - 1] & 0xc0) == 0x80)
			n--;
		n -= n && (from[n - 1] & 0xc0) == 0xc0;
	}
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] ? from[i] : ' ';
	to[n] = '\0';
	return n;
}

static int keep_texts(const struct published_labels *labels, struct label_set *set)
{
	char *texts = malloc(labels->n * (sizeof(struct published_label) + 2) + 1), *to = texts;

	if (!texts)
		return -ENOMEM;
	for (uint64_t i = 0; i < labels->n; i++) {
		const struct published_label *l = &labels->label[i];

		if (!l->key_bytes || !l->text_bytes)
			continue;
		to += copy_text(l->key, l->key_bytes, sizeof(l->key), to) + 1;
		to += copy_text(l->text, l->text_bytes, sizeof(l->text), to) + 1;
		set->n++;
	}
	set->goid = labels->goid;
	set->texts = texts;
	return 0;
}

static bool is_sound(const struct published_labels *labels)
{
	if (labels->n > PUBLISHED_LABELS)
		return false;
	for (uint64_t i = 0; i < labels->n; i++)
		if (labels->label[i].key_bytes > sizeof(labels->label[i].key) ||
		    labels->label[i].text_bytes > sizeof(labels->label[i].text))
			return false;
	return true;
}

/* Then they come again, once something has them. */
static void forget_all(struct record_published *p)
{
	uint64_t key;

	forget_sets(p);
	for (int i = 0; i < 2 * PUBLISHED_SEEN && !rp_map_next_key(p->seen_fd, NULL, &key); i++)
		rp_map_delete(p->seen_fd, &key);
}

static uid_t user_of(struct record_published *p, uint32_t pid)
{
	if (pid != p->pid)
		p->uid = record_share_user(pid);
	p->pid = pid;
	return p->uid;
}

/* NULL: it was there, or there is no room for another one of that user, or no memory: *err. */
static struct label_set *new_set(struct record_published *p, uint64_t hash, uint32_t pid, int *err)
{
	struct label_set *set;

	*err = 0;
	if (rp_hash_find(&p->sets, &hash) || !record_share_take(&p->room, user_of(p, pid), 1))
		return NULL;
	set = rp_hash_add(&p->sets, &hash);
	*err = set ? 0 : -ENOMEM;
	return set;
}

static int take_labels(struct record_published *p, const struct published_labels *labels)
{
	struct label_set *set;
	int err;

	if (!is_sound(labels))
		return -EBADMSG;
	set = new_set(p, labels->hash, labels->pid, &err);
	return set ? keep_texts(labels, set) : err;
}

static int take_context(struct record_published *p, const struct published_context *context)
{
	struct label_set *set;
	uint32_t most;
	int err;

	if (!p->context)
		return -EBADMSG;
	set = new_set(p, context->hash, (uint32_t)context->process, &err);
	if (!set)
		return err;
	err = record_context_keep(context, set, &most);
	if (!err && set->n)
		record_context_met(p->context, set->process, set->start_time, most);
	return err;
}

bool record_published_is(const void *data, size_t size)
{
	const struct published_labels *labels = data;
	const struct published_context *context = data;

	return (size == sizeof(*labels) && labels->tag == PUBLISHED_TAG) ||
	       (size == sizeof(*context) && context->tag == PUBLISHED_CONTEXT_TAG);
}

int record_published_take(struct record_published *p, const void *published)
{
	const struct published_context *context = published;

	return context->tag == PUBLISHED_CONTEXT_TAG ? take_context(p, context)
						     : take_labels(p, published);
}

/* ---- of a sample */

/* What a sample has anyway. */
static bool is_taken(const char *key)
{
	return !strcmp(key, "comm") || !strcmp(key, "pid") || !strcmp(key, "tid");
}

bool record_label_is_free(const struct report_label *labels, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(labels[i].key, key))
			return false;
	return !is_taken(key);
}

static size_t add_goroutine(const struct label_set *set, struct report_label *labels, size_t n)
{
	const char *key = set->texts;

	for (uint32_t i = 0; i < set->n; i++) {
		const char *text = key + strlen(key) + 1;

		if (n < REPORT_MAX_LABELS && *key && *text && record_label_is_free(labels, n, key))
			labels[n++] = (struct report_label){ .key = key, .str = text };
		key = text + strlen(text) + 1;
	}
	if (set->goid && n < REPORT_MAX_LABELS && record_label_is_free(labels, n, "goroutine"))
		labels[n++] =
			(struct report_label){ .key = "goroutine", .num = (int64_t)set->goid };
	return n;
}

/* What its process says of itself. */
static size_t add_process(struct record_published *p, const struct stack_record *r, size_t n)
{
	static const char *const keys[OTEL_TEXTS] = { [OTEL_SERVICE] = "service",
						      [OTEL_VERSION] = "service_version",
						      [OTEL_ENVIRONMENT] = "environment" };

	for (int i = 0; p->context && i < OTEL_TEXTS && n < REPORT_MAX_LABELS; i++) {
		const char *text = record_context_text(p->context, (uint32_t)(r->pid_tgid >> 32),
						       r->start_time, (enum otel_text)i);

		if (text && record_label_is_free(p->label, n, keys[i]))
			p->label[n++] = (struct report_label){ .key = keys[i], .str = text };
	}
	return n;
}

void record_published_add(struct record_published *p, const struct stack_record *r,
			  struct report_sample *sample)
{
	const struct label_set *set = r->published ? rp_hash_find(&p->sets, &r->published) : NULL;
	size_t n = sample->nlabels;

	if (n)
		memcpy(p->label, sample->labels, n * sizeof(*p->label));
	if (set && set->texts)
		n = set->process ? record_context_add(p->context, set, p->label, n)
				 : add_goroutine(set, p->label, n);
	n = add_process(p, r, n);
	sample->labels = p->label;
	sample->nlabels = n;
}

/* ---- processes that publish contexts */

void record_published_read(struct record_published *p, struct reading *r)
{
	if (p && p->context && r->n)
		record_context_found(p->context, r->pid, r->context_at, &r->published);
}

void record_published_ended(struct record_published *p, uint32_t pid)
{
	if (p && p->pid == pid)
		p->pid = 0;
	if (p && p->context)
		record_context_ended(p->context, pid);
}

void record_published_due(struct record_published *p, struct record_looks *looks,
			  struct id_set *changed)
{
	if (p && p->context)
		record_context_due(p->context, looks, changed);
}

uint64_t record_published_urgent(const struct record_published *p, uint64_t otherwise)
{
	const uint64_t ns = p && p->context ? record_context_urgent(p->context) : UINT64_MAX;

	return ns < otherwise ? ns : otherwise;
}

/* ---- a recording that stays on */

/* Whoever makes a new set for each request fills the room: it is emptied between two windows. */
void record_published_settle(struct record_published *p)
{
	if (p->sets.count > MAX_SETS / 4)
		forget_all(p);
}
