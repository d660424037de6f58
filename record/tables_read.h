/* SPDX-License-Identifier: BSD-2-Clause */
/* From the mappings of a process to the ranges that its walks are made by. */
#ifndef RECORD_TABLES_READ_H
#define RECORD_TABLES_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/stat.h>

#include "programs/shared/unwind.h"
#include "generated_code.h"
#include "table_store.h"

struct id_set;
struct record_looks;
struct record_python;
struct record_v8;
struct record_jvm;
struct record_script;
struct record_published;
struct sym_proc_map;

/* Pieces of code without a file that are looked at; bytes of those that walks went astray from. */
#define READING_CODE 8
#define READING_CODE_BYTES (1U << 20)
#define READING_RANGES ((1u << UNWIND_MAPPING_STEPS) - 1)

/* An address of a process that a sample had, without a table for it. */
struct table_hit {
	uint32_t pid;
	uint64_t addr;
	bool is_missed; /* see record_tables_missed() */
};

/* A process and a page of it. */
#define PLACE_OF(pid, addr) ((uint64_t)(pid) << 32 | (uint32_t)((addr) >> 12))
/* Less than a page: a JIT puts the next function behind those that were looked at. */
#define FUNCTION_OF(pid, addr) ((uint64_t)(pid) << 32 | (uint32_t)((addr) / READING_FUNCTION))
#define READING_FUNCTION 256

/* Where the tables of all processes come from, and which of them samples ask for. */
struct table_sources {
	struct record_table_store *store;
	struct record_python *python; /* and what else knows languages; NULL: nobody does */
	struct record_v8 *v8;
	struct record_jvm *jvm;
	struct record_script *script;
	struct record_published *published;
	struct record_looks *looks;  /* what looking at files costs; NULL: nobody asks */
	const struct id_set *astray; /* FUNCTION_OF() each: see record_tables_astray() */
	bool only_hit;		     /* a file without a hit can wait */
	struct table_hit *hits;	     /* since the last refresh */
	size_t nhits, hits_capacity;
};

/* What a process is read into before it is published. */
/* What a mapping of that file has led to a moment ago; most processes map the same few. */
struct led_to {
	uint64_t until_ns; /* 0: there is none */
	uint64_t inode;
	uint32_t dev_major, dev_minor, path;
	struct stat st;
};
#define READING_FILES 64

struct reading {
	const struct table_sources *from;
	uint32_t pid, n, jvm; /* jvm: as struct unwind_proc has it */
	struct python_process python;
	struct script_process script;
	struct published_process published;
	uint64_t context_at; /* where its process context is; 0: it has none */
	struct v8_process v8;
	struct unwind_rule generated;	    /* of code that it generates; */
	struct unwind_rule in_loop;	    /*   of PHP's JIT, in the frame of the loop, */
	bool has_shared_code;		    /*   which is in memory that processes share */
	struct generated_time computing;    /* of all processes */
	uint32_t ncode, code_bytes;	    /* mappings whose code was looked at; of all of it */
	bool has_language;		    /* by the name of a file */
	bool looked;			    /* into one for what language it has */
	bool names_jvm, names_v8;	    /* so, whether that is known or not */
	bool jvm_early;			    /* it has one that has not begun yet */
	bool waits;			    /* for tables, which are being made, */
	bool code_waits;		    /*   or for time to look at its code */
	struct led_to files[READING_FILES]; /* of all processes, by their inode */
	uint64_t start[READING_RANGES];
	struct unwind_mapping range[READING_RANGES];
};

/* A process is read from here on; what is known of files and spent on code is kept. */
void record_reading_begin(struct reading *r, const struct table_sources *from, uint32_t pid);
/*
 * Adds a mapping to *reading. 0, or 1 when there is no room for more, or no time: the process need
 * not be looked at any further.
 */
int record_reading_add(void *reading, const struct sym_proc_map *m);
/* All were added: a virtual machine that was executed before and is not among them is forgotten. */
void record_reading_end(const struct reading *r);

/*
 * Opens the file of a mapping of the process, which its path may not lead to any more, nor here.
 * A descriptor or a negative errno.
 */
int record_open_mapped(uint32_t pid, const struct sym_proc_map *m);

#endif
