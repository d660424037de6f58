/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The BPF programs of rawprof, and the C structs that they share with user space.
 *
 * Each file of programs/ holds one profiler's maps and bytecode. Whoever runs one copies its maps,
 * sizes them, creates them, fills the configuration, loads the programs and drains the maps; cli/
 * does that.
 */
#ifndef RAWPROF_PROGRAMS_H
#define RAWPROF_PROGRAMS_H

#include <rawprof/asm.h>
#include "programs/shared/profile.h"
#include "programs/shared/sched.h"

/* ---- cpu: where CPU time goes (programs/cpu.c)
 * ------------------------------------------------------------ */

struct cpu_config {
	struct program_config common;
	uint32_t keep_idle; /* the idle task too */
	uint32_t unused;
};
enum {
	CPU_WEIGHT_SAMPLES,
	CPU_WEIGHT_PERIOD,
	CPU_WEIGHTS
}; /* the weights; the period in the event's unit */
extern const struct asm_map rp_cpu_maps[STACK_MAPS];
extern const struct asm_program rp_cpu_sample_program;
/* What `rawprof cpu` without options uses, nearly. */
extern const struct cpu_config rp_cpu_usual_config;

/* ---- ksym: names of kernel addresses, by the kernel (programs/shared/ksym.c)
 * ------------------------------------- */

/* The only element of the mmapable map ksym_io: addresses in, ended by a 0 when there are fewer;
 * texts out. */
#define KSYM_BATCH 32
#define KSYM_TEXT 640
struct ksym_io {
	uint64_t addr[KSYM_BATCH];
	char text[KSYM_BATCH][KSYM_TEXT];
};

enum { KSYM_MAP_FORMAT, KSYM_MAP_IO, KSYM_MAPS };
extern const struct asm_map rp_ksym_maps[KSYM_MAPS];
#define KSYM_FORMAT "%pS"
/* For BPF_PROG_TEST_RUN; the second for kernels without syscall programs (before 5.14). */
extern const struct asm_program rp_ksym_program, rp_ksym_raw_program;
/* Writes the format to its map and freezes it, without which neither loads. fds: of rp_ksym_maps. 0 or
 * a negative errno. */
int rp_ksym_prepare(const int *fds);

/* ---- all of them
 * ------------------------------------------------------------------------------------------ */

/* A program with its maps, for whoever shows or checks programs rather than running them. */
struct program_entry {
	const struct asm_program *program;
	const struct asm_map *maps;
	size_t nmaps;
	const char *summary;
	const void *config;		/* to show it with; NULL: it has none */
	int (*prepare)(const int *fds); /* what its maps must hold before it loads; NULL: nothing */
};
extern const struct program_entry rp_program_entries[];
extern const size_t rp_program_count;

#endif
