/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.h: how an exercise is judged. "Make this load" is loaded and run on inputs of the judge;
 * of "what will it say?" the kernel, the assembler or the lint is asked.
 */
#ifndef EXAMPLES_QUIZ_JUDGE_H
#define EXAMPLES_QUIZ_JUDGE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "examples/quiz/quiz.h"

enum verdict { RIGHT,
	       WRONG,
	       SKIPPED };

#define EXAM_MAPS 4
struct exam {
	const struct quiz_exercise *quiz;
	struct asm_bindings bind;
	int fds[EXAM_MAPS]; /* of the exercise's maps, made anew for each exam */
	int prog;	    /* loaded by exam_load(); -1 before */
	char why[400];	    /* of a verdict other than RIGHT */
};

struct judged {
	const char *name;      /* the exercise's file, without ".c" */
	const char *lesson;    /* that it belongs to */
	const char *explain;   /* what to give to `rawprof explain` to see the point */
	const char *needs_btf; /* a function that the kernel's BTF must have, or NULL */
	enum verdict (*judge)(struct exam *exam);
};
extern const struct judged load_exercises[], say_exercises[]; /* ended by one without name */

/* Sets exam->why, and returns the verdict. */
enum verdict exam_say(struct exam *exam, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
#define exam_wrong(exam, ...) exam_say(exam, WRONG, __VA_ARGS__)

/* Loads the program, once; false: it was refused, which has been printed and set as why. */
bool exam_load(struct exam *exam);

/* Is the exercise's first map still of this shape (bytes)? false: no, which is set as why. */
bool exam_map_is(struct exam *exam, uint32_t type, uint32_t key_size, uint32_t value_size);

/* Runs a raw tracepoint program on these arguments. false: it could not be run. */
bool exam_run(struct exam *exam, uint64_t first, uint64_t second, uint32_t *result);
/* Runs a socket filter on a packet of so many bytes, all of them 0. */
bool exam_run_packet(struct exam *exam, uint32_t bytes, uint32_t *result);
/* Runs it on the arguments, and compares what it returns. */
enum verdict exam_expect(struct exam *exam, uint64_t first, uint64_t second, uint32_t expected);

#endif
