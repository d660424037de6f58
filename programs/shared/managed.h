/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of managed languages in a record (struct stack_record): what an interpreter or a JIT knows
 * of a frame, and the native stack does not.
 *
 * They are words behind the native frames: two for each frame, leaf first, and one behind those
 * that one native frame has executed, which says which one it is. That native frame is shown by
 * them. Runs of one language follow each other in the order of their places.
 */
#ifndef PROGRAMS_SHARED_MANAGED_H
#define PROGRAMS_SHARED_MANAGED_H

#define MANAGED_WORD (1ull << 62) /* in all of them: no address has it */
#define MANAGED_PLACE                                                                              \
	(1ull << 61) /* in that one: | language << shift | number of the native frame */
#define MANAGED_LANGUAGE_SHIFT 56
/* The number is that of native frames there are: which one it was is not known. */
#define MANAGED_NUMBER_MASK ((1ull << MANAGED_LANGUAGE_SHIFT) - 1)

/* A run that is cut, without its place, is Python's. */
enum managed_language {
	MANAGED_PYTHON,
	MANAGED_JVM,
	MANAGED_JS,
	MANAGED_PHP, /* from here on in the order of enum script_language */
	MANAGED_RUBY,
	MANAGED_PERL,
	MANAGED_LANGUAGES
};

/* Of which functions the names were sent: buckets of four hashes. */
#define MANAGED_SEEN_SHIFT 12
#define MANAGED_SEEN_BYTES (4 * 8 << MANAGED_SEEN_SHIFT)
#define MANAGED_SEEN_LATELY 128 /* hashes that a scratch has at hand */
#define MANAGED_MAP_SEEN                                                                           \
	{                                                                                          \
		"managed_seen", BPF_MAP_TYPE_ARRAY, 4, MANAGED_SEEN_BYTES, 1, BPF_F_MMAPABLE       \
	}

#endif
