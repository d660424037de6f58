/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof gpu, in parts:
 *
 *	table.c	the functions of the runtimes: what they do, which argument has the bytes
 *	gpu.c	the command; calls as they end, which the programs of func send (programs/func/)
 *	names.c	what the kernels that are launched are called
 *	view.c	tables of it
 */
#ifndef CLI_GPU_H
#define CLI_GPU_H

#include "base/hash.h"
#include "cli/func/func.h"
#include "record/read_costs.h"

/* ---- table.c */

enum gpu_class {
	GPU_LAUNCH,
	GPU_COPY,
	GPU_WAIT,
	GPU_ALLOCATE,
	GPU_FREE,
	GPU_BUILD,
	GPU_OTHER,
	GPU_CLASSES
};
const char *gpu_class_name(enum gpu_class class);
extern const char *const gpu_class_names[]; /* by class; NULL at the end */

/* Arguments are counted from 1; 0: there is none. */
struct gpu_call {
	const char *glob; /* names of functions; the first row that matches holds */
	enum gpu_class class;
	uint8_t bytes, times; /* the arguments whose product, times `unit`, are the bytes; */
	uint8_t unit;	      /*   0: 1 */
	uint8_t blocks;	      /* it waits if this argument is not 0; GPU_ALWAYS */
	uint8_t address;      /* of the kernel that is launched: a function of the program; */
	uint8_t handle;	      /*   what a function that names it has returned */
	uint8_t names;	      /* this argument is the name of what it returns */
};
#define GPU_ALWAYS 255

/* The row for a function; the last one if it is in none. */
const struct gpu_call *gpu_call_of(const char *function);

/* What is looked for: globs with a library before them, or without one. NULL ends them. */
struct gpu_pattern {
	const char *library, *glob;
};
extern const struct gpu_pattern gpu_patterns[];

/* ---- gpu.c */

/*
 * Rows, and kernels that are known by name: a program may launch as many as it likes. So many for
 * root, as many for all users, and half of what is left for one.
 */
#define GPU_MOST (1u << 16)

enum gpu_by { GPU_BY_FUNCTION, GPU_BY_PROCESS, GPU_BY_KERNEL };

struct gpu_options {
	const char *by;
	bool levels;
	bool stacks; /* who calls, in place of the tables */
	bool alone;  /* of a program that is run, without the processes that it starts */
};

/* What calls come to. kernel is 0 unless rows are by kernel. */
struct gpu_key {
	uint32_t pid, function, level, unused;
	uint64_t kernel;
};
struct gpu_row {
	struct gpu_key key;
	uint64_t calls, ns, longest_ns, bytes, wait_ns;
	uint64_t class_calls[GPU_CLASSES];
	char comm[17];
};

/* A kernel by its address in the program, or its handle. */
struct gpu_kernel {
	struct gpu_name_key {
		uint64_t pid, kernel;
	} key;
	uint64_t time; /* of a launch; CLOCK_MONOTONIC, ns */
	bool is_address;
	char *name; /* of a handle that was named; NULL */
};

/* What a probe's function does: looked up once. */
struct gpu_known {
	uint32_t function;
	const struct gpu_call *call;
};

struct gpu {
	struct func func; /* the first: func's parts find it at rec->ctx */
	struct func_options func_own;
	const struct gpu_options *own;
	enum gpu_by by;
	struct hash_map rows;	 /* struct gpu_row */
	struct hash_map kernels; /* struct gpu_kernel */
	struct hash_map known;	 /* struct gpu_known */
	struct record_share row_share, kernel_share;
	struct read_costs costs; /* of names */
	uint64_t nested;	 /* calls inside of others, which are not rows */
	uint64_t not_launches;	 /* that are no rows by kernel */
	uint64_t no_room;	 /* calls whose user has no more rows */
};

#define GPU_NO_FUNCTION UINT32_MAX /* no probe has this number: it does anything else */
/* What the function of a probe does. */
const struct gpu_call *gpu_call_at(struct gpu *g, uint32_t function);

/* ---- names.c */

/* A function has returned a handle for what its caller calls so. 0 or -ENOMEM. */
int gpu_name_handle(struct recording *rec, const struct func_event *e, uint64_t name);
/* A kernel has been launched. 0 or -ENOMEM. */
int gpu_see_kernel(struct recording *rec, const struct func_event *e, uint64_t kernel,
		   bool is_address);
/* Its name, or as much as is known. */
void gpu_kernel_name(struct recording *rec, uint32_t pid, uint64_t kernel, char *text, size_t size);
void gpu_names_free(struct gpu *g);

/* ---- view.c */

int gpu_empty_grid(struct recording *rec, struct report_grid **out);
int gpu_report(struct recording *rec);

#endif
