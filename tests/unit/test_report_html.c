/* SPDX-License-Identifier: BSD-2-Clause */
/* The page: its data are those of the report, whatever the names, and the same each time. */
#include "json_lines.h"
#include "test_report.h"

static const char begin[] = "<script type=\"application/json\" id=\"data\">";

/* The data of a page as lines, see json_lines.h; to be freed. */
static char *data_lines(const char *page)
{
	const char *data = strstr(page, begin), *end;
	char *copy, *lines;

	ck_assert_ptr_nonnull(data);
	data += strlen(begin);
	end = strchr(data, '<'); /* nothing else in the data may begin so */
	ck_assert_ptr_nonnull(end);
	ck_assert_int_eq(strncmp(end, "</script>", 9), 0);
	copy = strndup(data, (size_t)(end - data));
	lines = json_lines(copy);
	free(copy);
	return lines;
}

static uint32_t add_sample(struct report *r, int32_t tid, const char *state, const uint32_t *frames,
			   size_t n, uint64_t count)
{
	const struct report_label label = { .key = "state", .str = state };
	const uint64_t values[] = { count, count * 10 };
	uint32_t id;

	ck_assert_int_eq(report_add_id(r,
				       &(struct report_sample){ "app", 5, tid, &label,
								state != NULL, frames, n, values },
				       &id),
			 0);
	return id;
}

static void add_moment(struct report *r, uint64_t ns, enum report_moment_kind kind,
		       unsigned int cpu, uint64_t weight, uint32_t sample)
{
	ck_assert_int_eq(report_add_moment(r, &(struct report_moment){ .time_ns = ns,
								       .kind = kind,
								       .cpu = cpu & 0xfff,
								       .weight = weight,
								       .sample = sample,
								       .count = 1 }),
			 0);
}

/* The same profile, its parts added in one order or the other. */
static struct report *known_report(bool backwards)
{
	struct report *r = new_cpu_report();
	uint32_t ids[3];

	for (int k = 0; k < 3; k++) {
		const int i = backwards ? 2 - k : k;

		if (i == 0) {
			const uint32_t f[] = { user(r, "left"), user(r, "main") };

			ids[i] = add_sample(r, 7, NULL, f, 2, 1000);
		} else if (i == 1) {
			const uint32_t f[] = { kernel(r, "sys"), user(r, "main") };

			ids[i] = add_sample(r, 8, NULL, f, 2, 500);
		} else {
			ids[i] = add_sample(r, 7, NULL, NULL, 0, 1);
		}
	}
	ck_assert_int_eq(report_set_stream(r, 1, 3), 0);
	for (int k = 0; k < 3; k++) {
		const int i = backwards ? 2 - k : k;

		/* The last two are equal but for the sample. */
		add_moment(r, i ? 5000000 : 2000999, REPORT_AT, i ? REPORT_NO_CPU : 1, 10, ids[i]);
	}
	return r;
}

START_TEST(data_are_the_reports)
{
	struct report *r = known_report(false);
	char *page = written(r, report_write_html, NULL), *lines = data_lines(page);

	assert_line(lines, ".types[0].type \"samples\"");
	assert_line(lines, ".types[0].total \"1501\"");
	assert_line(lines, ".types[1].total \"15010\"");
	assert_line(lines, ".types[1].shift 0");
	assert_line(lines, ".weight 0");
	/* By name: [unknown] app left main sys. */
	assert_line(lines, ".names# 5");
	assert_line(lines, ".names[0] \"[unknown]\"");
	assert_line(lines, ".names[1] \"app\"");
	assert_line(lines, ".names[4] \"sys\"");
	assert_line(lines, ".kinds[1] 11"); /* a process, */
	assert_line(lines, ".kinds[2] 0");  /* user, */
	assert_line(lines, ".kinds[4] 1");  /* kernel */
	assert_line(lines, ".strings[0] \"/bin/app\"");
	assert_line(lines, ".nodes.n 5");
	assert_line(lines, ".places.n 4");
	assert_line(lines, ".samples.n 3");
	assert_line(lines, ".samples.label -1");
	assert_line(lines, ".threads.n 2");
	assert_line(lines, ".threads.pid 5");
	assert_line(lines, ".stream.missed 3");
	assert_line(lines, ".stream.n 3");
	assert_line(lines, ".stream.time[0] 2000");
	assert_line(lines, ".stream.time[1] 3000");
	assert_line(lines, ".stream.time[2] 0");
	assert_line(lines, ".stream.cpu[0] 1");
	assert_line(lines, ".stream.cpu[1] -1");
	assert_line(lines, ".stream.weight 10");
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

START_TEST(order_of_adding_does_not_matter)
{
	struct report *one = known_report(false), *other = known_report(true);
	char *a = written(one, report_write_html, NULL),
	     *b = written(other, report_write_html, NULL),
	     *c = written(one, report_write_html, NULL);

	ck_assert_str_eq(a, b);
	ck_assert_str_eq(a, c);
	free(a);
	free(b);
	free(c);
	report_free(one);
	report_free(other);
}
END_TEST

/* Frames that differ in nothing that the page shows are one; lines tell them apart. */
START_TEST(places_are_by_name_and_line)
{
	struct report *r = new_cpu_report();
	char *page, *lines;

	for (uint32_t i = 0; i < 4; i++) {
		const uint32_t f = add_frame(r, (struct report_frame){ .name = "f",
								       .module = "/bin/app",
								       .address = 0x1000 + i,
								       .file = "a.c",
								       .line = 10 + i / 2 });

		add_sample(r, 1, NULL, &f, 1, 1);
	}
	page = written(r, report_write_html, NULL);
	lines = data_lines(page);
	assert_line(lines, ".places.n 2");
	assert_line(lines, ".places.line[0] 10");
	assert_line(lines, ".places.line[1] 11");
	assert_line(lines, ".samples.n 2");
	assert_line(lines, ".samples.values[0] 2");
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

START_TEST(labels_and_intervals)
{
	static const char *const order[] = { "running", "disk", NULL };
	struct report_options options = { .weight = 1,
					  .color_by_label = "state",
					  .label_order = order,
					  .reverse = true,
					  .title = "A </script> title" };
	struct report *r = new_cpu_report();
	const uint32_t f = user(r, "f");
	char *page, *lines;

	add_moment(r, 3000, REPORT_UNTIL, 0, 2500, add_sample(r, 1, "disk", &f, 1, 1));
	add_sample(r, 1, "running", &f, 1, 1);
	page = written(r, report_write_html, &options);
	lines = data_lines(page);
	ck_assert_ptr_nonnull(strstr(page, "<title>A &lt;/script&gt; title</title>"));
	assert_line(lines, ".title \"A \\u003c/script> title\"");
	assert_line(lines, ".weight 1");
	assert_line(lines, ".reverse 1");
	assert_line(lines, ".label \"state\"");
	assert_line(lines, ".order[1] \"disk\"");
	assert_line(lines, ".names[0] \"[disk]\"");
	assert_line(lines, ".kinds[0] 12");
	assert_line(lines, ".samples.label[0] 0");
	assert_line(lines, ".samples.label[1] 1");
	assert_line(lines, ".stream.kind 1");
	assert_line(lines, ".stream.weight 2500");
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

START_TEST(numbers_stay_within_the_script)
{
	struct report *r = new_cpu_report();
	const uint64_t values[] = { 1, UINT64_MAX };
	char *page, *lines;

	ck_assert_int_eq(report_add(r, &(struct report_sample){ .comm = "app", .values = values }),
			 0);
	page = written(r, report_write_html, NULL);
	lines = data_lines(page);
	assert_line(lines, ".types[1].total \"18446744073709551615\"");
	assert_line(lines, ".types[1].shift 11");
	assert_line(lines, ".samples.values[1] 9007199254740991");
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

/* Whatever names are, the data end where they should and the policy lets nothing else run. */
START_TEST(names_may_be_hostile)
{
	struct report *r = hostile_report();
	struct report_options o = { .title = every_byte(), .subtitle = every_byte() };
	char *page, *lines;
	size_t scripts = 0;

	add_moment(r, 1, REPORT_AT, 0, 1, 0);
	page = written(r, report_write_html, &o);
	lines = data_lines(page);
	assert_line(lines, ".stream.n 1");
	ck_assert_ptr_null(strstr(page, "<script>alert"));
	for (const char *at = page; (at = strstr(at, "<script")); at++)
		scripts++;
	ck_assert_uint_eq(scripts, 2);
	ck_assert_ptr_nonnull(strstr(page, "default-src 'none'; style-src 'sha256-"));
	ck_assert_ptr_nonnull(strstr(page, "script-src 'sha256-"));
	ck_assert_ptr_null(strstr(page, "@STYLE"));
	ck_assert_ptr_null(strstr(page, "@SCRIPT"));
	ck_assert_ptr_null(strstr(page, "http://"));
	ck_assert_ptr_null(strstr(page, "https://"));
	for (const unsigned char *s = (unsigned char *)page; *s; s++)
		ck_assert(*s >= 0x20 || *s == '\n');
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

START_TEST(nothing_recorded)
{
	struct report *r = new_cpu_report();
	char *page = written(r, report_write_html, NULL), *lines = data_lines(page);

	assert_line(lines, ".names# 0");
	assert_line(lines, ".nodes.n 1");
	assert_line(lines, ".samples.node# 0");
	ck_assert_ptr_null(strstr(lines, ".stream"));
	free(lines);
	free(page);
	report_free(r);
}
END_TEST

/* The policy names the script by its hash: by a program that is not ours, where there is one. */
START_TEST(hashes_are_right)
{
	struct report *r = new_cpu_report();
	static const char command[] =
		"python3 -c 'import base64, hashlib, re, sys\n"
		"page = sys.stdin.read()\n"
		"for tag in (\"style\", \"script\"):\n"
		"    text = re.search(f\"<{tag}>(.*?)</{tag}>\", page, re.S).group(1).encode()\n"
		"    hash = base64.b64encode(hashlib.sha256(text).digest()).decode()\n"
		"    assert f\"{tag}-src \\x27sha256-{hash}\\x27\" in page, tag'";
	FILE *f;

	if (!system("command -v python3 >/dev/null 2>&1")) {
		f = popen(command, "w");
		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(report_write_html(r, f, NULL), 0);
		ck_assert_int_eq(pclose(f), 0);
	} else {
		printf("test_report_html: no python3 here, hashes were not computed again\n");
	}
	report_free(r);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, data_are_the_reports);
	tcase_add_test(t, order_of_adding_does_not_matter);
	tcase_add_test(t, places_are_by_name_and_line);
	tcase_add_test(t, labels_and_intervals);
	tcase_add_test(t, numbers_stay_within_the_script);
	tcase_add_test(t, names_may_be_hostile);
	tcase_add_test(t, nothing_recorded);
	tcase_add_test(t, hashes_are_right);
}

int main(void)
{
	return run_tests("report_html", add);
}
