/* SPDX-License-Identifier: BSD-2-Clause */
/* What each command says of itself. */
#include "commands.h"
#include "cli/io/io.h"
#include "cli/lock/lock.h"
#include "cli/mem/mem.h"
#include "cli/threads/offcpu.h"
#include "cli/threads/wall.h"

static const char cpu_usage[] =
	"Usage: rawprof cpu [OPTIONS] [SECONDS] [-- PROGRAM ARGS...]\n"
	"\n"
	"Where is CPU time going? Samples the stacks of whatever runs, 99 times a second on every CPU.\n"
	"\n"
	"Whom (default: the whole machine)\n"
	"  -p, --pid LIST           these processes\n"
	"  -t, -L, --tid LIST       these threads\n"
	"  -C, --cpu LIST           these CPUs: 0-3,7\n"
	"      --cgroup PATH        a version 2 control group and those below it\n"
	"      --comm GLOB          command names: 'nginx', 'worker*'\n"
	"  -- PROGRAM ARGS          run it, follow its children, stop when it ends, exit with its status\n"
	"\n"
	"How\n"
	"  -d, --duration SECONDS   how long (also 2m, 1h; or just the number); default: until Ctrl-C\n"
	"  -F, --freq HZ            samples a second and CPU (99)\n"
	"  -c, --count N            a sample every N events instead\n"
	"  -e, --event NAME         cycles, cache-misses, page-faults, cpu-clock, r01c2 ...\n"
	"      --sw-event           cpu-clock, even where there are hardware events\n"
	"  -U, --user, -K, --kernel only this side of the stacks\n"
	"  -I, --include-idle       count idle CPUs too\n"
	"      --max-stack N        most frames of each side (256)\n"
	"      --call-graph eh|fp   user stacks by unwind tables (default) or by frame pointers\n"
	"\n"
	"What comes out\n"
	"      --format NAME        table, folded, svg, html, pprof, perf, speedscope, json\n"
	"  -f, --folded             the same as --format folded\n"
	"  -o, --output FILE        .svg .html .folded .pb.gz .json tell the format\n"
	"  -n, --top N              rows of the table (20)\n"
	"      --sort self|total    order of the table\n"
	"      --weight TYPE        samples (default) or cpu\n"
	"      --samples            print every sample as it comes; -E in one folded line each\n"
	"      --lines              source lines, where there is debug information; --inline for inlined functions\n"
	"      --debuginfod         fetch missing symbols and lines from the servers in $DEBUGINFOD_URLS\n"
	"      --no-demangle        names of C++ and Rust functions as the linker knows them\n"
	"      --annotations        mark kernel frames with _[k], JIT with _[j]\n"
	"      --delimited          a frame '-' between user and kernel\n"
	"  -A, --address            addresses of frames that have no name\n"
	"      --title TEXT         of the flame graph; --reverse, --inverted turn it round\n"
	"  -v (repeat), -q          say more, say less\n"
	"      --no-color\n"
	"\n"
	"Examples\n"
	"  rawprof cpu 5                              the whole machine, for five seconds, as a table\n"
	"  rawprof cpu -p 1234 -o flame.svg 10        one process, as a flame graph\n"
	"  rawprof cpu -F 999 --format folded -- ./prog args\n";

static const char mem_usage[] =
	"Usage: rawprof mem [OPTIONS] [SECONDS] [-- PROGRAM ARGS...]\n"
	"\n"
	"Who allocates, who grows, who leaks? Counts every call of the allocator (malloc, calloc, realloc, free and\n"
	"their kin, of whichever library has them) by the stack that made it, and follows each block until it is freed;\n"
	"and what the program has from the kernel itself, by mmap, mremap and brk, until it is unmapped.\n"
	"\n"
	"What\n"
	"                           without any of these: the allocator of a program or process\n"
	"  -k, --kernel             the kernel's own: slab caches, kmalloc, pages; --percpu: its per-CPU memory too\n"
	"      --faults             page faults, and the pages that they take; costs next to nothing\n"
	"      --growth             what mmap, mremap and brk add to a process, and munmap takes away; the same\n"
	"\n"
	"Whom\n"
	"  -p, --pid LIST           these processes\n"
	"  -t, -L, --tid LIST       these threads\n"
	"      --cgroup PATH, --comm GLOB\n"
	"  -- PROGRAM ARGS          run it, follow its children, stop when it ends, exit with its status\n"
	"      --obj PATH           only the allocator in this file, from the start\n"
	"      --symbols-prefix P   the functions are called Pmalloc, Pfree ...: je_\n"
	"      --no-mmap            the allocator alone\n"
	"\n"
	"What is shown\n"
	"      --leaks              only what has not been freed; --older MS: and was allocated so long ago\n"
	"      --temporary          only what the thread's next call freed again\n"
	"      --sizes              a histogram of sizes; --ages: of how old it is what has not been freed\n"
	"      --processes          totals and rates of processes; -i, --interval SECONDS: what is new, every so often\n"
	"      --trace              every call as it comes\n"
	"\n"
	"How\n"
	"  -d, --duration SECONDS   how long (also 2m, 1h; or just the number); default: until Ctrl-C\n"
	"      --sample-bytes N     one sample in so many bytes (512K), weighed so that sums are right\n"
	"      --max-overhead PCT   step down to samples, then to nothing, when the probes cost more\n"
	"      --blocks N           follow so many at a time (default: by memory, at most a million)\n"
	"      --max-stack N        most frames (256)\n"
	"      --call-graph eh|fp   stacks by unwind tables (default) or by frame pointers\n"
	"\n"
	"What comes out\n"
	"      --format NAME        table, folded, svg, html, pprof, perf, speedscope, json\n"
	"  -f, --folded             the same as --format folded\n"
	"  -o, --output FILE        .svg .html .folded .pb.gz .json tell the format\n"
	"  -n, --top N              rows of the table (20)\n"
	"      --sort self|total    order of the table\n"
	"      --weight TYPE        alloc_space (default), alloc_objects, inuse_space, inuse_objects; of --faults\n"
	"                           resident (default), faults, major_faults; of --growth grown, calls, returned\n"
	"  -U, --user, -K           with -k, only this side of the stacks\n"
	"      --lines, --inline, --no-demangle, --annotations, -A, --title TEXT, --reverse, --inverted\n"
	"  -v (repeat), -q          say more, say less\n"
	"      --no-color\n"
	"\n"
	"Examples\n"
	"  rawprof mem --leaks -p 1234 60             what a process keeps of what it allocates in a minute\n"
	"  rawprof mem --format pprof -o mem.pb.gz -- ./prog\n"
	"  rawprof mem -k 10                          the kernel, for ten seconds, by slab cache and stack\n"
	"  rawprof mem -k --processes --sort rate 10  which process makes it allocate\n"
	"  rawprof mem --faults -p 1234 -o grows.svg 60\n";

static const char doctor_usage[] =
	"Usage: rawprof doctor [--format table|json]\n"
	"\n"
	"Tries every mechanism of the kernel that rawprof can use, and says which of them this kernel and these\n"
	"capabilities give, why not the others, and what is used in their place. A bug report begins with it.\n"
	"\n"
	"  yes or no                whether it works, tried a moment ago\n"
	"  5.8                      the Linux that brought it\n"
	"\n"
	"Each command is set up as for a recording, and taken down again: below Commands stands what its programs\n"
	"were run by, and what it has to do without.\n"
	"\n"
	"Exit status: 0 if the commands work, 1 if one of them does not (options that do not, as in mem -k, do not\n"
	"count).\n";

static const char explain_usage[] =
	"Usage: rawprof explain [PROGRAM] [OPTIONS]\n"
	"\n"
	"The bytecode of rawprof's programs, instruction by instruction: the line it was written as, the bytes, what\n"
	"the verifier knows behind it, joined over all the paths it took. Alone it lists the programs.\n"
	"\n"
	"      --bytes              open each instruction's bit fields\n"
	"      --state              before each instruction, all registers and the stack\n"
	"      --xlated             below each, what the kernel rewrote it to (the lines with a ')\n"
	"      --jit                below each, its machine code (with objdump)\n"
	"      --break WHAT         take out an instruction and see it refused: its number, FILE:LINE, or its text\n"
	"      --flip               with --break: turn the condition round instead\n"
	"      --lint               what is wrong with it, found without the kernel; status 1 if something is\n"
	"      --kernel-log FILE    use a verifier log that was saved (level 2), not the kernel; needs no root, and no\n"
	"                           PROGRAM: then what the log says alone. - is standard input\n"
	"      --dot                the control-flow graph, for graphviz\n"
	"      --format NAME        text, json, dot; log: the verifier's own, for --kernel-log\n"
	"      --no-pager, --no-color; -v, -q\n"
	"\n"
	"Reading it: docs/explain.md.\n"
	"\n"
	"Examples\n"
	"  rawprof explain cpu                        the program that samples stacks\n"
	"  rawprof explain cpu --break 'MOV_REG(R6, R1)'  what the line is there for\n"
	"  rawprof explain follow_fork --dot | dot -Tsvg -o graph.svg\n"
	"  rawprof explain --kernel-log refused.log   any program's log, explained\n";

const struct command commands[] = {
	{ "cpu",
	  "where is CPU time going?",
	  { .usage = cpu_usage,
	    .takes = TAKES_TARGET | TAKES_CPUS | TAKES_SAMPLING | TAKES_STACKS | TAKES_SAMPLES |
		     TAKES_ROWS },
	  command_cpu },
	{ "offcpu",
	  "what are threads waiting for?",
	  { .usage = offcpu_usage,
	    .takes = TAKES_TARGET | TAKES_STACKS | TAKES_ROWS | TAKES_INTERVAL,
	    .own = offcpu_own_options,
	    .own_size = sizeof(struct offcpu_options),
	    .check = offcpu_check },
	  command_offcpu },
	{ "lock",
	  "who waits for which lock, and who holds it up?",
	  { .usage = lock_usage,
	    .takes = TAKES_TARGET | TAKES_STACKS | TAKES_ROWS | TAKES_INTERVAL,
	    .own = lock_own_options,
	    .own_size = sizeof(struct lock_options),
	    .check = lock_check },
	  command_lock },
	{ "wall",
	  "where does the time of threads go, on a CPU or not?",
	  { .usage = wall_usage,
	    .takes = TAKES_TARGET | TAKES_SAMPLING | TAKES_STACKS | TAKES_ROWS,
	    .check = wall_check },
	  command_wall },
	{ "mem",
	  "who allocates, who grows, who leaks?",
	  { .usage = mem_usage,
	    .takes = TAKES_TARGET | TAKES_STACKS | TAKES_ROWS | TAKES_INTERVAL,
	    .own = mem_own_options,
	    .own_size = sizeof(struct mem_options),
	    .check = mem_check },
	  command_mem },
	{ "io",
	  "how slow is storage?",
	  { .usage = io_usage,
	    .takes = TAKES_TARGET | TAKES_STACKS | TAKES_ROWS | TAKES_INTERVAL,
	    .own = io_own_options,
	    .own_size = sizeof(struct io_options),
	    .check = io_check },
	  command_io },
	{ "doctor",
	  "what can be done here, and what will each command use?",
	  { .usage = doctor_usage },
	  command_doctor },
	{ "explain",
	  "what is a program's bytecode, and what does the verifier see?",
	  { .usage = explain_usage },
	  .main = command_explain },
	{ 0 },
};
