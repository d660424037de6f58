/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of commands into which faults are injected. To have another command or option tried,
 * add a row:
 *
 *	the arguments	@prog is a program that does a little of everything and ends (target.c),
 *			@pid a process that does it for ever, @out a file for the result,
 *			@saved a saved profile
 *	the form	of the result, which says how it is seen to be complete
 *	{ ... }		regular expressions that a whole result holds, at most three: of a result
 *			that lacks one of them, something has to be said
 *			(in a table that is long enough: on a busy machine much else is in it)
 *	.cold		the cache of unwind tables is empty
 *	.tells		the result is about what works: a line of it is as good as a message
 *	.status		the exit status without a fault, if it is not 0
 *
 * All else follows: `faults --list` shows the points that it has.
 */
#include "faults.h"

/* At the end of a table, and only there. */
#define ENDS "own cost: .*memory [0-9.]+ MiB$"
#define LEDGER "ledger: [0-9,]+ .* lost"

/* clang-format off */
const struct row rows[] = {
	{ "cpu -F 999 -- @prog", TEXT, { "faults_burn", LEDGER, ENDS } },
	{ "cpu -F 999 -- @prog", TEXT, { "faults_burn", LEDGER, ENDS }, .cold = true },
	{ "cpu -F 999 --call-graph fp -- @prog", TEXT, { "faults_burn", LEDGER, ENDS } },
	{ "cpu -F 999 -d 0.1 -p @pid", TEXT, { "faults_burn", LEDGER, ENDS } },
	{ "cpu -F 999 -d 0.1 -p @pid", TEXT, { "faults_burn", LEDGER, ENDS }, .cold = true },
	{ "cpu -F 999 --lines --inline -- @prog", TEXT, { "faults_burn.*target\\.c", LEDGER, ENDS } },
	{ "cpu -F 999 -d 0.1 -C 0", TEXT, { LEDGER, ENDS } },
	{ "cpu -e page-faults -c 1 -- @prog", TEXT, { "faults_touch", LEDGER, ENDS } },
	{ "cpu -e sched:sched_switch -- @prog", TEXT, { "faults_sleep", LEDGER, ENDS } },
	{ "cpu -F 999 --samples -d 0.1 -p @pid", TEXT, { "faults_burn" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.svg", SVG, { "faults_burn" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.html", HTML, { "faults_burn" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.pb.gz", PPROF, { "faults_burn" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.json --format speedscope", JSON, { "faults_burn" } },
	{ "wall -F 999 -d 0.1 -p @pid -o @out.firefox.json", JSON, { "faults_burn", "faults_sleep" } },
	{ "wall -F 999 -d 0.1 -p @pid -o @out.chrome.json", JSON, { "faults_burn", "faults_sleep" } },
	{ "wall -F 999 -d 0.1 -p @pid -o @out.perfetto-trace", PACKETS, { "faults_burn", "faults_sleep" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.json", JSON, { "faults_burn", "\"lost\"" } },
	{ "cpu -F 999 -d 0.1 -p @pid --format folded -o @out.folded", TEXT, { "faults_burn [0-9]+$" } },
	{ "cpu -F 999 -d 0.1 -p @pid --format perf", TEXT, { "faults_burn" } },
	{ "offcpu --top 100 -- @prog", TEXT, { "faults_sleep", LEDGER, ENDS } },
	{ "offcpu --top 100 -d 0.1 -p @pid", TEXT, { "faults_sleep", LEDGER, ENDS } },
	{ "offcpu --top 100 --wakers -d 0.1 -p @pid", TEXT, { "faults_sleep", LEDGER, ENDS } },
	{ "offcpu --top 100 --wakers -- @prog", TEXT, { "faults_sleep", LEDGER, ENDS }, .cold = true },
	{ "offcpu --runq -d 0.1 -p @pid", TEXT, { "p99", LEDGER, ENDS } },
	{ "offcpu --runq --by process -- @prog", TEXT, { "p99", LEDGER, ENDS } },
	{ "offcpu --runq --format json -o @out.json -- @prog", JSON, { "target" } },
	{ "wall -F 999 --top 100 -- @prog", TEXT, { "faults_burn", "faults_sleep", ENDS } },
	{ "wall -F 999 --top 100 -d 0.1 -p @pid", TEXT, { "faults_burn", "faults_sleep", ENDS } },
	{ "wall -F 999 -d 0.1 -p @pid -o @out.svg", SVG, { "faults_burn", "faults_sleep" } },
	{ "lock -d 0.1 -p @pid", TEXT, { "faults_wait", LEDGER, ENDS } },
	{ "lock -- @prog", TEXT, { "faults_wait", LEDGER, ENDS } },
	{ "lock --user --by thread -- @prog", TEXT, { "target", LEDGER, ENDS } },
	{ "lock --kernel -d 0.1 -p @pid", TEXT, { LEDGER, ENDS } },
	{ "lock --hist type -- @prog", TEXT, { "p99", LEDGER, ENDS } },
	{ "lock --stacks -- @prog", TEXT, { "faults_wait", LEDGER, ENDS } },
	{ "lock --hold -- @prog", TEXT, { "faults_wait|hold", LEDGER, ENDS } },
	{ "lock --hold -d 0.1 -p @pid", TEXT, { "faults_wait|hold", LEDGER, ENDS } },
	{ "lock -d 0.1 -p @pid --format json -o @out.json", JSON, { "faults_wait" } },
	{ "mem -- @prog", TEXT, { "faults_alloc", LEDGER, ENDS } },
	{ "mem -- @prog", TEXT, { "faults_alloc", LEDGER, ENDS }, .cold = true },
	{ "mem -d 0.1 -p @pid", TEXT, { "faults_alloc", LEDGER, ENDS } },
	{ "mem --sizes -- @prog", TEXT, { "p99|faults|1000|512", LEDGER, ENDS } },
	{ "mem --processes -- @prog", TEXT, { "target", LEDGER, ENDS } },
	{ "mem --trace -- @prog", TEXT, { "malloc" } },
	{ "mem -o @out.pb.gz -- @prog", PPROF, { "faults_alloc" } },
	{ "mem -k -d 0.1 -p @pid", TEXT, { LEDGER, ENDS } },
	{ "mem -k -o @out.json -- @prog", JSON, { "target|kmalloc" } },
	{ "mem --faults -- @prog", TEXT, { "faults_touch", LEDGER, ENDS } },
	{ "mem --growth -- @prog", TEXT, { "faults_touch", LEDGER, ENDS } },
	{ "io -- @prog", TEXT, { LEDGER, ENDS } },
	{ "io --phases -d 0.1", TEXT, { LEDGER, ENDS } },
	{ "io --log -- @prog", TEXT, { "target" } },
	{ "io --stacks -- @prog", TEXT, { LEDGER, ENDS } },
	{ "io --processes --top 5 -- @prog", TEXT, { LEDGER, ENDS } },
	{ "io --pattern -- @prog", TEXT, { LEDGER, ENDS } },
	{ "io --syscalls -- @prog", TEXT, { "fsync|pwrite", LEDGER, ENDS } },
	{ "io --fsync -- @prog", TEXT, { LEDGER, ENDS } },
	{ "io --format json -o @out.json -- @prog", JSON, { "hist|disk|\\[" } },
	{ "io --format prometheus -- @prog", TEXT, { "# (HELP|TYPE)|^rawprof" } },
	{ "gpu -- @prog", TEXT, { LEDGER, ENDS } },
	{ "stat -- @prog", TEXT, { "page-faults", "elapsed$" } },
	{ "stat -A -d 0.1 -e cpu-clock,cs -x , -o @out", TEXT, { "^CPU0,.*cpu-clock" } },
	{ "stat -d 0.1 -p @pid --format json -o @out.json", JSON, { "page-faults" } },
	{ "cpu -F 999 -d 0.1 -p @pid -o @out.rawprof", SAVED, { "faults_burn" } },
	{ "record offcpu -d 0.1 -p @pid -o @out", SAVED, { "faults_sleep" } },
	{ "io --format rawprof -o @out -- @prog", SAVED, { "requests" } },
	{ "report @saved", TEXT, { "leaf", LEDGER } },
	{ "report --tree @saved", TEXT, { "leaf", LEDGER } },
	{ "report --by comm,symbol @saved", TEXT, { "leaf", LEDGER } },
	{ "report --callers leaf @saved", TEXT, { "main", LEDGER } },
	{ "report --filter comm=app --format folded -o @out @saved", TEXT, { "leaf" } },
	{ "report --between 0,1 -o @out.svg @saved", SVG, { "leaf" } },
	{ "report --format pprof -o @out @saved", PPROF, { "leaf" } },
	{ "diff @saved @saved", TEXT, { "Nothing changed" } },
	{ "diff --all -o @out.svg @saved @saved", SVG, { "leaf" } },
	{ "diff --format json -o @out.json @saved @saved", JSON, { "leaf" } },
	{ "explain", TEXT, { "cpu_sample", "mem_" } },
	{ "explain cpu_sample", TEXT, { "EXIT\\(\\)" } },
	{ "explain cpu_sample --bytes --state", TEXT, { "EXIT\\(\\)" } },
	{ "explain cpu_sample --xlated --jit", TEXT, { "EXIT\\(\\)" } },
	{ "explain cpu_sample --break 1", TEXT, { "R[0-9]" } },
	{ "explain cpu_sample --lint", TEXT, { "nothing|no |clean|found" } },
	{ "explain cpu_sample --format json", JSON, { "cpu_sample" } },
	{ "explain cpu_sample --dot", TEXT, { "^digraph", "^}$" } },
	{ "explain --kernel-log @log", TEXT, { "exit" } },
	{ "doctor", TEXT, { "yes  io  ", "cpu_clock" }, .tells = true },
	{ "doctor --format json", JSON, { "cpu_clock" }, .tells = true },
	{ "help", TEXT, { "says more" } },
	{ "help cpu", TEXT, { "Examples", "\\./prog args" } },
	{ "help --list mem", TEXT, { "--older", "--faults" } },
	{ "--version", TEXT, { "^rawprof [0-9]" } },
};
/* clang-format on */
const unsigned int nrows = sizeof(rows) / sizeof(rows[0]);
