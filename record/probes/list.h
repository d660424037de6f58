/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of probes from the inside: what the files of this folder share. */
#ifndef RECORD_PROBES_LIST_H
#define RECORD_PROBES_LIST_H

#include <rawprof/uprobe.h>

#include "base/hash.h"
#include "pattern.h"
#include "probes.h"
#include "symbolize/strings.h"

/* What files are told apart by. */
struct file_id {
	uint64_t dev, inode;
};

/* A file with functions that are in the list, or that was looked at and has none. */
struct probe_file {
	const char *path; /* as the process saw it */
	int fd;		  /* -1: nothing of it is in the list */
	uint64_t dev, inode;
	uint16_t machine;
	uint64_t text_offset, text_size;
	bool is_go;
	bool throws; /* exceptions may leave its functions */
	uint64_t
		looked; /* a bit for each pattern that was looked for; those above 63 have bit 63 */
};

/* What is attached: user probes by file, all else one by one. */
struct probe_link {
	enum probe_point point;
	struct rp_uprobes *uprobes;
	struct rp_link *link;
};

/* A program that was loaded, to be used again: which one, and for what. */
struct probe_program {
	struct record_probe_use use; /* without .probe */
	uint32_t attach_type;
	int fd;
};

struct record_probes {
	struct record_probe_scope scope; /* .pids is ours */
	struct pattern *patterns;
	struct name_pattern *names; /* of user functions, one for each pattern */
	size_t npatterns;
	struct sym_strings strings;
	struct sym_demangler *demangler;
	struct sym_kernel *kernel;
	struct record_probe **items; /* which do not move */
	uint32_t count, capacity;
	struct probe_file *files;
	uint32_t nfiles, files_capacity;
	struct hash_map known;	  /* of struct file_id, in the order of the files */
	struct sym_strings paths; /* of the files */
	bool too_many;		  /* was said */
	bool late;		  /* what is found now runs already */

	/* attaching */
	struct recording *rec; /* NULL: not attached */
	struct record_probe_programs programs;
	struct probe_program *loaded;
	uint32_t nloaded, loaded_capacity;
	struct probe_link *links;
	uint32_t nlinks, links_capacity;
	uint32_t attached; /* probes of the list before this one have been attached */
};

/*
 * Adds a copy of *@p; its id is given, its strings must be kept ones (record_probes_text). *out,
 * unless NULL, is the one in the list. -E2BIG after a message, once; -ENOMEM.
 */
int record_probes_add(struct record_probes *list, const struct record_probe *p,
		      struct record_probe **out);
/* Forgets all that is in it, but the files that were looked at. */
void record_probes_empty(struct record_probes *list);
/* A kept copy; NULL: no memory. */
const char *record_probes_text(struct record_probes *list, const char *text);
const char *record_probes_textf(struct record_probes *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- user.c: functions of files; errors after a message, but for -ENOMEM */

/* Patterns of files, libraries and the target, as far as they can be looked for now; USDT probes
 * too. */
int record_probes_find_user(struct record_probes *list);
/* In what a process executes from. */
int record_probes_find_process(struct record_probes *list, uint32_t pid);
/* What pattern @at did not find, with the nearest name. -ENOENT. */
int record_probes_user_missing(struct record_probes *list, size_t at);

/* Files that a pattern is for are those of a path, of a short name, of the target. */
enum pattern_place { PLACE_NONE, PLACE_PATH, PLACE_NAME, PLACE_TARGET };
enum pattern_place record_pattern_place(const struct pattern *p);

/* ---- usdt.c: probes that were compiled in */

/* Adds those of a file, open as @fd, that match a pattern of which the bit is set in @patterns. */
int record_probes_add_usdt(struct record_probes *list, uint32_t file, int fd, uint64_t patterns);
/* What pattern @at did not find, with the nearest name. -ENOENT. */
int record_probes_usdt_missing(struct record_probes *list, size_t at);
void record_probes_usdt_free(struct record_usdt *usdt);

/* ---- attach_usdt.c */

int record_probes_attach_usdt(struct record_probes *list, uint32_t from);

/* Was it made of Go (go.c)? */
bool record_probes_is_go(int fd);
/* Was it made of C++, Rust or the like, whose functions exceptions may leave? */
bool record_probes_throws(int fd);

/* ---- syscalls.c, events.c, kernel.c: what one pattern names; errors after a message */

int record_probes_find_syscalls(struct record_probes *list, size_t at);
int record_probes_find_pair(struct record_probes *list, size_t at);
int record_probes_find_events(struct record_probes *list, size_t at);
int record_probes_find_kernel(struct record_probes *list, size_t at);
/* After all patterns: why some functions of the kernel cannot be probed, and their arguments. */
int record_probes_check_kernel(struct record_probes *list);

/*
 * Of several functions with this name (IFUNC), the one that this machine's dynamic linker chooses,
 * as it has done so here: its place in the file, if that is a library of this process (ifunc.c).
 */
bool record_probes_chosen(uint64_t dev, uint64_t inode, const char *name, uint64_t *offset);

/* ---- library.c: files that are not mapped yet */

/*
 * Calls @fn with the path of each file that the dynamic linker will map for the program at @path,
 * itself first, until it does not return 0. What is not found is left out. -ENOMEM.
 */
int record_probes_needed(const char *path, int (*fn)(void *ctx, const char *path), void *ctx);
/* A library by a short name, of this machine's kind, or a program of $PATH. -ENOENT. */
int record_probes_library(const char *name, char path[4096]);

/* ---- attach.c */

/* Attaches what is new in the list. */
int record_probes_attach_new(struct record_probes *list);
/* Keeps what is attached. Closes it without memory. */
int record_probes_keep_link(struct record_probes *list, const struct probe_link *link);
/* The recording's descriptor of the program for this use, loaded when it is new; 0: none. */
int record_probes_program(struct record_probes *list, const struct record_probe_use *use,
			  uint32_t attach_type, const char *target);

/* ---- attach_user.c */

int record_probes_attach_user(struct record_probes *list, uint32_t from);

/* ---- attach_kernel.c */

/* The best way that the kernel has, or the one asked for if it has that: else NULL and why. */
bool record_probes_can_kernel(const struct record_probe_scope *scope, const char **why);
int record_probes_attach_kernel(struct record_probes *list, uint32_t from);

/* ---- attach_event.c: system calls, tracepoints */

int record_probes_attach_events(struct record_probes *list, uint32_t from);

#endif
