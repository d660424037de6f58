/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON and speedscope, read by a strict parser of RFC 8259. */
#include "test_report.h"

/*
 * A document is turned into lines "path value", so that a test can ask for one: ".a[0].b" "\"text\"". Text is
 * kept as it is written, in quotes and with its escapes.
 */
struct parser {
	const char *at;
	char path[512];
	char *lines;
	size_t size;
	FILE *out;
};

static void space(struct parser *p)
{
	while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')
		p->at++;
}

/* One character of UTF-8, at least U+0020; anything else fails. */
static void character(struct parser *p)
{
	const unsigned char *s = (const unsigned char *)p->at;
	int n = *s < 0x80 ? 1 : *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;

	ck_assert_msg(*s >= 0x20, "control character %d in a string", *s);
	ck_assert_msg(*s < 0x80 || (*s >= 0xc2 && *s < 0xf5), "byte %02x", *s);
	if (*s == 0xe0)
		ck_assert_uint_ge(s[1], 0xa0);
	if (*s == 0xed)
		ck_assert_uint_lt(s[1], 0xa0);
	if (*s == 0xf0)
		ck_assert_uint_ge(s[1], 0x90);
	if (*s == 0xf4)
		ck_assert_uint_lt(s[1], 0x90);
	for (int i = 1; i < n; i++)
		ck_assert_msg((s[i] & 0xc0) == 0x80, "byte %02x", s[i]);
	p->at += n;
}

static size_t text(struct parser *p)
{
	const char *start = p->at;

	ck_assert_int_eq(*p->at++, '"');
	while (*p->at != '"') {
		if (*p->at != '\\') {
			character(p);
			continue;
		}
		p->at++;
		ck_assert_ptr_nonnull(strchr("\"\\/bfnrtu", *p->at));
		if (*p->at++ == 'u')
			for (int i = 0; i < 4; i++, p->at++)
				ck_assert(strchr("0123456789abcdefABCDEF", *p->at) && *p->at);
	}
	p->at++;
	return (size_t)(p->at - start);
}

static void digits(struct parser *p)
{
	ck_assert(*p->at >= '0' && *p->at <= '9');
	while (*p->at >= '0' && *p->at <= '9')
		p->at++;
}

static void scalar(struct parser *p)
{
	const char *start = p->at;

	if (*p->at == '"') {
		text(p);
	} else if (!strncmp(p->at, "true", 4) || !strncmp(p->at, "null", 4)) {
		p->at += 4;
	} else if (!strncmp(p->at, "false", 5)) {
		p->at += 5;
	} else {
		if (*p->at == '-')
			p->at++;
		if (*p->at == '0')
			p->at++;
		else
			digits(p);
		if (*p->at == '.') {
			p->at++;
			digits(p);
		}
		if (*p->at == 'e' || *p->at == 'E') {
			p->at++;
			if (*p->at == '+' || *p->at == '-')
				p->at++;
			digits(p);
		}
	}
	fprintf(p->out, "%s %.*s\n", p->path, (int)(p->at - start), start);
}

static void value(struct parser *p);

static void object(struct parser *p)
{
	size_t length = strlen(p->path);

	p->at++;
	space(p);
	while (*p->at != '}') {
		const char *key = p->at;
		size_t n = text(p);

		snprintf(p->path + length, sizeof(p->path) - length, ".%.*s", (int)(n - 2),
			 key + 1);
		space(p);
		ck_assert_int_eq(*p->at++, ':');
		value(p);
		space(p);
		if (*p->at == ',') {
			p->at++;
			space(p);
			ck_assert_int_eq(*p->at, '"');
		} else {
			ck_assert_int_eq(*p->at, '}');
		}
	}
	p->at++;
	p->path[length] = 0;
}

static void array(struct parser *p)
{
	size_t length = strlen(p->path), n = 0;

	p->at++;
	space(p);
	while (*p->at != ']') {
		snprintf(p->path + length, sizeof(p->path) - length, "[%zu]", n++);
		value(p);
		space(p);
		if (*p->at == ',') {
			p->at++;
			space(p);
			ck_assert_int_ne(*p->at, ']');
		} else {
			ck_assert_int_eq(*p->at, ']');
		}
	}
	p->at++;
	p->path[length] = 0;
	fprintf(p->out, "%s# %zu\n", p->path, n);
}

static void value(struct parser *p)
{
	space(p);
	if (*p->at == '{')
		object(p);
	else if (*p->at == '[')
		array(p);
	else
		scalar(p);
}

/* The lines of a document, with a newline in front; to be freed. */
static char *parsed(const struct report *r, report_writer *write,
		    const struct report_options *options)
{
	char *document = written(r, write, options);
	struct parser p = { .at = document };

	p.out = open_memstream(&p.lines, &p.size);
	fputc('\n', p.out);
	value(&p);
	space(&p);
	ck_assert_msg(!*p.at, "more behind the document: %s", p.at);
	fclose(p.out);
	free(document);
	return p.lines;
}

static void assert_line(const char *lines, const char *line)
{
	char *wanted = malloc(strlen(line) + 3);

	sprintf(wanted, "\n%s\n", line);
	ck_assert_msg(strstr(lines, wanted) != NULL, "no line \"%s\" in:%s", line, lines);
	free(wanted);
}

START_TEST(json_holds_everything)
{
	struct report *r = new_cpu_report();
	struct report_info info = { .command = "cpu",
				    .target = "a \"b\"",
				    .cpus = 2,
				    .rate_asked = 99.5,
				    .start_ns = 1767323045123456789,
				    .period = 7,
				    .period_type = { "cpu", "nanoseconds" } };
	struct report_ledger_line line = { "ring full", 3, REPORT_LOST };
	struct report_ledger ledger = { 10, 8, &line, 1 };
	struct report_cost cost = { 1, 2, 3, 4, 5 };
	struct report_label labels[] = { { "state", "run" }, { "n", NULL, -3, NULL } };
	uint64_t values[] = { UINT64_MAX, 1 };
	uint32_t frames[] = { kernel(r, "sys"),
			      add_frame(r, (struct report_frame){ .name = "main",
								  .module = "/bin/app",
								  .build_id = "ab",
								  .address = 0x401010,
								  .symbol_offset = 16,
								  .map_start = 0x401000,
								  .map_end = 0x402000,
								  .map_offset = 4096,
								  .module_addr = 0x1010,
								  .file = "m.c",
								  .line = 3,
								  .is_return = true }) };
	struct report_sample s = { "app", 7, 8, labels, 2, frames, 2, values };
	char *lines;

	add_frame(r, (struct report_frame){ .name = "unused" });
	ck_assert_int_eq(report_add(r, &s), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	ck_assert_int_eq(report_set_ledger(r, &ledger), 0);
	report_set_cost(r, &cost);
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".schema \"rawprof-profile\"");
	assert_line(lines, ".version 1");
	assert_line(lines, ".info.command \"cpu\"");
	assert_line(lines, ".info.target \"a \\\"b\\\"\"");
	assert_line(lines, ".info.start_ns 1767323045123456789");
	assert_line(lines, ".info.rate_asked 99.5");
	assert_line(lines, ".info.period.value 7");
	assert_line(lines, ".value_types# 2");
	assert_line(lines, ".value_types[1].unit \"nanoseconds\"");
	assert_line(lines, ".totals[0] 18446744073709551615");
	assert_line(lines, ".frames# 2");
	assert_line(lines, ".frames[0].name \"sys\"");
	assert_line(lines, ".frames[0].kind \"kernel\"");
	assert_line(lines, ".frames[0].address \"0xffffffff81007300\"");
	assert_line(lines, ".frames[0].return false");
	assert_line(lines, ".frames[1].module \"/bin/app\"");
	assert_line(lines, ".frames[1].build_id \"ab\"");
	assert_line(lines, ".frames[1].symbol_offset 16");
	assert_line(lines, ".frames[1].module_address \"0x1010\"");
	assert_line(lines, ".frames[1].map.start \"0x401000\"");
	assert_line(lines, ".frames[1].map.offset 4096");
	assert_line(lines, ".frames[1].file \"m.c\"");
	assert_line(lines, ".frames[1].line 3");
	assert_line(lines, ".frames[1].return true");
	assert_line(lines, ".stacks# 1");
	assert_line(lines, ".stacks[0][0] 0");
	assert_line(lines, ".stacks[0][1] 1");
	assert_line(lines, ".samples# 1");
	assert_line(lines, ".samples[0].comm \"app\"");
	assert_line(lines, ".samples[0].pid 7");
	assert_line(lines, ".samples[0].tid 8");
	assert_line(lines, ".samples[0].labels.state \"run\"");
	assert_line(lines, ".samples[0].labels.n -3");
	assert_line(lines, ".samples[0].stack 0");
	assert_line(lines, ".samples[0].values[0] 18446744073709551615");
	assert_line(lines, ".samples[0].values[1] 1");
	assert_line(lines, ".ledger.fired 10");
	assert_line(lines, ".ledger.closes false");
	assert_line(lines, ".ledger.gap -1");
	assert_line(lines, ".ledger.lines[0].fate \"lost\"");
	assert_line(lines, ".cost.peak_rss_bytes 5");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(json_escapes_every_byte)
{
	struct report *r = new_cpu_report();
	char *lines;

	ADD(r, "q\"\\\n\x01\x7f", 1, 1, user(r, "\xff \xc3\xa9 \xc3"));
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".samples[0].comm \"q\\\"\\\\\\u000a\\u0001\\u007f\"");
	assert_line(lines, ".frames[0].name \"\\\\xff \xc3\xa9 \\\\xc3\"");
	free(lines);
	report_free(r);

	r = hostile_report();
	lines = parsed(r, report_write_json, NULL);
	assert_line(lines, ".samples# 15");
	assert_line(lines, ".frames# 75");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(empty_documents_are_valid)
{
	struct report *r = new_cpu_report();
	char *lines = parsed(r, report_write_json, NULL);

	assert_line(lines, ".samples# 0");
	assert_line(lines, ".stacks# 0");
	assert_line(lines, ".totals[1] 0");
	ck_assert_ptr_null(strstr(lines, "ledger"));
	free(lines);
	lines = parsed(r, report_write_speedscope, NULL);
	assert_line(lines, ".shared.frames# 0");
	assert_line(lines, ".profiles# 2");
	assert_line(lines, ".profiles[0].samples# 0");
	assert_line(lines, ".profiles[0].endValue 0");
	free(lines);
	report_free(r);
}
END_TEST

START_TEST(speedscope_has_a_profile_for_each_value)
{
	struct report *r = new_cpu_report();
	struct report_options o = { .weight = 1 };
	uint32_t m = add_frame(
		r, (struct report_frame){
			   .name = "main", .module = "/bin/app", .file = "m.c", .line = 4 });
	uint32_t a = user(r, "a"), k = kernel(r, "sys");
	char *lines;

	add_frame(r, (struct report_frame){ .name = "unused" });
	ADD(r, "app", 1, 2, a, m);
	ADD(r, "app", 1, 3, k, a, m);
	ADD(r, "app", 2, 4, k, a, m);
	lines = parsed(r, report_write_speedscope, &o);
	assert_line(lines, ".$schema \"https://www.speedscope.app/file-format-schema.json\"");
	assert_line(lines, ".activeProfileIndex 1");
	assert_line(lines, ".shared.frames# 4");
	assert_line(lines, ".shared.frames[0].name \"a\"");
	assert_line(lines, ".shared.frames[0].file \"/bin/app\"");
	assert_line(lines, ".shared.frames[1].name \"app\"");
	assert_line(lines, ".shared.frames[2].name \"main\"");
	assert_line(lines, ".shared.frames[2].file \"m.c\"");
	assert_line(lines, ".shared.frames[2].line 4");
	assert_line(lines, ".shared.frames[3].name \"sys\"");
	assert_line(lines, ".profiles# 2");
	assert_line(lines, ".profiles[0].type \"sampled\"");
	assert_line(lines, ".profiles[0].unit \"none\"");
	assert_line(lines, ".profiles[0].startValue 0");
	assert_line(lines, ".profiles[0].endValue 9");
	assert_line(lines, ".profiles[0].samples# 2");
	assert_line(lines, ".profiles[0].samples[0]# 3");
	assert_line(lines, ".profiles[0].samples[1][0] 1");
	assert_line(lines, ".profiles[0].samples[1][1] 2");
	assert_line(lines, ".profiles[0].samples[1][2] 0");
	assert_line(lines, ".profiles[0].samples[1][3] 3");
	assert_line(lines, ".profiles[0].weights[0] 2");
	assert_line(lines, ".profiles[0].weights[1] 7");
	assert_line(lines, ".profiles[1].name \"cpu\"");
	assert_line(lines, ".profiles[1].unit \"nanoseconds\"");
	assert_line(lines, ".profiles[1].weights[1] 70");
	assert_line(lines, ".profiles[1].endValue 90");
	free(lines);
	report_free(r);

	r = hostile_report();
	lines = parsed(r, report_write_speedscope, NULL);
	assert_line(lines, ".profiles[0].samples# 15");
	free(lines);
	report_free(r);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, json_holds_everything);
	tcase_add_test(t, json_escapes_every_byte);
	tcase_add_test(t, empty_documents_are_valid);
	tcase_add_test(t, speedscope_has_a_profile_for_each_value);
}

int main(void)
{
	return run_tests("report_json", add);
}
