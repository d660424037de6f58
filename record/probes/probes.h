/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From what a person writes to probes: patterns become a list of things to measure, each with a
 * name and a number, and programs are put on all of them.
 *
 *	vfs_read, vfs_*			functions of the kernel; kernel:vfs_read says so
 *	libc:malloc, python3:Py*	functions of a library or program, by its short name
 *	/path/file:f, ./prog:ns::C::m*	of a file; C++ and Rust as their source has them
 *	:f				of whatever the target executes from (--pid, -- PROGRAM)
 *	syscall:read, syscall:*		system calls; syscalls:sys_enter_read is the same one
 *	block:block_rq_issue..block_rq_complete	from one tracepoint to another, in one thread;
 *	irq:irq_handler_entry..irq:irq_handler_exit	the group may be said again
 *	tp:sched:sched_switch		a single tracepoint; without tp: if there is such a group
 *	usdt:prog:name, usdt:prog:provider:name	probes that were compiled into a program or library
 *	usdt:/path:name, usdt::name	of a file; of whatever the target executes from
 *	usdt:prog:begin..end	from one USDT probe to another of the same file, in one thread
 *
 * How a profiler uses it, in the order of a recording:
 *
 *	attach	record_probes_open(&scope, patterns, n, &probes): finds what can be found now. A
 *		mistake is said there, with the nearest name.
 *		record_probes_attach(probes, rec, &programs): loads and attaches for all of them
 *	loaded, mapped	record_probes_process(probes, pid): code that came by later (dlopen), with
 *		record_profiler.stop_at_loads, and record_probes_mapped() for the sideband's events.
 *		The list grows: numbers stay.
 *	stop	record_probes_detach(probes): entries first, so that each call that has begun to
 *		count sees its return
 *	report	record_probes_at(probes, id)->name
 *	close	record_probes_close(probes)
 *
 * A program is loaded as often as the kernel's ways to attach ask for it; see enum probe_context in
 * programs/shared/probe.h for what it is given, and struct record_probe_programs.
 */
#ifndef RECORD_PROBES_H
#define RECORD_PROBES_H

#include <rawprof/program.h>
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

#include "programs/shared/probe.h"
#include "syscalls.h"

struct recording;

/* ---- what there is to measure */

enum record_probe_kind {
	RECORD_PROBE_KERNEL,  /* a function of the kernel */
	RECORD_PROBE_USER,    /* a function of a program or library */
	RECORD_PROBE_SYSCALL, /* a system call */
	RECORD_PROBE_PAIR,    /* from one tracepoint, or USDT probe, to another */
	RECORD_PROBE_EVENT,   /* a single tracepoint: it has no return */
	RECORD_PROBE_USDT,    /* a USDT probe: it has no return */
	RECORD_PROBE_KINDS
};
#define RECORD_PROBE_BIT(kind) (1u << (kind))
/* Those that have a beginning and an end. */
#define RECORD_PROBE_CALLS                                                                         \
	(RECORD_PROBE_BIT(RECORD_PROBE_KERNEL) | RECORD_PROBE_BIT(RECORD_PROBE_USER) |             \
	 RECORD_PROBE_BIT(RECORD_PROBE_SYSCALL) | RECORD_PROBE_BIT(RECORD_PROBE_PAIR))
#define RECORD_PROBE_ALL ((1u << RECORD_PROBE_KINDS) - 1)

/* Ways to see a call of a function. */
enum record_probe_way {
	RECORD_PROBE_BEST,
	RECORD_PROBE_FENTRY,	   /* fentry and fexit: a program for each function */
	RECORD_PROBE_KPROBE_MULTI, /* one link for all */
	RECORD_PROBE_KPROBE,	   /* a perf event for each */
	RECORD_PROBE_WAYS
};
/* "fentry", "kprobe-multi", "kprobe"; NULL for the best. */
const char *record_probe_way_name(enum record_probe_way way);
/* The way with this name; -EINVAL, said with those that there are. */
int record_probe_way_parse(const char *name, enum record_probe_way *out);

/* Where a USDT probe is: places that were compiled in, and what the arguments are there. */
struct record_usdt {
	int fd;	       /* the file, open as long as the list is */
	uint32_t file; /* in the list's files */
	struct record_usdt_place {
		uint64_t offset, semaphore; /* in the file; semaphore 0: it has none */
		uint32_t args;		    /* which of args are its own */
	} * places;
	uint32_t nplaces, places_capacity;
	struct rp_usdt_args *args; /* different ones */
	uint32_t nargs, args_capacity;
};

/* One thing to measure. Strings live as long as the list. */
struct record_probe {
	enum record_probe_kind kind;
	uint32_t id;	    /* its number in the list, from 0: what programs are told */
	size_t pattern;	    /* which of the patterns it is of */
	const char *name;   /* to be shown: "vfs_read", "List<int>::add(int const&)", "openat",
			       "block:block_rq_issue..block_rq_complete" */
	const char *symbol; /* as the symbol table, or the kernel, has it */
	const char *also;   /* other names of the same place, ", " between them; NULL: none */
	/* The file's path as the process saw it; the kernel's module, NULL for its image; the
	 * tracepoint's group; the USDT probe's file. NULL otherwise. */
	const char *module;
	/* Why it cannot be measured: "inlined", "on the kernel's list of exceptions"; NULL: it
	 * can. Such a one is in the list to be named, nothing is attached to it. */
	const char *why_not;
	const char *how; /* once attached: "fentry", "uprobe_multi link, at its 3 returns"; or NULL
			  */
	union {
		struct {
			uint32_t file;	 /* in the list's files */
			uint64_t offset; /* in the file */
			uint64_t vaddr, size, alone;
			/* Probed at its return instructions: as all of Go's are, and those that
			 * call themselves, of which a uretprobe sees 64 at a time. */
			bool at_returns;
		} user;
		struct {
			uint64_t addr;
			/* By BTF; negative: not known, or not 8 bytes each. */
			int nargs;
			const char *btf; /* its name there; NULL */
			bool alone;	 /* no other function has its name */
		} kernel;
		struct {
			uint32_t nr;
		} syscall;
		struct {
			const char *group, *event;	   /* the first, or only one */
			const char *end_group, *end_event; /* of a pair */
		} events;
	};
	/* Of a USDT probe, whose name is "provider:name", or where a pair of them begins; and ends.
	 * NULL: it is none. */
	struct record_usdt *usdt, *usdt_end;
};

/* ---- finding */

struct record_probes;

/* Where to look, and for what. */
struct record_probe_scope {
	const uint32_t *pids; /* processes; n 0: none */
	size_t npids;
	const char *program; /* the file to be started; NULL: none. Its libraries are those that
				the dynamic linker will take */
	bool alone; /* of the program its own process is probed, not what it starts, nor others
		       that use its libraries: record_probes_attach() finds it in the recording */
	/* What `x:y` may be: RECORD_PROBE_CALLS for durations, RECORD_PROBE_ALL for events. A
	 * pattern of another kind is a mistake, which is said. */
	uint32_t kinds;
	const char *kinds_option; /* "--kernel", by which it is less; NULL: there is none */
	size_t limit; /* most things in the list; 0: RECORD_PROBE_LIMIT. More is -E2BIG, said with
			 the option named in limit_option */
	const char *limit_option; /* "--max-functions"; NULL: none to be named */
	enum record_probe_way way;
	bool at_returns; /* user functions at their return instructions wherever all are known */
	/* What a pattern names may come by later, or never: that nothing is there is no mistake. */
	bool later;
	bool list_only; /* nothing will be attached: what cannot be probed is no mistake */
	/* Of USDT probes alone, with list_only: shows those of one file, which are forgotten then.
	 * The limit is that of each file; that there are more is said, and no error. NULL: none. */
	void (*show_file)(const struct record_probes *probes);
};
enum { RECORD_PROBE_LIMIT = 1000 };

/*
 * Finds what the @n patterns name. A pattern that names nothing, or nothing that can be probed, is
 * -ENOENT after a message with the nearest names; -EINVAL: it makes no sense; -E2BIG; -ENOMEM.
 */
int record_probes_open(const struct record_probe_scope *scope, const char *const *patterns,
		       size_t n, struct record_probes **out);
/* Detaches too. NULL is fine. */
void record_probes_close(struct record_probes *probes);

/* How many there are, those that cannot be probed included; and each. NULL behind the last. */
uint32_t record_probes_count(const struct record_probes *probes);
const struct record_probe *record_probes_at(const struct record_probes *probes, uint32_t id);
/* Kinds among those that can be probed: RECORD_PROBE_BIT of each. */
uint32_t record_probes_kinds(const struct record_probes *probes);
/* A name for any, to be shown where several files or kinds are mixed: "libc.so.6:malloc". It is
 * printable, whatever they are called. */
void record_probes_label(const struct record_probe *probe, char *text, size_t size);

/*
 * For programs on system calls: ids[nr] becomes the number of the probe of system call nr, plus 1;
 * 0 where there is none. Returns how many there are.
 */
size_t record_probes_syscalls(const struct record_probes *probes, uint32_t ids[RECORD_SYSCALLS]);

/* Says what was left out and why, a line for each reason, at RP_WARN; at RP_INFO each by name. */
void record_probes_say_left_out(const struct record_probes *probes);

/* ---- attaching */

/* What one program is about to be loaded for. */
struct record_probe_use {
	enum probe_point point;
	enum probe_context context;
	enum record_probe_kind kind;
	const struct record_probe *probe; /* the only one; NULL: it is for many, by cookie */
	struct probe_config config;	  /* to be copied into the program's own */
};

/*
 * The programs, by where they run and what their context is; NULL: the profiler has none, so that
 * what needs one cannot be measured by it (without any for PROBE_RETURN, entries alone are probed).
 * Where kernels differ, the first way that has programs is taken: fentry needs PROBE_ON_ARGS,
 * kprobes and user functions PROBE_ON_REGS, system calls PROBE_ON_SYSCALL (with BTF) or
 * PROBE_ON_SYSCALL_RECORD, tracepoints PROBE_ON_RECORD.
 */
struct record_probe_programs {
	const struct rp_program *at[PROBE_POINTS][PROBE_CONTEXTS];
	const void *config; /* as they all begin; begins with rec->config */
	size_t config_size; /* all have the same type */
	/* Makes of a copy of config what the program is loaded with: puts use->config in its place,
	 * and whatever depends on the kind (program_config.probe). */
	void (*configure)(void *ctx, const struct record_probe_use *use, void *config);
	void *ctx;
	/* Integer arguments that entry programs read; 0 stands for all that there are. */
	uint8_t nargs;
	/* Where the returns of a function are probed one by one: they know of ends in other
	 * functions that it jumps to (PROBE_ELSEWHERE); and a jump to a place that is not known
	 * ends a call, though it has no result yet. */
	bool elsewhere, at_jumps;
};

/*
 * Loads and attaches, returns first. What cannot be attached gets a why_not; an error only if
 * nothing can be, or a program cannot be loaded: -EOPNOTSUPP, -EPERM, ... after a message. Keeps
 * @programs' contents for what comes later.
 */
int record_probes_attach(struct record_probes *probes, struct recording *rec,
			 const struct record_probe_programs *programs);
/*
 * Looks through what a process executes from now, for patterns of libraries and of `:f`, and probes
 * what is new. 0, also if the process has ended; -ENOMEM, or what attaching said.
 */
int record_probes_process(struct record_probes *probes, uint32_t pid);
/* A process of the recording has mapped code: the same, if the file is new. */
struct rp_side_event;
int record_probes_mapped(struct record_probes *probes, const struct rp_side_event *e);
/* Entries first. */
void record_probes_detach(struct record_probes *probes);

/*
 * Puts the programs of one USDT probe where it is: one for all places, or, for RP_UPROBE_PERF, one
 * for each. The cookie is the probe's id, and above its 32 bits which arguments the place has. What
 * is put there is added to @links: for each process of the scope, or for all that there are. Errors
 * of rp_attach_uprobes().
 */
struct record_usdt_links {
	struct rp_uprobes **link;
	size_t n, capacity;
};
int record_usdt_attach(const struct record_probes *probes, const struct record_probe *probe,
		       enum rp_uprobe_way way, const int *progs, uint32_t nprogs,
		       struct record_usdt_links *links);
void record_usdt_detach(struct record_usdt_links *links);
/* The best way that there is for the processes of the scope. */
enum rp_uprobe_way record_usdt_way(const struct record_probes *probes);

#endif
