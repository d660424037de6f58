/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_speed.c: what a profile of 100,000 samples on 20,000 distinct stacks, about 30 frames
 * deep, costs from the first report_add() to the last byte of each format: CPU time, and peak
 * memory.
 *
 *	gcc -O2 -Iinclude -D_GNU_SOURCE -o build/report_speed bench/report_speed.c \
 *		build/librawprof.a -lz -lm
 *	build/report_speed [FORMAT]
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <rawprof/report.h>

enum { STACKS = 20000, SAMPLES = 100000, FUNCTIONS = 4000 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

static uint32_t random_number(void)
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 20);
}

static int add_frames(struct report *r, uint32_t ids[FUNCTIONS])
{
	char name[64];
	int err = 0;

	for (int i = 0; i < FUNCTIONS && !err; i++) {
		struct report_frame f = { .name = name,
					  .module = i % 5 ? "/usr/lib/x86_64-linux-gnu/libwork.so.1"
							  : "/usr/bin/work",
					  .address = 0x7f0000000000 + (uint64_t)i * 48,
					  .symbol_offset = 16,
					  .map_start = 0x7f0000000000,
					  .map_end = 0x7f0000100000 };

		snprintf(name, sizeof(name), "work::unit_%d::step(int, std::string const&)", i);
		err = report_frame_add(r, &f, &ids[i]);
	}
	return err;
}

/*
 * A tree as a program has it: near its root all stacks are one, and with each frame they part
 * further.
 */
static size_t make_stack(uint32_t n, const uint32_t ids[FUNCTIONS], uint32_t *frames)
{
	size_t depth = 25 + n % 11;

	for (size_t i = 0; i < depth; i++) {
		uint32_t branch = i < 15 ? n >> (15 - i) : n;

		frames[depth - 1 - i] =
			ids[(branch * 2654435761u + (uint32_t)i * 40503u) % FUNCTIONS];
	}
	return depth;
}

static int fill(struct report *r, const uint32_t ids[FUNCTIONS])
{
	uint32_t frames[64];
	uint64_t values[] = { 1, 10101010 };
	int err = 0;

	for (int i = 0; i < SAMPLES && !err; i++) {
		uint32_t n = i < STACKS ? (uint32_t)i : random_number() % STACKS;
		struct report_sample s = { .comm = "work",
					   .pid = 100,
					   .tid = 100,
					   .frames = frames,
					   .nframes = make_stack(n, ids, frames),
					   .values = values };

		err = report_add(r, &s);
	}
	return err;
}

int main(int argc, char **argv)
{
	static const struct report_value_type types[] = { { "samples", "count" },
							  { "cpu", "nanoseconds" } };
	static uint32_t ids[FUNCTIONS];
	FILE *out = fopen("/dev/null", "w");
	struct report *r = NULL;
	double start = now_ms(), added;
	int err = out ? report_new(types, 2, &r) : -1;

	if (!err)
		err = add_frames(r, ids);
	if (!err)
		err = fill(r, ids);
	added = now_ms();
	if (!err)
		printf("%-12s %7.1f ms  peak %6ld KiB, %zu samples, %zu stacks\n", "add",
		       added - start, peak_kib(), report_samples(r), report_stacks(r));
	for (const struct report_format *f = report_formats; f->name && !err; f++) {
		double before = now_ms();

		if (!f->write || (argc > 1 && strcmp(argv[1], f->name)))
			continue;
		err = f->write(r, out, NULL);
		printf("%-12s %7.1f ms  peak %6ld KiB\n", f->name, now_ms() - before, peak_kib());
	}
	report_free(r);
	if (out)
		fclose(out);
	if (err)
		fprintf(stderr, "report_speed: error %d\n", err);
	return !!err;
}
