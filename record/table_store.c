/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables in the maps: each file's once, for all processes. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/grow.h"
#include "base/hash.h"
#include "base/lack.h"
#include "symbolize/proc.h"

#include "table_files.h"
#include "table_keeper.h"
#include "table_store.h"

/* An array of rows; what is beyond used is free. A part never lies in two of them. */
struct shard {
	int fd;
	uint32_t used;
};

/*
 * What the files of one user have of the maps and of our time. The maps are everyone's: users but
 * root may fill three quarters of them each, so that theirs do not push out all others.
 */
struct owner {
	uint32_t uid;
	bool time_said, room_said;
	uint64_t pages, rules, rows;
	uint64_t bytes; /* of files that were read */
};

#define OWNER_MOST(all) ((uint64_t)(all) / 4 * 3)
/* So much of a file is read at most: no larger .eh_frame is. That can cost a second, */
#define FILE_BYTES (64ULL << 20)
/*   and of a user's files it is this sum. */
#define OWNER_BYTES (1ULL << 30)

struct record_table_store {
	struct record_table_store_maps maps;
	uint32_t index_used, rules_used;
	struct shard shards[UNWIND_SHARDS];
	uint32_t nshards;
	struct stored_file *files;
	size_t nfiles, capacity;
	struct stored_file vdso;
	bool vdso_tried;
	struct unwind_cache *cache; /* NULL: none */
	struct hash_map owners;	    /* struct owner, by uid */
	bool is_full, full_said;
};

int record_table_store_open(struct record_table_store **out,
			    const struct record_table_store_maps *maps)
{
	struct record_table_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->maps = *maps;
	s->owners = HASH_MAP(struct owner, uid);
	if (unwind_cache_open(&s->cache, NULL, 0))
		s->cache = NULL;
	*out = s;
	return 0;
}

static void free_file(struct stored_file *file)
{
	free(file->loads);
	free(file->parts);
	*file = (struct stored_file){ 0 };
}

void record_table_store_forget(struct record_table_store *s)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		if (s->maps.files >= 0)
			record_table_files_remove(s->maps.files, &s->files[i]);
		free_file(&s->files[i]);
	}
	s->nfiles = 0;
	free_file(&s->vdso);
	s->vdso_tried = false;
	s->index_used = s->rules_used = 0;
	for (uint32_t i = 0; i < s->nshards; i++)
		s->shards[i].used = 0;
	/* What was read, and said, is not undone. */
	for (uint32_t i = 0; i < s->owners.count; i++) {
		struct owner *o = (struct owner *)s->owners.items + i;

		o->pages = o->rules = o->rows = 0;
	}
	s->is_full = false;
}

bool record_table_store_is_full(const struct record_table_store *s)
{
	return s->is_full;
}

void record_table_store_kept_by(struct record_table_store *s, struct record_keeper *keeper)
{
	if (s->cache)
		record_tables_kept_by(s->cache, keeper);
}

void record_table_store_close(struct record_table_store *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nshards; i++)
		close(s->shards[i].fd);
	s->maps.files = -1; /* the map ends with us */
	record_table_store_forget(s);
	rp_hash_free(&s->owners);
	free(s->files);
	if (s->cache)
		unwind_cache_close(s->cache);
	free(s);
}

/* ---- room in the maps */

static int add_shard(struct record_table_store *s)
{
	int fd, err;

	if (s->nshards == UNWIND_SHARDS)
		return -ENOSPC;
	fd = rp_map_create(&rp_unwind_row_map);
	if (fd < 0)
		return fd;
	err = rp_map_update(s->maps.rows, &s->nshards, &fd, BPF_ANY);
	if (err) {
		close(fd);
		return err;
	}
	s->shards[s->nshards++] = (struct shard){ .fd = fd };
	return 0;
}

/* The shard that has room for so many rows. */
static int find_shard(struct record_table_store *s, uint32_t nrows, uint32_t *out)
{
	for (uint32_t i = 0; i < s->nshards; i++)
		if (UNWIND_PART_ROWS - s->shards[i].used >= nrows) {
			*out = i;
			return 0;
		}
	*out = s->nshards;
	return add_shard(s);
}

/* ---- a table into the maps */

/* From DWARF's number of a register to where the kernel saved it. -1: nowhere. */
static int saved_register(int dwarf)
{
	const struct asm_arch *arch = asm_arch_host();
	const int known = (int)(sizeof(arch->dwarf) / sizeof(arch->dwarf[0]));

	return arch && dwarf >= 0 && dwarf < known ? arch->dwarf[dwarf] : -1;
}

static struct unwind_rule placed_rule(struct unwind_rule rule)
{
	static const struct unwind_rule unsupported = { .kind = UNWIND_UNSUP };
	int reg = 0;

	if (rule.kind == UNWIND_REG)
		rule.arg = (int16_t)(reg = saved_register(rule.arg));
	else if (rule.flags & UNWIND_RA_REG)
		rule.ra_off = (int16_t)(reg = saved_register(rule.ra_off));
	return reg < 0 ? unsupported : rule;
}

/* The index counts rows within their part, the program within their shard. */
static int write_index(struct record_table_store *s, const struct unwind_part *part,
		       uint32_t first_row)
{
	uint32_t n = part->npages + 1, *index = malloc(n * sizeof(*index));
	int err;

	if (!index)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		index[i] = first_row + part->index[i];
	err = rp_map_write(s->maps.index, s->index_used * sizeof(*index), index,
			   n * sizeof(*index));
	free(index);
	return err;
}

static int place_part(struct record_table_store *s, const struct unwind_part *part, uint32_t rules,
		      struct stored_part *out)
{
	struct shard *to;
	uint32_t shard;
	int err;

	if (part->npages + 1 > UNWIND_PAGES - s->index_used)
		return -ENOSPC;
	err = find_shard(s, part->nrows, &shard);
	if (err)
		return err;
	to = &s->shards[shard];
	err = rp_map_write(to->fd, to->used * sizeof(*part->rows), part->rows,
			   part->nrows * sizeof(*part->rows));
	if (!err)
		err = write_index(s, part, to->used);
	if (err)
		return err;
	*out = (struct stored_part){ .start = part->start,
				     .npages = part->npages,
				     .index = s->index_used,
				     .shard = shard,
				     .rules = rules };
	s->index_used += part->npages + 1;
	to->used += part->nrows;
	return 0;
}

static int write_rules(struct record_table_store *s, const struct unwind_table *t)
{
	struct unwind_rule *rules = malloc(t->nrules * sizeof(*rules));
	int err;

	if (!rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nrules; i++)
		rules[i] = placed_rule(t->rules[i]);
	err = rp_map_write(s->maps.rules, s->rules_used * sizeof(*rules), rules,
			   t->nrules * sizeof(*rules));
	free(rules);
	return err;
}

static int place_table(struct record_table_store *s, const struct unwind_table *t,
		       struct stored_file *file)
{
	int err;

	if (t->nrules > UNWIND_RULES - s->rules_used)
		return -ENOSPC;
	file->parts = calloc(t->nparts + 1, sizeof(*file->parts));
	if (!file->parts)
		return -ENOMEM;
	err = write_rules(s, t);
	while (!err && file->nparts < t->nparts) {
		err = place_part(s, &t->parts[file->nparts], s->rules_used,
				 &file->parts[file->nparts]);
		file->nparts += !err;
	}
	s->rules_used += t->nrules;
	return err;
}

static void store_table(struct record_table_store *s, const struct unwind_table *t,
			struct stored_file *file)
{
	int err = place_table(s, t, file);

	s->is_full |= err == -ENOSPC;
	if (err && !s->full_said) {
		rp_log(RP_WARN,
		       "no room for more unwind tables (%s): "
		       "other programs' stacks go by frame pointers",
		       strerror(-err));
		s->full_said = true;
	}
}

/* ---- owners */

static void say_owner(const struct owner *o, bool *is_said, const char *what)
{
	if (!*is_said)
		rp_log(RP_WARN,
		       "the files of user %u have %s: "
		       "stacks in more of them go by frame pointers",
		       o->uid, what);
	*is_said = true;
}

/* Whether a file of @o may be read too. */
static bool may_read(struct owner *o, uint64_t size)
{
	if (size > FILE_BYTES)
		size = FILE_BYTES;
	if (o->uid && o->bytes + size > OWNER_BYTES) {
		say_owner(o, &o->time_said, "taken their share of the time for unwind tables");
		return false;
	}
	o->bytes += size;
	return true;
}

static bool may_store(struct owner *o, const struct unwind_table *t)
{
	struct owner after = *o;

	after.rules += t->nrules;
	for (uint32_t i = 0; i < t->nparts; i++) {
		after.pages += t->parts[i].npages + 1;
		after.rows += t->parts[i].nrows;
	}
	if (o->uid &&
	    (after.rules > OWNER_MOST(UNWIND_RULES) || after.pages > OWNER_MOST(UNWIND_PAGES) ||
	     after.rows > OWNER_MOST((uint64_t)UNWIND_SHARDS * UNWIND_PART_ROWS))) {
		say_owner(o, &o->room_said, "filled their share of the room for unwind tables");
		return false;
	}
	*o = after;
	return true;
}

/* ---- files */

/* Reads bytes of a file or of an image in memory. */
struct source {
	int fd;
	const unsigned char *image;
	size_t size;
};

static bool read_at(const struct source *src, uint64_t offset, void *to, size_t bytes)
{
	ssize_t n;

	if (!src->image) {
		n = pread(src->fd, to, bytes, (off_t)offset);
		if (n < 0)
			rp_lack_file(-errno, src->fd);
		return n == (ssize_t)bytes;
	}
	if (offset > src->size || bytes > src->size - offset)
		return false;
	memcpy(to, src->image + offset, bytes);
	return true;
}

static int read_loads(const struct source *src, struct stored_file *file)
{
	enum { PARTS_MAX = 65536 / sizeof(Elf64_Phdr) }; /* as the kernel has it */
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (!read_at(src, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(part) ||
	    head.e_phnum > PARTS_MAX)
		return -ENOEXEC;
	file->loads = calloc(head.e_phnum + 1u, sizeof(*file->loads));
	if (!file->loads)
		return -ENOMEM;
	for (uint32_t i = 0; i < head.e_phnum; i++) {
		if (!read_at(src, head.e_phoff + i * sizeof(part), &part, sizeof(part)))
			return -ENOEXEC;
		if (part.p_type == PT_LOAD && part.p_flags & PF_X)
			file->loads[file->nloads++] = (struct stored_load){ .offset = part.p_offset,
									    .vaddr = part.p_vaddr,
									    .size = part.p_filesz };
	}
	return 0;
}

static struct stored_file *find_file(const struct record_table_store *s, const struct stat *st)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		struct stored_file *f = &s->files[i];

		if (f->inode == st->st_ino && f->dev == st->st_dev && f->size == st->st_size &&
		    f->changed.tv_sec == st->st_mtim.tv_sec &&
		    f->changed.tv_nsec == st->st_mtim.tv_nsec)
			return f;
	}
	return NULL;
}

const struct stored_file *record_table_store_known(const struct record_table_store *s,
						   const struct stat *st)
{
	return find_file(s, st);
}

/* There was no room, or no time, for the new one. */
static void keep_old(struct stored_file *file, struct stored_file *old)
{
	free_file(file);
	*file = *old;
	file->is_computed = true;
	*old = (struct stored_file){ 0 };
}

/*
 * A table is made here and now, while the ring is not drained; not by a thread of its own. What
 * that would save is time that the ring has anyway: made for the first time on a machine, the table
 * of libLLVM (100 MB) takes 57 ms, that of node 24, all others under 10; later they come from disk,
 * in 7 and 2. Samples wait in the kernel meanwhile, those of the file in question marked as without
 * a table, and a ring of 256 KB for each CPU that wakes us at a quarter holds what 499 samples a
 * second bring in 0.7 s. Clang and node, begun while the whole machine was sampled and no table was
 * cached: no sample lost at 499, 999 and 3,999 Hz; at 9,999 Hz, on a busy machine, 0 to 19 %, with
 * cached tables 0 to 1 %: who samples as often as that does it twice.
 */
const struct stored_file *record_table_store_file(struct record_table_store *s, int fd,
						  bool is_computed)
{
	const struct source src = { .fd = fd };
	struct unwind_table *t = NULL;
	struct stored_file *file, old = { 0 };
	struct owner *owner;
	struct stat st;
	int err;

	if (fstat(fd, &st)) {
		rp_lack_file(-errno, fd);
		return NULL;
	}
	file = find_file(s, &st);
	if (file && (!is_computed || file->is_computed || s->is_full))
		return file;
	owner = rp_hash_add(&s->owners, &(uint32_t){ st.st_uid });
	if (!owner || (!file && RP_GROW(s->files, s->nfiles, s->capacity))) {
		rp_lack_file(-ENOMEM, fd);
		return NULL;
	}
	if (file)
		old = *file;
	else
		file = &s->files[s->nfiles++];
	*file = (struct stored_file){ .dev = st.st_dev,
				      .inode = st.st_ino,
				      .size = st.st_size,
				      .changed = st.st_mtim,
				      .is_computed = is_computed };
	err = read_loads(&src, file);
	if (err)
		file->nloads = 0; /* remembered as no ELF file */
	else if (may_read(owner, (uint64_t)st.st_size))
		err = unwind_cache_table(s->cache, &t, fd, is_computed, NULL);
	rp_lack_file(err, fd);
	if (t) {
		if (may_store(owner, t))
			store_table(s, t, file);
		unwind_table_free(t);
	}
	if (old.nparts && !file->nparts)
		keep_old(file, &old);
	free_file(&old); /* walks go on by the rows that it has in the maps */
	if (s->maps.files >= 0 && (file->nparts || !s->is_full))
		record_table_files_put(s->maps.files, file);
	return file;
}

static int take_vdso(void *ctx, const struct sym_proc_map *m)
{
	struct source *src = ctx;

	if (strcmp(m->path, "[vdso]"))
		return 0;
	src->image = (const unsigned char *)(uintptr_t)m->start; /* our own */
	src->size = m->end - m->start;
	return 1;
}

const struct stored_file *record_table_store_vdso(struct record_table_store *s)
{
	struct source src = { .fd = -1 };
	struct unwind_table *t;

	if (!s->vdso_tried) {
		s->vdso_tried = true;
		if (sym_proc_maps("/proc", (uint32_t)getpid(), take_vdso, &src) == 1 &&
		    !read_loads(&src, &s->vdso) &&
		    !unwind_table_build_image(&t, src.image, src.size)) {
			store_table(s, t, &s->vdso);
			unwind_table_free(t);
		}
	}
	return s->vdso.nloads ? &s->vdso : NULL;
}
