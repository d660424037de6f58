/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles that others wrote: folded stacks, pprof, packed or not; and what is none of these. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "test_report.h"

static struct report *read_bytes(const void *bytes, size_t n)
{
	struct report_file f;
	const int err = report_read(bytes, n, &f);

	ck_assert_msg(!err, "%d: %s", err, f.why);
	ck_assert_ptr_nonnull(f.report);
	return f.report;
}

static struct report *read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static char *folded_of(const struct report *r, bool annotate)
{
	const struct report_options options = { .annotate = annotate };

	return written(r, report_write_folded, &options);
}

/* A folded file comes out again as it went in, lines sorted. */
static void same_folded(const char *text, const char *expected)
{
	struct report *r = read_text(text);
	char *again = folded_of(r, true);

	ck_assert_str_eq(again, expected);
	free(again);
	report_free(r);
}

START_TEST(folded_stacks)
{
	same_folded("app;main;work 5\napp;main 2\n", "app;main 2\napp;main;work 5\n");
	same_folded("app 7", "app;[unknown] 7\n");
	same_folded("\r\n# a comment\r\napp;main;work 5\r\n\r\napp;main;work 6 \r\n",
		    "app;main;work 11\n");
	same_folded("java;void a<b c>(int, long);x y z 3\n",
		    "java;void a<b c>(int, long);x y z 3\n");
	same_folded("app;main;vfs_read_[k] 1\napp;main;Lfoo_[j] 2\napp;f_[i];g 3\n",
		    "app;f_[i];g 3\napp;main;Lfoo_[j] 2\napp;main;vfs_read_[k] 1\n");
	same_folded("app;[unknown];x 1\n", "app;[unknown];x 1\n");
	same_folded("app;;x 4\n", "app;[unknown];x 4\n");
	/* 64 bits, and what is more. */
	same_folded("a;b 18446744073709551615\n", "a;b 18446744073709551615\n");
	same_folded("a;b 18446744073709551615.9\n", "a;b 18446744073709551615\n");
	same_folded("a;b 99999999999999999999999\n", "a;b 18446744073709551615\n");
	/* flamegraph.pl takes decimals. */
	same_folded("a;b 2.5\na;c 2.49\na;d 3.\n", "a;b 3\na;c 2\na;d 3\n");
}
END_TEST

/* What --pid and --tid append becomes ids only if all lines have it. */
START_TEST(folded_ids)
{
	struct report *r = read_text("app-12;main 1\nks-softirqd-7/9;main 2\nidle-?;x 3\n");
	char *json = written(r, report_write_json, NULL);

	ck_assert_ptr_nonnull(strstr(json, "\"comm\":\"app\",\"pid\":12,\"tid\":0"));
	ck_assert_ptr_nonnull(strstr(json, "\"comm\":\"ks-softirqd\",\"pid\":7,\"tid\":9"));
	ck_assert_ptr_nonnull(strstr(json, "\"comm\":\"idle\",\"pid\":0"));
	free(json);
	report_free(r);
	same_folded("pool-1;main 1\napp;main 2\n", "app;main 2\npool-1;main 1\n");
}
END_TEST

static void refused(const void *bytes, size_t n, int expected, const char *why)
{
	struct report_file f;

	ck_assert_int_eq(report_read(bytes, n, &f), expected);
	ck_assert_ptr_null(f.report);
	ck_assert_msg(strstr(f.why, why), "'%s' does not say '%s'", f.why, why);
}

START_TEST(no_folded_stacks)
{
	static char deep[2 * REPORT_MAX_STACK + 8];
	static const char *const lines[][2] = {
		{ "", "empty" },
		{ "\n\n", "no folded stacks" },
		{ "a;b 1\na;b\n", "line 2 is no folded stack" },
		{ "a;b 1\n\nhello world\n", "line 3" },
		{ "a;b 1x\n", "line 1" },
		{ " 5\n", "line 1" },
		{ "a;b -5\n", "line 1" },
		{ "a;b 1 2\na;c 3 4\n", "difference" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		refused(lines[i][0], strlen(lines[i][0]), -EINVAL, lines[i][1]);
	for (size_t i = 0; i < REPORT_MAX_STACK + 1; i++)
		memcpy(deep + 2 * i, "a;", 2);
	strcpy(deep + 2 * (REPORT_MAX_STACK + 2) - 2, "a 1");
	refused(deep, strlen(deep), -EINVAL, "more than 8192 frames");
}
END_TEST

/* ---- pprof */

/* A stack of inlined frames, kernel frames, labels, two values. */
static struct report *rich_report(void)
{
	static const struct report_label labels[] = { { "state", "blocked", 0, NULL },
						      { "bytes", NULL, -5, "bytes" } };
	const struct report_info info = { .command = "cpu",
					  .target = "process 12",
					  .start_ns = 1700000000000000000,
					  .duration_ns = 2500000000,
					  .period_type = { "cpu", "nanoseconds" },
					  .period = 10101010 };
	struct report *r = new_cpu_report();
	const struct report_frame at = { .module = "/bin/app",
					 .build_id = "abcd",
					 .address = 0x401234,
					 .map_start = 0x400000,
					 .map_end = 0x500000,
					 .map_offset = 0x1000,
					 .file = "app.c",
					 .line = 17 };
	struct report_frame inlined = at, outer = at, main = at;
	uint32_t frames[4];
	uint64_t values[] = { 7, 7000 };
	struct report_sample s = { .comm = "app",
				   .pid = 12,
				   .tid = 13,
				   .labels = labels,
				   .nlabels = 2,
				   .frames = frames,
				   .nframes = 4,
				   .values = values };

	inlined.name = "inner";
	inlined.kind = REPORT_INLINED;
	outer.name = "outer";
	main.name = "main";
	main.address = 0x401000;
	main.line = 3;
	frames[0] = kernel(r, "vfs_read");
	frames[1] = add_frame(r, inlined);
	frames[2] = add_frame(r, outer);
	frames[3] = add_frame(r, main);
	ck_assert_int_eq(report_add(r, &s), 0);
	ADD(r, "app", 12, 3, user(r, "main"));
	ADD(r, "other", 99, 2);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	return r;
}

START_TEST(pprof_of_our_own)
{
	struct report *r = rich_report(), *again;
	size_t size, size_again;
	char *bytes = written_bytes(r, report_write_pprof, NULL, &size), *twice;
	char *folded = folded_of(r, true), *folded_again, *json;

	again = read_bytes(bytes, size);
	folded_again = folded_of(again, true);
	ck_assert_str_eq(folded_again, folded);
	ck_assert_uint_eq(report_total(again, 0), 12);
	ck_assert_uint_eq(report_total(again, 1), 7000 + 50);
	json = written(again, report_write_json, NULL);
	ck_assert_ptr_nonnull(strstr(json, "\"command\":\"cpu\",\"target\":\"process 12\""));
	ck_assert_ptr_nonnull(
		strstr(json, "\"start_ns\":1700000000000000000,\"duration_ns\":2500000000"));
	ck_assert_ptr_nonnull(strstr(json, "\"labels\":{\"bytes\":-5,\"state\":\"blocked\"}"));
	ck_assert_ptr_nonnull(strstr(json, "\"build_id\":\"abcd\""));
	ck_assert_ptr_nonnull(strstr(json, "\"file\":\"app.c\",\"line\":17"));
	/* What was read is written as it was. */
	twice = written_bytes(again, report_write_pprof, NULL, &size_again);
	ck_assert_uint_eq(size_again, size);
	ck_assert_mem_eq(twice, bytes, size);
	free(json);
	free(twice);
	free(bytes);
	free(folded);
	free(folded_again);
	report_free(r);
	report_free(again);
}
END_TEST

/*
 * As another writer may have it: tables behind the samples, ids that are any numbers, lists that
 * are not packed, fields that are not known.
 */
START_TEST(pprof_of_others)
{
	/* clang-format off */
	static const unsigned char good[] = {
		/* sample: locations 1001 and 5, value 42, label thread = worker */
		0x12, 13, 8, 0xe9, 7, 8, 5, 0x10, 42, 0x1a, 4, 8, 5, 0x10, 6,
		0x0a, 4, 8, 1, 16, 2,		      /* samples, count */
		0x22, 7, 8, 0xe9, 7, 0x22, 2, 8, 9,  /* location 1001: a line of function 9 */
		0x22, 6, 8, 5, 0x22, 2, 8, 8,	      /* location 5: of function 8 */
		0x2a, 4, 8, 9, 16, 3,		      /* function 9: leaf */
		0x2a, 4, 8, 8, 16, 4,		      /* function 8: main.main */
		0x32, 0, 0x32, 7, 's', 'a', 'm', 'p', 'l', 'e', 's',
		0x32, 5, 'c', 'o', 'u', 'n', 't', 0x32, 4, 'l', 'e', 'a', 'f',
		0x32, 9, 'm', 'a', 'i', 'n', '.', 'm', 'a', 'i', 'n',
		0x32, 6, 't', 'h', 'r', 'e', 'a', 'd', 0x32, 6, 'w', 'o', 'r', 'k', 'e', 'r',
		0x7d, 1, 2, 3, 4, /* field 15, which is not known, 32 bits */
	};
	/* clang-format on */
	struct report *r = read_bytes(good, sizeof(good));
	char *folded = folded_of(r, false);
	unsigned char broken[sizeof(good)];

	ck_assert_str_eq(folded, "[unknown];main.main;leaf 42\n");
	free(folded);
	report_free(r);
	memcpy(broken, good, sizeof(good));
	broken[6] = 6; /* location 6 */
	refused(broken, sizeof(broken), -EINVAL, "a location is missing");
	memcpy(broken, good, sizeof(good));
	broken[29] = 7; /* function 7 */
	refused(broken, sizeof(broken), -EINVAL, "a function is missing");
}
END_TEST

/* However it is cut: an error, or, between two fields, the profile without what came behind. */
START_TEST(pprof_cut)
{
	struct report *r = rich_report();
	size_t size, n = 0;
	char *bytes = written_bytes(r, report_write_pprof, NULL, &size);
	unsigned char raw[8192];
	z_stream z = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned int)size };
	struct report_file f;

	for (size_t cut = 0; cut < size; cut++)
		ck_assert_int_eq(report_read(bytes, cut, &f), -EINVAL);
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = raw;
	z.avail_out = sizeof(raw);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	n = z.total_out;
	inflateEnd(&z);
	report_free(read_bytes(raw, n));
	for (size_t cut = 0; cut < n; cut++) {
		unsigned char *exact = malloc(cut + 1);

		/* Texts come last, and the last of them is referred to. */
		memcpy(exact, raw, cut);
		ck_assert_int_eq(report_read(exact, cut, &f), -EINVAL);
		free(exact);
	}
	free(bytes);
	report_free(r);
}
END_TEST

/* Text that is compressed, in two members. */
START_TEST(gzip)
{
	static const char *const parts[] = { "app;a 1\n", "app;b 2\n" };
	unsigned char packed[512];
	size_t n = 0;
	struct report *r;
	char *folded;

	for (int i = 0; i < 2; i++) {
		z_stream z = { .next_in = (unsigned char *)parts[i], .avail_in = 8 };

		ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
				 Z_OK);
		z.next_out = packed + n;
		z.avail_out = (unsigned int)(sizeof(packed) - n);
		ck_assert_int_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
		n += z.total_out;
		deflateEnd(&z);
	}
	r = read_bytes(packed, n);
	folded = folded_of(r, false);
	ck_assert_str_eq(folded, "app;a 1\napp;b 2\n");
	free(folded);
	report_free(r);
	refused(packed, n - 1, -EINVAL, "damaged");
	packed[12] ^= 0xff;
	refused(packed, n, -EINVAL, "damaged");
	refused("\x1f\x8b", 2, -EINVAL, "damaged");
}
END_TEST

/* A small file with much in it: a location of 4,000 lines, which 3,000 samples name. */
START_TEST(bombs)
{
	enum { LINES = 4000, SAMPLES = 3000 };
	static unsigned char b[16 + 4 * LINES + 8 * SAMPLES + 64];
	unsigned char *at = b;
	const size_t location = 2 + 4 * LINES;
	struct report_file f;

	*at++ = 0x22;
	*at++ = (unsigned char)(0x80 | (location & 0x7f));
	*at++ = (unsigned char)(0x80 | (location >> 7 & 0x7f));
	*at++ = (unsigned char)(location >> 14);
	memcpy(at, "\x08\x01", 2);
	at += 2;
	for (int i = 0; i < LINES; i++, at += 4)
		memcpy(at, "\x22\x02\x08\x01", 4);
	for (int i = 0; i < SAMPLES; i++, at += 6)
		memcpy(at, "\x12\x04\x08\x01\x10\x01", 6);
	memcpy(at, "\x2a\x04\x08\x01\x10\x01\x0a\x04\x08\x01\x10\x01\x32\x00\x32\x01x", 17);
	at += 17;
	ck_assert_int_eq(report_read(b, (size_t)(at - b), &f), -EINVAL);
	ck_assert_msg(strstr(f.why, "too long for its size"), "%s", f.why);
}
END_TEST

/* Said by its size, before all of it was read: 60 GB of nothing take no room on a disk. */
START_TEST(too_large)
{
	const int fd = memfd_create("large", MFD_CLOEXEC);
	char path[32];
	struct report_file f;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)60 << 30), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ck_assert_int_eq(report_open(path, &f), -EFBIG);
	ck_assert_str_eq(f.why, "File too large");
	close(fd);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, folded_stacks);
	tcase_add_test(t, folded_ids);
	tcase_add_test(t, no_folded_stacks);
	tcase_add_test(t, pprof_of_our_own);
	tcase_add_test(t, pprof_of_others);
	tcase_add_test(t, pprof_cut);
	tcase_add_test(t, gzip);
	tcase_add_test(t, bombs);
	tcase_add_test(t, too_large);
}

int main(void)
{
	return run_tests("report_read", add_tests);
}
