/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offers the kernel every bad program there is. Those that have to be refused must be, with the
 * words and the errno expected of this kernel and naming the line at fault; those that the verifier
 * takes must do the harm that they are known for.
 *
 * check [ID...]: all, or those named. -v prints what the kernel said. Ends with a line
 * "N passed, N failed, N skipped". check -m prints the refusals instead, for docs/messages.md: of
 * each, behind tabs, the lesson on such things, what it is, the kernel's words, the line at fault,
 * why, and what to do.
 */
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "bad.h"

const struct asm_map bad_maps[BAD_MAPS] = {
	[MAP_M] = { "m", BPF_MAP_TYPE_HASH, 16, 8, 16 },
	[MAP_COUNTS12] = { "counts12", BPF_MAP_TYPE_HASH, 12, 8, 16 },
	[MAP_BIG] = { "big", BPF_MAP_TYPE_HASH, 600, 8, 4 },
	[MAP_CELL] = { "cell", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	[MAP_RB] = { "rb", BPF_MAP_TYPE_RINGBUF, 0, 0, 65536 },
	[MAP_STACK_TRACES] = { "stack_traces", BPF_MAP_TYPE_STACK_TRACE, 4, 8, 10000 },
	[MAP_CPU_SAMPLES] = { "cpu_samples", BPF_MAP_TYPE_HASH, 16, 8, 100000 },
	[MAP_MEM_ALLOCS] = { "mem_allocations", BPF_MAP_TYPE_HASH, 8, 16, 10000 },
	[MAP_IO_START] = { "io_start_times", BPF_MAP_TYPE_HASH, 8, 8, 10000 },
	[MAP_IO_HIST] = { "io_latency_hist", BPF_MAP_TYPE_HASH, 4, 8, 64 },
	[MAP_TINY] = { "tiny", BPF_MAP_TYPE_HASH, 8, 8, 1 },
	[MAP_CLOSED] = { "closed", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
};

/* With the lesson of the course that is about such things. */
static const struct {
	const struct bad_case *cases;
	int lesson;
} lists[] = {
	{ bad_shape, 1 },
	{ bad_registers, 2 },
	{ bad_stack, 3 },
	{ bad_map_use, 4 },
	{ bad_context, 7 },
	{ bad_calls, 8 },
	{ bad_ring, 10 },
	{ bad_published, 14 },
	{ bad_seed_cpu, 14 },
	{ bad_seed_malloc, 14 },
	{ bad_seed_io, 14 },
	{ bad_accepted, 3 },
};
enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

static int kernel_version;
static bool verbose;
static int passed, failed, skipped;

/* What the loader said about the program at hand. */
struct verdict {
	int result; /* descriptor or negative errno */
	char said[16384];
};

static void keep_words(void *ctx, enum rp_level level, const char *message)
{
	struct verdict *v = ctx;
	const size_t used = strlen(v->said);

	(void)level;
	snprintf(v->said + used, sizeof(v->said) - used, "%s\n", message);
}

/* ---- loading */

static void load(const struct bad_case *c, const int *map_fds, struct verdict *v)
{
	const struct asm_bindings bind = { .maps = bad_maps,
					   .map_fds = map_fds,
					   .nmaps = BAD_MAPS };

	v->said[0] = '\0';
	rp_log_setup(RP_WARN, keep_words, v);
	v->result = rp_program_load(&c->program, &bind);
	rp_log_setup(RP_WARN, NULL, NULL);
}

int bad_keep_only_cap_bpf(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[CAP_TO_INDEX(CAP_BPF)].effective = CAP_TO_MASK(CAP_BPF);
	data[CAP_TO_INDEX(CAP_BPF)].permitted = CAP_TO_MASK(CAP_BPF);
	return (int)syscall(SYS_capset, &header, data);
}

/* In a child, for capabilities that were given up do not come back. Returns 0 for an accepted
 * program, which stays behind in the child. */
static void load_unprivileged(const struct bad_case *c, const int *map_fds, struct verdict *v)
{
	int pipe_fds[2];
	size_t got = 0;
	ssize_t n;
	pid_t child;

	v->result = -EPIPE;
	if (pipe(pipe_fds))
		return;
	child = fork();
	if (child == 0) {
		if (bad_keep_only_cap_bpf())
			v->result = -errno;
		else
			load(c, map_fds, v);
		if (v->result >= 0)
			v->result = (int)bad_run(v->result);
		if (write(pipe_fds[1], v, sizeof(*v)) != sizeof(*v))
			_exit(1);
		_exit(0);
	}
	close(pipe_fds[1]);
	while (got < sizeof(*v) && (n = read(pipe_fds[0], (char *)v + got, sizeof(*v) - got)) > 0)
		got += (size_t)n;
	close(pipe_fds[0]);
	waitpid(child, NULL, 0);
}

/* ---- running */

int64_t bad_run(int prog_fd)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };
	int err = rp_prog_test_run(prog_fd, &run);

	return err ? err : (int64_t)run.retval;
}

uint64_t bad_cell(const int *map_fds)
{
	uint64_t value = 0;

	rp_map_lookup(map_fds[MAP_CELL], &(uint32_t){ 0 }, &value);
	return value;
}

struct runner {
	pthread_barrier_t *start;
	int prog_fd, cpu;
	uint32_t n;
};

static void *run_on_cpu(void *arg)
{
	const struct runner *r = arg;
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet,
				   .data_size_in = sizeof(packet),
				   .repeat = r->n };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(r->cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	pthread_barrier_wait(r->start);
	rp_prog_test_run(r->prog_fd, &run);
	return NULL;
}

bool bad_run_on_two_cpus(int prog_fd, uint32_t n)
{
	struct rp_cpus cpus;
	pthread_barrier_t start;
	pthread_t threads[2];
	struct runner runners[2];

	if (rp_cpus_online(&cpus))
		return false;
	if (cpus.n < 2) {
		rp_cpus_free(&cpus);
		return false;
	}
	pthread_barrier_init(&start, NULL, 2);
	for (int i = 0; i < 2; i++) {
		runners[i] = (struct runner){ &start, prog_fd, cpus.cpu[i], n };
		pthread_create(&threads[i], NULL, run_on_cpu, &runners[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&start);
	rp_cpus_free(&cpus);
	return true;
}

/* ---- judging */

static void outcome(const struct bad_case *c, const char *word, int *counter, const char *why)
{
	(*counter)++;
	printf("%-4s %s: %s%s%s\n", word, c->id, c->what, *why ? "\n     " : "", why);
}

static bool applies(const struct bad_saying *s)
{
	return s->words && kernel_version >= s->since && (!s->before || kernel_version < s->before);
}

/* NULL if the refusal is the expected one; else what is wrong with it. */
static const char *misjudged(const struct bad_case *c, const struct verdict *v, char *why,
			     size_t size)
{
	for (int i = 0; i < BAD_SAYINGS; i++) {
		const struct bad_saying *s = &c->says[i];

		if (!applies(s))
			continue;
		if (v->result != -s->err) {
			snprintf(why, size, "refused with %s, not %s", strerror(-v->result),
				 strerror(s->err));
			return why;
		}
		if (!strstr(v->said, s->words)) {
			snprintf(why, size, "it does not say \"%s\"", s->words);
			return why;
		}
	}
	if (c->at) {
		snprintf(why, size, ": %s\n", c->at);
		if (!strstr(v->said, "\nat ") || !strstr(v->said, why)) {
			snprintf(why, size, "it does not name the line %s", c->at);
			return why;
		}
	}
	return NULL;
}

static void judge_refused(const struct bad_case *c, const struct verdict *v)
{
	char why[400];

	if (v->result >= 0) {
		close(v->result);
		outcome(c, "fail", &failed, "the kernel accepts it");
	} else if (misjudged(c, v, why, sizeof(why))) {
		outcome(c, "fail", &failed, why);
		printf("%s", v->said);
	} else {
		outcome(c, "ok", &passed, "");
	}
}

/* ---- mending */

static struct {
	int cases, good, repairable, repaired, moved, compared, differ;
} mends;

static void mend(const struct bad_case *c, const int *map_fds)
{
	struct bad_outcome o;
	char why[200];

	bad_mend(c, map_fds, &o);
	mends.repairable += o.mends;
	mends.repaired += o.mends && o.repaired;
	mends.moved += o.moved;
	mends.compared += o.compared;
	mends.differ += o.differs;
	snprintf(why, sizeof(why), "%s%s%s%s%s", o.named || !o.mends ? "" : " [line not named]",
		 o.advised || !o.mends ? "" : " [not what the advice says]",
		 o.loads || !o.mends ? "" : " [does not load when mended]",
		 o.moved ? " [the repair reads or writes elsewhere]" : "",
		 o.differs ? " [the repair does something else]" : "");
	if (o.mends) {
		mends.cases++;
		mends.good += o.named && o.advised && o.loads;
	}
	if (verbose || *why)
		printf("     %s mended:%s%s\n%s", c->id, *why ? why : " ok",
		       o.repaired ? ", repaired" : "", verbose ? o.said : "");
}

/* Of 43 such programs 40 have the line to change named, and 25 are repaired: of all as many. */
static void judge_mends(void)
{
	const bool enough = 43 * mends.good >= 40 * mends.cases && mends.cases >= 43 &&
			    43 * mends.repaired >= 25 * mends.repairable;
	const bool good = enough && !mends.moved && !mends.differ;

	*(good ? &passed : &failed) += 1;
	printf("%-4s mends: %d of %d load with a change at the line that is named, as the advice "
	       "has "
	       "it; --repair finds one for %d of %d, which reads or writes elsewhere in %d, and "
	       "does something else in %d of %d that were run\n",
	       good ? "ok" : "fail", mends.good, mends.cases, mends.repaired, mends.repairable,
	       mends.moved, mends.differ, mends.compared);
}

static void judge_accepted(const struct bad_case *c, const struct verdict *v, const int *map_fds)
{
	char seen[BAD_SEEN_SIZE] = "";
	int harmless;

	if (v->result < 0) {
		outcome(c, "fail", &failed, "it should be accepted, and is refused");
		printf("%s", v->said);
		return;
	}
	if (c->unprivileged) {
		outcome(c, "ok", &passed, "accepted");
		return;
	}
	/* What cannot be attached says so, and is meant to. */
	rp_log_setup(RP_WARN, keep_words, &(struct verdict){ 0 });
	harmless = c->silent(v->result, map_fds, seen);
	rp_log_setup(RP_WARN, NULL, NULL);
	close(v->result);
	if (harmless > 0)
		outcome(c, "skip", &skipped, seen);
	else
		outcome(c, harmless ? "fail" : "ok", harmless ? &failed : &passed, seen);
}

static void try(const struct bad_case *c, const int *map_fds)
{
	static struct verdict v;
	bool accepted;

	if (kernel_version < c->needs) {
		char why[80];

		snprintf(why, sizeof(why), "needs Linux %d.%d", c->needs / 1000, c->needs % 1000);
		outcome(c, "skip", &skipped, why);
		return;
	}
	accepted = c->silent && kernel_version >= c->accepted_since;
	if (!accepted && kernel_version >= c->refused_before && c->silent) {
		outcome(c, "skip", &skipped, "not known whether this kernel accepts it");
		return;
	}
	if (c->unprivileged)
		load_unprivileged(c, map_fds, &v);
	else
		load(c, map_fds, &v);
	if (accepted)
		judge_accepted(c, &v, map_fds);
	else
		judge_refused(c, &v);
	if (v.result < 0 && !accepted)
		mend(c, map_fds);
	if (verbose && v.said[0])
		printf("%s\n", v.said);
}

/* ---- the list of refusals */

/* Prints a tab and the rest of the line behind `begin`, if `said` has a line that begins so. */
static void tell_line(const char *said, const char *begin)
{
	const char *line = said;

	while (line && strncmp(line, begin, strlen(begin))) {
		line = strchr(line, '\n');
		line += line != NULL;
	}
	printf("\t%.*s", line ? (int)strcspn(line + strlen(begin), "\n") : 0,
	       line ? line + strlen(begin) : "");
}

/* The whole line of the kernel's that has the words in it; where it has none, the loader's. */
static void tell_words(const char *said, const char *words)
{
	const char *kernels = strstr(said, "the verifier's last words:");
	const char *line = kernels ? strstr(kernels, words) : NULL;

	line = line ? line : strstr(said, words);
	while (line > said && line[-1] != '\n')
		line--;
	printf("\t%.*s", (int)strcspn(line, "\n"), line);
}

static void tell(const struct bad_case *c, int lesson, const int *map_fds)
{
	static struct verdict v;

	if (kernel_version < c->needs)
		return;
	(c->unprivileged ? load_unprivileged : load)(c, map_fds, &v);
	if (v.result >= 0 && !c->unprivileged)
		close(v.result);
	for (int i = 0; i < BAD_SAYINGS && v.result < 0; i++) {
		if (!applies(&c->says[i]) || !strstr(v.said, c->says[i].words))
			continue;
		printf("%d\t%s", lesson, c->what);
		tell_words(v.said, c->says[i].words);
		printf("\t%s", c->at ? c->at : "");
		tell_line(v.said, "why: ");
		tell_line(v.said, "try: ");
		printf("\n");
		return;
	}
}

static bool wanted(const char *id, char **ids)
{
	if (!*ids)
		return true;
	for (; *ids; ids++)
		if (!strcmp(*ids, id))
			return true;
	return false;
}

static int ncases(void)
{
	int n = 0;

	for (int i = 0; i < LISTS; i++)
		for (const struct bad_case *c = lists[i].cases; c->id; c++)
			n++;
	return n;
}

int main(int argc, char **argv)
{
	int map_fds[BAD_MAPS], major = 0, minor = 0;
	bool messages;
	struct utsname uts;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	argv++;
	verbose = *argv && !strcmp(*argv, "-v");
	messages = *argv && !strcmp(*argv, "-m");
	argv += verbose || messages;
	if (!rp_cap_has(RP_CAP_BPF) || !rp_cap_has(RP_CAP_PERFMON)) {
		printf("skip all: it takes CAP_BPF and CAP_PERFMON to be refused by the verifier "
		       "(run "
		       "it as root)\n0 passed, 0 failed, %d skipped\n",
		       ncases());
		return 0;
	}
	if (uname(&uts) || sscanf(uts.release, "%d.%d", &major, &minor) != 2)
		return 1;
	kernel_version = KERNEL(major, minor);
	if (rp_maps_create(bad_maps, MAP_CLOSED, map_fds) < 0)
		return 1;
	map_fds[MAP_CLOSED] = 777; /* no descriptor gets this high */
	for (int i = 0; i < LISTS; i++)
		for (const struct bad_case *c = lists[i].cases; c->id; c++)
			if (messages)
				tell(c, lists[i].lesson, map_fds);
			else if (wanted(c->id, argv))
				try(c, map_fds);
	rp_fds_close(map_fds, MAP_CLOSED);
	if (messages)
		return 0;
	if (!*argv)
		judge_mends();
	printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
	return failed != 0;
}
