/* SPDX-License-Identifier: BSD-2-Clause */
/* What was mapped at an address at a time, in one address space. */
#ifndef SYMBOLIZE_SPACE_H
#define SYMBOLIZE_SPACE_H

#include <stddef.h>
#include <stdint.h>

struct sym_mapping {
	uint64_t time; /* from when on it held */
	uint64_t start, end;
	uint64_t offset;   /* of start, in the file */
	uint32_t file;	   /* the owner's number for it */
	uint32_t pid : 31; /* of the process that made it */
	uint32_t used : 1; /* something will be asked that it is the answer to */
};

/*
 * Mappings in order of time; a later one hides what it covers of the earlier ones, for ever. They
 * are numbers of the history's events, which may move but keep their numbers.
 *
 * [0, indexed) are in a segment tree over the addresses at which mappings begin or end: node i
 * covers the leaves below it and lists, in order, the mappings that cover all of it but not all of
 * its parent. An address is then covered by what is listed from its leaf up to the root.
 */
struct sym_space {
	uint32_t *maps;
	size_t capacity;
	uint32_t count;
	uint32_t indexed;
	uint64_t *edges; /* sorted, edge_count; leaf i is [edges[i], edges[i + 1]) */
	uint32_t edge_count;
	uint32_t *first; /* of node i in listed; 2 * edge_count + 1 of them */
	uint32_t *listed;
};

int sym_space_add(struct sym_space *s, uint32_t map);
void sym_space_clear(struct sym_space *s);

/* The latest mapping, in @all, of @addr that held at @time. -ENOENT, -ENOMEM. */
int sym_space_find(struct sym_space *s, const struct sym_mapping *all, uint64_t time, uint64_t addr,
		   uint32_t *map);

#endif
