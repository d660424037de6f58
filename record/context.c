/* SPDX-License-Identifier: BSD-2-Clause */
/* Process contexts, and the files that have the variable of thread contexts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/clock.h"
#include "base/hash.h"
#include "symbolize/object.h"
#include "symbolize/proc.h"

#include "context.h"
#include "context_wait.h"
#include "mapped_file.h"
#include "names.h"
#include "remote.h"
#include "tables_read.h"
#include "tls_variable.h"
#include "uid_share.h"

#define VARIABLE "otel_thread_ctx_v1"

enum {
	MOST_BYTES = 1 << 23, /* of what all say, and of them: 2,048 processes of one user */
	PROCESS_BYTES = 1 << 11,
	MOST_PAYLOAD = 1 << 16, /* of one */
	MOST_MAPPINGS = 1 << 16,
	/* Files that are looked at for the first time, in one look at a process, */
	MOST_FILES = 1024,
	MOST_SYMBOLS = 1 << 20, /*   and their symbols; more only of a single file */
	GLIBC_BLOCK = 16,	/* bytes of an entry in the table of blocks */
	MUSL_BLOCK = 8,
	BLOCKS_BEFORE = 8, /* as struct published_process has where it is */
};
/* Has a process changed what it says? Between two looks, where a number of a key has no name: */
#define AGAIN_NS (NS_PER_SECOND / 2)
#define OFTEN_NS (2 * NS_PER_SECOND) /* and otherwise */

/* A file that was mapped, as it was looked at the first time. */
struct known_file {
	struct file_key key;
	struct tls_variable variable;
	uint64_t vaddr; /* where it has the beginning of the file */
};

/* The head of a process context. */
struct head {
	char signature[8];
	uint32_t version, bytes;
	uint64_t published_at; /* 0: it is being written */
	uint64_t payload;
};
_Static_assert(sizeof(struct head) == 32, "as it is published");
enum { HEAD_VERSION = 2 };

struct process {
	uint32_t pid;
	uid_t uid;
	uint32_t bytes;	       /* of what it says, */
	uint32_t key_bytes;    /*   and of that of keys */
	uint64_t at;	       /* its head; 0: nothing is known of it */
	uint64_t published_at; /* when what is known was */
	uint64_t found_ns;     /* when it was first met, */
	uint64_t start_time;   /*   and began; 0: no sample has said yet */
	uint64_t asked_ns;     /* whether it says something else */
	bool ended;
	char *keys;			 /* one after the other, each with its 0 */
	char *text[OTEL_TEXTS];		 /* NULL: none */
	char schema[OTEL_SCHEMA_BYTES];	 /* "": it says nothing of threads */
	char refused[OTEL_SCHEMA_BYTES]; /* that was said to be none we know */
};

struct record_context {
	bool ids;
	struct record_share room;
	struct hash_map files;	   /* of struct known_file */
	struct hash_map processes; /* of struct process */
	uint64_t asked_ns;	   /* all of them */
	struct context_wait wait;
	struct otel_context said; /* of the process at hand */
	uint8_t payload[MOST_PAYLOAD];
};

int record_context_open(struct record_context **out, bool ids)
{
	struct record_context *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->ids = ids;
	c->room = RECORD_SHARE(MOST_BYTES, "memory for process contexts");
	c->files = HASH_MAP(struct known_file, key);
	c->processes = HASH_MAP(struct process, pid);
	*out = c;
	return 0;
}

/* Its room becomes another, by what wraps around where that is less. */
static void resize(struct record_context *c, struct process *p, uint32_t bytes)
{
	record_share_add(&c->room, p->uid, (uint64_t)bytes - p->bytes);
	p->bytes = bytes;
}

static void forget(struct record_context *c, struct process *p)
{
	resize(c, p, 0);
	free(p->keys);
	for (int i = 0; i < OTEL_TEXTS; i++)
		free(p->text[i]);
	*p = (struct process){ .pid = p->pid, .uid = p->uid };
}

struct user {
	struct record_context *c;
	uid_t uid;
};

static bool is_not_over(void *ctx, void *entry)
{
	const struct user *user = ctx;
	struct process *p = entry;

	if (p->uid != user->uid || (p->at && !p->ended))
		return true;
	forget(user->c, p);
	record_share_add(&user->c->room, p->uid, -(uint64_t)PROCESS_BYTES);
	return false;
}

void record_context_close(struct record_context *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->processes.count; i++)
		forget(c, (struct process *)c->processes.items + i);
	rp_hash_free(&c->processes);
	record_share_free(&c->room);
	rp_hash_free(&c->files);
	record_context_wait_free(&c->wait);
	free(c);
}

bool record_context_has_ids(const struct record_context *c)
{
	return c->ids;
}

bool record_context_is_at(const struct sym_proc_map *m)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(m->path, names[i], strlen(names[i])))
			return true;
	return false;
}

/* One that began after it was met is another that has its pid. */
static struct process *find(const struct record_context *c, uint32_t pid, uint64_t start_time)
{
	struct process *p = rp_hash_find(&c->processes, &pid);

	if (!p || !p->at ||
	    (p->start_time ? p->start_time != start_time : start_time > p->found_ns))
		return NULL;
	p->start_time = start_time;
	return p;
}

/* ---- what a process says */

static char *copy_of(const char *text)
{
	return *text ? strdup(text) : NULL;
}

/* Too much for its user: nothing of it is known. */
static void keep(struct record_context *c, struct process *p)
{
	const struct otel_context *said = &c->said;
	uint32_t n = 0, all;

	for (uint32_t i = 0; i < said->nkeys; i++)
		n += (uint32_t)strlen(said->key[i]) + 1;
	all = n;
	for (int i = 0; i < OTEL_TEXTS; i++)
		all += (uint32_t)strlen(said->text[i]);
	free(p->keys);
	resize(c, p, 0);
	p->keys = record_share_has_room(&c->room, p->uid, all) ? malloc(n + 1) : NULL;
	p->key_bytes = p->keys ? n : 0;
	resize(c, p, p->keys ? all : 0);
	n = 0;
	for (uint32_t i = 0; p->keys && i < said->nkeys; i++) {
		memcpy(p->keys + n, said->key[i], strlen(said->key[i]) + 1);
		n += (uint32_t)strlen(said->key[i]) + 1;
	}
	for (int i = 0; i < OTEL_TEXTS; i++) {
		free(p->text[i]);
		p->text[i] = p->keys ? copy_of(said->text[i]) : NULL;
	}
	memcpy(p->schema, said->schema, sizeof(p->schema));
}

static bool read_head(struct record_remote *memory, uint64_t at, struct head *out)
{
	return record_remote_read(memory, at, out, sizeof(*out)) &&
	       !memcmp(out->signature, "OTEL_CTX", sizeof(out->signature)) &&
	       out->version == HEAD_VERSION && out->published_at && out->bytes <= MOST_PAYLOAD;
}

/* What was written over meanwhile is left for the next time. */
static bool read_context(struct record_context *c, struct process *p, struct record_remote *memory)
{
	struct head head, after;

	if (!read_head(memory, p->at, &head))
		return false;
	if (head.published_at == p->published_at)
		return true;
	if (!record_remote_read(memory, head.payload, c->payload, head.bytes) ||
	    !read_head(memory, p->at, &after) || memcmp(&head, &after, sizeof(head)))
		return false;
	p->published_at = head.published_at;
	if (!record_otel_decode(c->payload, head.bytes, &c->said))
		rp_log(RP_INFO, "process %u: its process context (OTEL_CTX) cannot be read",
		       p->pid);
	else
		keep(c, p);
	return true;
}

/* As OTEP 4947 has it, as it is to be called, and in between. */
static bool is_known(const char *schema)
{
	return !strcmp(schema, "tlsdesc_v1_dev") || !strcmp(schema, "tlsdesc_v1") ||
	       !strcmp(schema, "tls_v1");
}

/* ---- where its threads have their records */

struct looking {
	struct record_context *c;
	struct record_remote *memory;
	uint32_t pid;
	uint32_t mappings, files;
	uint64_t symbols; /* that may still be looked at */
	bool musl, found, placed;
	struct tls_place place;
};

/* Where the beginning of the file is loaded, in the file's own addresses. */
static uint64_t first_vaddr(const struct sym_object *o)
{
	for (size_t i = 0; i < o->segment_count; i++)
		if (o->segments[i].offset < 4096)
			return o->segments[i].vaddr - o->segments[i].offset;
	return 0;
}

/* False: it has more symbols than may still be looked at; the next time begins with it. */
static bool look_at(struct looking *l, const struct sym_object *object, struct known_file *f)
{
	uint64_t symbols = object->symbols[SYM_DYNSYM].count;

	if (!symbols)
		symbols = object->symbols[SYM_SYMTAB].count;
	if (symbols > l->symbols && l->symbols != MOST_SYMBOLS)
		return false;
	record_tls_variable(object, VARIABLE, &f->variable);
	f->vaddr = first_vaddr(object);
	l->symbols -= symbols < l->symbols ? symbols : l->symbols;
	return true;
}

/* 0, or what is wrong; *object NULL: it is no ELF file. */
static int open_file(const struct looking *l, const struct sym_proc_map *m, const struct stat *st,
		     struct sym_object **object)
{
	const int fd = record_open_mapped(l->pid, m);
	int err;

	*object = NULL;
	if (fd < 0)
		return fd;
	if (!record_is_that_file(fd, st)) {
		close(fd);
		return -ESTALE;
	}
	err = sym_object_open(object, fd);
	return err == -ENOEXEC ? 0 : err;
}

/* What is known of the file; NULL: it has to wait. */
static const struct known_file *file_of(struct looking *l, const struct sym_proc_map *m)
{
	static const struct known_file nothing; /* that is not to be had now may be later */
	struct known_file new = { 0 }, *f;
	struct sym_object *object;
	struct stat st;
	bool is_new, is_over;

	if (sym_proc_stat_mapped("/proc", l->pid, m, &st))
		return &nothing;
	new.key = record_file_key(m, &st);
	f = rp_hash_find(&l->c->files, &new);
	if (f)
		return f;
	if (l->files++ == MOST_FILES)
		return NULL;
	if (open_file(l, m, &st, &object))
		return &nothing;
	is_over = !object || look_at(l, object, &new);
	sym_object_close(object);
	if (!is_over)
		return NULL;
	f = rp_hash_add_within(&l->c->files, &new, LANGUAGE_MAX_FILES, &is_new);
	if (f)
		*f = new;
	return f;
}

/* The first file that has one, as the dynamic linker takes it. */
static int look_for_variable(void *ctx, const struct sym_proc_map *m)
{
	struct looking *l = ctx;
	const struct known_file *f;

	if (++l->mappings > MOST_MAPPINGS)
		return 1;
	if (m->path[0] != '/' || !m->inode || m->offset)
		return 0;
	l->musl |= strstr(m->path, "/ld-musl-") != NULL;
	if (l->found)
		return 0;
	f = file_of(l, m);
	if (!f || f->variable.way == TLS_NONE)
		return !f;
	l->found = true;
	l->placed = record_tls_place(&f->variable, m->start - f->vaddr, l->memory, &l->place);
	if (f->variable.way == TLS_UNKNOWN)
		rp_log(RP_INFO, "%s: no way is known to its " VARIABLE ": no contexts of threads",
		       m->path);
	return 0;
}

/* False: not yet. */
static bool place(struct record_context *c, uint32_t pid, struct record_remote *memory,
		  struct published_process *out)
{
	struct looking l = { .c = c, .memory = memory, .pid = pid, .symbols = MOST_SYMBOLS };

	sym_proc_maps("/proc", pid, look_for_variable, &l);
	if (!l.placed)
		return false;
	*out = (struct published_process){
		.kind = PUBLISHED_CONTEXT,
		.block = (uint16_t)(l.place.block * (l.musl ? MUSL_BLOCK : GLIBC_BLOCK)),
		.ids = c->ids,
		.blocks = (uint16_t)(record_tls_blocks(l.musl) + BLOCKS_BEFORE),
		.tls = l.place.offset,
	};
	return true;
}

/* ---- processes */

/* One more; NULL: its user has no room for it, or there is no memory. */
static struct process *add_process(struct record_context *c, uint32_t pid)
{
	const uid_t uid = record_share_user(pid);
	struct process *p;

	if (!record_share_fits(&c->room, uid, PROCESS_BYTES))
		rp_hash_keep(&c->processes, is_not_over, &(struct user){ c, uid });
	if (!record_share_has_room(&c->room, uid, PROCESS_BYTES))
		return NULL;
	p = rp_hash_add(&c->processes, &pid);
	if (!p)
		return NULL;
	p->uid = uid;
	record_share_add(&c->room, p->uid, PROCESS_BYTES);
	return p;
}

static struct process *process_of(struct record_context *c, uint32_t pid)
{
	struct process *p = rp_hash_find(&c->processes, &pid);

	if (!p)
		return add_process(c, pid);
	if (p->ended) { /* another one has the number by now */
		forget(c, p);
		record_share_add(&c->room, p->uid, -(uint64_t)PROCESS_BYTES);
		p->uid = record_share_user(pid);
		record_share_add(&c->room, p->uid, PROCESS_BYTES);
	}
	return p;
}

/* False: it is to be looked at again. */
static bool take(struct record_context *c, uint32_t pid, uint64_t at, struct record_remote *memory,
		 struct published_process *out)
{
	struct process *p = process_of(c, pid);

	if (!p)
		return true;
	if (p->at != at)
		forget(c, p);
	if (!p->at)
		p->found_ns = rp_monotonic_ns();
	p->at = at;
	if (!read_context(c, p, memory) || !*p->schema)
		return false;
	if (out->kind != PUBLISHED_NONE)
		return true; /* its goroutines have labels */
	if (!is_known(p->schema)) {
		if (strcmp(p->refused, p->schema))
			rp_log(RP_INFO,
			       "process %u: contexts of threads of the kind '%s' are not read", pid,
			       p->schema);
		memcpy(p->refused, p->schema, sizeof(p->refused));
		return true;
	}
	return place(c, pid, memory, out);
}

void record_context_found(struct record_context *c, uint32_t pid, uint64_t at,
			  struct published_process *out)
{
	struct record_remote memory = { .pid = (pid_t)pid };
	struct process *p = rp_hash_find(&c->processes, &pid);
	bool settled = false;

	if (at)
		settled = take(c, pid, at, &memory, out);
	else if (p)
		forget(c, p); /* it has executed another program */
	record_remote_close(&memory);
	if (settled)
		record_context_wait_end(&c->wait, pid);
	else
		record_context_wait_begin(&c->wait, pid);
}

void record_context_ended(struct record_context *c, uint32_t pid)
{
	struct process *p = rp_hash_find(&c->processes, &pid);

	record_context_wait_end(&c->wait, pid);
	if (p)
		p->ended = true;
}

/* Unless it was asked a moment ago. */
static void ask(struct record_context *c, struct process *p, uint64_t now, uint64_t moment)
{
	struct record_remote memory = { .pid = (pid_t)p->pid };

	if (!p->at || p->ended || now - p->asked_ns < moment)
		return;
	p->asked_ns = now;
	read_context(c, p, &memory);
	record_remote_close(&memory);
}

void record_context_due(struct record_context *c, struct record_looks *looks,
			struct id_set *changed)
{
	const uint64_t now = rp_monotonic_ns();
	struct process *p = c->processes.items;

	record_context_wait_due(&c->wait, looks, changed);
	if (now - c->asked_ns < OFTEN_NS)
		return;
	c->asked_ns = now;
	for (uint32_t i = 0; i < c->processes.count; i++)
		ask(c, &p[i], now, OFTEN_NS);
}

uint64_t record_context_urgent(const struct record_context *c)
{
	return record_context_wait_urgent(&c->wait);
}

static const char *key_at(const struct process *p, uint32_t number)
{
	uint32_t at = 0;

	while (at < p->key_bytes && number--)
		at += (uint32_t)strlen(p->keys + at) + 1;
	return at < p->key_bytes ? p->keys + at : NULL;
}

void record_context_met(struct record_context *c, uint32_t pid, uint64_t start_time, uint32_t most)
{
	struct process *p = find(c, pid, start_time);

	if (p && !key_at(p, most))
		ask(c, p, rp_monotonic_ns(), AGAIN_NS);
}

const char *record_context_key(const struct record_context *c, uint32_t pid, uint64_t start_time,
			       uint32_t number)
{
	const struct process *p = find(c, pid, start_time);
	const char *key = p ? key_at(p, number) : NULL;

	return key && *key ? key : NULL;
}

const char *record_context_text(struct record_context *c, uint32_t pid, uint64_t start_time,
				enum otel_text which)
{
	const struct process *p = find(c, pid, start_time);

	return p ? p->text[which] : NULL;
}
