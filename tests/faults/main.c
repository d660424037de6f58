/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * faults: makes each call of rawprof that can fail do so, one in each run, for each command of the
 * table (rows.c), and judges what rawprof makes of it. The calls are found by a run of each command
 * in which nothing fails; one that a loop makes from the same place a thousand times is failed the
 * first, the second and the last time.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "main.h"

struct places places;
enum { ALL_ROWS = -1 };
struct options options = { .seed = 1, .row = (unsigned int)ALL_ROWS };

void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("faults: mmap");
		exit(2);
	}
	return p;
}

/* ---- workers */

static struct injection *map_points(const char *dir)
{
	char path[1024];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/points", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct injection)))
		return NULL;
	p = mmap(NULL, sizeof(struct injection), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void work(struct worker *w, unsigned int *next, unsigned int n, worker_fn *each, void *ctx)
{
	unsigned int i;

	setpgid(0, 0); /* Ctrl-C is for the parent */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(w->dir, sizeof(w->dir), "%s/%u", places.work, w->number);
	mkdir(w->dir, 0700);
	w->shared = map_points(w->dir);
	while (w->shared && (i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < n)
		each(w, i, ctx);
	if (w->target)
		kill(w->target, SIGKILL);
}

static unsigned int *next_one, last_one;

/* What is under way comes to its end, and what was found so far is shown. */
static void end_early(int sig)
{
	(void)sig;
	__atomic_store_n(next_one, last_one, __ATOMIC_RELAXED);
}

/* Calls @each for all numbers below n, in options.jobs processes. */
void in_parallel(unsigned int n, worker_fn *each, void *ctx)
{
	unsigned int *next = shared_memory(sizeof(*next));

	*next = 0;
	next_one = next;
	last_one = n;
	fflush(NULL);
	for (unsigned int k = 0; k < options.jobs; k++) {
		if (!fork()) {
			struct worker w = { .number = k };

			signal(SIGINT, SIG_DFL);
			signal(SIGTERM, SIG_DFL);
			work(&w, next, n, each, ctx);
			fflush(NULL);
			_exit(0);
		}
	}
	signal(SIGINT, end_early);
	signal(SIGTERM, end_early);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	munmap(next, sizeof(*next));
}

/* A target that was harmed is replaced. */
void worker_run(struct worker *w, struct run *run, struct outcome *out, const char *usual)
{
	run->dir = w->dir;
	run->shared = run->mode == RUN_PLAIN || run->mode == RUN_KILL ? NULL : w->shared;
	if (strstr(run->row->args, "@pid") && !w->target)
		w->target = target_start(w->dir);
	run->target = strstr(run->row->args, "@pid") ? w->target : 0;
	judge_prepare(run);
	supervise(run, out);
	judge(run, out, usual);
	if (run->target && target_harmed(w->target)) {
		kill(w->target, SIGKILL);
		waitpid(w->target, NULL, 0);
		w->target = 0;
	}
}

/* ---- places and options */

static void find_place(const char *name, char *out, size_t size)
{
	char *path = realpath(name, NULL);

	if (!path || strlen(path) >= size) {
		fprintf(stderr, "faults: %s: %s\n", name, strerror(path ? ENAMETOOLONG : errno));
		exit(2);
	}
	snprintf(out, size, "%s", path);
	free(path);
}

static void find_places(const char *self)
{
	find_place(self, places.build, sizeof(places.build));
	for (int i = 0; i < 2; i++)
		*strrchr(places.build, '/') = 0;
	find_place(options.rawprof ? options.rawprof : "rawprof", places.rawprof,
		   sizeof(places.rawprof));
	snprintf(places.work, sizeof(places.work), "%s/faults-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/var/tmp");
	if (!mkdtemp(places.work) || chmod(places.work, 0755)) {
		perror(places.work);
		exit(2);
	}
}

static void remove_places(void)
{
	char command[600];

	snprintf(command, sizeof(command), "rm -rf '%s'", places.work);
	if (options.keep || system(command))
		fprintf(stderr, "faults: left in %s\n", places.work);
}

static const char usage[] =
	"usage: faults [OPTIONS]: fails rawprof's system calls and allocations, one at a time\n"
	"  --sample N     at most N points, chosen by --seed\n"
	"  --all          those that another row of the command has too\n"
	"  --jobs N       so many at once (two for each CPU)\n"
	"  --seed N       which points, which moments (1)\n"
	"  --row N        only that row of the table\n"
	"  --only WORD    only rows that begin so\n"
	"  --at PLACE     only calls that come from there: 'record/target.c:12', 'make_child'\n"
	"  --list         the points, without failing them\n"
	"  --point ID     that one, and what rawprof said\n"
	"  --kills N      in place of faults, SIGKILL at N moments\n"
	"  --findings F   where mistakes are written with their places\n"
	"  --rawprof F    the program (./rawprof)\n"
	"  --keep         do not remove the files\n";

static const struct {
	const char *name;
	unsigned int *number; /* one of these three */
	const char **word;
	bool *flag;
} known[] = {
	{ "--sample", &options.sample, NULL, NULL },
	{ "--jobs", &options.jobs, NULL, NULL },
	{ "--seed", &options.seed, NULL, NULL },
	{ "--row", &options.row, NULL, NULL },
	{ "--kills", &options.kills, NULL, NULL },
	{ "--only", NULL, &options.only, NULL },
	{ "--at", NULL, &options.at, NULL },
	{ "--point", NULL, &options.point, NULL },
	{ "--findings", NULL, &options.findings, NULL },
	{ "--rawprof", NULL, &options.rawprof, NULL },
	{ "--all", NULL, NULL, &options.all },
	{ "--list", NULL, NULL, &options.list },
	{ "--keep", NULL, NULL, &options.keep },
};

/* Returns how many arguments it took, 0 if it knows none of that name. */
static int parse_one(char **argv)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(argv[0], known[i].name))
			continue;
		if (known[i].flag) {
			*known[i].flag = true;
			return 1;
		}
		if (!argv[1])
			return 0;
		if (known[i].number)
			*known[i].number = (unsigned int)strtoul(argv[1], NULL, 0);
		else
			*known[i].word = argv[1];
		return 2;
	}
	return 0;
}

static void parse(char **argv)
{
	while (*argv) {
		int took = parse_one(argv);

		if (!took) {
			fputs(usage, stderr);
			exit(2);
		}
		argv += took;
	}
	if (!options.jobs)
		options.jobs = 2 * (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
}

bool row_chosen(unsigned int row)
{
	return (options.row == (unsigned int)ALL_ROWS || options.row == row) &&
	       (!options.only || !strncmp(rows[row].args, options.only, strlen(options.only)));
}

int main(int argc, char **argv)
{
	int status;

	(void)argc;
	parse(argv + 1);
	find_places(argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = options.point ? point_main() : options.kills ? kills_main() : points_main();
	remove_places();
	return status;
}
