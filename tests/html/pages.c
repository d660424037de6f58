/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pages to test in a browser: `pages KIND` writes one, `pages KIND svg` a flame graph. All in them
 * is known beforehand, and tests/html/check.py says what of it has to be seen.
 *
 *	burst	2 s, a sample each 10 ms of a CPU; from 1.2 to 1.4 s two CPUs are in other_work()
 *	deep	a stack of 150 frames
 *	many	50,000 distinct stacks
 *	wall	threads that run, sleep and wait for the disk, by intervals; two values of weight
 *	lines	frames with source lines; no times
 *	empty	nothing at all, but a stream
 */
#include <stdlib.h>
#include <string.h>

#include <rawprof/report.h>

static struct report *r;
static const struct report_value_type cpu_types[] = { { "samples", "count" },
						      { "cpu", "nanoseconds" } };
static const struct report_value_type wall_types[] = { { "samples", "count" },
						       { "wall", "nanoseconds" } };

static void need(int err)
{
	if (err) {
		fprintf(stderr, "pages: %s\n", strerror(-err));
		exit(1);
	}
}

static uint32_t frame_at(const char *name, enum report_frame_kind kind, const char *file,
			 uint32_t line)
{
	static uint64_t address = 0x401000;
	struct report_frame f = { .name = name,
				  .module = kind == REPORT_KERNEL ? NULL : "/usr/bin/app",
				  .address = address += 16,
				  .kind = kind,
				  .file = file,
				  .line = line };
	uint32_t id;

	need(report_frame_add(r, &f, &id));
	return id;
}

static uint32_t frame(const char *name, enum report_frame_kind kind)
{
	return frame_at(name, kind, NULL, 0);
}

/* Frames root first, unlike a report's. */
static uint32_t add(const char *comm, int32_t tid, const char *label, const uint32_t *frames,
		    size_t n, uint64_t count, uint64_t weight)
{
	const struct report_label state = { .key = "state", .str = label };
	const uint64_t values[] = { count, weight };
	uint32_t stack[256], id;

	for (size_t i = 0; i < n; i++)
		stack[i] = frames[n - 1 - i];
	need(report_add_id(
		r,
		&(struct report_sample){ comm, 100, tid, &state, label != NULL, stack, n, values },
		&id));
	return id;
}

static void moment(uint64_t ns, unsigned int cpu, enum report_moment_kind kind, uint64_t weight,
		   uint32_t sample, uint32_t count)
{
	need(report_add_moment(r, &(struct report_moment){ .time_ns = ns,
							   .cpu = cpu & 0xfff,
							   .kind = kind,
							   .weight = weight,
							   .sample = sample,
							   .count = count }));
}

static void describe(const char *command, double seconds)
{
	const struct report_ledger_line lines[] = { { "idle", 40, REPORT_FILTERED },
						    { "ring full", 2, REPORT_LOST } };
	const struct report_ledger ledger = { 262, 220, lines, 2, NULL };
	const struct report_cost cost = { 1234567, 262, 20000000, 10000000, 8 << 20 };

	need(report_set_info(r, &(struct report_info){ .command = command,
						       .target = "./app <fast> & \"loose\"",
						       .event = "cpu-clock",
						       .host = "build-7",
						       .kernel = "6.18.0",
						       .period_type = { "cpu", "nanoseconds" },
						       .period = 10000000,
						       .start_ns = 1700000000000000000,
						       .duration_ns = (uint64_t)(seconds * 1e9),
						       .rate_asked = 100,
						       .rate_achieved = 99.8,
						       .cpus = 2 }));
	need(report_set_ledger(r, &ledger));
	report_set_cost(r, &cost);
}

static void burst(void)
{
	const uint32_t start = frame("main", REPORT_USER), loop = frame("event_loop", REPORT_USER);
	const uint32_t parse = frame("parse_request", REPORT_USER),
		       reply = frame("send_reply", REPORT_USER),
		       send = frame("tcp_sendmsg", REPORT_KERNEL),
		       other = frame("other_work", REPORT_USER),
		       hash = frame("hash_all(std::vector<int>&)", REPORT_INLINED);
	const uint32_t a[] = { start, loop, parse }, b[] = { start, loop, reply, send },
		       c[] = { start, other, hash };

	for (unsigned int i = 0; i < 200; i++) {
		for (unsigned int cpu = 0; cpu < 2; cpu++) {
			const bool busy = i >= 120 && i < 140;
			const int32_t tid = 101 + (int32_t)cpu;
			uint32_t id;

			if (cpu && !busy)
				continue;
			if (busy)
				id = add("app", tid, NULL, c, 3, 1, 10000000);
			else if ((i + cpu) % 4)
				id = add("app", tid, NULL, a, 3, 1, 10000000);
			else
				id = add("app", tid, NULL, b, 4, 1, 10000000);
			moment(i * 10000000ull, cpu, REPORT_AT, 10000000, id, 1);
		}
	}
	describe("cpu", 2);
}

static void deep(void)
{
	uint32_t frames[150];

	for (int i = 0; i < 150; i++) {
		char name[32];

		snprintf(name, sizeof(name), "level_%03d", i);
		frames[i] = frame(name, REPORT_USER);
	}
	add("deep", 7, NULL, frames, 150, 900, 900);
	add("deep", 7, NULL, frames, 149, 100, 100);
	describe("cpu", 10);
}

/* A tree of some depth, as of a large program: names occur in many places. */
static void many(void)
{
	enum { STACKS = 50000, NAMES = 3000, SECONDS = 30 };
	static uint32_t names[NAMES];
	uint64_t seed = 1;

	for (int i = 0; i < NAMES; i++) {
		char name[64];

		snprintf(name, sizeof(name), "module_%d::function_%d(int, char const*)", i % 40, i);
		names[i] = frame(name, i % 5 == 0 ? REPORT_KERNEL : REPORT_USER);
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t path[40];
		size_t depth = 12 + i % 24;
		uint32_t rest = i, id;

		for (size_t d = 0; d < depth; d++) {
			path[d] = names[(d * 97 + (d < 4 ? 0 : rest % 6) * 31 +
					 (d > 8 ? i % 50 : 0)) %
					NAMES];
			if (d >= 4)
				rest /= 6;
		}
		path[depth - 1] = names[i % NAMES];
		path[depth - 2] = names[i / NAMES];
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		id = add("server", 100 + (int32_t)(i % 16), NULL, path, depth, 1 + (seed >> 60),
			 (1 + (seed >> 60)) * 10000000);
		for (uint64_t k = 0; k <= seed >> 60; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			moment((seed >> 33) % (SECONDS * 1000000ull) * 1000, i % 16, REPORT_AT,
			       10000000, id, 1);
		}
	}
	describe("cpu", SECONDS);
}

static void wall(void)
{
	static const char *const states[] = { "running", "sleeping", "disk" };
	const uint32_t start = frame("main", REPORT_USER), step = frame("step", REPORT_USER),
		       nap = frame("hrtimer_nanosleep", REPORT_KERNEL),
		       read = frame("io_schedule", REPORT_KERNEL);
	const uint32_t stacks[3][3] = { { start, step },
					{ start, step, nap },
					{ start, step, read } };

	for (int32_t t = 0; t < 6; t++) {
		char comm[16];
		uint64_t now = 0;

		snprintf(comm, sizeof(comm), "worker-%d", t);
		for (unsigned int i = 0; now < 990000000; i++) {
			const unsigned int state = (i + (unsigned int)t) % 3;
			const uint64_t length = (3 + state * 11 + (unsigned int)t) * 1000000;
			const uint32_t id = add(comm, 200 + t, states[state], stacks[state],
						state ? 3 : 2, 1, length);

			now += length;
			moment(now, 0, state ? REPORT_UNTIL : REPORT_AT, state ? length : 0, id, 1);
		}
	}
	describe("wall", 1);
}

static void lines(void)
{
	const uint32_t start = frame_at("main", REPORT_USER, "/src/app.c", 12);
	const uint32_t a = frame_at("work", REPORT_USER, "/src/work.c", 30),
		       b = frame_at("work", REPORT_USER, "/src/work.c", 31);
	const uint32_t one[] = { start, a }, two[] = { start, b };

	add("app", 1, NULL, one, 2, 30, 300);
	add("app", 1, NULL, two, 2, 10, 100);
	describe("cpu", 1);
}

/* Of the second line's function: far from each other, and one of its own with most of it. */
static void add_code(struct report_options *options)
{
	static char jump[] = "7: </script> jne", nop[] = "nop";
	static struct report_code_line code[200];
	static const struct report_code work = { .name = "work",
						 .module = "/bin/app",
						 .self = 40,
						 .total = 40,
						 .lines = code,
						 .n = 200 };

	for (size_t i = 0; i < 200; i++)
		code[i].text = i == 7 ? jump : nop;
	code[7].self = code[7].total = 30;
	code[190].total = 10;
	options->code = &work;
	options->ncode = 1;
}

static void empty(void)
{
	describe("cpu", 1);
}

int main(int argc, char **argv)
{
	static const char *const order[] = { "running", "disk", "sleeping", NULL };
	static const struct {
		const char *name;
		void (*make)(void);
	} kinds[] = { { "burst", burst }, { "deep", deep },   { "many", many },
		      { "wall", wall },	  { "lines", lines }, { "empty", empty } };
	struct report_options options = { 0 };
	const char *kind = argc > 1 ? argv[1] : "";
	report_writer *write;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const bool is_wall = !strcmp(kind, "wall");

		if (strcmp(kind, kinds[i].name))
			continue;
		need(report_new(is_wall ? wall_types : cpu_types, 2, &r));
		if (strcmp(kind, "lines") && strcmp(kind, "deep"))
			need(report_set_stream(r, 1, 0));
		if (is_wall)
			options = (struct report_options){ .weight = 1,
							   .color_by_label = "state",
							   .label_order = order };
		if (!strcmp(kind, "lines"))
			add_code(&options);
		kinds[i].make();
		write = report_format_by_name(argc > 2 ? argv[2] : "html")->write;
		need(write(r, stdout, &options));
		report_free(r);
		return 0;
	}
	fprintf(stderr, "usage: pages burst|deep|many|wall|lines|empty [svg]\n");
	return 2;
}
