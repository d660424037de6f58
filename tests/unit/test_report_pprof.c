/* SPDX-License-Identifier: BSD-2-Clause */
/* pprof, read back by a decoder of its own and held to the rules of pprof, Parca and Pyroscope. */
#include <zlib.h>

#include "test_report.h"

enum { MAX = 256 };

struct slice {
	const unsigned char *at, *end;
};

/* A field of a message: a number, or bytes. */
struct field {
	unsigned int number;
	uint64_t v;
	struct slice bytes;
	int wire;
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

static bool next(struct slice *s, struct field *f)
{
	uint64_t tag, n;

	if (s->at == s->end)
		return false;
	tag = varint(s);
	*f = (struct field){ .number = (unsigned int)(tag >> 3), .wire = (int)(tag & 7) };
	ck_assert(f->wire == 0 || f->wire == 2);
	if (f->wire == 0) {
		f->v = varint(s);
		return true;
	}
	n = varint(s);
	ck_assert_uint_le(n, (size_t)(s->end - s->at));
	f->bytes = (struct slice){ s->at, s->at + n };
	s->at += n;
	return true;
}

struct decoded {
	unsigned char *raw;
	char *strings[4 * MAX];
	struct slice types[4], period_type;
	struct slice samples[MAX], mappings[MAX], locations[MAX], functions[MAX];
	uint64_t comments[8], time, duration, period, default_type;
	size_t nstrings, ntypes, nsamples, nmappings, nlocations, nfunctions, ncomments;
};

static void put(struct slice *array, size_t *n, size_t max, struct slice s)
{
	ck_assert_uint_lt(*n, max);
	array[(*n)++] = s;
}

static unsigned char *gunzip(const char *bytes, size_t size, size_t *n)
{
	z_stream z = { .next_in = (unsigned char *)bytes, .avail_in = (unsigned int)size };
	unsigned char *raw = malloc(1 << 20);

	ck_assert_int_eq((unsigned char)bytes[0], 0x1f);
	ck_assert_int_eq((unsigned char)bytes[1], 0x8b);
	ck_assert_mem_eq(bytes + 4, "\0\0\0\0", 4); /* no time stamp */
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	z.next_out = raw;
	z.avail_out = 1 << 20;
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	ck_assert_uint_eq(z.avail_in, 0);
	*n = z.total_out;
	inflateEnd(&z);
	return raw;
}

static void decode(const struct report *r, const struct report_options *options, struct decoded *d)
{
	size_t size, n;
	char *bytes = written_bytes(r, report_write_pprof, options, &size);
	struct slice all;
	struct field f;

	*d = (struct decoded){ .raw = gunzip(bytes, size, &n) };
	free(bytes);
	all = (struct slice){ d->raw, d->raw + n };
	while (next(&all, &f)) {
		switch (f.number) {
		case 1:
			put(d->types, &d->ntypes, 4, f.bytes);
			break;
		case 2:
			put(d->samples, &d->nsamples, MAX, f.bytes);
			break;
		case 3:
			put(d->mappings, &d->nmappings, MAX, f.bytes);
			break;
		case 4:
			put(d->locations, &d->nlocations, MAX, f.bytes);
			break;
		case 5:
			put(d->functions, &d->nfunctions, MAX, f.bytes);
			break;
		case 6:
			ck_assert_uint_lt(d->nstrings, 4 * MAX);
			d->strings[d->nstrings++] = strndup((const char *)f.bytes.at,
							    (size_t)(f.bytes.end - f.bytes.at));
			break;
		case 9:
			d->time = f.v;
			break;
		case 10:
			d->duration = f.v;
			break;
		case 11:
			d->period_type = f.bytes;
			break;
		case 12:
			d->period = f.v;
			break;
		case 13:
			ck_assert_uint_lt(d->ncomments, 8);
			d->comments[d->ncomments++] = f.v;
			break;
		case 14:
			d->default_type = f.v;
			break;
		default:
			ck_abort_msg("field %u", f.number);
		}
	}
}

static void release(struct decoded *d)
{
	for (size_t i = 0; i < d->nstrings; i++)
		free(d->strings[i]);
	free(d->raw);
}

/* The value of a field that may occur once; 0 if it does not. */
static uint64_t number(struct slice message, unsigned int field)
{
	struct field f;
	uint64_t v = 0;
	int seen = 0;

	while (next(&message, &f)) {
		if (f.number != field)
			continue;
		ck_assert_int_eq(f.wire, 0);
		v = f.v;
		seen++;
	}
	ck_assert_int_le(seen, 1);
	return v;
}

/* The n-th submessage of a field; empty if there is none. */
static struct slice part(struct slice message, unsigned int field, unsigned int n)
{
	struct field f;

	while (next(&message, &f))
		if (f.number == field && !n--)
			return f.bytes;
	return (struct slice){ NULL, NULL };
}

static const char *string(const struct decoded *d, uint64_t id)
{
	ck_assert_uint_lt(id, d->nstrings);
	return d->strings[id];
}

static const char *string_of(const struct decoded *d, struct slice message, unsigned int field)
{
	return string(d, number(message, field));
}

static size_t packed(struct slice s, uint64_t *out, size_t max)
{
	size_t n = 0;

	while (s.at < s.end) {
		ck_assert_uint_lt(n, max);
		out[n++] = varint(&s);
	}
	return n;
}

static void check_locations(const struct decoded *d)
{
	for (size_t i = 0; i < d->nlocations; i++) {
		struct slice line;
		uint64_t mapping = number(d->locations[i], 2);

		ck_assert_uint_eq(number(d->locations[i], 1), i + 1);
		ck_assert_uint_le(mapping, d->nmappings);
		for (unsigned int k = 0; (line = part(d->locations[i], 4, k)).at; k++) {
			uint64_t function = number(line, 1);

			ck_assert(function >= 1 && function <= d->nfunctions);
		}
		/* Without a line, readers name it by its mapping. */
		ck_assert(mapping || part(d->locations[i], 4, 0).at);
	}
}

static void asm_check_labels(const struct decoded *d, struct slice sample)
{
	uint64_t keys[16];
	struct slice label;

	for (unsigned int i = 0; (label = part(sample, 3, i)).at; i++) {
		ck_assert_uint_lt(i, 16);
		keys[i] = number(label, 1);
		ck_assert_uint_ne(keys[i], 0);
		ck_assert_str_ne(string(d, keys[i]), "");
		for (unsigned int k = 0; k < i; k++)
			ck_assert_uint_ne(keys[k], keys[i]);
		ck_assert(!number(label, 2) || (!number(label, 3) && !number(label, 4)));
		string(d, number(label, 2));
		string(d, number(label, 4));
	}
}

/* Everything that a strict reader checks. */
static void check(const struct decoded *d)
{
	uint64_t ids[REPORT_MAX_STACK], values[4];

	ck_assert_uint_ge(d->nstrings, 1);
	ck_assert_str_eq(d->strings[0], "");
	for (size_t i = 0; i < d->nstrings; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert_str_ne(d->strings[i], d->strings[k]);
	for (size_t i = 0; i < d->ntypes; i++) {
		ck_assert_str_ne(string_of(d, d->types[i], 1), "");
		ck_assert_str_ne(string_of(d, d->types[i], 2), "");
	}
	for (size_t i = 0; i < d->nmappings; i++) {
		ck_assert_uint_eq(number(d->mappings[i], 1), i + 1);
		string_of(d, d->mappings[i], 5);
		string_of(d, d->mappings[i], 6);
	}
	for (size_t i = 0; i < d->nfunctions; i++) {
		ck_assert_uint_eq(number(d->functions[i], 1), i + 1);
		ck_assert_str_ne(string_of(d, d->functions[i], 2), "");
		string_of(d, d->functions[i], 4);
	}
	check_locations(d);
	for (size_t i = 0; i < d->nsamples; i++) {
		size_t n = packed(part(d->samples[i], 1, 0), ids, REPORT_MAX_STACK);

		for (size_t k = 0; k < n; k++)
			ck_assert(ids[k] >= 1 && ids[k] <= d->nlocations);
		ck_assert_uint_eq(packed(part(d->samples[i], 2, 0), values, 4), d->ntypes);
		asm_check_labels(d, d->samples[i]);
	}
	string(d, d->default_type);
}

/* "f@401233 < main@… " of a sample, leaf first; lines of one location joined with "|". */
static const char *stack_text(const struct decoded *d, size_t sample)
{
	static char text[1024];
	uint64_t ids[16];
	size_t n = packed(part(d->samples[sample], 1, 0), ids, 16), at = 0;

	*text = 0;
	for (size_t i = 0; i < n; i++) {
		struct slice location = d->locations[ids[i] - 1], line;

		at += (size_t)sprintf(text + at, "%s", i ? " < " : "");
		for (unsigned int k = 0; (line = part(location, 4, k)).at; k++)
			at += (size_t)sprintf(text + at, "%s%s:%u", k ? "|" : "",
					      string_of(d, d->functions[number(line, 1) - 1], 2),
					      (unsigned int)number(line, 2));
		at += (size_t)sprintf(text + at, "@%llx", (unsigned long long)number(location, 3));
	}
	return text;
}

static struct report *rich_report(void)
{
	struct report *r = new_cpu_report();
	struct report_info info = { .command = "cpu",
				    .target = "./app",
				    .event = "cpu-clock",
				    .main_module = "./app",
				    .kernel_build_id = "feed",
				    .period_type = { "cpu", "nanoseconds" },
				    .period = 10101010,
				    .start_ns = 1767323045123456789,
				    .duration_ns = 5000000000 };
	struct report_ledger_line lost = { "ring full", 2, REPORT_LOST };
	struct report_ledger ledger = { 8, 6, &lost, 1 };
	struct report_frame lib = { .name = "work",
				    .module = "/lib/a.so",
				    .build_id = "a0a0",
				    .address = 0x7f1234,
				    .map_start = 0x7f1000,
				    .map_end = 0x7f2000,
				    .map_offset = 0x1000 };
	struct report_frame app = { .name = "main",
				    .module = "/bin/app",
				    .address = 0x401050,
				    .map_start = 0x401000,
				    .map_end = 0x402000,
				    .file = "main.c",
				    .line = 42,
				    .is_return = true };
	struct report_frame outer = { .name = "outer",
				      .module = "/bin/app",
				      .address = 0x401080,
				      .file = "main.c",
				      .line = 9,
				      .map_start = 0x401000,
				      .map_end = 0x402000,
				      .is_return = true };
	struct report_frame inner = outer, innermost = outer;
	struct report_label labels[] = { { "state", "run" }, { "size", NULL, 64, "bytes" } };
	uint64_t values[] = { 2, 20 };
	uint32_t k = kernel(r, "sys"), mod, l, m, nameless, frames[8];
	struct report_sample s = { "app", 7, 8, labels, 2, frames, 4, values };

	inner.name = "inner";
	inner.kind = innermost.kind = REPORT_INLINED;
	innermost.name = "innermost";
	mod = add_frame(r, (struct report_frame){ .name = "ext4",
						  .module = "ext4",
						  .address = 0xffffffffc0000123,
						  .kind = REPORT_KERNEL,
						  .is_return = true });
	l = add_frame(r, lib);
	m = add_frame(r, app);
	lib.name = NULL;
	lib.address = 0x7f1500;
	nameless = add_frame(r, lib);
	add_frame(r, (struct report_frame){
			     .name = "never used", .module = "/lib/unused.so", .map_end = 1 });

	ADD(r, "app", 7, 1, k, mod, l, m);
	ADD(r, "app", 7, 3, nameless, m);
	frames[0] = add_frame(r, innermost);
	frames[1] = add_frame(r, inner);
	frames[2] = add_frame(r, outer);
	frames[3] = m;
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	return r;
}

START_TEST(everything_is_where_it_belongs)
{
	struct report *r = rich_report();
	struct report_options o = { .weight = 1 };
	struct decoded d;

	decode(r, &o, &d);
	check(&d);
	ck_assert_uint_eq(d.ntypes, 2);
	ck_assert_str_eq(string_of(&d, d.types[0], 1), "samples");
	ck_assert_str_eq(string_of(&d, d.types[0], 2), "count");
	ck_assert_str_eq(string_of(&d, d.types[1], 1), "cpu");
	ck_assert_str_eq(string_of(&d, d.types[1], 2), "nanoseconds");
	ck_assert_str_eq(string(&d, d.default_type), "cpu");
	ck_assert_str_eq(string_of(&d, d.period_type, 1), "cpu");
	ck_assert_uint_eq(d.period, 10101010);
	ck_assert_uint_eq(d.time, 1767323045123456789);
	ck_assert_uint_eq(d.duration, 5000000000);
	ck_assert_uint_eq(d.ncomments, 3);
	ck_assert_str_eq(string(&d, d.comments[0]), "rawprof cpu: ./app");
	ck_assert_str_eq(string(&d, d.comments[2]),
			 "ledger: 8 samples fired = 6 kept + 0 filtered + 2 lost (ring full 2)");
	for (size_t i = 0; i < d.nstrings; i++)
		ck_assert_str_ne(d.strings[i], "never used");
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(mappings_begin_with_the_main_binary)
{
	struct report *r = rich_report();
	struct decoded d;

	decode(r, NULL, &d);
	ck_assert_uint_eq(d.nmappings, 3);
	ck_assert_str_eq(string_of(&d, d.mappings[0], 5), "/bin/app");
	ck_assert_uint_eq(number(d.mappings[0], 2), 0x401000);
	ck_assert_uint_eq(number(d.mappings[0], 3), 0x402000);
	ck_assert_uint_eq(number(d.mappings[0], 7), 1);
	ck_assert_uint_eq(number(d.mappings[0], 8), 1);
	ck_assert_uint_eq(number(d.mappings[0], 9), 1);
	ck_assert_uint_eq(number(d.mappings[0], 10), 1);
	ck_assert_str_eq(string_of(&d, d.mappings[1], 5), "/lib/a.so");
	ck_assert_str_eq(string_of(&d, d.mappings[1], 6), "a0a0");
	ck_assert_uint_eq(number(d.mappings[1], 4), 0x1000);
	ck_assert_uint_eq(number(d.mappings[1], 8), 0);
	ck_assert_uint_eq(number(d.mappings[1], 10), 0);
	ck_assert_str_eq(string_of(&d, d.mappings[2], 5), "[kernel.kallsyms]");
	ck_assert_str_eq(string_of(&d, d.mappings[2], 6), "feed");
	ck_assert_uint_le(number(d.mappings[2], 2), 0xffffffff81000000 + 0x100 * 's');
	ck_assert_uint_ge(number(d.mappings[2], 3), 0xffffffffc0000123);
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(stacks_are_leaf_first_and_calls_not_returns)
{
	struct report *r = rich_report();
	uint64_t values[4], seen = 0;
	struct decoded d;

	decode(r, NULL, &d);
	ck_assert_uint_eq(d.nsamples, 3);
	for (size_t i = 0; i < d.nsamples; i++) {
		const char *stack = stack_text(&d, i);

		packed(part(d.samples[i], 2, 0), values, 4);
		seen |= 1ull << values[0];
		ck_assert_uint_eq(values[1], values[0] * 10);
		if (values[0] == 1) {
			ck_assert_str_eq(stack,
					 "sys:0@ffffffff81007300 < ext4:0@ffffffffc0000122 < "
					 "work:0@7f1234 < main:42@40104f");
		} else if (values[0] == 3) {
			ck_assert_str_eq(stack, "@7f1500 < main:42@40104f");
		} else {
			ck_assert_str_eq(stack,
					 "innermost:9|inner:9|outer:9@40107f < main:42@40104f");
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 0), 1), "comm");
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 0), 2), "app");
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 1), 1), "pid");
			ck_assert_uint_eq(number(part(d.samples[i], 3, 1), 3), 7);
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 2), 1), "tid");
			ck_assert_uint_eq(number(part(d.samples[i], 3, 2), 3), 8);
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 3), 1), "size");
			ck_assert_uint_eq(number(part(d.samples[i], 3, 3), 3), 64);
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 3), 4), "bytes");
			ck_assert_str_eq(string_of(&d, part(d.samples[i], 3, 4), 2), "run");
		}
	}
	ck_assert_uint_eq(seen, 1 << 1 | 1 << 2 | 1 << 3);
	release(&d);
	report_free(r);
}
END_TEST

/* Servers leave out frames without a function. */
START_TEST(memory_without_a_file_has_a_name)
{
	const struct report_frame code = { .module = "[anon]", .address = 0x7f1234 };
	const struct report_frame stripped = { .module = "/bin/app", .address = 0x401000 };
	struct report *r = new_cpu_report();
	struct decoded d;

	ADD(r, "x", 1, 1, add_frame(r, code), add_frame(r, stripped));
	decode(r, NULL, &d);
	check(&d);
	ck_assert_str_eq(stack_text(&d, 0), "[anon]:0@7f1234 < @401000");
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(shared_frames_are_one_location)
{
	struct report *r = new_cpu_report();
	uint32_t m = user(r, "main"), a = user(r, "a"), b = user(r, "b");
	struct decoded d;

	ADD(r, "x", 1, 1, a, m);
	ADD(r, "x", 1, 1, b, m);
	ADD(r, "y", 1, 1, a, a, m);
	decode(r, NULL, &d);
	check(&d);
	ck_assert_uint_eq(d.nsamples, 3);
	ck_assert_uint_eq(d.nlocations, 3);
	ck_assert_uint_eq(d.nfunctions, 3);
	ck_assert_uint_eq(d.nmappings, 1);
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(values_stay_positive)
{
	struct report *r = new_cpu_report();
	uint64_t values[] = { UINT64_MAX, 1ull << 63 }, read[4];
	uint32_t a = user(r, "a");
	struct report_sample s = { "x", 1, 0, NULL, 0, &a, 1, values };
	struct decoded d;

	ck_assert_int_eq(report_add(r, &s), 0);
	decode(r, NULL, &d);
	check(&d);
	ck_assert_uint_eq(packed(part(d.samples[0], 2, 0), read, 4), 2);
	ck_assert_uint_eq(read[0], INT64_MAX);
	ck_assert_uint_eq(read[1], INT64_MAX);
	ck_assert_ptr_null(part(d.samples[0], 3, 2).at); /* no tid */
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(four_values)
{
	static const struct report_value_type types[] = { { "alloc_objects", "count" },
							  { "alloc_space", "bytes" },
							  { "inuse_objects", "count" },
							  { "inuse_space", "bytes" } };
	struct report_options options = { .weight = 3 };
	uint64_t values[] = { 9, 4096, 0, 0 }, read[4];
	struct report *r = NULL;
	struct decoded d;
	uint32_t a;

	ck_assert_int_eq(report_new(types, 4, &r), 0);
	a = user(r, "a");
	ck_assert_int_eq(
		report_add(r, &(struct report_sample){ "x", 1, 1, NULL, 0, &a, 1, values }), 0);
	decode(r, &options, &d);
	check(&d);
	ck_assert_uint_eq(d.ntypes, 4);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_str_eq(string_of(&d, d.types[i], 1), types[i].type);
		ck_assert_str_eq(string_of(&d, d.types[i], 2), types[i].unit);
	}
	ck_assert_str_eq(string(&d, d.default_type), "inuse_space");
	ck_assert_str_eq(string_of(&d, d.period_type, 1), "alloc_objects"); /* nothing is sampled */
	ck_assert_str_eq(string_of(&d, d.period_type, 2), "count");
	ck_assert_uint_eq(d.period, 1);
	ck_assert_uint_eq(packed(part(d.samples[0], 2, 0), read, 4), 4);
	ck_assert_mem_eq(read, values, sizeof(values));
	release(&d);
	report_free(r);
}
END_TEST

START_TEST(empty_and_hostile_are_valid)
{
	struct report *r = new_cpu_report();
	struct decoded d;

	decode(r, NULL, &d);
	check(&d);
	ck_assert_uint_eq(d.nsamples, 0);
	ck_assert_uint_eq(d.ntypes, 2);
	release(&d);
	add_n(r, "x", 1, NULL, 0, 5);
	decode(r, NULL, &d);
	check(&d);
	ck_assert_uint_eq(d.nsamples, 1);
	release(&d);
	report_free(r);

	r = hostile_report();
	decode(r, NULL, &d);
	check(&d);
	ck_assert_uint_eq(d.nsamples, HOSTILE_NAMES + 1);
	release(&d);
	report_free(r);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, everything_is_where_it_belongs);
	tcase_add_test(t, mappings_begin_with_the_main_binary);
	tcase_add_test(t, stacks_are_leaf_first_and_calls_not_returns);
	tcase_add_test(t, memory_without_a_file_has_a_name);
	tcase_add_test(t, shared_frames_are_one_location);
	tcase_add_test(t, values_stay_positive);
	tcase_add_test(t, four_values);
	tcase_add_test(t, empty_and_hostile_are_valid);
}

int main(void)
{
	return run_tests("report_pprof", add);
}
