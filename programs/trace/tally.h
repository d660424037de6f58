/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that are counted where they happen, not sent: how many by what, and histograms of a
 * number (programs/trace/tally.c).
 *
 *	trace_tally(R1 = a record, R2 = process << 32 | thread, R3 = number of the event)
 *		the record is a tracepoint's context or memory of the kernel
 */
#ifndef RAWPROF_TRACE_TALLY_H
#define RAWPROF_TRACE_TALLY_H

#include <rawprof/asm.h>

#define TRACE_KEY_NUMBERS 2
#define TRACE_KEY_TEXT 64 /* bytes of a text that count, with a NUL */

/* A number in a record. */
struct trace_number {
	uint32_t size; /* bytes; 0: there is none */
	uint32_t offset;
	uint32_t shift; /* of one that is signed: to its left and back; else 0 */
};

/* Part of the configuration: by what is counted, 0 or 1 unless said otherwise. */
struct trace_tally {
	uint32_t on;
	uint32_t hist; /* a histogram of value for each key */
	uint32_t most; /* places of the map tallies */
	uint32_t event, cpu, pid, tid, comm;
	struct trace_number number[TRACE_KEY_NUMBERS];
	struct trace_number value;
	uint32_t text;	     /* a text too, at */
	uint32_t text_at;    /*   this place, or the place that a word there says, */
	uint32_t text_word;  /*   if this is set, */
	uint32_t text_base;  /*   counted from here */
	uint32_t text_bytes; /* of it at most */
};

/* Key of the map tallies; what it ends with is left out where nothing is counted by that. */
struct trace_key {
	uint64_t number[TRACE_KEY_NUMBERS];
	uint32_t event, cpu, pid, tid;
	char comm[16];
	char text[TRACE_KEY_TEXT];
};

/* Value of the map tallies: a count, or a struct asm_hist. */
#define TRACE_HIST_BITS 5
#define TRACE_HIST_SLOTS 1088 /* up to 2^38 */
#define TRACE_HIST_BYTES (sizeof(struct asm_hist) + 8 * TRACE_HIST_SLOTS)

extern const struct asm_layout rp_trace_key_layout;
extern const struct asm_part rp_trace_tally_part;

#endif
