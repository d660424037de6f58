/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events one by one: what `trace` loads, and what both sides share.
 *
 *	programs/trace/event.c	a tracepoint: its record as the kernel made it, into the ring
 *	programs/trace/usdt.c	a USDT probe and its arguments
 *
 * The kernel writes the record of a classic tracepoint for every event, by its format file. It is
 * copied as it is, with the data of variable length behind it, and read in user space.
 */
#ifndef RAWPROF_TRACE_H
#define RAWPROF_TRACE_H

#include "programs/shared/stack.h"

/* Bytes of a record at most: what the kernel itself has room for (PERF_MAX_TRACE_SIZE). */
#define TRACE_BYTES 8192
/* Fields of one event whose data have no fixed place. */
#define TRACE_LOCS 8

struct trace_config {
	struct program_config common;
	uint32_t own[2];  /* processes of rawprof itself, whose events are left out */
	uint32_t by_cpu;  /* only CPUs that are in the map cpus */
	uint32_t stacks;  /* where it happened */
	uint32_t event;	  /* its number */
	uint32_t bytes;	  /* of its record, without data of variable length */
	uint32_t reserve; /* bytes, and what stands before them in the ring */
	/* Data of variable length: where words are that say where they lie; 0: no more of them. */
	uint32_t loc[TRACE_LOCS];
	uint32_t loc_base[TRACE_LOCS]; /* what such a word counts from: 0, or its own end */
	/* USDT probes */
	uint32_t usdt_by_cookie; /* the upper half of the cookie says which arguments; else */
	uint32_t usdt_args;	 /*   these are the only ones */
};

struct trace_stats {
	struct program_stats common;
	uint64_t own;	     /* filtered: rawprof's own */
	uint64_t stack_lost; /* events that were kept, but not their stack */
};

/* An event as it comes through the ring. */
struct trace_record {
	uint64_t time;	   /* CLOCK_MONOTONIC, ns */
	uint64_t pid_tgid; /* process << 32 | thread */
	uint64_t stack;	   /* hash; 0: none */
	char comm[16];
	uint32_t cpu;
	uint32_t event; /* its number: trace_config.event */
	uint32_t bytes; /* of data */
	uint32_t unused;
	unsigned char data[];
};

/* The data of a USDT probe's record; behind them its strings, TRACE_USDT_TEXT bytes each. */
#define TRACE_USDT_TEXT 256
struct trace_usdt {
	uint32_t failed; /* struct rp_usdt_reader of uprobe.h */
	uint32_t args;	 /* which of record_usdt.args */
	uint64_t value[];
};
/* Reads the arguments from pt_regs at R6 into the record at R8; R0: trace_usdt.args. */
extern const struct asm_part rp_trace_usdt_part;

/* Value of the map assembly: where a CPU puts together what has no fixed length. */
struct trace_assembly {
	struct trace_record record;
	unsigned char data[TRACE_BYTES + 8];
};

enum { TRACE_MAP_RING = STACK_MAPS, TRACE_MAP_CPUS, TRACE_MAP_ASSEMBLY, TRACE_MAPS };
extern const struct asm_map rp_trace_maps[TRACE_MAPS];

#endif
