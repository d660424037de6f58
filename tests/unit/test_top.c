/* SPDX-License-Identifier: BSD-2-Clause */
/* `rawprof top` without a terminal and a kernel: windows, keys, and the screens that they make. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/top/json.h"
#include "cli/top/sources.h"
#include "cli/top/view.h"

#define MS 1000000ull

static void add_process(struct top_window *w, uint64_t pid, const char *comm, uint64_t ms)
{
	const union top_value keys[2] = { { .number = pid }, { .number = pid } };
	struct top_row *row = top_row(w, TOP_PROCESSES, keys);

	row->cell[1].text = top_text(w, comm);
	row->cell[2].text = top_text(w, "native");
	row->cell[3].number = ms * MS;
	row = top_row(w, TOP_THREADS, keys);
	row->cell[2].text = top_text(w, comm);
	row->cell[3].number = ms * MS;
}

static void add_function(struct top_window *w, uint64_t pid, const char *name, uint64_t self,
			 uint64_t total)
{
	const union top_value keys[4] = { { .number = pid },
					  { .text = top_text(w, name) },
					  { .text = top_text(w, "libx.so") },
					  { .text = top_text(w, "native") } };
	struct top_row *row = top_row(w, TOP_FUNCTIONS, keys);

	row->cell[4].number = self * MS;
	row->cell[5].number = total * MS;
}

static void add_wait(struct top_window *w, uint64_t pid, const char *reason, uint64_t n,
		     uint64_t ms)
{
	const union top_value keys[4] = { { .number = pid },
					  { .number = pid },
					  { .text = top_text(w, "x") },
					  { .text = top_text(w, reason) } };
	struct top_row *row = top_row(w, TOP_WAITS, keys);

	row->cell[4].number = n;
	row->cell[5].number = ms * MS;
}

static void add_disk(struct top_window *w, const char *disk, const char *op, uint64_t n)
{
	const union top_value keys[2] = { { .text = top_text(w, disk) },
					  { .text = top_text(w, op) } };
	struct top_row *row = top_row(w, TOP_DISKS, keys);

	row->cell[2].number = n;
	row->cell[3].number = n * 2 * MS;
	row->cell[5].number = MS;
	row->cell[7].number = 12 * MS;
	row->cell[8].number = 30 * MS;
}

/* n: makes it differ from the others. */
static struct top_window *window(uint64_t n)
{
	struct top_window *w = top_window_new();

	w->ns = 1000 * MS;
	w->wall_ns = (1000 + n) * 1000 * MS;
	w->cpus = 2;
	w->figure[TOP_CPU_USER] = 500 * MS;
	w->figure[TOP_CPU_SYSTEM] = 300 * MS;
	w->figure[TOP_CPU_IDLE] = 1200 * MS;
	w->figure[TOP_QUEUED] = n;
	w->figure[TOP_OWN_CPU] = 8 * MS;
	for (int i = 0; i <= TOP_PANELS; i++)
		w->running[i] = i != TOP_MEMORY && i != TOP_BPF;
	add_process(w, 100, "one", 600);
	add_process(w, 200, "two\033[31m", 250);
	add_function(w, 100, "spin", 400, 600);
	add_function(w, 200, "spin", 100, 100);
	add_function(w, 100, "main", 0, 600);
	add_wait(w, 100, "futex", 3, 120);
	add_wait(w, 200, "futex", 1, 80);
	add_wait(w, 200, "disk", 9, 40);
	add_disk(w, "sda", "read", 50);
	return w;
}

static struct top_model model;
static struct top_screen screen;
static struct top_view view;

static void begin(unsigned int columns, unsigned int rows)
{
	view = (struct top_view){ .overview = true, .host = "host" };
	screen = (struct top_screen){ 0 };
	ck_assert_int_eq(top_screen_resize(&screen, columns, rows), 0);
	for (uint64_t i = 1; i <= 70; i++)
		top_model_push(&model, window(i));
}

static void end(void)
{
	top_model_free(&model);
	top_screen_free(&screen);
}

/* The row of the screen that has this text, -1: none. */
static int find(const char *text)
{
	for (unsigned int i = 0; i < screen.rows; i++) {
		char *row = top_screen_row(&screen, i);
		const bool found = strstr(row, text);

		free(row);
		if (found)
			return (int)i;
	}
	return -1;
}

static enum top_action press(int key)
{
	enum top_action action = top_view_key(&view, &model, key);

	top_draw(&view, &model, &screen);
	return action;
}

#define HAS(text) ck_assert_msg(find(text) >= 0, "no '%s' on the screen", text)
#define LACKS(text) ck_assert_msg(find(text) < 0, "'%s' on the screen", text)
#define ROW(n, text)                                                                               \
	do {                                                                                       \
		char *row_ = top_screen_row(&screen, n);                                           \
		ck_assert_str_eq(row_, text);                                                      \
		free(row_);                                                                        \
	} while (0)

START_TEST(overview_80x24)
{
	begin(80, 24);
	top_draw(&view, &model, &screen);
	ROW(1, "CPU      40% busy: user 25% system 15% stolen 0%; waits for disks 0%; load 0.0");
	HAS("70.0 waits/s");
	ROW(5, "    PID COMMAND        CPU MOSTLY IN     FUNCTION        MODULE      SELF  TOTAL");
	ROW(6, "    100 one          60.0%               spin            libx.so    50.0%  70.0%");
	ROW(7, "    200 two\\x1b[31m  25.0%               main            libx.so     0.0%  60.0%");
	HAS("futex ");
	HAS("q quit");
	end();
}
END_TEST

START_TEST(overview_200x50)
{
	begin(200, 50);
	top_draw(&view, &model, &screen);
	HAS("two\\x1b[31m");
	HAS("MOSTLY IN");
	HAS("12.0ms  30.0ms");
	end();
}
END_TEST

START_TEST(screens_of_any_size)
{
	begin(80, 24);
	for (unsigned int columns = 0; columns < 220; columns += 7)
		for (unsigned int rows = 0; rows < 60; rows += 3)
			for (int key = 0; key < 4; key++) {
				size_t size;
				char *bytes;

				ck_assert_int_eq(top_screen_resize(&screen, columns, rows), 0);
				press("?odq"[key]);
				bytes = top_screen_update(&screen, true, &size);
				ck_assert_ptr_nonnull(bytes);
				free(bytes);
			}
	end();
}
END_TEST

START_TEST(sorted_filtered)
{
	begin(80, 24);
	ck_assert_int_eq(press('c'), TOP_WANT);
	ck_assert_int_lt(find("spin "), find("main "));
	press('>'); /* from SELF to TOTAL */
	ck_assert_int_lt(find("spin "), find("main "));
	press('r');
	ck_assert_int_gt(find("spin "), find("main "));
	press('/');
	for (const char *s = "mai"; *s; s++)
		press(*s);
	HAS("only rows with (empty: all): mai_");
	press(TOP_KEY_ENTER);
	HAS("main ");
	LACKS("spin ");
	press(TOP_KEY_ESCAPE);
	HAS("spin ");
	press('<');
	press('<');
	HAS("sorted by LANG");
	end();
}
END_TEST

static void add_lock(struct top_window *w, const char *lock)
{
	const union top_value keys[5] = { { .number = 100 },
					  { .number = 100 },
					  { .text = top_text(w, "mutex") },
					  { .text = top_text(w, lock) },
					  { .text = top_text(w, "wants") } };
	struct top_row *row = top_row(w, TOP_LOCKS, keys);

	row->cell[5].number = 20;
	row->cell[6].number = 400 * MS;
}

/* Where there is no room for the lock's address, two rows of it would be the same one twice. */
START_TEST(rows_are_told_apart_by_what_is_shown)
{
	struct top_window *w = window(71);

	begin(80, 24);
	add_lock(w, "0x1000");
	add_lock(w, "0x2000");
	top_model_push(&model, w);
	press('o');
	HAS("mutex    wants            40.0    800ms");
	press('l');
	HAS("0x1000");
	HAS("0x2000");
	LACKS("800ms");
	end();
}
END_TEST

START_TEST(into_a_process_and_back)
{
	begin(80, 24);
	press(TOP_KEY_DOWN);
	press(TOP_KEY_ENTER);
	ck_assert_uint_eq(view.pid, 200);
	HAS("process 200");
	HAS("10.0%  10.0%"); /* spin, of this process alone */
	LACKS("main ");
	HAS("disk ");
	press('w');
	HAS("of this process");
	HAS("80.0ms");
	press('d'); /* is of no process */
	LACKS("of this process");
	HAS("sda");
	press(TOP_KEY_ESCAPE);
	HAS("process 200");
	press(TOP_KEY_BACKSPACE);
	ck_assert_uint_eq(view.pid, 0);
	press('d');
	press(TOP_KEY_ENTER);
	HAS("this row is of no single process");
	end();
}
END_TEST

/* The next window has no sample of it. */
START_TEST(a_process_that_waits_has_its_name)
{
	begin(80, 24);
	press(TOP_KEY_DOWN);
	press(TOP_KEY_ENTER);
	HAS("spin");
	top_model_push(&model, top_window_new());
	press('n');
	press(TOP_KEY_ESCAPE);
	HAS("process 200         two\\x1b[31m  (on no CPU when samples were taken)");
	end();
}
END_TEST

START_TEST(steps_through_a_minute)
{
	begin(80, 24);
	top_draw(&view, &model, &screen);
	HAS("70.0 waits/s");
	press(TOP_KEY_LEFT);
	HAS("69.0 waits/s");
	HAS("PAUSED, 1 of 59 back");
	top_model_push(&model, window(71)); /* stands still meanwhile */
	top_draw(&view, &model, &screen);
	HAS("69.0 waits/s");
	HAS("PAUSED, 2 of 59 back");
	press(TOP_KEY_RIGHT);
	HAS("70.0 waits/s");
	for (int i = 0; i < 100; i++)
		press(',');
	HAS("12.0 waits/s");
	HAS("PAUSED, 59 of 59 back");
	top_model_push(&model, window(72)); /* the oldest has gone */
	top_draw(&view, &model, &screen);
	HAS("13.0 waits/s");
	press(' ');
	HAS("72.0 waits/s");
	LACKS("PAUSED");
	press(' ');
	top_model_push(&model, window(73));
	top_draw(&view, &model, &screen);
	HAS("72.0 waits/s");
	end();
}
END_TEST

START_TEST(what_runs_and_what_does_not)
{
	begin(80, 24);
	ck_assert_int_eq(press('m'), TOP_WANT);
	ck_assert_int_eq(view.panel, TOP_MEMORY);
	HAS("not asked for");
	ck_assert_int_eq(press('x'), TOP_SWITCH);
	ck_assert_int_eq(press('l'), TOP_WANT);
	HAS("(nothing)");
	end();
}
END_TEST

START_TEST(asks_how_many_seconds)
{
	begin(80, 24);
	press('f');
	HAS("flame graph of the last so many seconds");
	press('1');
	press('2');
	ck_assert_int_eq(press(TOP_KEY_ENTER), TOP_WRITE_SVG);
	ck_assert_uint_eq(view.seconds, 12);
	press('h');
	ck_assert_int_eq(press(TOP_KEY_ENTER), TOP_WRITE_HTML);
	ck_assert_uint_eq(view.seconds, 60);
	press('h');
	press('x');
	ck_assert_int_eq(press(TOP_KEY_ENTER), TOP_REDRAW);
	press('h');
	press(TOP_KEY_ESCAPE);
	LACKS("HTML page");
	ck_assert_int_eq(press('?'), TOP_REDRAW);
	HAS("rawprof top: keys");
	press('j');
	LACKS("rawprof top: keys");
	ck_assert_int_eq(press('q'), TOP_QUIT);
	end();
}
END_TEST

START_TEST(keys_from_bytes)
{
	static const struct {
		const char *bytes;
		int more, key;
	} cases[] = {
		{ "q", 0, 'q' },
		{ "\033[A", 0, TOP_KEY_UP },
		{ "\033OB", 0, TOP_KEY_DOWN },
		{ "\033[5~", 0, TOP_KEY_PAGE_UP },
		{ "\033[1;5D", 0, TOP_KEY_LEFT },
		{ "\r", 0, TOP_KEY_ENTER },
		{ "\033", 0, TOP_KEY_ESCAPE },
		{ "\033", 1, TOP_KEY_NONE },
		{ "\033[", 1, TOP_KEY_NONE },
		{ "\010", 0, TOP_KEY_BACKSPACE },
		{ "\177", 0, TOP_KEY_BACKSPACE },
		{ "\033[4~", 0, TOP_KEY_END },
		{ "\t", 0, TOP_KEY_TAB },
		{ "\033[99z", 0, TOP_KEY_NONE },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct top_input in = { .n = 0 };

		top_input_add(&in, cases[i].bytes, strlen(cases[i].bytes));
		ck_assert_int_eq(top_input_key(&in, cases[i].more), cases[i].key);
	}
}
END_TEST

/* No escape of a name's reaches the terminal; what has not changed is not sent again. */
START_TEST(bytes_for_the_terminal)
{
	struct top_screen s = { 0 };
	size_t size;
	char *bytes;

	ck_assert_int_eq(top_screen_resize(&s, 20, 2), 0);
	top_screen_text(&s, 0, 0, 20, TOP_BOLD,
			"a\033]0;x\007\n\x9b"
			"31m");
	bytes = top_screen_update(&s, false, &size);
	ck_assert_ptr_nonnull(strstr(bytes, "a\\x1b]0;x"));
	ck_assert_ptr_null(strstr(bytes, "\033]"));
	ck_assert_ptr_null(strchr(bytes, '\007'));
	ck_assert_ptr_null(strchr(bytes, (char)0x9b));
	free(bytes);
	bytes = top_screen_update(&s, false, &size);
	ck_assert_uint_eq(size, 0);
	free(bytes);
	top_screen_text(&s, 1, 3, 1, TOP_PLAIN, "z");
	bytes = top_screen_update(&s, false, &size);
	ck_assert_str_eq(bytes, "\033[2;4H\033[0mz\033[0m");
	free(bytes);
	/* what is no ASCII, where the terminal knows nothing else, and where it does */
	top_screen_clear(&s);
	top_screen_text(&s, 0, 0, 20, TOP_PLAIN, "\xc3\xa4|\xe6\xbc\xa2|");
	bytes = top_screen_row(&s, 0);
	ck_assert_int_eq(strncmp(bytes, "?|?", 3), 0);
	free(bytes);
	s.utf8 = true;
	top_screen_text(&s, 0, 0, 20, TOP_PLAIN, "\xc3\xa4|\xe6\xbc\xa2|");
	bytes = top_screen_row(&s, 0);
	ck_assert_str_eq(bytes, "\xc3\xa4|\xe6\xbc\xa2|");
	free(bytes);
	top_screen_free(&s);
}
END_TEST

/* Whoever names a function so must not draw over the row below, or over what stands beside. */
START_TEST(wide_names_stay_where_they_are)
{
	struct top_screen s = { .utf8 = true };
	size_t size;
	char *bytes;

	ck_assert_int_eq(top_screen_resize(&s, 6, 2), 0);
	/* two columns each, of which five do not fit; one that combines has none */
	ck_assert_uint_eq(top_screen_text(&s, 0, 0, 6, TOP_PLAIN,
					  "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2"),
			  6);
	bytes = top_screen_row(&s, 0);
	ck_assert_str_eq(bytes, "\xe6\xbc\xa2\xe6\xbc\xa2 ~");
	free(bytes);
	ck_assert_uint_eq(top_screen_text(&s, 1, 0, 6, TOP_PLAIN, "a\xcc\x81\xe2\x80\x8b|"), 2);
	bytes = top_screen_row(&s, 1);
	ck_assert_str_eq(bytes, "a|");
	free(bytes);
	free(top_screen_update(&s, false, &size));
	/* Terminals do not agree on widths: behind it the cursor is placed; the last column has
	 * none. */
	top_screen_clear(&s);
	top_screen_text(&s, 1, 0, 6, TOP_PLAIN, "a|");
	top_screen_text(&s, 0, 0, 6, TOP_PLAIN, "x\xc3\xa4yz \xc3\xa4");
	bytes = top_screen_update(&s, false, &size);
	ck_assert_str_eq(bytes, "\033[1;1H\033[0mx\xc3\xa4\033[1;3Hyz\033[1;6H?\033[0m");
	free(bytes);
	top_screen_text(&s, 0, 1, 1, TOP_PLAIN, "o"); /* what it may have covered comes anew */
	bytes = top_screen_update(&s, false, &size);
	ck_assert_str_eq(bytes, "\033[1;2H\033[0moy\033[0m");
	free(bytes);
	top_screen_free(&s);
}
END_TEST

/* Names of 64 KB, as many as a process has functions: sixty windows keep some of each. */
START_TEST(texts_are_bounded)
{
	struct top_window *w = top_window_new();
	char *long_one = malloc(65537);
	const char *first = NULL, *text = NULL;
	size_t kept = 0, differ = 0;

	sprintf(long_one, "%065536d", 0);
	for (int i = 0; i < 10000; i++) {
		snprintf(long_one, 9, "%08d", i);
		long_one[8] = 'x';
		text = top_name(w, 1, long_one);
		ck_assert_ptr_nonnull(text);
		first = first ? first : text;
		if (!strncmp(text, long_one, 8)) {
			kept += strlen(text) + 1;
			differ++;
		}
	}
	ck_assert_uint_gt(differ, 1000);
	ck_assert_uint_le(kept, 4 << 20);
	ck_assert_uint_le(strlen(first), 2048);
	ck_assert_ptr_eq(top_text(w, first), first);
	/* beyond that all are one */
	ck_assert_ptr_eq(top_name(w, 1, "never seen"), text);
	ck_assert_ptr_eq(top_name(w, 1, long_one), text);
	top_window_free(w);
	free(long_one);
}
END_TEST

START_TEST(a_line_of_json)
{
	struct top_window *w = window(5);
	char *line = NULL;
	size_t size;
	FILE *f = open_memstream(&line, &size);

	ck_assert_int_eq(top_json(w, 1, f), 0);
	fclose(f);
	ck_assert_ptr_nonnull(strstr(line,
				     "\"processes\":[{\"pid\":100,\"comm\":\"one\",\"language\":"
				     "\"native\",\"cpu_ns\":600000000,"));
	ck_assert_ptr_nonnull(strstr(line, "\"functions\":[{\"function\":\"spin\",\"module\":"
					   "\"libx.so\",\"language\":\"native\",\"self_ns\":"
					   "500000000,\"total_ns\":700000000}]"));
	ck_assert_ptr_nonnull(strstr(line, "\"memory\":null"));
	ck_assert_ptr_nonnull(strstr(line, "\"mean_ns\":2000000,"));
	ck_assert_ptr_null(strchr(line, '\033'));
	free(line);
	top_window_free(w);
}
END_TEST

/* What was counted in a slice of 20 ms stands for a second; percentiles stay as they are. */
START_TEST(a_slice_stands_for_the_window)
{
	struct top_window *w = top_window_new(), *kept = top_window_new();
	static const struct top_source_kind of_waits = { .panel = TOP_WAITS },
					    of_calls = { .panel = TOP_SYSCALLS };
	const struct top_source s = { .kind = &of_waits,
				      .slice = { .on = true,
						 .kept = kept,
						 .length_ns = 20 * MS,
						 .planned_ns = 20 * MS,
						 .period_ns = 2000 * MS } };
	const struct top_source calls = { .kind = &of_calls, .slice = s.slice };
	const struct top_row *row;
	union top_value key;

	add_wait(kept, 100, "futex", 3, 7);
	key.text = top_text(kept, "read");
	top_row(kept, TOP_SYSCALLS, &key)->cell[5].number = 12345;
	w->ns = 1000 * MS;
	ck_assert_int_eq(top_slice_add(&s, w), 0);
	ck_assert_int_eq(top_slice_add(&calls, w), 0);
	ck_assert_uint_eq(w->rows[TOP_WAITS].count, 1);
	row = w->rows[TOP_WAITS].items;
	ck_assert_uint_eq(row->cell[4].number, 3 * 50);
	ck_assert_uint_eq(row->cell[5].number, 7 * MS * 50);
	ck_assert_ptr_eq(row->cell[3].text, top_text(w, "futex"));
	row = w->rows[TOP_SYSCALLS].items;
	ck_assert_uint_eq(row->cell[5].number, 12345);
	ck_assert_double_eq_tol(top_slice_part(&s, w->ns), 0.01, 1e-9);
	w->running[TOP_WAITS] = true;
	w->measured_ns[TOP_WAITS] = 10 * MS;
	top_window_free(kept); /* a window's texts are its own */

	struct top_view v = { .panel = TOP_WAITS };
	struct top_model m = { 0 };
	struct top_screen small = { 0 };
	char *head;

	top_model_push(&m, w);
	ck_assert_int_eq(top_screen_resize(&small, 80, 24), 0);
	top_draw(&v, &m, &small);
	head = top_screen_row(&small, 6);
	ck_assert_msg(strstr(head, "REASON ~1.0%"), "%s", head);
	free(head);
	top_screen_free(&small);
	top_model_free(&m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("top");
	TCase *tc = tcase_create("top");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, overview_80x24);
	tcase_add_test(tc, overview_200x50);
	tcase_add_test(tc, screens_of_any_size);
	tcase_add_test(tc, sorted_filtered);
	tcase_add_test(tc, rows_are_told_apart_by_what_is_shown);
	tcase_add_test(tc, into_a_process_and_back);
	tcase_add_test(tc, a_process_that_waits_has_its_name);
	tcase_add_test(tc, steps_through_a_minute);
	tcase_add_test(tc, what_runs_and_what_does_not);
	tcase_add_test(tc, asks_how_many_seconds);
	tcase_add_test(tc, keys_from_bytes);
	tcase_add_test(tc, bytes_for_the_terminal);
	tcase_add_test(tc, wide_names_stay_where_they_are);
	tcase_add_test(tc, texts_are_bounded);
	tcase_add_test(tc, a_line_of_json);
	tcase_add_test(tc, a_slice_stands_for_the_window);
	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
