/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that are wrong, and what the kernel has to say to each.
 *
 * A case is a program in the DSL, with INSN() for what the compiler would refuse already, and the
 * verifier's words and errno that are expected, each with the kernels that say so. Words are parts
 * of a line: between kernels their surroundings change more often than they do.
 *
 * The files named after what they are about hold programs that are refused. accepted.c and the
 * seed_*.c files also hold some that the verifier takes although they are wrong; for these the case
 * has a function that runs the program and looks for the harm done.
 */
#ifndef TESTS_BAD_H
#define TESTS_BAD_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>

#define KERNEL(major, minor) ((major)*1000 + (minor))

/* What kernels from `since` on say, and before `before`; 0 is no bound. */
struct bad_saying {
	int err;
	const char *words;
	int since, before;
};
#define BAD_SAYINGS 4

struct bad_case {
	const char *id;
	const char *what;
	struct asm_program program;
	/* All those whose kernels include the running one must hold. Bounds stand where they were
	   seen: 6.1, 6.12 and 6.18 are tried, other numbers are of kernels' histories. */
	struct bad_saying says[BAD_SAYINGS];
	/* The line that the message must name, as written, or NULL where it comes before the
	   verifier follows the program's paths. */
	const char *at;
	/* Kernels before this one cannot have such a program at all. */
	int needs;
	/* Of a program that is accepted: kernels before the first refuse it, as `says` has it;
	   those from the second on accept it; in between it is not known. 0: all accept it. */
	int refused_before, accepted_since;
	/* Loaded with no other capability than CAP_BPF. */
	bool unprivileged;
	/*
	 * Set: the kernel accepts the program. It is called with the loaded program and has to find
	 * the fault that nobody reported: 0 if it did, else what it found instead is printed by
	 * BAD_MISS, which also ends it. What it saw goes to `seen`.
	 */
	int (*silent)(int prog_fd, const int *map_fds, char *seen);
};
#define BAD_SEEN_SIZE 200
#define BAD_SAW(...) snprintf(seen, BAD_SEEN_SIZE, __VA_ARGS__)
#define BAD_MISS(...)                 \
	do {                          \
		BAD_SAW(__VA_ARGS__); \
		return -1;            \
	} while (0)

#define BAD_PROGRAM(type_, lines_)             \
	.program = {                           \
		.name = #lines_,               \
		.type = BPF_PROG_TYPE_##type_, \
		.license = "GPL",              \
		ASM_LINES(lines_),             \
	}

/* Maps that the programs share. */
enum {
	MAP_M,		  /* hash, 16 -> 8 */
	MAP_COUNTS12,	  /* hash, 12 -> 8: the key of the seed's profiler without padding */
	MAP_BIG,	  /* hash, 600 -> 8 */
	MAP_CELL,	  /* array of one u64 */
	MAP_RB,		  /* ring buffer */
	MAP_STACK_TRACES, /* the seed's: one frame a stack */
	MAP_CPU_SAMPLES,  /* the seed's, its key with the padding of a 16-byte struct */
	MAP_MEM_ALLOCS,	  /* the seed's, 8 -> {count, bytes} */
	MAP_IO_START,	  /* the seed's, 8 -> 8 */
	MAP_IO_HIST,	  /* the seed's, 4 -> 8, 64 entries */
	MAP_TINY,	  /* hash, 8 -> 8, one entry */
	MAP_CLOSED,	  /* its descriptor is not open */
	BAD_MAPS
};
extern const struct asm_map bad_maps[BAD_MAPS];

/* How a case's author would mend it (mends.c): an edit at the line that the refusal names. */
struct bad_mend {
	const char *id;
	/* Where, if it is not the line that was refused itself: this one, which has to be named. */
	const char *line;
	int skip;	/* from there, how many lines on */
	size_t removed; /* lines that go */
	struct {
		const struct asm_insn *at;
		size_t n;
	} lines, also;
	size_t also_at; /* in front of which line `also` stands */
	const char *license;
	/* Words of the advice that say so. NULL: one of the lines' macros stands in it. */
	const char *advice;
};
extern const struct bad_mend bad_mends[]; /* ended by one without id */

/* What came of a case's mend, and of `explain --repair`. */
struct bad_outcome {
	bool mends;    /* it is in bad_mends */
	bool named;    /* the line to change is */
	bool advised;  /* the change is what the advice says */
	bool loads;    /* with it the program does */
	bool repaired; /* --repair found a change that loads, */
	bool moved;    /* which reads or writes elsewhere, */
	bool compared; /* which was run beside the mended program: */
	bool differs;  /*   they do not do the same */
	char said[4000];
};
void bad_mend(const struct bad_case *c, const int *map_fds, struct bad_outcome *out);

/* Lists of cases, each ended by one without id. */
extern const struct bad_case bad_shape[], bad_registers[], bad_stack[], bad_map_use[],
	bad_context[], bad_calls[], bad_ring[], bad_published[], bad_seed_cpu[], bad_seed_malloc[],
	bad_seed_io[], bad_accepted[];

/* 0, or -1 with errno: from here on the process has no other. */
int bad_keep_only_cap_bpf(void);
/* Runs a socket filter once on an empty packet: its result, or a negative errno. */
int64_t bad_run(int prog_fd);
/* The only cell of MAP_CELL. */
uint64_t bad_cell(const int *map_fds);
/* Runs a socket filter n times on each of two CPUs at the same time; false with only one CPU. */
bool bad_run_on_two_cpus(int prog_fd, uint32_t n);

#endif
