/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the unwinder in the kernel which tables hold for which addresses of which process. A
 * process is read when it is first met and again when it has mapped more; its ranges are written to
 * a fresh place and then published by one update of the map unwind_procs, so that the program sees
 * either the old or the new.
 */
#ifndef RECORD_TABLES_H
#define RECORD_TABLES_H

#include "base/id_set.h"
#include "table_store.h"

struct record_tables;
struct unwind_table;

/* fds: the maps of programs.h, which stay the caller's. 0 or a negative errno after a message. */
struct record_keeper;
struct record_tables_maps {
	int procs, mappings, index, rules, rows;
	int files; /* -1: no program asks the kernel for what a process maps */
	/*
	 * Only files that samples hit get a table: of a whole machine most processes are never
	 * seen, and most files of those that are hold no frame.
	 */
	bool only_hit;
	struct record_python *python; /* which looks at what is mapped; NULL */
	struct record_v8 *v8;	      /* this too */
	struct record_jvm *jvm;	      /* the same */
	struct record_script *script;
	struct record_published *published;
	struct record_keeper *keeper; /* puts tables into the cache; NULL: this process does */
	struct record_looks *looks;   /* what reading a process costs; NULL: nobody asks */
	struct record_whose *whose;   /* who pays for its room; NULL: nobody does */
};
int record_tables_open(struct record_tables **out, const struct record_tables_maps *maps);
void record_tables_close(struct record_tables *f);

/* Reads the mappings of a process and publishes them. One that cannot be read is skipped. */
void record_tables_publish(struct record_tables *f, uint32_t pid);
/* All of those but these; left in *pids: some whose users have no time left for it now. */
void record_tables_publish_all(struct record_tables *f, struct id_set *pids,
			       const struct id_set *but);
struct record_looks *record_tables_looks(const struct record_tables *f);
/* In three steps, for mappings that another reads too: begin, map for each of them, end. */
struct sym_proc_map;
void record_tables_begin(struct record_tables *f, uint32_t pid);
int record_tables_map(void *tables, const struct sym_proc_map *m);
void record_tables_end(struct record_tables *f);
/* One that was published may have frames of a language: record_language_file(). */
bool record_tables_have_language(const struct record_tables *f);
/*
 * Digests beforehand what a program that is about to be started will map for certain: its file, if
 * it was found, and the C library, which is ours too.
 */
void record_tables_expect(struct record_tables *f, const char *path);

/* It has mapped code of the file with that name, and may be gone before it can be read. */
void record_tables_mapped(struct record_tables *f, uint32_t pid, const char *path);
/* It has executed a program; the next thing it does is to map libraries. */
void record_tables_executed(struct record_tables *f, uint32_t pid);
/* In how many ns to read the side-band again, whatever else happens; UINT64_MAX: whenever. */
uint64_t record_tables_urgent(struct record_tables *f);
/* It has mapped something, or has ended: of interest if it was fed before. */
void record_tables_changed(struct record_tables *f, uint32_t pid);
void record_tables_ended(struct record_tables *f, uint32_t pid);
/*
 * A walk came to code of it that no table is known for: among the @n addresses of @pcs there is at
 * least one in the file that lacks it.
 */
void record_tables_lost(struct record_tables *f, uint32_t pid, const uint64_t *pcs, uint32_t n);
/*
 * A walk ended at @pc, maybe for want of a rule: only now the rules of code without an FDE are made
 * for that file. False if this place was said before.
 */
bool record_tables_missed(struct record_tables *f, uint32_t pid, uint64_t pc);
/*
 * A walk by the frame pointer of one of its last two frames led nowhere: if that was in code which
 * the process has generated, functions are looked for there. As above: false, that is known.
 */
bool record_tables_astray(struct record_tables *f, uint32_t pid, const uint64_t *pcs, uint32_t n);
/*
 * What has been made since is used by whoever is read from now on; who was read before it will be
 * read again, by record_tables_refresh().
 */
void record_tables_take_made(struct record_tables *f);
/* Reads those again that have changed, where a walk was lost, or whose tables have been made. */
void record_tables_refresh(struct record_tables *f);
/*
 * From now on tables are made by threads, while the ring is read; the caller may have no capability
 * that it will give up.
 */
void record_tables_make_beside(struct record_tables *f);
/* Can be read from when record_tables_refresh() has something made to publish; -1: never. */
int record_tables_fd(const struct record_tables *f);
/* Those of files, which stay @f's. */
struct record_table_store *record_tables_store(const struct record_tables *f);
/* Tables that walks have asked for are being made. */
bool record_tables_are_busy(const struct record_tables *f);

#endif
