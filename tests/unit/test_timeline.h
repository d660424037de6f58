/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles with streams, made by hand, as the commands of rawprof record them. */
#ifndef TEST_TIMELINE_H
#define TEST_TIMELINE_H

#include "test_report.h"

#define MS 1000000ull
#define START_NS 1767323045123456789ull

/* A frame of /bin/app with all that a file knows of it. */
static inline uint32_t place(struct report *r, const char *name, uint64_t address, uint32_t line,
			     enum report_frame_kind kind)
{
	return add_frame(r, (struct report_frame){
				    .name = name,
				    .module = "/bin/app",
				    .build_id = "00112233445566778899aabbccddeeff01020304",
				    .address = 0x555500000000 + address,
				    .module_addr = address,
				    .symbol_offset = 0x10,
				    .file = "app.c",
				    .line = line,
				    .kind = kind,
				    .is_return = address & 1,
			    });
}

static inline uint32_t sample_of_thread(struct report *r, const char *comm, int32_t pid,
					int32_t tid, const struct report_label *labels,
					size_t nlabels, const uint32_t *frames, size_t nframes,
					const uint64_t *values)
{
	const struct report_sample s = { comm, pid, tid, labels, nlabels, frames, nframes, values };
	uint32_t id = UINT32_MAX;

	ck_assert_int_eq(report_add_id(r, &s, &id), 0);
	return id;
}

static inline void moment(struct report *r, enum report_moment_kind kind, uint64_t time,
			  unsigned int cpu, uint32_t sample, uint64_t weight, uint32_t count)
{
	const struct report_moment m = { .time_ns = time,
					 .cpu = cpu,
					 .kind = kind,
					 .weight = weight,
					 .sample = sample,
					 .count = count };

	ck_assert_int_eq(report_add_moment(r, &m), 0);
}

/*
 * wall, 100 ms: thread 11 of process 10 runs until 20 ms on CPU 1 (samples at 5 and 15 ms), waits
 * for a futex until 50, then for CPU 0 until 60 ms; thread 12 wakes it at 50 ms. 7 samples and
 * 70 ms of thread 11 have no time. Order: `turned` adds the same from the end.
 */
static inline struct report *wall_report(bool turned)
{
	static const struct report_value_type types[] = { { "samples", "count" },
							  { "wall", "nanoseconds" } };
	const struct report_info info = { .command = "wall",
					  .target = "process 10",
					  .host = "here",
					  .kernel = "6.18",
					  .start_ns = START_NS,
					  .duration_ns = 100 * MS,
					  .period_type = { "wall", "nanoseconds" },
					  .period = 10 * MS,
					  .cpus = 2 };
	const struct report_label states[] = { { "state", "on CPU" },
					       { "state", "futex" },
					       { "state", "runnable" } };
	const uint64_t values[][2] = { { 9, 90 * MS }, { 1, 30 * MS }, { 0, 10 * MS } };
	struct report *r = NULL;
	uint32_t run[3], wait[2], other, id[3], waker;

	ck_assert_int_eq(report_new(types, 2, &r), 0);
	if (turned) {
		kernel(r, "unused");
		kernel(r, "futex_wait");
	}
	run[2] = place(r, "main", 0x1001, 3, REPORT_USER);
	run[1] = place(r, "work", 0x2000, 20, REPORT_USER);
	run[0] = place(r, "inlined", 0x2000, 30, REPORT_INLINED);
	wait[1] = run[2];
	wait[0] = kernel(r, "futex_wait");
	other = user(r, "poke");
	for (int n = 0; n < 3; n++) {
		const int i = turned ? 2 - n : n;

		id[i] = sample_of_thread(r, "app", 10, 11, &states[i], 1, i ? wait : run, i ? 2 : 3,
					 values[i]);
	}
	waker = sample_of_thread(r, "poker", 10, 12, &states[0], 1, &other, 1,
				 (uint64_t[]){ 1, 10 * MS });
	for (int n = 0; n < 6; n++) {
		switch (turned ? 5 - n : n) {
		case 0:
			moment(r, REPORT_AT, 5 * MS, 1, id[0], 10 * MS, 1);
			break;
		case 1:
			moment(r, REPORT_AT, 15 * MS, 1, id[0], 10 * MS, 1);
			break;
		case 2:
			moment(r, REPORT_UNTIL, 50 * MS, 0, id[1], 30 * MS, 1);
			break;
		case 3:
			moment(r, REPORT_WOKEN, 50 * MS, 1, id[1], 12, 0);
			break;
		case 4:
			moment(r, REPORT_UNTIL, 60 * MS, 0, id[2], 10 * MS, 0);
			break;
		default:
			moment(r, REPORT_AT, 49 * MS, 1, waker, 10 * MS, 1);
		}
	}
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	return r;
}

/* io: requests of one thread: 0 to 10 ms and 5 to 20 ms overlap, that at 30 ms takes no time. */
static inline struct report *io_report(void)
{
	static const struct report_value_type types[] = { { "requests", "count" },
							  { "delay", "nanoseconds" },
							  { "size", "bytes" } };
	const struct report_info info = { .command = "io",
					  .start_ns = START_NS,
					  .duration_ns = 40 * MS };
	const struct report_label labels[] = { { "disk", "vda" }, { "op", "read" } };
	const uint64_t values[] = { 3, 25 * MS, 12288 };
	struct report *r = NULL;
	uint32_t frame, id;

	ck_assert_int_eq(report_new(types, 3, &r), 0);
	frame = kernel(r, "submit_bio");
	id = sample_of_thread(r, "dd", 7, 7, labels, 2, &frame, 1, values);
	moment(r, REPORT_UNTIL, 10 * MS, 0, id, 10 * MS, 1);
	moment(r, REPORT_UNTIL, 20 * MS, 0, id, 15 * MS, 1);
	moment(r, REPORT_UNTIL, 30 * MS, 0, id, 0, 1);
	ck_assert_int_eq(report_set_stream(r, 1, 0), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	return r;
}

#endif
