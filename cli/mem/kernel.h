/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parts of `rawprof mem -k` share.
 *
 *	kernel.c		records: programs, maps, what is outstanding, the ledger
 *	kernel_place.c	what the frames of a stack say: an interrupt, the slab allocator's pages
 *	kernel_view.c	by process, by size, by age
 */
#ifndef CLI_MEM_KERNEL_H
#define CLI_MEM_KERNEL_H

#include "base/hash.h"
#include "programs/mem/kernel.h"

#include "mem.h"
#include "cli/run.h"

/* ---- places: what functions tell of a stack, by their addresses */

/* What a return address of the kernel lies in. */
enum place {
	PLACE_UNKNOWN,
	PLACE_ELSEWHERE,
	PLACE_INTERRUPT, /* an interrupt has begun here: what is above it was interrupted */
	PLACE_SLAB,	 /* the slab allocator, that asks for pages to make objects of */
};

/* Addresses that have been looked at. */
struct place_slot {
	uint64_t addr;
	enum place place;
};
struct places {
	struct recording *rec;
	struct hash_map slots; /* of struct place_slot */
};
void places_free(struct places *places);

struct stack_place {
	bool slab;	    /* these pages hold what is counted as objects */
	uint32_t frames;    /* of the kernel, without rawprof's */
	uint32_t interrupt; /*   of which so many are an interrupt's; 0: it was none */
};
/* -ENOMEM. */
int places_of(struct places *places, const struct stack_record *record, struct stack_place *out);

/* ---- recording */

/* What becomes of an allocation whose stack came back. */
enum mem_kernel_fate { KERNEL_KEPT, KERNEL_SLAB_PAGES, KERNEL_IN_INTERRUPT, KERNEL_FATES };

struct mem_kernel {
	const struct mem_options *mem;
	struct asm_map maps[MEM_KERNEL_MAPS];
	struct record_profiler profiler;
	struct places places;
	struct mem_kernel_stats stats;
	uint64_t missed; /* events at which the kernel did not run the program */

	uint64_t fate[KERNEL_FATES]; /* of allocations whose stacks came back */

	struct mem_kernel_cache {
		uint64_t tag;
		char name[MEM_KERNEL_NAME];
	} * caches;
	size_t ncaches, caches_capacity;
	char label[32]; /* room for a name that is made up */
};

enum mem_kernel_fate mem_kernel_fate(const struct recording *rec, const struct stack *stack,
				     const struct stack_place *place);
/* The name of what was allocated: "filp", "kmalloc-512", "pages". Good until the next call. */
const char *mem_kernel_name(struct mem_kernel *mk, uint64_t tag);

/* Views: the whole output, as record_report(). */
int mem_kernel_empty_grid(struct recording *rec, struct report_grid **out);
int mem_kernel_processes(struct recording *rec);
int mem_kernel_sizes(struct recording *rec);
int mem_kernel_ages(struct recording *rec);

#endif
