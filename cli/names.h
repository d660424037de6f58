/* SPDX-License-Identifier: BSD-2-Clause */
/* From addresses, as a program records them, to frames of a report. */
#ifndef CLI_NAMES_H
#define CLI_NAMES_H

#include <stdbool.h>

#include <rawprof/report.h>

#include "session.h"

/* Whose addresses they are: the same pid may have been another program before. time: CLOCK_MONOTONIC, ns. */
struct name_owner {
	uint32_t pid;
	uint64_t time;
	uint64_t generation; /* differs where the program does */
};

struct names;

int names_open(struct names **out, struct session *s, struct report *report);
void names_close(struct names *names);

/*
 * Frames, or ids of frames in a report, leaf first. An address gives one; with --inline one more for each function
 * that was inlined there, innermost first, before the one that contains it. Zeroed: none. Freed by free().
 */
struct name_frames {
	struct report_frame *frame; /* strings live as long as the session */
	size_t n, room;
};

struct name_ids {
	uint32_t *id;
	size_t n, room;
};

/*
 * Adds the frames of n addresses. owner NULL: kernel addresses. innermost: the first one is where the CPU was, the
 * others are return addresses. -ENOMEM.
 */
int names_stack(struct session *s, const struct name_owner *owner, const uint64_t *addrs, size_t n,
		bool innermost, struct name_frames *out);

/* The same as ids in the report. Each address is looked up once. -ENOMEM. */
int names_intern(struct names *names, const struct name_owner *owner, const uint64_t *addrs,
		 size_t n, bool innermost, struct name_ids *out);

/*
 * An address as a walk of a user stack wrote it: false if it is no return address although it is not the innermost,
 * because a signal interrupted the program there; *addr loses the mark that says so.
 */
bool names_take_mark(const struct name_owner *owner, uint64_t *addr);

#endif
