/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of programs/shared/v8.h: which processes have V8 and how it is laid out (v8.c,
 * v8_file.c, v8_layouts.c), and the names of what ran (v8_names.c).
 *
 * The objects that name a function are read from the process's memory when a record with it comes:
 * the program wakes us for it. A process that has ended keeps the names that it has by then.
 */
#ifndef RECORD_V8_H
#define RECORD_V8_H

#include <stdbool.h>
#include <sys/types.h>

#include <rawprof/report.h>
#include "programs/shared/v8.h"
#include "symbolize/v8.h"

struct record_v8;
struct name_owner;
struct name_share;
struct stack_record;
struct mapped_file;

/* share stays the caller's. -ENOMEM. */
int record_v8_open(struct record_v8 **out, struct name_share *share);
void record_v8_close(struct record_v8 *p);

/*
 * Code of a process is mapped: if that is a V8 that is known, *out says so. The file is opened the
 * first time.
 */
void record_v8_mapped(struct record_v8 *p, uint32_t pid, const struct mapped_file *file,
		      struct v8_process *out);

/* Was one found in the process? @p may be NULL. */
bool record_v8_has(const struct record_v8 *p, uint32_t pid);
/* May a file of that name have it? */
bool record_v8_is_named(const char *path);
/* The process has ended, or has executed something else. @p may be NULL. */
void record_v8_ended(struct record_v8 *p, uint32_t pid);

/* A record came: what is new in it is named. 0 or -ENOMEM. */
int record_v8_saw(struct record_v8 *p, const struct stack_record *record);

/*
 * The words that stand for the code that a CPU was in, where V8 has made it and the program has
 * found no frame of it. False: it is not known, or is other code.
 */
bool record_v8_innermost(const struct record_v8 *p, const struct name_owner *owner, uint64_t pc,
			 uint64_t words[2]);

/*
 * The frames of two words of a record, innermost first, at most @max; returns how many, at least
 * one. Their texts live until they are forgotten.
 */
size_t record_v8_frames(const struct record_v8 *p, const struct name_owner *owner,
			const uint64_t words[2], struct report_frame *out, size_t max);

/* After record_name_share_settle(): those of processes that are gone. */
void record_v8_forget(struct record_v8 *p);

/* ---- between the files */

/* Takes fd; path is for what it has to say. False: there is none that is known. */
bool record_v8_read_file(int fd, const char *path, struct sym_v8_layout *out);

/* By version, all but its bytecodes. False: it is not known. */
bool record_v8_layout(unsigned int version, struct sym_v8_layout *out);

struct v8_names;
int record_v8_names_open(struct v8_names **out, struct name_share *share);
void record_v8_names_close(struct v8_names *names);
void record_v8_names_forget(struct v8_names *names);
/* Of another stack, or later: what was read before for names is read anew. */
void record_v8_names_begin(struct v8_names *names);
/* Reads the memory of process @pid, if that is not known yet. 0 or -ENOMEM. */
int record_v8_names_add(struct v8_names *names, const struct sym_v8_layout *l,
			const struct sym_v8_memory *m, const struct name_owner *owner,
			const uint64_t words[2]);
int record_v8_names_add_innermost(struct v8_names *names, const struct sym_v8_layout *l,
				  const struct sym_v8_memory *m, const struct name_owner *owner,
				  uint64_t pc);
bool record_v8_names_innermost(const struct v8_names *names, const struct name_owner *owner,
			       uint64_t pc, uint64_t words[2]);
size_t record_v8_names_find(const struct v8_names *names, const struct name_owner *owner,
			    const uint64_t words[2], struct report_frame *out, size_t max);

#endif
