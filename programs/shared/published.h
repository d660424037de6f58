/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels that a program publishes of what it does (programs/shared/published.c): those of
 * goroutines, which Go's runtime/pprof sets. What both sides share.
 *
 *	thread pointer -> g -> m -> the goroutine that m runs -> its labels
 *
 * They are part of what tells one stack from another: a stack has the hash of their texts, which go
 * through the ring when they are first seen. Where members lie differs by version of Go, and is
 * data that user space publishes (record/published.c). What is read is never believed.
 */
#ifndef PROGRAMS_SHARED_PUBLISHED_H
#define PROGRAMS_SHARED_PUBLISHED_H

#include <stdint.h>

#include <rawprof/asm.h>

enum published_kind {
	PUBLISHED_NONE,
	PUBLISHED_GO,	  /* from Go 1.24 on: a slice of pairs of strings */
	PUBLISHED_GO_MAP, /* before: a map, of which the first bucket is read, eight labels */
};

/* What is known of a process; lies in struct unwind_proc. Offsets in bytes. */
struct published_process {
	uint16_t kind;
	uint16_t curg;	 /* of a struct m: the goroutine that it runs */
	uint16_t labels; /* of a struct g, */
	uint16_t goid;	 /*   and its number; 0: that is not asked for */
	int64_t tls;	 /* from the thread pointer: the struct g of what the thread runs */
};

#define PUBLISHED_LABELS 8
struct published_label {
	uint32_t key_bytes, text_bytes; /* cut; no key: there is none */
	char key[56], text[128];	/* what is not used is 0 */
};
struct published_labels {
	uint64_t tag;  /* PUBLISHED_TAG, where a stack has its hash */
	uint64_t hash; /* of all that follows busy */
	uint32_t busy; /* in the kernel */
	uint32_t unused;
	uint64_t goid; /* 0: not asked for */
	uint64_t n;
	struct published_label label[PUBLISHED_LABELS];
};
#define PUBLISHED_TAG 0x6c6562616c2d6f67ull

#define PUBLISHED_SEEN 4096 /* sets of labels that need not go through the ring again */
#define PUBLISHED_MAP                                                                              \
	{                                                                                          \
		"published", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct published_labels), 1      \
	}
#define PUBLISHED_MAP_SEEN                                                                         \
	{                                                                                          \
		"published_seen", BPF_MAP_TYPE_LRU_HASH, 8, 4, PUBLISHED_SEEN                      \
	}

/*
 * published(R1 = a struct stack_scratch whose record knows its process, R2 = the task, with
 * of_task): R0 = the hash of its labels, 0: it has none. To be INCLUDEd WHEN published.
 */
extern const struct asm_part rp_published_part;

#endif
