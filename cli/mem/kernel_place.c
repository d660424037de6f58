/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the frames of a stack say of an allocation.
 *
 * In an interrupt, the current task has nothing to do with what happens. And the slab allocator
 * takes pages to make objects of, which count when they are given out: the pages do not.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "record/interrupt.h"
#include "record/own_frames.h"

/* ---- names */

/* The name, and perhaps what the compiler has made of it: "allocate_slab.isra.0". */
static bool is(const char *name, const char *function)
{
	size_t n = strlen(function);

	return !strncmp(name, function, n) && (!name[n] || name[n] == '.');
}

/*
 * Deferred work, run by its thread or at the end of an interrupt, is not the current task's either.
 */
static bool is_interrupt(const char *name)
{
	return record_interrupt_begins(name) || is(name, "handle_softirqs") ||
	       is(name, "__do_softirq");
}

/* mm/slub.c: where pages are asked for objects of a cache, and for kmalloc's large blocks. */
static bool is_slab(const char *name)
{
	static const char *const functions[] = { "allocate_slab",
						 "new_slab",
						 "alloc_slab_page",
						 "___kmalloc_large_node",
						 "__kmalloc_large_node",
						 "kmalloc_large",
						 "kmalloc_large_node",
						 "__kmalloc_large_noprof",
						 "kmalloc_order",
						 "kmalloc_large_noprof",
						 "__kmalloc_large_node_noprof",
						 "cache_grow_begin",
						 "kmem_getpages" };

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (is(name, functions[i]))
			return true;
	return false;
}

static enum place place_of(struct recording *rec, uint64_t addr)
{
	struct sym_frame f;

	sym_kernel_lookup(rec->kernel, addr, true, &f);
	if (!f.name)
		return PLACE_ELSEWHERE;
	return is_interrupt(f.name) ? PLACE_INTERRUPT
	       : is_slab(f.name)    ? PLACE_SLAB
				    : PLACE_ELSEWHERE;
}

/* ---- remembered */

static int look_up(struct places *p, uint64_t addr, enum place *out)
{
	struct place_slot *slot;

	*out = PLACE_ELSEWHERE;
	if (!addr)
		return 0;
	p->slots.key_size = sizeof(addr);
	p->slots.size = sizeof(*slot);
	slot = rp_hash_find(&p->slots, &addr);
	if (!slot) {
		slot = rp_hash_add(&p->slots, &addr);
		if (!slot)
			return -ENOMEM;
		slot->place = place_of(p->rec, addr);
	}
	*out = slot->place;
	return 0;
}

void places_free(struct places *places)
{
	rp_hash_free(&places->slots);
}

int places_of(struct places *places, const struct stack_record *r, struct stack_place *out)
{
	uint32_t n = r->kernel_bytes / 8;
	size_t own = record_own_frames(places->rec, r->frames, n);
	int err = 0;

	*out = (struct stack_place){ .frames = n - (uint32_t)own };
	for (uint32_t i = (uint32_t)own; !err && i < n; i++) {
		enum place place;

		err = look_up(places, r->frames[i], &place);
		if (place == PLACE_SLAB && !out->interrupt)
			out->slab = true;
		if (place == PLACE_INTERRUPT) /* interrupts interrupt each other: the outermost */
			out->interrupt = i + 1 - (uint32_t)own;
	}
	return err;
}
