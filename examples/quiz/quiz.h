/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * quiz.h: what an exercise consists of. Each is a file of its own, which `examples/quiz/check`
 * compiles by itself and hands to the judge.
 */
#ifndef EXAMPLES_QUIZ_H
#define EXAMPLES_QUIZ_H

#include <rawprof/asm.h>

#define QUIZ_CHOICES 4

struct quiz_exercise {
	const struct asm_program *program;
	const struct asm_map *maps;
	size_t nmaps;
	/* Of "what will it say?" alone: what may come, and your answer: "a", "b", "c" or "d". */
	const char *choices[QUIZ_CHOICES];
	const char *answer;
};

extern const struct quiz_exercise quiz;

#endif
