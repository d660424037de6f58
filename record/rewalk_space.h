/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process had mapped at a time, for walks on this side: tables by address, and its code. */
#ifndef RECORD_REWALK_SPACE_H
#define RECORD_REWALK_SPACE_H

#include <stdbool.h>

#include <rawprof/unwind.h>

struct recording;
struct rewalk_space;

/* @with_computed: with rules that were computed, too. 0 or -ENOMEM. */
int record_rewalk_space_open(struct rewalk_space **out, struct recording *rec, bool with_computed);
void record_rewalk_space_close(struct rewalk_space *s);
/* From now on it is about what @pid had mapped at @time. */
void record_rewalk_space_of(struct rewalk_space *s, uint32_t pid, uint64_t time);
/* Of struct unwind_space, with the space for its ctx. */
const struct unwind_space_mapping *record_rewalk_space_find(void *space, uint64_t addr);
/* Code of a file. 0 or -ENOENT. */
int record_rewalk_space_read(struct rewalk_space *s, uint64_t addr, void *buf, size_t size);

#endif
