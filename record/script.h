/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of programs/shared/script.h: which processes have an interpreter of PHP, Ruby or
 * Perl and how it is laid out (script.c, script_file.c, script_layouts.c), and the names of what
 * ran (script_names.c).
 */
#ifndef RECORD_SCRIPT_H
#define RECORD_SCRIPT_H

#include <stdbool.h>
#include <sys/types.h>

#include <rawprof/report.h>
#include "programs/shared/script.h"

struct record_script;
struct name_owner;
struct sym_object;
struct sym_proc_map;

/* layouts: the descriptor of that map, which stays the caller's. -ENOMEM. */
int record_script_open(struct record_script **out, int layouts);
void record_script_close(struct record_script *p);

/* Whether that process has such an interpreter, or any process may come to have one. */
bool record_script_may_run(uint32_t pid, enum script_language language);
bool record_script_may_start(enum script_language language);

/*
 * Code of a process is mapped, @bias above its addresses in the file: if that is an interpreter
 * that is known, *out says so. open(ctx) opens the file the first time.
 */
void record_script_mapped(struct record_script *p, const struct sym_proc_map *m, uint64_t bias,
			  int (*open)(void *ctx), void *ctx, struct script_process *out);

/* What came through the ring. 0, -ENOMEM, -EBADMSG. */
int record_script_function(struct record_script *p, const struct script_function *function);

/* The frame of two words of a record; its texts live as long as p. */
void record_script_frame(const struct record_script *p, const struct name_owner *owner,
			 enum managed_language language, const uint64_t words[2],
			 struct report_frame *out);

/* ---- between the files */

/* An interpreter in a file; its addresses there. layout NULL: there is none that is known. */
struct script_file {
	const struct script_layout *layout;
	uint64_t root, loop, loop_bytes, cold, cold_bytes, again, again_bytes;
};
/* Takes fd; path is for what it has to say. */
void record_script_read_file(int fd, const char *path, enum script_language language,
			     struct script_file *out);

/* perl_file.c: 5.36 is 0x0524; 0: it does not say. What else is there; false: its layout is not. */
unsigned int record_perl_version(const struct sym_object *o);
bool record_perl_places(const struct sym_object *o, struct script_file *out);
/*
 * ruby_file.c: 3.1 is 0x0301; 0: it does not say. What is not among its symbols; false: where a
 * thread has its state is not known. Of the loop rb_vm_exec() is known.
 */
unsigned int record_ruby_version(const struct sym_object *o);
bool record_ruby_places(const struct sym_object *o, struct script_file *out);

/* By version; NULL: not known. "8.2": those that are. */
const struct script_layout *record_script_layout(enum script_language language,
						 unsigned int version);
const char *record_script_versions(enum script_language language);
/* "PHP", and "php" as it is in the names of its files. */
const char *record_script_name(enum script_language language);
const char *record_script_word(enum script_language language);

struct script_names;
int record_script_names_open(struct script_names **out);
void record_script_names_close(struct script_names *names);
int record_script_names_add(struct script_names *names, const struct script_function *function);
void record_script_names_find(const struct script_names *names, const struct name_owner *owner,
			      enum managed_language language, const uint64_t words[2],
			      struct report_frame *out);

#endif
