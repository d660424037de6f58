/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library that looks like Ruby 3.1's and lies: its frames are more than there can be, lead
 * nowhere, have names of enormous length, or are random. It is to be preloaded into a program, and
 * burns CPU time in burn() before that begins:
 *
 *	FAKERUBY='many|nowhere|huge|random SECONDS'
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "work.h"

/* As record/script_layouts.c has them for 3.1; flags as programs/shared/script_ruby.c. */
struct frame {
	uint64_t pc, sp, iseq, self, ep, rest[3];
};
struct context {
	struct frame *stack;
	uint64_t words;
	struct frame *frame;
};
enum {
	METHOD_FRAME = 0x11110001,
	FINISH = 0x20,
	STRING_OUTSIDE = 5 | 1 << 13,
	FRAMES = 1 << 16,
	CODE = 8,
	SIZE = 4,
	PATH = 64,
	LABEL = 80,
	LINES = 120,
	LINES_COUNT = 136,
	LINES_INDEX = 144
};

const char ruby_version[] = "3.1.2";
__thread void *ruby_current_ec;

static struct frame frames[FRAMES];
static struct context context = { frames, FRAMES * sizeof(frames[0]) / 8, frames };
static uint64_t string[5], body[20], code[2], iseq[3], environment[3];

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

void rb_vm_exec(double seconds);
NOINLINE void rb_vm_exec(double seconds)
{
	burn(seconds);
	burn(0); /* else the first call were a jump */
}

static void put(size_t at, uint64_t value)
{
	memcpy((char *)body + at, &value, sizeof(value));
}

static void randomize(void *out, size_t bytes, uint64_t *state)
{
	uint64_t *word = out;

	for (size_t i = 0; i < bytes / 8; i++)
		word[i] = next_random(state);
}

static void lie(const char *how)
{
	uint64_t state = 88172645463325252;

	string[0] = STRING_OUTSIDE;
	string[2] = strcmp(how, "huge") ? 3 : INT64_MAX / 2;
	string[3] = (uintptr_t)ruby_version;
	put(CODE, (uintptr_t)code);
	put(PATH, (uintptr_t)string);
	put(LABEL, (uintptr_t)string);
	put(SIZE, strcmp(how, "huge") ? 2 : UINT32_MAX);
	put(LINES_COUNT, strcmp(how, "huge") ? 1 : UINT32_MAX);
	put(LINES, (uintptr_t)code);
	put(LINES_INDEX, (uintptr_t)frames);
	iseq[2] = (uintptr_t)body;
	environment[2] = METHOD_FRAME;
	for (int i = 0; i < FRAMES; i++)
		frames[i] = (struct frame){ .pc = (uintptr_t)&code[1],
					    .iseq = (uintptr_t)iseq,
					    .ep = (uintptr_t)&environment[2] };
	if (!strcmp(how, "huge"))
		frames[0].pc = (uintptr_t)code + ((uint64_t)1 << 30);
	if (!strcmp(how, "nowhere"))
		frames[3].ep = 0x123456789abc;
	if (!strcmp(how, "random")) {
		randomize(string, sizeof(string), &state);
		randomize(body, sizeof(body), &state);
		for (int i = 0; i < FRAMES; i += 3)
			frames[i].iseq = (uintptr_t)frames;
	}
	ruby_current_ec = &context;
}

__attribute__((constructor)) static void begin(void)
{
	const char *how = getenv("FAKERUBY");
	char word[16];
	double seconds;

	if (!how || sscanf(how, "%15s %lf", word, &seconds) != 2)
		return;
	lie(word);
	rb_vm_exec(seconds);
}
