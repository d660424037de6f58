/* SPDX-License-Identifier: BSD-2-Clause */
/* From addresses, as a program records them, to frames of a report. */
#ifndef RECORD_NAMES_H
#define RECORD_NAMES_H

#include <stdbool.h>

#include <rawprof/report.h>

/* Files that were looked at: of a machine that makes new ones all the time they are many. */
#define LANGUAGE_MAX_FILES 16384

struct recording;

/* The process of addresses; its pid may have been another's before. time: CLOCK_MONOTONIC, ns. */
struct name_owner {
	uint32_t pid;
	uint64_t time;
	uint64_t generation; /* differs where the program does */
};

struct names;

int record_names_open(struct names **out, struct recording *rec, struct report *report);
void record_names_close(struct names *names);
/* False: this process's user may have no more frames, which is said: stacks that are all different
 * take much more memory in a report than in the ring. To be asked before each stack. */
bool record_names_have_room(struct names *names, uint32_t pid);

/*
 * Frames, or ids of frames in a report, leaf first. An address gives one; with --inline one more
 * for each function that was inlined there, innermost first, before the one that contains it.
 * Zeroed: none. Freed by free().
 */
struct name_frames {
	struct report_frame *frame; /* strings live as long as the session */
	size_t n, capacity;
};

struct name_ids {
	uint32_t *id;
	size_t n, capacity;
};

/* What the first address of a stack is; the others are return addresses. */
enum names_first {
	NAMES_RETURN, /* one too */
	NAMES_AT,     /* where the CPU was */
	/*
	 * Where the process entered the kernel by a system call, the instruction behind it. If that
	 * call was the last one of its function, the address is the next function's, which has
	 * nothing to do with it.
	 */
	NAMES_SYSCALL,
};

/* NAMES_SYSCALL if the kernel's frames, leaf first, end in a system call's entry, else NAMES_AT. */
enum names_first record_names_entered(struct recording *rec, const uint64_t *kernel, size_t n);

/* Adds the frames of n addresses. owner NULL: kernel addresses. -ENOMEM. */
int record_names_stack(struct recording *rec, const struct name_owner *owner, const uint64_t *addrs,
		       size_t n, enum names_first first, struct name_frames *out);

/* Adds the frames as ids in the report. Each address of a mapping is looked up once. -ENOMEM. */
int record_names_intern(struct names *names, const struct name_owner *owner, const uint64_t *addrs,
			size_t n, enum names_first first, struct name_ids *out);
/* Adds one, and a frame that is a mark. 0 or a negative errno. */
int record_names_push(struct name_ids *ids, uint32_t id);
int record_names_mark(struct report *report, const char *name, struct name_ids *ids);

/*
 * The same of all that a record has of its user: native frames and those of managed languages, each
 * where it ran (programs/shared/managed.h).
 */
struct stack_record;
int record_names_stack_user(struct recording *rec, const struct stack_record *r,
			    enum names_first first, struct name_frames *out);
int record_names_intern_user(struct names *names, const struct stack_record *r,
			     enum names_first first, struct name_ids *out);
/* Without the first @skip native frames: the one behind them is @first. */
int record_names_intern_callers(struct names *names, const struct stack_record *r, size_t skip,
				enum names_first first, struct name_ids *out);
/* Whether the functions of managed languages are all that is wanted of a record. */
bool record_managed_alone(const struct recording *rec, const struct stack_record *r);

/*
 * An address as a walk of a user stack wrote it: false if it is no return address although it is
 * not the innermost, because a signal interrupted the program there; *addr loses the mark that says
 * so.
 */
bool record_names_take_mark(const struct name_owner *owner, uint64_t *addr);

#endif
