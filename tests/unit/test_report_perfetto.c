/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traces for Perfetto, read back by a decoder of the wire format. The numbers are those of
 * protos/perfetto/trace/ of github.com/google/perfetto, written here once more by hand.
 */
#include "test_timeline.h"

struct slice {
	const unsigned char *at, *end;
};

static uint64_t varint(struct slice *s)
{
	uint64_t v = 0;

	for (unsigned int shift = 0;; shift += 7) {
		ck_assert(s->at < s->end && shift < 64);
		v |= (uint64_t)(*s->at & 0x7f) << shift;
		if (!(*s->at++ & 0x80))
			return v;
	}
}

/* The next field: its number, a value in *v or bytes in *bytes. 0: there is none. */
static unsigned int next(struct slice *s, uint64_t *v, struct slice *bytes)
{
	uint64_t tag;

	if (s->at == s->end)
		return 0;
	tag = varint(s);
	ck_assert((tag & 7) == 0 || (tag & 7) == 2);
	*v = varint(s);
	*bytes = (struct slice){ s->at, s->at };
	if ((tag & 7) == 2) {
		ck_assert_uint_le(*v, (size_t)(s->end - s->at));
		bytes->end = s->at += *v;
	}
	return (unsigned int)(tag >> 3);
}

/* The message as text: "8=5 135{2=1 11=7}". What is printable is taken for text in quotes; which
 * fields are messages, `parts` says, by path. */
static void print(FILE *out, struct slice s, const char *path)
{
	static const char *const parts[] = {
		"/2",	  "/2/1",  "/2/2",  "/6",    "/6/1",	"/11",	     "/11/4",	  "/12",
		"/12/2",  "/12/5", "/12/6", "/12/7", "/12/17",	"/12/18",    "/12/19",	  "/12/48",
		"/12/49", "/45",   "/45/1", "/59",   "/59/100", "/59/100/2", "/59/100/3", "/60",
		"/60/4",  "/117",  "/135",  "/1",    "/1/2",	"/1/2/20",   "/12/16",
	};
	const char *space = "";
	struct slice bytes;
	unsigned int field;
	uint64_t v;

	for (; (field = next(&s, &v, &bytes)); space = " ") {
		bool is_part = false;
		char below[64];

		snprintf(below, sizeof(below), "%s/%u", path, field);
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
			is_part |= !strcmp(parts[i], below);
		fprintf(out, "%s%u", space, field);
		if (bytes.end == bytes.at && s.at != bytes.at)
			bytes = (struct slice){ s.at, s.at };
		if (is_part) {
			fputc('{', out);
			print(out, bytes, below);
			fputc('}', out);
		} else if (bytes.at != bytes.end && field == 14) {
			fprintf(out, "[%llu]", (unsigned long long)varint(&bytes));
		} else if (bytes.at != bytes.end) {
			fprintf(out, "='%.*s'", (int)(bytes.end - bytes.at), bytes.at);
		} else {
			fprintf(out, "=%llu", (unsigned long long)v);
		}
	}
}

/* A line for each packet. */
static char *decoded(const struct report *r)
{
	const struct report_options options = { .weight = 1 };
	char *text = NULL, *bytes;
	struct slice s, packet;
	size_t size, length;
	uint64_t v;
	FILE *out = open_memstream(&text, &length);

	bytes = written_bytes(r, report_write_perfetto, &options, &size);
	s = (struct slice){ (unsigned char *)bytes, (unsigned char *)bytes + size };
	while (s.at < s.end) {
		ck_assert_uint_eq(next(&s, &v, &packet), 1);
		print(out, packet, "");
		fputc('\n', out);
	}
	ck_assert_int_eq(fclose(out), 0);
	free(bytes);
	return text;
}

#define T(ms) ((unsigned long long)(START_NS + (ms)*MS))

static void assert_packets(const char *text, const char *const *expected)
{
	for (; *expected; expected++) {
		const char *found = strstr(text, *expected);

		ck_assert_msg(found, "no %s behind that in\n%s", *expected, text);
		text = found + strlen(*expected);
	}
}

/* "8=TIME " and what comes behind it. */
static const char *at(unsigned int ms, const char *rest)
{
	static char lines[32][256];
	static unsigned int n;
	char *line = lines[n++ % 32];

	snprintf(line, sizeof(lines[0]), "\n8=%llu %s", T(ms), rest);
	return line;
}

START_TEST(the_head)
{
	struct report *r = wall_report(false);
	char *text = decoded(r);
	const char *const expected[] = {
		"6{1{1=1 2=1767323045123456789} 1{1=3 2=1767323045123456789} 1{1=6 "
		"2=1767323045123456789}}",
		"45{1{1='Linux' 3='6.18'}}",
		"2{1{1=10 3='app'} 2{1=11 2='app' 3=10} 2{1=12 2='poker' 3=10}}",
		"59{100{1='rawprof.wall' 2{2='wall' 3=1} 3{2='samples' 3=9}}} 10=1 13=1",
		"60{1=1 4{1=10 2=11 5='app'}} 10=1",
		"60{1=65537 4{1=10 2=12 5='poker'}} 10=1",
		NULL,
	};

	assert_packets(text, expected);
	free(text);
	report_free(r);
}
END_TEST

START_TEST(samples_states_and_wakers)
{
	struct report *r = wall_report(false);
	char *text = decoded(r);
	const char *const expected[] = {
		/* It runs on CPU 1 when first seen; a sample defines its names, root first. */
		at(5, "117{1=1 2='app' 3=11 4=3}"),
		at(5, "12{48{1=1 2=10 3=11} 49{1=1 2=1 3=1} 5{1=1 2='main'}"),
		"7{1=1 2=1 2=2 2=3}} 135{2=1 4=1 6=1 11=10000000 14[1]} 10=1 13=2",
		at(15, "135{2=1 4=1 6=1 11=10000000 14[1]} 10=1 13=2"),
		/* It sleeps, for 30 ms. */
		at(20, "117{2='app' 3=11 4=4}"),
		at(20, "12{"),
		"135{2=1 6=2 11=30000000 14[1]} 10=1 13=2",
		at(20,
		   "12{2{1=8 2='futex'}} 11{10=8 56=2 22='wait' 4{10='state' 6='futex'} 9=1 11=1}"),
		at(49, "117{1=1 2='poker' 3=12 4=3}"),
		at(50, "11{9=2 11=1} 10=1 13=2"),
		/* Thread 12 wakes it; that it can run then is not said again. */
		"1{1=1 2{1=1767323045173456789 2=12 20{1='app' 2=11 4=1 5=1}}}",
		at(50, "135{2=1 6=2 11=10000000 14[0]}"),
		at(60, "117{1=0 2='app' 3=11 4=3}"),
		/* What has no time. */
		at(100, "135{2=1 6=1 11=70000000 14[7]}"),
		NULL,
	};

	assert_packets(text, expected);
	ck_assert_ptr_null(strstr(text, "4=2}"));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(slices_that_overlap)
{
	struct report *r = io_report();
	char *text = decoded(r);
	const char *const expected[] = {
		"60{1=1 4{1=7 2=7 5='dd'}}",
		"60{1=2 2='at the same time' 5=1}",
		at(0, "12{2{"),
		"4{10='disk' 6='vda'} 4{10='op' 6='read'} 9=1 11=1}",
		at(5, "135{2=1 6=1 11=15000000 14[1]}"),
		at(5, "11{10="),
		"9=1 11=2}",
		at(10, "11{9=2 11=1}"),
		at(20, "11{9=2 11=2}"),
		at(30, "11{10="),
		"9=3 11=1}",
		NULL,
	};

	assert_packets(text, expected);
	ck_assert_ptr_null(strstr(text, "117{"));
	free(text);
	report_free(r);
}
END_TEST

START_TEST(equal_and_hostile)
{
	struct report *a = wall_report(false), *b = wall_report(true), *r = new_cpu_report();
	char *x = decoded(a), *y = decoded(b), *text = decoded(r);

	ck_assert_str_eq(x, y);
	ck_assert_ptr_null(strstr(text, "135{"));
	free(x);
	free(y);
	free(text);
	report_free(a);
	report_free(b);
	report_free(r);
	r = hostile_report();
	text = decoded(r);
	ck_assert_ptr_nonnull(strstr(text, "135{2=1 6=15 11=2 14[1]}"));
	free(text);
	report_free(r);
}
END_TEST

static void add_tests(TCase *t)
{
	tcase_add_test(t, the_head);
	tcase_add_test(t, samples_states_and_wakers);
	tcase_add_test(t, slices_that_overlap);
	tcase_add_test(t, equal_and_hostile);
}

int main(void)
{
	return run_tests("report_perfetto", add_tests);
}
