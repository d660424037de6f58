/* SPDX-License-Identifier: BSD-2-Clause */
/* What a person writes, taken apart; names of functions; what is found in files, without root. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "record/probes/list.h"

/* ---- what was said */

static char said[2000];

static void keep(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	snprintf(said, sizeof(said), "%s", message);
}

static void listen(void)
{
	*said = '\0';
	rp_log_setup(RP_WARN, keep, NULL);
}

/* ---- patterns */

static const struct {
	const char *text;
	enum pattern_kind kind;
	const char *place, *name, *end_place, *end_name;
} good[] = {
	{ "vfs_read", PATTERN_KERNEL, NULL, "vfs_read" },
	{ "kernel:vfs_*", PATTERN_KERNEL, "kernel", "vfs_*" },
	{ "libc:malloc", PATTERN_LIBRARY, "libc", "malloc" },
	{ "/usr/lib/x.so:f", PATTERN_FILE, "/usr/lib/x.so", "f" },
	{ "./prog:ns::Class::method*", PATTERN_FILE, "./prog", "ns::Class::method*" },
	{ "../prog:f", PATTERN_FILE, "../prog", "f" },
	{ "prog:ns::f(int)", PATTERN_LIBRARY, "prog", "ns::f(int)" },
	{ ":f", PATTERN_TARGET, "", "f" },
	{ ":ns::f", PATTERN_TARGET, "", "ns::f" },
	{ "ns::f", PATTERN_KERNEL, NULL, "ns::f" },
	{ "syscall:read", PATTERN_SYSCALL, "syscall", "read" },
	{ "syscall:*", PATTERN_SYSCALL, "syscall", "*" },
	{ "syscalls:sys_enter_read", PATTERN_SYSCALL, "syscalls", "read" },
	{ "syscalls:sys_exit_read", PATTERN_SYSCALL, "syscalls", "read" },
	{ "a:b..c", PATTERN_PAIR, "a", "b", "a", "c" },
	{ "a:b..c:d", PATTERN_PAIR, "a", "b", "c", "d" },
	{ "tp:sched:sched_switch", PATTERN_EVENT, "sched", "sched_switch" },
	{ "usdt:libc:setjmp", PATTERN_USDT, "libc", "setjmp" },
	{ "usdt:./p:prov:name", PATTERN_USDT, "./p", "prov:name" },
};

START_TEST(patterns_taken_apart)
{
	struct pattern p;

	ck_assert_int_eq(record_pattern_parse(good[_i].text, &p), 0);
	ck_assert_int_eq(p.kind, good[_i].kind);
	ck_assert_pstr_eq(p.place, good[_i].place);
	ck_assert_pstr_eq(p.name, good[_i].name);
	ck_assert_pstr_eq(p.end_place, good[_i].end_place);
	ck_assert_pstr_eq(p.end_name, good[_i].end_name);
	record_pattern_free(&p);
}
END_TEST

START_TEST(patterns_refused)
{
	static const char *const bad[] = {
		"",	    "libc:",	     "./prog", "/bin/ls",
		"syscall:", "a:..b",	     "a:b..",  "a:b..:",
		"a:b..c:",  "usdt:x",	     "tp:x",   "tp::x",
		"usdt:x:",  "syscalls:read", "a\nb",   "syscalls:sys_enter_",
		":"
	};
	struct pattern p;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		listen();
		ck_assert_msg(record_pattern_parse(bad[i], &p) == -EINVAL, "'%s'", bad[i]);
		ck_assert_msg(*said, "'%s': nothing was said", bad[i]);
	}
}
END_TEST

START_TEST(short_names)
{
	ck_assert(record_pattern_is_library("libc", "/usr/lib/x86_64-linux-gnu/libc.so.6"));
	ck_assert(record_pattern_is_library("c", "/lib/libc.so.6"));
	ck_assert(record_pattern_is_library("libc", "/lib/libc-2.31.so"));
	ck_assert(record_pattern_is_library("libc.so.6", "libc.so.6"));
	ck_assert(record_pattern_is_library("python3.11", "/usr/bin/python3.11"));
	ck_assert(!record_pattern_is_library("libc", "/lib/libcrypt.so.1"));
	ck_assert(!record_pattern_is_library("python3", "/usr/bin/python3.11"));
	ck_assert(!record_pattern_is_library("lib", "/lib/lib"
						    "c.so.6"));
	ck_assert(!record_pattern_is_library("libc", "/lib/libc.sox"));
	ck_assert(!record_pattern_is_library("libstdc", "/lib/libstdc++.so.6"));
}
END_TEST

/* ---- names */

static const struct {
	const char *pattern, *name;
	bool matches;
} names[] = {
	{ "malloc", "malloc", true },
	{ "mallo", "malloc", false },
	{ "mal*", "malloc", true },
	{ "f", "f.cold", false },
	{ "f*", "f.cold.3", false },
	{ "f.cold", "f.cold", true },
	{ "f", "f.constprop.0", true },
	{ "f", "f.isra.0", true },
	{ "f", "f.part.0", false },
	{ "add", "_Z3addii", true },
	{ "ns::add", "_ZN2ns3addEii", true },
	{ "ns::add(int, int)", "_ZN2ns3addEii", true },
	{ "ns::add(int)", "_ZN2ns3addEii", false },
	{ "ns::*", "_ZN2ns3addEii", true },
	{ "add", "_ZN2ns3addEii", false },
	{ "*::add", "_ZN2ns3addEii", true },
	{ "Box<int>::get", "_ZN3BoxIiE3getEv", true },
	{ "Box::get", "_ZN3BoxIiE3getEv", true },
	{ "Box<long>::get", "_ZN3BoxIiE3getEv", false },
	{ "Box::operator<", "_ZN3BoxIiEltERKS0_", true },
	{ "std::vector::push_back", "_ZNSt6vectorIiSaIiEE9push_backERKi", true },
	{ "std::*push_back*", "_ZNSt6vectorIiSaIiEE9push_backERKi", true },
	{ "(anonymous namespace)::f", "_ZN12_GLOBAL__N_11fEv", true },
	{ "core::fmt::write", "_ZN4core3fmt5write17h0123456789abcdefE", true },
	{ "main.(*T).Run", "main.(*T).Run", true },
	{ "ns::add(int, int)", "_ZN2ns3addEii.isra.0", true },
	{ "ns::add", "_ZN2ns3addEii.constprop.0", true },
	{ "ns::add", "_ZN2ns3addEii.part.0", false },
};

START_TEST(names_match)
{
	struct sym_demangler *d;
	struct name_pattern p;

	if (!sym_can_demangle() && !strncmp(names[_i].name, "_Z", 2))
		return;
	ck_assert_int_eq(sym_demangler_open(&d), 0);
	record_name_make(names[_i].pattern, &p);
	ck_assert_msg(record_name_match(&p, d, names[_i].name) == names[_i].matches, "%s, %s",
		      names[_i].pattern, names[_i].name);
	sym_demangler_close(d);
}
END_TEST

/* ---- finding */

int probe_me(int n);
int probe_me_too(int n);
__attribute__((noinline)) int probe_me(int n)
{
	return n + getppid();
}
extern int probe_alias(int n) __attribute__((alias("probe_me")));
__attribute__((noinline)) int probe_me_too(int n)
{
	return n * getppid();
}

static int find(const char *pattern, struct record_probe_scope scope, struct record_probes **out)
{
	scope.kinds = RECORD_PROBE_CALLS;
	listen();
	return record_probes_open(&scope, &pattern, 1, out);
}

static const struct record_probe_scope self = { .program = "/proc/self/exe" };

START_TEST(own_functions)
{
	const uint32_t pid = (uint32_t)getpid();
	const struct record_probe_scope scopes[] = { self, { .pids = &pid, .npids = 1 } };
	const struct record_probe *p;
	struct record_probes *list;

	ck_assert_int_eq(find(":probe_me*", scopes[_i], &list), 0);
	ck_assert_uint_eq(record_probes_count(list), 2);
	for (uint32_t i = 0; (p = record_probes_at(list, i)); i++) {
		ck_assert_uint_eq(p->id, i);
		ck_assert_ptr_null(p->why_not);
		ck_assert(!p->user.at_returns);
		if (!strcmp(p->name, "probe_me"))
			ck_assert_str_eq(p->also, "probe_alias");
		else
			ck_assert_str_eq(p->name, "probe_me_too");
	}
	ck_assert_uint_eq(record_probes_kinds(list), RECORD_PROBE_BIT(RECORD_PROBE_USER));
	record_probes_close(list);
}
END_TEST

/* By what the target needs, and without a target by what the machine has. */
START_TEST(libraries)
{
	const struct record_probe_scope scopes[] = { self, { .program = NULL } };
	struct record_probes *list;
	char label[200];

	ck_assert_int_eq(find("libc:getppid", scopes[_i], &list), 0);
	ck_assert_uint_eq(record_probes_count(list), 1);
	record_probes_label(record_probes_at(list, 0), label, sizeof(label));
	ck_assert_str_eq(label, "libc.so.6:getppid");
	record_probes_close(list);
}
END_TEST

/* One of several functions, by what the CPU can: the one that this process has too. */
START_TEST(chosen_functions)
{
	const uint32_t pid = (uint32_t)getpid();
	const struct record_probe_scope scope = { .pids = &pid, .npids = 1 };
	struct record_probes *list;
	const struct record_probe *p;

	ck_assert_int_eq(find("libc:strncasecmp_l", self, &list), -EOPNOTSUPP);
	ck_assert_msg(strstr(said, "with -p PID, or --no-children"), "%s", said);
	ck_assert_int_eq(find("libc:strncasecmp_l", scope, &list), 0);
	p = record_probes_at(list, 0);
	ck_assert_ptr_null(p->why_not);
	ck_assert_str_eq(p->name, "strncasecmp_l");
	record_probes_close(list);
}
END_TEST

static const struct {
	const char *pattern;
	int err;
	const char *said;
} mistakes[] = {
	{ ":probe_mee", -ENOENT, "did you mean probe_me?" },
	{ "/proc/self/exe:Probe_me", -ENOENT, "did you mean probe_me?" },
	{ "libc:mallok", -ENOENT, "did you mean malloc?" },
	{ "nosuchlib:f", -ENOENT, "no library and no program nosuchlib" },
	{ "/no/such/file:f", -ENOENT, "/no/such/file" },
	{ ":no_such_function_at_all", -ENOENT, "no such function" },
};

START_TEST(mistakes_said)
{
	struct record_probes *list;

	ck_assert_int_eq(find(mistakes[_i].pattern, self, &list), mistakes[_i].err);
	ck_assert_msg(strstr(said, mistakes[_i].said), "%s: %s", mistakes[_i].pattern, said);
}
END_TEST

START_TEST(too_many)
{
	const struct record_probe_scope scope = { .limit = 20, .limit_option = "--max-functions" };
	struct record_probes *list;

	ck_assert_int_eq(find("libc:*", scope, &list), -E2BIG);
	ck_assert_msg(strstr(said, "more than 20") && strstr(said, "--max-functions N"), "%s",
		      said);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probe patterns");
	TCase *t = tcase_create("patterns");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_add_loop_test(t, patterns_taken_apart, 0, sizeof(good) / sizeof(good[0]));
	tcase_add_test(t, patterns_refused);
	tcase_add_test(t, short_names);
	tcase_add_loop_test(t, names_match, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_loop_test(t, own_functions, 0, 2);
	tcase_add_loop_test(t, libraries, 0, 2);
	tcase_add_loop_test(t, mistakes_said, 0, sizeof(mistakes) / sizeof(mistakes[0]));
	tcase_add_test(t, chosen_functions);
	tcase_add_test(t, too_many);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
