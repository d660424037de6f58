/* SPDX-License-Identifier: BSD-2-Clause */
/* How a profile lies in memory; for the writers, which only read it. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <string.h>

#include <rawprof/report.h>

#include "meta.h"
#include "intern.h"

/* Where code was mapped from: a file (or kernel module) at an address range. */
struct mapping {
	uint32_t path, build_id; /* strings */
	uint64_t start, end, offset;
};
SET_ELEMENT(struct mapping, 2 * 4 + 3 * 8);

/* What a person calls a function: frames that agree in name, module path and kind. */
struct function {
	uint32_t name, path; /* strings */
	uint32_t kind;	     /* enum report_frame_kind */
};
SET_ELEMENT(struct function, 3 * 4);

struct frame {
	uint64_t address, symbol_offset, module_addr;
	uint32_t function, mapping;
	uint32_t file, line; /* file: a string */
	uint64_t is_return;  /* 0 or 1 */
};
SET_ELEMENT(struct frame, 4 * 8 + 4 * 4);

/*
 * Stacks are a trie, root first: node 0 is the root, every other node is a frame called by its
 * parent. Equal stacks are the same node. A parent has a smaller number than its children, so going
 * through the nodes upwards meets parents first, and downwards children first.
 */
struct node {
	uint32_t parent, frame;
};

/* Labels of a sample, sorted by the text of their keys; those from count on are zero. */
struct label {
	int64_t num;
	uint32_t key, str, unit; /* strings; str 0: a number */
	uint32_t zero;
};
struct label_set {
	uint64_t count;
	struct label labels[REPORT_MAX_LABELS];
};
SET_ELEMENT(struct label, 8 + 4 * 4);
SET_ELEMENT(struct label_set, 8 + REPORT_MAX_LABELS * sizeof(struct label));

struct sample {
	uint32_t node, comm, label_set;
	int32_t pid, tid;
};
SET_ELEMENT(struct sample, 5 * 4);

struct report {
	struct strings strings;
	struct {
		uint32_t type, unit; /* strings */
	} types[REPORT_MAX_VALUES];
	size_t ntypes;

	struct hash_map mappings, functions, frames, label_sets, samples;
	struct node *nodes;
	uint32_t nnodes, nodes_cap;
	struct hash_index node_index;  /* by parent and frame */
	struct hash_index stack_index; /* by all frames, of nodes that report_add() has reached */
	uint64_t *values;	       /* ntypes weights of each sample */
	uint32_t values_cap;

	struct report_stream {
		struct report_moment *moments; /* in the order of time, unless is_unsorted */
		size_t n, capacity;
		uint64_t missed;
		unsigned int value;
		bool present, is_unsorted;
	} * stream; /* never NULL: who reads a report may sort it */

	struct report_meta meta;
	bool without_pids; /* report_split() has summed up processes */
};

/* The node that is reached from `parent` by `frame`, made if it is not there yet. */
int report_node_add(struct report *r, uint32_t parent, uint32_t frame, uint32_t *node);
/* As report_add_id(), of a sample whose parts are the report's already. */
int report_sample_add(struct report *r, const struct sample *s, const uint64_t *values,
		      uint32_t *id);

static inline const char *text(const struct report *r, uint32_t id)
{
	return strings_get(&r->strings, id);
}

static inline const struct mapping *mapping_of(const struct report *r, uint32_t mapping)
{
	return (const struct mapping *)r->mappings.items + mapping;
}

static inline const struct function *function_of(const struct report *r, uint32_t function)
{
	return (const struct function *)r->functions.items + function;
}

static inline const struct frame *frame_of(const struct report *r, uint32_t frame)
{
	return (const struct frame *)r->frames.items + frame;
}

static inline const struct label_set *labels_of(const struct report *r, uint32_t label_set)
{
	return (const struct label_set *)r->label_sets.items + label_set;
}

/* The label with this key; NULL if the set has none, or key is NULL. */
static inline const struct label *label_by_key(const struct report *r, uint32_t label_set,
					       const char *key)
{
	const struct label_set *set = labels_of(r, label_set);

	for (uint64_t i = 0; key && i < set->count; i++)
		if (!strcmp(text(r, set->labels[i].key), key))
			return &set->labels[i];
	return NULL;
}

static inline const struct sample *sample_of(const struct report *r, uint32_t sample)
{
	return (const struct sample *)r->samples.items + sample;
}

static inline uint64_t value_of(const struct report *r, uint32_t sample, size_t type)
{
	return r->values[(uint64_t)sample * r->ntypes + type];
}

static inline uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
