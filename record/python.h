/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of programs/shared/python.h: which processes have an interpreter and how it is laid
 * out (python.c, python_file.c, python_layouts.c), and the names of what ran (python_names.c).
 */
#ifndef RECORD_PYTHON_H
#define RECORD_PYTHON_H

#include <stdbool.h>
#include <sys/types.h>

#include <rawprof/report.h>
#include "programs/shared/python.h"

struct record_python;
struct name_owner;
struct name_share;
struct mapped_file;

/* layouts: the descriptor of that map, which stays the caller's, as share does. -ENOMEM. */
int record_python_open(struct record_python **out, int layouts, struct name_share *share);
void record_python_close(struct record_python *p);

/*
 * Code of a process is mapped, @bias above its addresses in the file: if that is an interpreter
 * that is known, *out says so. The file is opened the first time.
 */
void record_python_mapped(struct record_python *p, const struct mapped_file *file, uint64_t bias,
			  struct python_process *out);

/* What came through the ring. 0, -ENOMEM, -EBADMSG. */
int record_python_code(struct record_python *p, const void *data, size_t size);

/* The frame of two words of a record; its texts live as long as p. */
void record_python_frame(const struct record_python *p, const struct name_owner *owner,
			 const uint64_t words[2], struct report_frame *out);

/* ---- between the files */

/* An interpreter in a file. layout.version 0: there is none that is known. */
struct python_file {
	struct python_layout layout;
	uint64_t runtime, code_type, eval, eval_bytes; /* addresses in the file */
};
/* Takes fd; path is for what it has to say. */
void record_python_read_file(int fd, const char *path, struct python_file *out);

/* By version; NULL: not known. */
const struct python_layout *record_python_layout(unsigned int version);

int record_python_names_add(struct name_share *names, const struct python_code *code);
void record_python_names_find(struct name_share *names, const struct name_owner *owner,
			      const uint64_t words[2], struct report_frame *out);

#endif
