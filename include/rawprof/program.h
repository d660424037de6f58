/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A BPF program as one value: its code, where it runs, its maps, and what it needs of the kernel.
 *
 *	const struct rp_program rp_hello_programs[] = {
 *		{ RP_CODE("hello", hello_lines), RP_ON_TP("syscalls", "sys_enter_kill"),
 *		  .summary = "counts calls of kill" },
 *		RP_LIST_END,
 *	};
 *
 * A profiler is a list of them, which ends with one that has no name. Each plays a role for its
 * profiler. Where several have the same role they are variants, the best first: the first one that
 * the kernel can run is taken. rp_program_lists has the lists of all profilers:
 *
 *	for (const struct rp_program *const *list = rp_program_lists; *list; list++)
 *		for (const struct rp_program *p = *list; p->code.name; p++)
 *			puts(p->code.name);
 */
#ifndef RAWPROF_PROGRAM_H
#define RAWPROF_PROGRAM_H

#include <stdbool.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

/* ---- where a program runs */

enum rp_hook_kind {
	RP_HOOK_TP_BTF,	  /* at the raw tracepoint name, with the types of the kernel's BTF */
	RP_HOOK_RAW_TP,	  /* at the raw tracepoint name */
	RP_HOOK_TP,	  /* at the classic tracepoint group:name */
	RP_HOOK_PERF,	  /* for samples of a perf event; the profiler chooses which */
	RP_HOOK_UPROBE,	  /* at functions of programs; the profiler finds them */
	RP_HOOK_PROBE,	  /* at functions of programs or the kernel, on their registers */
	RP_HOOK_FENTRY,	  /* at the entry of functions of the kernel, on their arguments; */
	RP_HOOK_FEXIT,	  /*   at their return. The profiler finds them; name is one of them */
	RP_HOOK_RECORD,	  /* at classic tracepoints, whichever the profiler says */
	RP_HOOK_ITER,	  /* for each object of the kind name, when it is asked to */
	RP_HOOK_TEST_RUN, /* whenever user space runs it */
};
struct rp_hook {
	enum rp_hook_kind kind;
	const char *group, *name; /* NULL: the kind has none */
};

/* ---- what it needs beside the kind of its hook */

enum rp_need_kind {
	RP_NEEDS_NOTHING, /* ends a list of needs */
	RP_NEEDS_FEATURE,
	RP_NEEDS_LACK,	   /* the kernel does not have the feature */
	RP_NEEDS_HOOK,	   /* the tracepoint of its hook exists */
	RP_NEEDS_ARGUMENT, /* argument number of tracepoint name points to the struct type; */
	RP_NEEDS_OTHER,	   /*   it is there, and points to something else */
	RP_NEEDS_FIELD,	   /* the struct type has the field name; NULL: the struct is there */
};
struct rp_need {
	enum rp_need_kind kind;
	int number; /* of the argument; or enum rp_feature */
	const char *name, *type;
};
/* clang-format off */
#define RP_NEED_FEATURE(feature)	{ RP_NEEDS_FEATURE, feature, NULL, NULL }
#define RP_NEED_LACK(feature)		{ RP_NEEDS_LACK, feature, NULL, NULL }
#define RP_NEED_HOOK			{ RP_NEEDS_HOOK, 0, NULL, NULL }
#define RP_NEED_ARGUMENT(event, n, type) { RP_NEEDS_ARGUMENT, n, event, type }
#define RP_NEED_OTHER(event, n, type)	{ RP_NEEDS_OTHER, n, event, type }
#define RP_NEED_FIELD(type, path)	{ RP_NEEDS_FIELD, 0, path, type }
/* clang-format on */

/* ---- the program */

struct rp_program {
	struct asm_program code;
	struct rp_hook hook;
	const struct asm_map *maps;
	size_t nmaps;
	const void *config;  /* to show it with, of code.config_size bytes; NULL: it has none */
	const char *summary; /* what it does: "counts the stacks that a perf event interrupts" */
	const struct rp_need *needs; /* NULL: nothing */
	uint32_t role;		     /* a bit of its own; 0: all in the list are variants of one */
	bool ends;     /* it sees the ends of what others see the beginnings of: attached first */
	bool optional; /* the profiler can do without where no variant can run */
	const char *instead; /* said where it takes the place of a better variant; NULL */
	/* Fills its maps before it is loaded; NULL: there is nothing to fill. */
	int (*prepare)(const int *fds);
};

/* The name, and an array of lines. It stands in the file of the lines. */
#define RP_CODE(name_, lines_)                                                                     \
	.code.name = (name_), .code.license = "Dual BSD/GPL", .code.lines = (lines_),              \
	.code.nlines = sizeof(lines_) / sizeof((lines_)[0]), .code.file = __FILE__

#define RP_ON_TP_BTF(event)                                                                        \
	.hook = { RP_HOOK_TP_BTF, NULL, event }, .code.type = BPF_PROG_TYPE_TRACING,               \
	.code.attach_type = BPF_TRACE_RAW_TP, .code.target = (event)
#define RP_ON_RAW_TP(event)                                                                        \
	.hook = { RP_HOOK_RAW_TP, NULL, event }, .code.type = BPF_PROG_TYPE_RAW_TRACEPOINT
#define RP_ON_TP(group, event)                                                                     \
	.hook = { RP_HOOK_TP, group, event }, .code.type = BPF_PROG_TYPE_TRACEPOINT
#define RP_ON_PERF_EVENT .hook = { RP_HOOK_PERF }, .code.type = BPF_PROG_TYPE_PERF_EVENT
#define RP_ON_UPROBE .hook = { RP_HOOK_UPROBE }, .code.type = BPF_PROG_TYPE_KPROBE
#define RP_ON_PROBE .hook = { RP_HOOK_PROBE }, .code.type = BPF_PROG_TYPE_KPROBE
/* To be shown, and tried, with this function. */
#define RP_ON_FENTRY(function_)                                                                    \
	.hook = { RP_HOOK_FENTRY, NULL, function_ }, .code.type = BPF_PROG_TYPE_TRACING,           \
	.code.attach_type = BPF_TRACE_FENTRY, .code.target = (function_)
#define RP_ON_FEXIT(function_)                                                                     \
	.hook = { RP_HOOK_FEXIT, NULL, function_ }, .code.type = BPF_PROG_TYPE_TRACING,            \
	.code.attach_type = BPF_TRACE_FEXIT, .code.target = (function_)
#define RP_ON_RECORD .hook = { RP_HOOK_RECORD }, .code.type = BPF_PROG_TYPE_TRACEPOINT
/* An iterator may sleep, as it reads the memory of others. */
#define RP_ON_ITER(kind_)                                                                          \
	.hook = { RP_HOOK_ITER, NULL, kind_ }, .code.type = BPF_PROG_TYPE_TRACING,                 \
	.code.attach_type = BPF_TRACE_ITER, .code.flags = BPF_F_SLEEPABLE, .code.target = (kind_)
#define RP_ON_TEST_RUN(type_) .hook = { RP_HOOK_TEST_RUN }, .code.type = (type_)

#define RP_MAPS(maps_, n) .maps = (maps_), .nmaps = (n)
/* A configuration to show it with, of the type that it is assembled with. */
#define RP_CONFIG(config_) .config = &(config_), .code.config_size = sizeof(config_)
/* clang-format off */
#define RP_NEEDS(...) .needs = (const struct rp_need[]){ __VA_ARGS__, { RP_NEEDS_NOTHING } }
/* The last row of a list. */
#define RP_LIST_END { .role = 0 }
/* clang-format on */

/* ---- all of them (programs/registry.c) */

extern const struct rp_program *const rp_program_lists[]; /* ends with NULL */

/* The first of a list with one of these roles, of the whole registry with this name; or NULL. */
const struct rp_program *rp_program_of(const struct rp_program *list, uint32_t roles);
const struct rp_program *rp_program_named(const char *name);
/* The program with this number, in the order of the registry; NULL behind the last. */
const struct rp_program *rp_program_number(size_t number);

#endif
