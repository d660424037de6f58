/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * measure: runs commands in turn, A B A B …, and prints one row of a Markdown table for each: what
 * it cost, as medians with the smallest and the largest value. Comparing in turn means that
 * whatever else the machine does falls on all of them alike.
 *
 *	measure [-n ROUNDS] [-d SECONDS] [-t] [-b] :: NAME COMMAND ARGS… [:: NAME COMMAND ARGS…]…
 *
 *	CPU	user and system time of the command and of all children it waited for (wait4)
 *	RSS	the largest resident set of any one of them (wait4)
 *	-t	from exec to the last system call that attaches something: perf_event_open, ioctl
 *		PERF_EVENT_IOC_SET_BPF or _ENABLE, bpf BPF_LINK_CREATE or BPF_RAW_TRACEPOINT_OPEN,
 *		before the first pause of 0.3 s; and, with -d, from DURATION after that to the end
 *		of the process: the time to print. The kernel's own time stamps, by tracefs.
 *	-b	BPF run time per run of the command's busiest program (BPF_ENABLE_STATS and fdinfo),
 *		read after 80 % of DURATION, and its runs per second
 *
 * The commands' output goes to /dev/null. A run that fails is left out and told.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach_time.h"

enum { MAX_COMMANDS = 8, MAX_ROUNDS = 99 };
enum metric { CPU_MS, RSS_MB, ATTACH_MS, PRINT_MS, BPF_NS, BPF_RATE, METRICS };

struct command {
	const char *name;
	char **argv;
	int runs, failed;
	double value[METRICS][MAX_ROUNDS]; /* of each of the runs, those that failed left out */
};

static struct {
	int rounds;
	double duration;
	bool trace, bpf;
	struct command commands[MAX_COMMANDS];
	int ncommands;
} plan = { .rounds = 5 };

static void die(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void sleep_until(double t)
{
	double left = t - now();
	struct timespec ts = { .tv_sec = (time_t)left,
			       .tv_nsec = (long)((left - (double)(time_t)left) * 1e9) };

	if (left > 0)
		nanosleep(&ts, NULL);
}

/* run_time_ns and run_cnt of the program behind one descriptor, as fdinfo has them. */
static bool read_fdinfo(const char *path, uint64_t *ns, uint64_t *runs)
{
	FILE *f = fopen(path, "r");
	bool is_program = false;
	char line[256];

	*ns = *runs = 0;
	while (f && fgets(line, sizeof(line), f)) {
		is_program |= sscanf(line, "run_time_ns: %" SCNu64, ns) == 1;
		sscanf(line, "run_cnt: %" SCNu64, runs);
	}
	if (f)
		fclose(f);
	return is_program;
}

static void read_bpf_stats(pid_t pid, uint64_t *best_ns, uint64_t *best_runs)
{
	char dir[64], path[400];
	struct dirent *entry;
	uint64_t ns, runs;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fdinfo", pid);
	d = opendir(dir);
	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (isdigit(entry->d_name[0]) && read_fdinfo(path, &ns, &runs) &&
		    runs > *best_runs) {
			*best_runs = runs;
			*best_ns = ns;
		}
	}
	if (d)
		closedir(d);
}

/* Forks; the child waits for a byte so that it can be watched from its exec on. */
static pid_t start(struct command *c, int *go)
{
	int pipe_fd[2], null;
	pid_t pid;
	char byte;

	if (pipe2(pipe_fd, O_CLOEXEC))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		close(pipe_fd[1]);
		if (read(pipe_fd[0], &byte, 1) != 1)
			_exit(127);
		execvp(c->argv[0], c->argv);
		_exit(127);
	}
	close(pipe_fd[0]);
	*go = pipe_fd[1];
	return pid;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

static void run_once(struct command *c)
{
	const int run = c->runs;
	uint64_t bpf_ns = 0, bpf_runs = 0;
	double begin, end, attached = 0;
	struct rusage usage;
	int status, go;
	pid_t pid = start(c, &go);

	if (plan.trace && attach_time_watch(pid))
		die("tracefs");
	begin = now();
	if (write(go, "x", 1) != 1)
		die("pipe");
	close(go);
	if (plan.bpf) {
		sleep_until(begin + plan.duration * 0.8);
		read_bpf_stats(pid, &bpf_ns, &bpf_runs);
	}
	if (wait4(pid, &status, 0, &usage) < 0)
		die("wait4");
	end = now();
	if (status) {
		fprintf(stderr, "measure: %s ended with status %#x\n", c->name, status);
		c->failed++;
		return;
	}
	c->runs++;
	c->value[CPU_MS][run] = (seconds(usage.ru_utime) + seconds(usage.ru_stime)) * 1e3;
	c->value[RSS_MB][run] = (double)usage.ru_maxrss / 1024;
	if (plan.trace && !attach_time_read(&begin, &attached)) {
		c->value[ATTACH_MS][run] = (attached - begin) * 1e3;
		c->value[PRINT_MS][run] = (end - attached - plan.duration) * 1e3;
	}
	if (bpf_runs) {
		c->value[BPF_NS][run] = (double)bpf_ns / (double)bpf_runs;
		c->value[BPF_RATE][run] = (double)bpf_runs / (plan.duration * 0.8);
	}
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* "12.3 [11.0-14.2]", and how many times the first command's median it is. */
static void print_cell(struct command *c, enum metric m, int digits)
{
	double *v = c->value[m], median, base;

	if (!c->runs) {
		printf(" failed |");
		return;
	}
	qsort(v, (size_t)c->runs, sizeof(*v), by_value);
	median = v[c->runs / 2];
	base = plan.commands[0].value[m][plan.commands[0].runs / 2]; /* sorted: it comes first */
	if (median == 0) {
		printf(" - |");
		return;
	}
	printf(" %.*f [%.*f-%.*f]", digits, median, digits, v[0], digits, v[c->runs - 1]);
	if (c != plan.commands && base > 0)
		printf(" x%.3g", median / base);
	printf(" |");
}

static void print_table(void)
{
	static const char *const titles[METRICS] = {
		[CPU_MS] = "CPU, ms",
		[RSS_MB] = "peak RSS, MB",
		[ATTACH_MS] = "exec to attached, ms",
		[PRINT_MS] = "end of recording to end, ms",
		[BPF_NS] = "BPF run, ns",
		[BPF_RATE] = "BPF runs/s",
	};
	const bool shown[METRICS] = {
		[CPU_MS] = true,	  [RSS_MB] = true,
		[ATTACH_MS] = plan.trace, [PRINT_MS] = plan.trace && plan.duration > 0,
		[BPF_NS] = plan.bpf,	  [BPF_RATE] = plan.bpf
	};
	const int digits[METRICS] = { [CPU_MS] = 1,   [RSS_MB] = 1, [ATTACH_MS] = 1,
				      [PRINT_MS] = 1, [BPF_NS] = 0, [BPF_RATE] = 0 };

	printf("| |");
	for (int m = 0; m < METRICS; m++)
		if (shown[m])
			printf(" %s |", titles[m]);
	printf("\n|---|");
	for (int m = 0; m < METRICS; m++)
		if (shown[m])
			printf("---|");
	printf("\n");
	for (int i = 0; i < plan.ncommands; i++) {
		const struct command *c = &plan.commands[i];

		printf("| %s", c->name);
		if (c->failed)
			printf(" (%d of %d runs failed)", c->failed, c->failed + c->runs);
		printf(" |");
		for (int m = 0; m < METRICS; m++)
			if (shown[m])
				print_cell(&plan.commands[i], (enum metric)m, digits[m]);
		printf("\n");
	}
}

/* Cuts ":: NAME COMMAND…" in place: each "::" becomes the NULL that ends an argv. */
static void parse_commands(char **argv)
{
	while (*argv && plan.ncommands < MAX_COMMANDS) {
		struct command *c = &plan.commands[plan.ncommands++];

		*argv++ = NULL;
		c->name = *argv++;
		c->argv = argv;
		while (*argv && strcmp(*argv, "::"))
			argv++;
	}
}

int main(int argc, char **argv)
{
	union bpf_attr attr = { .enable_stats.type = BPF_STATS_RUN_TIME };
	int opt;

	while ((opt = getopt(argc, argv, "+n:d:tb")) != -1) {
		if (opt == 'n')
			plan.rounds = atoi(optarg);
		else if (opt == 'd')
			plan.duration = strtod(optarg, NULL);
		else if (opt == 't')
			plan.trace = true;
		else if (opt == 'b')
			plan.bpf = true;
		else
			return 2;
	}
	if (optind + 2 >= argc || strcmp(argv[optind], "::") || plan.rounds < 1 ||
	    plan.rounds > MAX_ROUNDS || (plan.bpf && plan.duration <= 0)) {
		fprintf(stderr,
			"usage: measure [-n ROUNDS] [-d SECONDS] [-t] [-b] :: NAME COMMAND…\n");
		return 2;
	}
	parse_commands(argv + optind);
	/* Held open, and so in force, until this process ends. */
	if (plan.bpf && syscall(SYS_bpf, BPF_ENABLE_STATS, &attr, sizeof(attr)) < 0)
		die("BPF_ENABLE_STATS");
	if (plan.trace && attach_time_open())
		die("tracefs");
	for (int round = 0; round < plan.rounds; round++)
		for (int i = 0; i < plan.ncommands; i++)
			run_once(&plan.commands[i]);
	if (plan.trace)
		attach_time_close();
	print_table();
	return 0;
}
