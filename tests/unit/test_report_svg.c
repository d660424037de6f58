/* SPDX-License-Identifier: BSD-2-Clause */
/* The flame graph: well-formed whatever the names, and every frame where it should be. */
#include <math.h>

#include "test_report.h"

/* What one frame's group says. */
struct box {
	char name[512], count[64], color[8], shown[256];
	double x, y, width;
	unsigned long long begin, weight;
	unsigned int depth;
};

static void skip_name(const char **at)
{
	ck_assert((**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z'));
	while (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:", **at) &&
	       **at)
		++*at;
}

/* Text of XML: no control characters, and each & is one of the known entities. */
static void skip_text(const char **at, const char *end)
{
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;" };

	while (**at && !strchr(end, **at)) {
		bool known = **at != '&';

		ck_assert_msg((unsigned char)**at >= 0x20 || **at == '\n', "byte %d", **at);
		for (size_t i = 0; i < sizeof(entities) / sizeof(*entities); i++)
			known = known || !strncmp(*at, entities[i], strlen(entities[i]));
		ck_assert_msg(known, "%.20s", *at);
		++*at;
	}
	ck_assert_msg(**at || !*end || strchr(end, '<'), "the document ends in an attribute");
}

/* Balanced elements, quoted attributes, escaped text. Returns how many elements there are. */
static unsigned int well_formed(const char *at)
{
	char open[16][32];
	unsigned int depth = 0, elements = 0;

	if (!strncmp(at, "<?xml ", 6))
		at = strstr(at, "?>") + 2;
	while (*at) {
		const char *name;

		skip_text(&at, "<");
		if (!*at)
			break;
		if (!strncmp(at, "<![CDATA[", 9)) {
			at = strstr(at, "]]>");
			ck_assert_ptr_nonnull(at);
			at += 3;
			continue;
		}
		name = ++at;
		if (*at == '/') {
			name = ++at;
			skip_name(&at);
			ck_assert_uint_gt(depth, 0);
			depth--;
			ck_assert_int_eq(strncmp(open[depth], name, (size_t)(at - name)), 0);
			ck_assert_uint_eq(strlen(open[depth]), (size_t)(at - name));
			ck_assert_int_eq(*at++, '>');
			continue;
		}
		skip_name(&at);
		ck_assert_uint_lt(depth, 16);
		snprintf(open[depth], sizeof(open[depth]), "%.*s", (int)(at - name), name);
		elements++;
		while (*at == ' ') {
			at++;
			skip_name(&at);
			ck_assert_int_eq(*at++, '=');
			ck_assert_int_eq(*at++, '"');
			skip_text(&at, "\"<");
			ck_assert_int_eq(*at++, '"');
		}
		if (*at == '/')
			at++;
		else
			depth++;
		ck_assert_int_eq(*at++, '>');
	}
	ck_assert_uint_eq(depth, 0);
	return elements;
}

static size_t boxes(const char *svg, struct box *out, size_t max)
{
	size_t n = 0;

	for (const char *at = svg; (at = strstr(at, "<g class=\"f\"")); at++) {
		struct box *b = &out[n++];
		const char *text;

		ck_assert_uint_le(n, max);
		memset(b, 0, sizeof(*b));
		ck_assert_int_eq(
			sscanf(at,
			       "<g class=\"f\" data-x=\"%llu\" data-w=\"%llu\" "
			       "data-d=\"%u\"><title>%511[^(](%63[^)])"
			       "</title><rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"17\" "
			       "rx=\"2\" fill=\"%7[^\"]\"",
			       &b->begin, &b->weight, &b->depth, b->name, b->count, &b->x, &b->y,
			       &b->width, b->color),
			9);
		b->name[strlen(b->name) - 1] = 0;
		text = strchr(strstr(at, "<text "), '>') + 1;
		snprintf(b->shown, sizeof(b->shown), "%.*s", (int)(strchr(text, '<') - text), text);
	}
	return n;
}

static const struct box *find(const struct box *b, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(b[i].name, name))
			return &b[i];
	ck_abort_msg("no frame %s", name);
	return NULL;
}

static struct report *known_report(void)
{
	struct report *r = new_cpu_report();
	uint32_t m = user(r, "main"), a = user(r, "left"), b = user(r, "right"),
		 k = kernel(r, "sys");

	ADD(r, "app", 1, 1000, a, m);
	ADD(r, "app", 1, 500, k, b, m);
	ADD(r, "app", 1, 500, m);
	ADD(r, "other", 2, 2000, m);
	return r;
}

START_TEST(frames_are_laid_out_by_weight)
{
	struct report *r = known_report();
	char *svg = written(r, report_write_svg, NULL);
	struct box b[16];
	size_t n = boxes(svg, b, 16);
	const struct box *f;

	ck_assert_uint_ge(well_formed(svg), 4 * n);
	ck_assert_uint_eq(n, 8);
	ck_assert_str_eq(b[0].name, "all");
	ck_assert_str_eq(b[0].count, "4,000 samples, 100.00%");
	ck_assert_double_eq_tol(b[0].x, 12, 0.01);
	ck_assert_double_eq_tol(b[0].width, 1176, 0.01);
	f = find(b, n, "other");
	ck_assert_uint_eq(f->depth, 1);
	ck_assert_uint_eq(f->begin, 2000);
	ck_assert_uint_eq(f->weight, 2000);
	f = find(b, n, "left");
	ck_assert_uint_eq(f->depth, 3);
	ck_assert_str_eq(f->count, "1,000 samples, 25.00%");
	ck_assert_double_eq_tol(f->x, 12, 0.01);
	ck_assert_double_eq_tol(f->width, 294, 0.01);
	ck_assert_str_eq(f->shown, "left");
	f = find(b, n, "sys");
	ck_assert_double_eq_tol(f->x, 12 + 294, 0.01);
	ck_assert_double_eq_tol(f->width, 147, 0.01);
	ck_assert_double_eq_tol(b[0].y - f->y, 4 * 18, 0.01); /* the root is at the bottom */
	free(svg);
	report_free(r);
}
END_TEST

START_TEST(options_turn_it_over)
{
	struct report *r = known_report();
	struct report_options o = {
		.inverted = true, .title = "A & B", .subtitle = "<sub>", .image_width = 600
	};
	char *svg = written(r, report_write_svg, &o);
	struct box b[16];
	size_t n = boxes(svg, b, 16);

	well_formed(svg);
	ck_assert_ptr_nonnull(strstr(svg, ">A &amp; B</text>"));
	ck_assert_ptr_nonnull(strstr(svg, ">&lt;sub&gt;</text>"));
	ck_assert_ptr_nonnull(strstr(svg, " width=\"600\" "));
	ck_assert_double_eq_tol(b[0].width, 576, 0.01);
	ck_assert_double_eq_tol(find(b, n, "sys")->y - b[0].y, 4 * 18, 0.01);
	free(svg);

	o = (struct report_options){ .reverse = true, .weight = 1, .divisor = 1000, .unit = "us" };
	svg = written(r, report_write_svg, &o);
	n = boxes(svg, b, 16);
	ck_assert_str_eq(b[0].count, "40 us, 100.00%");
	ck_assert_uint_eq(find(b, n, "sys")->depth, 2);
	ck_assert_uint_eq(find(b, n, "right")->depth, 3);
	ck_assert_str_eq(find(b, n, "other")->count, "20 us, 50.00%");
	free(svg);

	o = (struct report_options){ .weight = 1 };
	svg = written(r, report_write_svg, &o);
	boxes(svg, b, 16);
	ck_assert_str_eq(b[0].count, "40.0 us, 100.00%");
	free(svg);
	report_free(r);
}
END_TEST

START_TEST(narrow_frames_are_left_out)
{
	struct report *r = new_cpu_report();
	uint32_t m = user(r, "main"), a = user(r, "big"), b = user(r, "tiny"),
		 c = user(r, "deeper");
	struct report_options o = { .min_width = 0.001 };
	struct box box[8];
	char *svg;

	ADD(r, "app", 1, 100000, a, m);
	ADD(r, "app", 1, 1, c, b, m);
	svg = written(r, report_write_svg, NULL);
	ck_assert_uint_eq(boxes(svg, box, 8), 4);
	ck_assert_double_eq_tol(box[0].y, 76 + 3 * 18,
				0.01); /* no row is kept for what is not shown */
	free(svg);
	svg = written(r, report_write_svg, &o);
	ck_assert_uint_eq(boxes(svg, box, 8), 6);
	free(svg);
	report_free(r);
}
END_TEST

START_TEST(names_are_cut_to_their_boxes)
{
	struct report *r = new_cpu_report();
	char name[401];
	struct box b[8];
	char *svg;

	memset(name, 'x', 400);
	name[400] = 0;
	ADD(r, "app", 1, 99, user(r, name));
	ADD(r, "zz", 1, 1, user(r, "yyyyyy"));
	svg = written(r, report_write_svg, NULL);
	ck_assert_uint_eq(boxes(svg, b, 8), 5);
	ck_assert_uint_gt(strlen(b[2].shown), 100);
	ck_assert_uint_lt(strlen(b[2].shown), 170);
	ck_assert_str_eq(b[2].shown + strlen(b[2].shown) - 3, "…");
	ck_assert_str_eq(b[4].name, "yyyyyy");
	ck_assert_str_eq(b[4].shown, ""); /* 12 px hold no three characters */
	free(svg);
	report_free(r);
}
END_TEST

START_TEST(colors_follow_name_and_kind)
{
	struct report *r = new_cpu_report(), *other = new_cpu_report();
	uint32_t u = user(r, "f"), k = kernel(r, "f");
	struct box b[8], c[8];
	char *svg;
	unsigned int red, green, blue;

	ADD(r, "app", 1, 1, k, u);
	svg = written(r, report_write_svg, NULL);
	ck_assert_uint_eq(boxes(svg, b, 8), 4);
	free(svg);
	ADD(other, "p", 1, 9, user(other, "g"), user(other, "f"));
	svg = written(other, report_write_svg, NULL);
	ck_assert_uint_eq(boxes(svg, c, 8), 4);
	free(svg);
	ck_assert_str_eq(b[2].color, c[2].color);
	ck_assert_str_ne(b[2].color, c[3].color);
	ck_assert_int_eq(sscanf(b[2].color, "#%2x%2x%2x", &red, &green, &blue), 3);
	ck_assert(red > green && green > blue);
	ck_assert_int_eq(sscanf(b[3].color, "#%2x%2x%2x", &red, &green, &blue), 3);
	ck_assert(blue > green && green > red);
	report_free(r);
	report_free(other);
}
END_TEST

START_TEST(numbers_stay_within_the_script)
{
	struct report *r = new_cpu_report();
	uint64_t values[] = { UINT64_MAX / 4, 1 };
	struct box b[8];
	char *svg;

	for (int i = 0; i < 3; i++) {
		uint32_t f = user(r, i == 0 ? "a" : i == 1 ? "b" : "c");
		struct report_sample s = { "app", 1, 1, NULL, 0, &f, 1, values };

		ck_assert_int_eq(report_add(r, &s), 0);
	}
	svg = written(r, report_write_svg, NULL);
	ck_assert_uint_eq(boxes(svg, b, 8), 5);
	ck_assert_uint_lt(b[0].weight, 1ull << 53);
	ck_assert_uint_gt(b[0].weight, 1ull << 50);
	for (int i = 2; i < 5; i++)
		ck_assert_uint_le(b[i].begin + b[i].weight, b[0].weight);
	ck_assert_uint_eq(b[2].begin + b[2].weight, b[3].begin);
	ck_assert_uint_eq(b[3].begin + b[3].weight, b[4].begin);
	free(svg);
	report_free(r);
}
END_TEST

START_TEST(empty_and_hostile_are_well_formed)
{
	struct report *r = new_cpu_report();
	struct report_options o = { .title = every_byte(),
				    .subtitle = every_byte(),
				    .unit = "<&\">" };
	char *svg = written(r, report_write_svg, NULL);

	well_formed(svg);
	ck_assert_ptr_nonnull(strstr(svg, "Nothing was recorded."));
	ck_assert_ptr_null(strstr(svg, "<script>"));
	free(svg);
	report_free(r);

	r = hostile_report();
	svg = written(r, report_write_svg, &o);
	well_formed(svg);
	ck_assert_ptr_null(strstr(svg, "<script>alert"));
	free(svg);
	report_free(r);
}
END_TEST

/* A parser that is not ours, where there is one. */
START_TEST(xmllint_agrees)
{
	struct report *r = hostile_report();
	FILE *lint;

	if (!system("command -v xmllint >/dev/null 2>&1")) {
		lint = popen("xmllint --noout -", "w");
		ck_assert_ptr_nonnull(lint);
		ck_assert_int_eq(report_write_svg(r, lint, NULL), 0);
		ck_assert_int_eq(pclose(lint), 0);
	} else {
		printf("test_report_svg: no xmllint here, its opinion was not asked\n");
	}
	report_free(r);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, frames_are_laid_out_by_weight);
	tcase_add_test(t, options_turn_it_over);
	tcase_add_test(t, narrow_frames_are_left_out);
	tcase_add_test(t, names_are_cut_to_their_boxes);
	tcase_add_test(t, colors_follow_name_and_kind);
	tcase_add_test(t, numbers_stay_within_the_script);
	tcase_add_test(t, empty_and_hostile_are_well_formed);
	tcase_add_test(t, xmllint_agrees);
}

int main(void)
{
	return run_tests("report_svg", add);
}
