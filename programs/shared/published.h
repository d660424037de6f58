/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels that a program publishes of what it does. What both sides share.
 *
 *	programs/shared/published.c		those of goroutines, which Go's runtime/pprof sets
 *		thread pointer -> g -> m -> the goroutine that m runs -> its labels
 *	programs/shared/published_context.c	the thread context of OpenTelemetry (OTEP 4947)
 *		thread pointer (-> block of the library's thread-locals) -> record
 *
 * They are part of what tells one stack from another: a stack has the hash of their texts, which go
 * through the ring when they are first seen. Where members lie differs by version of Go, and is
 * data that user space publishes (record/published.c). What is read is never believed.
 */
#ifndef PROGRAMS_SHARED_PUBLISHED_H
#define PROGRAMS_SHARED_PUBLISHED_H

#include <stddef.h>
#include <stdint.h>

#include <rawprof/asm.h>

enum published_kind {
	PUBLISHED_NONE,
	PUBLISHED_GO,	  /* from Go 1.24 on: a slice of pairs of strings */
	PUBLISHED_GO_MAP, /* before: a map, of which the first bucket is read, eight labels */
	PUBLISHED_CONTEXT,
};

/* What is known of a process; lies in struct unwind_proc. Offsets in bytes. */
struct published_process {
	uint16_t kind;
	union {
		struct {
			uint16_t curg;	 /* of a struct m: the goroutine that it runs */
			uint16_t labels; /* of a struct g, */
			uint16_t goid;	 /*   and its number; 0: that is not asked for */
		};
		struct { /* of PUBLISHED_CONTEXT */
			/* In the table of blocks (DTV): the library's; 0: tls is in none */
			uint16_t block;
			uint16_t ids;	 /* trace and span are asked for, too */
			uint16_t blocks; /* where that table is, from 8 before the thread pointer */
		};
	};
	/* From the thread pointer, or in the block, to what the thread runs: struct g, record */
	int64_t tls;
};

#define PUBLISHED_LABELS 8
struct published_label {
	uint32_t key_bytes, text_bytes; /* cut; no key: there is none */
	char key[56], text[128];	/* what is not used is 0 */
};
struct published_labels {
	uint64_t tag;  /* PUBLISHED_TAG, where a stack has its hash */
	uint64_t hash; /* of all that follows unused */
	uint32_t busy; /* in the kernel */
	uint32_t unused;
	uint64_t pid, start_time; /* of the process, as struct stack_record has it */
	uint64_t goid;		  /* 0: not asked for */
	uint64_t n;
	struct published_label label[PUBLISHED_LABELS];
};
#define PUBLISHED_TAG 0x6c6562616c2d6f67ull

/* The record of a thread, as its program has it; the attributes follow. */
struct published_head {
	uint8_t trace[16], span[8];
	uint8_t valid; /* 1 */
	uint8_t flags;
	uint16_t bytes; /* of attributes: each a number of a key, a length, a text */
};
#define PUBLISHED_RECORD_BYTES 640 /* of the proposal; what says that it is larger is not read */
/* As it comes through the ring; lies in the element of the same map as labels. */
struct published_context {
	uint64_t tag;  /* PUBLISHED_CONTEXT_TAG, where a stack has its hash */
	uint64_t hash; /* of all that follows unused */
	uint32_t busy; /* as in struct published_labels */
	uint32_t unused;
	uint64_t process;	      /* whose keys these are: */
	uint64_t start_time, exec_id; /*   as struct stack_record has them */
	uint64_t bytes;		      /* of the record; what is behind them is nobody's */
	union {
		struct published_head head; /* trace and span are 0 if they are not asked for */
		uint8_t record[PUBLISHED_RECORD_BYTES + 32];
	};
};
#define PUBLISHED_CONTEXT_TAG 0x7865746e6f636c74ull
_Static_assert(sizeof(struct published_head) == 28, "without holes");
_Static_assert(sizeof(struct published_context) <= sizeof(struct published_labels) &&
		       offsetof(struct published_context, busy) ==
			       offsetof(struct published_labels, busy),
	       "they share an element");

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
/* published_context: the same, of who has PUBLISHED_CONTEXT, for published to call; WHEN context */
extern const struct asm_part rp_published_context_part;

#endif
