/* SPDX-License-Identifier: BSD-2-Clause */
/* USDT probes as people name them: usdt:FILE:NAME, usdt:FILE:PROVIDER:NAME, usdt::NAME. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "../workloads/usdt_probes.h"
#include "record/probes/probes.h"

static char said[4096];

static void hear(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", message);
}

static char own_path[512];
static uint32_t own_pid;

/* Within this process. */
static int open_list(const char *pattern, struct record_probes **out)
{
	const struct record_probe_scope scope = {
		.pids = &own_pid, .npids = 1, .kinds = RECORD_PROBE_ALL, .list_only = true
	};

	*said = '\0';
	return record_probes_open(&scope, &pattern, 1, out);
}

static uint32_t count(const char *pattern)
{
	struct record_probes *list;
	uint32_t n;

	ck_assert_msg(open_list(pattern, &list) == 0, "%s: %s", pattern, said);
	n = record_probes_count(list);
	for (uint32_t i = 0; i < n; i++) {
		const struct record_probe *p = record_probes_at(list, i);

		ck_assert_int_eq(p->kind, RECORD_PROBE_USDT);
		ck_assert_uint_eq(p->id, i);
		ck_assert_ptr_null(p->why_not);
		ck_assert_int_ge(p->usdt->fd, 0);
		ck_assert_uint_gt(p->usdt->nplaces, 0);
	}
	record_probes_close(list);
	return n;
}

static uint32_t count_of(const char *name)
{
	char pattern[600];

	snprintf(pattern, sizeof(pattern), "usdt:%s:%s", own_path, name);
	return count(pattern);
}

START_TEST(by_file)
{
	ck_assert_uint_eq(count_of("args5"), 1);
	ck_assert_uint_eq(count_of("args?"), 10);
	ck_assert_uint_eq(count_of("args*"), 13);
	ck_assert_uint_eq(count_of("shop:args12"), 1);
	ck_assert_uint_eq(count_of("sh*:*"), count_of("*"));
	ck_assert_uint_ge(count_of("*"), 16);
}
END_TEST

START_TEST(by_short_name)
{
	ck_assert_uint_eq(count("usdt:test_usdt_patterns:heard"), 1);
	ck_assert_uint_eq(count("usdt:test_usdt_patterns:shop:h*"), 1);
}
END_TEST

START_TEST(of_the_target)
{
	ck_assert_uint_eq(count("usdt::heard"), 1);
	ck_assert_uint_eq(count("usdt::shop:heard"), 1);
	ck_assert_uint_ge(count("usdt:*"), count_of("*"));
}
END_TEST

/* A probe is one, wherever it was inlined; each place knows which arguments are its own. */
START_TEST(places_and_arguments)
{
	struct record_probes *list;
	const struct record_probe *p;
	char label[256];

	ck_assert_int_eq(open_list("usdt::inlined", &list), 0);
	ck_assert_uint_eq(record_probes_count(list), 1);
	p = record_probes_at(list, 0);
	ck_assert_str_eq(p->name, "shop:inlined");
	record_probes_label(p, label, sizeof(label));
	ck_assert_str_eq(label, "test_usdt_patterns:shop:inlined");
	ck_assert_uint_eq(p->usdt->nplaces, 4);
	ck_assert_uint_eq(p->usdt->nargs, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(p->usdt->places[i].args, i);
		ck_assert_uint_eq(p->usdt->args[i].n, 2);
		/* The text lives as long as the list. */
		ck_assert_uint_gt(strlen(p->usdt->args[i].arg[1].text), 3);
	}
	record_probes_close(list);
	ck_assert_int_eq(open_list("usdt::heard", &list), 0);
	ck_assert_uint_ne(record_probes_at(list, 0)->usdt->places[0].semaphore, 0);
	record_probes_close(list);
}
END_TEST

START_TEST(pairs)
{
	static const char *const patterns[] = { "usdt::args1..args2", "usdt::args1..usdt::args2",
						"usdt::shop:args1..usdt::shop:args2" };

	for (size_t i = 0; i < 3; i++) {
		struct record_probes *list;
		const struct record_probe *p;

		ck_assert_msg(open_list(patterns[i], &list) == 0, "%s", said);
		ck_assert_uint_eq(record_probes_count(list), 1);
		p = record_probes_at(list, 0);
		ck_assert_int_eq(p->kind, RECORD_PROBE_PAIR);
		ck_assert_str_eq(p->name, "shop:args1..args2");
		ck_assert_uint_ne(p->usdt->places[0].offset, p->usdt_end->places[0].offset);
		ck_assert_int_ge(p->usdt_end->fd, 0);
		record_probes_close(list);
	}
}
END_TEST

static void refuse(const char *pattern, int err, const char *message)
{
	struct record_probes *list;

	ck_assert_msg(open_list(pattern, &list) == err, "%s: %s", pattern, said);
	ck_assert_msg(strstr(said, message), "%s: %s", pattern, said);
}

START_TEST(mistakes)
{
	const struct record_probe_scope nowhere = { .kinds = RECORD_PROBE_ALL };
	const char *pattern = "usdt::heard";
	struct record_probes *list;

	refuse("usdt:", -EINVAL, "a USDT probe is usdt:PROGRAM:NAME");
	refuse("usdt:heard", -EINVAL, "a USDT probe is usdt:PROGRAM:NAME");
	refuse("usdt::args1..", -EINVAL, "is usdt:PROGRAM:BEGIN..END");
	refuse("usdt::..args1", -EINVAL, "is usdt:PROGRAM:BEGIN..END");
	refuse("usdt::args*..heard", -EINVAL, "is usdt:PROGRAM:BEGIN..END");
	refuse("usdt:a:args1..usdt:b:heard", -EINVAL, "are of one file");
	refuse("usdt::args1..herd", -ENOENT, "did you mean heard?");
	refuse("usdt::", -EINVAL, "a USDT probe is usdt:PROGRAM:NAME");
	refuse("usdt:test_usdt_patterns:herd", -ENOENT, "did you mean heard?");
	refuse("usdt:test_usdt_patterns:shop:herd", -ENOENT, "did you mean shop:heard?");
	refuse("usdt:/bin/true:heard", -ENOENT, "/true has no USDT probes (no .note.stapsdt)");
	refuse("usdt:/no/such/file:heard", -ENOENT, "/no/such/file");
	refuse("usdt:nosuchprogram:heard", -ENOENT, "no library and no program");
	*said = '\0';
	ck_assert_int_eq(record_probes_open(&nowhere, &pattern, 1, &list), -EINVAL);
	ck_assert_msg(strstr(said, "Say -p PID or -- PROGRAM, or usdt:FILE:NAME"), "%s", said);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("USDT probes as people name them");
	TCase *tc = tcase_create("patterns");
	SRunner *runner;
	ssize_t n;
	int failed;

	usdt_pass_all();
	rp_log_setup(RP_WARN, hear, NULL);
	n = readlink("/proc/self/exe", own_path, sizeof(own_path) - 1);
	own_path[n > 0 ? n : 0] = '\0';
	own_pid = (uint32_t)getpid();
	tcase_add_test(tc, by_file);
	tcase_add_test(tc, by_short_name);
	tcase_add_test(tc, of_the_target);
	tcase_add_test(tc, places_and_arguments);
	tcase_add_test(tc, pairs);
	tcase_add_test(tc, mistakes);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
