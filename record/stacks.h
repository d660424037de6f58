/* SPDX-License-Identifier: BSD-2-Clause */
/* The user side of programs/shared/stack.h: the maps of a recording, the stacks that came back. */
#ifndef RECORD_STACKS_H
#define RECORD_STACKS_H

#include "times.h"

/* The maps of one recording, and the stacks that came back. */
struct stacks;

/* For every record as it is drained; it is gone after the return. 0 or a negative errno. */
typedef int (*stack_record_fn)(void *ctx, const struct stack_record *record);
/* A struct python_code, of which so many bytes came. */
typedef int (*stack_python_fn)(void *ctx, const void *data, size_t size);
typedef int (*stack_script_fn)(void *ctx, const struct script_function *function);

typedef int (*stack_published_fn)(void *ctx, const void *published);

typedef int (*stack_call_fn)(void *ctx, const struct during_slow *call);
/* A struct stack_copy, of which so many bytes came. */
typedef int (*stack_copy_fn)(void *ctx, const void *data, size_t size);

struct record_whose;
struct stacks_options {
	const struct asm_map *maps; /* STACK_MAP_LIST and what the profiler adds */
	size_t nmaps;
	const struct program_config *config;
	uint32_t nids;		    /* room in the maps pids and tids; 0: one each, no filter */
	uint32_t ring_bytes;	    /* a power of two, at least a page */
	struct record_whose *whose; /* of whom those are that have a share; NULL: nobody is asked */
	uint32_t most_frames;	    /* of a user stack, with config->deep_bytes */
	/*
	 * The number of a map that is made for record_stacks_thread_map(), of so many threads; then
	 * counts has room for four stacks of each. 0: no such map.
	 */
	unsigned int thread_map;
	uint32_t threads;
	stack_moment_fn on_moment;	 /* with config->stream */
	stack_python_fn on_python;	 /* with config->managed_bytes */
	stack_script_fn on_script;	 /* with config->scripts */
	stack_published_fn on_published; /* with config->published */
	stack_call_fn on_call;		 /* with config->during */
	/* With config->copies: what stacks hold, and the records with STACK_COPIED, which only
	 * record_stacks_take() adds. */
	stack_copy_fn on_copy;
	stack_record_fn on_copied;
};

/* A distinct stack and what it weighs; record->hash tells it from all others. */
struct stack {
	const struct stack_record *record;
	uint64_t value[STACK_VALUES];
};

/*
 * A map with threads as keys gets a place for each that there may be, up to 1,048,576, so that
 * nobody's are all that there are; its memory is taken as they come. Before Linux 6.6, which cannot
 * do that in programs like these, it gets places for twice as many as there are, or keeps its own.
 */
void record_stacks_thread_map(struct asm_map *map, uint32_t threads);
/* The map has so many places, up to 1,048,576, or those that it has. */
void record_stacks_at_least(struct asm_map *map, uint64_t entries);

/* Makes the maps. 0 or what the loader said. */
int record_stacks_open(const struct stacks_options *opt, stack_record_fn on_record, void *ctx,
		       struct stacks **out);
void record_stacks_close(struct stacks *s);

/*
 * Loads a program with these maps. config begins with a struct program_config, of which ring_mark
 * is filled in; NULL: the program has none. Returns a descriptor, the caller's, or what the loader
 * said.
 */
int record_stacks_load(struct stacks *s, const struct asm_program *program, const void *config);
int record_stacks_map(const struct stacks *s, int map); /* its descriptor */
/* The only value of the profiler's map "gate": what its programs wait for; 0 closes it. */
int record_stacks_gate(const struct stacks *s, int map, uint64_t value);
/* The maps as they were made: sizes may differ from the profiler's. */
const struct asm_map *record_stacks_maps(const struct stacks *s);
/* All entries of a map, as rp_map_each(). 0, or the negative number that ended it. */
int record_stacks_each(const struct stacks *s, int map, rp_map_fn fn, void *ctx);
int record_stacks_add_id(struct stacks *s, int map,
			 uint32_t id); /* STACK_MAP_PIDS or STACK_MAP_TIDS */

/* Takes what is in the ring. -ENOMEM, -EBADMSG (it is no record), or what on_record returned. */
int record_stacks_drain(struct stacks *s);
/* Adds a record that did not come by itself, and its weight. 0 or -ENOMEM. */
int record_stacks_take(struct stacks *s, const struct stack_record *record);
/* Takes what the map times had at the last call: every RECORD_TIMES_NS with config->times_mask. */
int record_stacks_read_times(struct stacks *s);
/* Of how many samples the times are lost, for nobody read them in time. */
uint64_t record_stacks_lost_times(const struct stacks *s);
/* After the programs were detached: the rest of the ring, and the counts of the kernel. Once. */
int record_stacks_finish(struct stacks *s);
/* Distinct stacks, in no order; NULL begins and ends. Not with config->each, which keeps none. */
const struct stack *record_stacks_next(const struct stacks *s, const struct stack *after);
/* Number @i of them in the order they came; NULL: there are no more. */
const struct stack *record_stacks_at(const struct stacks *s, size_t i);
/* By hash; NULL: there is none. */
const struct stack *record_stacks_find(const struct stacks *s, uint64_t hash);
/* Which of them that is, as record_stacks_at() counts; SIZE_MAX: there is none. */
size_t record_stacks_number(const struct stacks *s, uint64_t hash);
/*
 * What each weighs by now, while programs still count, in the order of record_stacks_at(); what
 * came since the last drain may lack. To be freed. 0 or a negative errno.
 */
struct stack_total {
	uint64_t value[STACK_VALUES];
};
int record_stacks_totals(const struct stacks *s, struct stack_total **out);
/* All weigh nothing. */
void record_stacks_weigh_anew(struct stacks *s);
/* Adds to its weights what the map counts does not know. -ENOENT: there is no such stack. */
int record_stacks_add(struct stacks *s, uint64_t hash, const uint64_t value[STACK_VALUES]);
size_t record_stacks_count(const struct stacks *s);
/* Frees the stacks: what is made of them needs the memory. The maps stay. */
void record_stacks_forget(struct stacks *s);
/* But for this stack, once: something in the maps is about it. It weighs nothing then. */
void record_stacks_hold(struct stacks *s, uint64_t hash);
/*
 * While nothing fires: in the kernel all stacks and counters are 0 again, as at the beginning. On
 * this side both stay what they were, until record_stacks_forget(). 0 or a negative errno.
 */
int record_stacks_restart(struct stacks *s);
/* A map of the profiler's own has no entries any more; those of an array are 0. */
int record_stacks_clear(struct stacks *s, int map);
/* The counters; size bytes of the profiler's own struct, which begins with struct program_stats. */
int record_stacks_stats(const struct stacks *s, void *out);

#endif
