/* SPDX-License-Identifier: BSD-2-Clause */
/* Destinations of the agent: their configuration, services by rules, the spool. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/agent/push.h"
#include "symbolize/object.h"

static char *a_file(const char *path)
{
	return !strcmp(path, "/token") ? strdup("secret\n") : NULL;
}

/* clang-format off */
static const struct {
	const char *text, *why;
} wrong[] = {
	{ "moon = 1", "1: there is no key 'moon'" },
	{ "\n\nmoon", "3: 'moon' is no 'key = value'" },
	{ "token = a", "1: token stands behind the push that it is for" },
	{ "push = otlp+http://h\npush = otlp+http://h", "2: otlp+http://h is there twice" },
	{ "push = otlp+http://h\nheader = X", "2: a header is 'Name: value'" },
	{ "push = otlp+http://h\ntenant = a\rb", "2: tenant is more than one line of text" },
	{ "push = otlp+http://h\nca = x", "2: ca: no certificate or key in PEM form" },
	{ "push = otlp+http://h\ntimeout = 0", "2: timeout is 1 to 300 seconds, not '0'" },
	{ "push = otlp+http://h\nverify = maybe", "2: verify is yes or no, not 'maybe'" },
	{ "push = otlp+http://h\ntoken-file = /none", "2: cannot read /none" },
	{ "push = otlp+http://a:b@h", "1: no name and password in a URL: user-file has them" },
	{ "push = otlp+http://a:b#c@h", "1: no name and password in a URL: user-file has them" },
	{ "push = otlp+http://a:b/c@h", "1: no name and password in a URL: user-file has them" },
	{ "push = otlp+ftp://a:b@h", "1: no name and password in a URL: user-file has them" },
	{ "push = loki+http://a:b@h", "1: no name and password in a URL: user-file has them" },
	{ "push = a:b@h", "1: no name and password in a URL: user-file has them" },
	{ "keep = exe", "1: a rule is 'keep = LABEL GLOBS'" },
	{ "keep = exe a b", "1: a rule is 'keep = LABEL GLOBS'" },
	{ "replace = exe a", "1: a rule is 'replace = LABEL GLOBS TARGET TEXT'" },
	{ "replace = exe a b", NULL }, /* no text: the label goes */
	{ "replace = exe a b c", NULL },
	{ "remove = a b", "1: a rule is 'remove = LABEL'" },
	{ "label = 1 b", "1: a rule is 'label = LABEL TEXT'" },
	{ "within = comm,moon", "1: within is a list of comm, pid, tid, labels, not 'moon'" },
	{ "spool = many", "1: 'many' is not what it can be" },
};
/* clang-format on */

START_TEST(wrong_lines)
{
	struct push_config c;
	char why[PUSH_WHY];
	int err;

	push_config_init(&c);
	err = push_config_parse(&c, wrong[_i].text, a_file, why);
	ck_assert_int_eq(err, wrong[_i].why ? -EINVAL : 0);
	if (wrong[_i].why)
		ck_assert_str_eq(why, wrong[_i].why);
	push_config_free(&c);
}
END_TEST

START_TEST(right_lines)
{
	struct push_config c, again;
	char why[PUSH_WHY];

	push_config_init(&c);
	push_config_init(&again);
	ck_assert_int_eq(push_config_parse(&c,
					   "push = parca+https://h:1/x//\n token-file = /token \n"
					   "header = A: b\nheader = C:d\nproxy =\n#push = x\n"
					   "push = otlp+http://h\nverify = no\nspool = 1M\n",
					   a_file, why),
			 0);
	ck_assert_int_eq(push_config_unpack(&again, c.pairs, c.npairs, why), 0);
	ck_assert_uint_eq(again.ntargets, 2);
	ck_assert_str_eq(again.target[0].url, "https://h:1/x");
	ck_assert_str_eq(again.target[0].text[PUSH_TOKEN], "secret");
	ck_assert_str_eq(again.target[0].text[PUSH_PROXY], "");
	ck_assert_uint_eq(again.target[0].nheaders, 2);
	ck_assert(!again.target[0].unverified && again.target[1].unverified);
	ck_assert_uint_eq(again.spool_bytes, 1 << 20);
	ck_assert_uint_eq(again.target[0].id, c.target[0].id);
	ck_assert_uint_ne(again.target[0].id, again.target[1].id);
	push_config_free(&c);
	push_config_free(&again);
}
END_TEST

/* ---- services */

static const char *build_id_of(const char *exe)
{
	return strcmp(exe, "nginx") ? "bb22" : "aa11";
}

static void add(struct report *r, const char *exe, const char *unit, uint64_t count)
{
	const struct report_label labels[] = { { .key = "exe", .str = exe },
					       { .key = "build_id", .str = build_id_of(exe) },
					       { .key = "goroutine", .num = (int64_t)count },
					       { .key = "route", .str = count & 1 ? "/a" : "/b" },
					       { .key = "unit", .str = unit } };
	const struct report_sample s = { .comm = exe,
					 .pid = (int32_t)count,
					 .tid = 1,
					 .labels = labels,
					 .nlabels = unit ? 5 : 4,
					 .values = &count };

	ck_assert_int_eq(report_add(r, &s), 0);
}

static struct report *a_window(void)
{
	const struct report_value_type type = { "samples", "count" };
	const struct report_info info = { .host = "web1" };
	struct report *r;

	ck_assert_int_eq(report_new(&type, 1, &r), 0);
	ck_assert_int_eq(report_set_info(r, &info), 0);
	add(r, "nginx", "nginx.service", 1);
	add(r, "nginx", "nginx.service", 2); /* another process of the same service */
	add(r, "worker", "nginx.service", 4);
	add(r, "bench", NULL, 8);
	add(r, "sh", NULL, 16);
	return r;
}

/* "service{exe}=total ..." of all services, in their order. */
static void services(const char *config, char out[512])
{
	struct report *r = a_window();
	struct push_series *s;
	struct push_config c;
	char why[PUSH_WHY];
	size_t n, have = 0;

	push_config_init(&c);
	ck_assert_int_eq(push_config_parse(&c, config, a_file, why), 0);
	ck_assert_int_eq(push_series_make(&c, r, &s, &n), 0);
	*out = '\0';
	for (size_t i = 0; i < n; i++) {
		const char *exe = push_label(&s[i].labels, "exe");

		have += (size_t)snprintf(out + have, 512 - have, "%s{%s}=%llu ",
					 push_label(&s[i].labels, "service_name"), exe ? exe : "",
					 (unsigned long long)report_total(s[i].report, 0));
	}
	push_series_free(s, n);
	push_config_free(&c);
	report_free(r);
}

/* clang-format off */
static const struct {
	const char *config, *services;
} rules_of[] = {
	{ "", "bench{bench}=8 nginx{nginx}=3 sh{sh}=16 nginx{worker}=4 " },
	{ "drop = exe b*,s?", "nginx{nginx}=3 nginx{worker}=4 " },
	{ "keep = unit *.service", "nginx{nginx}=3 nginx{worker}=4 " },
	{ "series = unit", "nginx{}=7 unknown{}=24 " },
	{ "remove = exe", "nginx{}=7 unknown{}=24 " },
	{ "replace = exe nginx service_name front-${unit}\nremove = exe",
	  "front-nginx.service{}=3 nginx{}=4 unknown{}=24 " },
	{ "replace = unit ?* service_name ${host}/${exe}${none}",
	  "bench{bench}=8 web1/nginx{nginx}=3 sh{sh}=16 web1/worker{worker}=4 " },
	{ "label = service_name all\nremove = exe\nremove = unit", "all{}=31 " },
	{ "label = service_name x${a${exe}\nkeep = exe sh", "x{sh}=16 " },
	/* The heaviest have names; of those that weigh the same, the first by its labels. */
	{ "max-series = 2", "sh{sh}=16 other{}=15 " },
	{ "max-series = 3", "bench{bench}=8 sh{sh}=16 other{}=7 " },
	{ "max-series = 4", "bench{bench}=8 nginx{nginx}=3 sh{sh}=16 nginx{worker}=4 " },
	{ "max-series = 1", "other{}=31 " },
	{ "keep = exe none", "" },
	/* What a rule asks for is none of the labels by that. */
	{ "replace = build_id aa* service_name v-${build_id}\nkeep = unit ?*",
	  "v-aa11{nginx}=3 nginx{worker}=4 " },
	{ "drop = build_id bb*", "nginx{nginx}=3 " },
	{ "label = service_name ${build_id}\nremove = exe\nremove = unit", "aa11{}=3 bb22{}=28 " },
	{ "series = route\nlabel = service_name s-${route}", "s-/a{}=1 s-/b{}=30 " },
};
/* clang-format on */

START_TEST(rules)
{
	char out[512];

	services(rules_of[_i].config, out);
	ck_assert_str_eq(out, rules_of[_i].services);
}
END_TEST

/* Names that are early in the alphabet cost nothing; the weight of a service costs time. */
START_TEST(light_services_fold_no_heavy_one)
{
	const struct report_value_type type = { "samples", "count" };
	struct push_series *s;
	struct push_config c;
	struct report *r;
	char name[16];
	size_t n;

	ck_assert_int_eq(report_new(&type, 1, &r), 0);
	add(r, "zz-victim", NULL, 2);
	for (int i = 299; i >= 0; i--) {
		snprintf(name, sizeof(name), "a%03d", i);
		add(r, name, NULL, 1);
	}
	push_config_init(&c);
	ck_assert_int_eq(push_series_make(&c, r, &s, &n), 0);
	ck_assert_uint_eq(n, 200);
	ck_assert_str_eq(push_label(&s[0].labels, "exe"), "a000");
	ck_assert_str_eq(push_label(&s[197].labels, "exe"), "a197");
	ck_assert_str_eq(push_label(&s[198].labels, "service_name"), "zz-victim");
	ck_assert_uint_eq(report_total(s[198].report, 0), 2);
	ck_assert_str_eq(push_label(&s[199].labels, "service_name"), "other");
	ck_assert_uint_eq(report_total(s[199].report, 0), 102);
	push_series_free(s, n);
	push_config_free(&c);
	report_free(r);
}
END_TEST

/* Labels of the series and of processes are not told apart within it, those of programs are. */
START_TEST(labels_within)
{
	static const struct {
		const char *config;
		size_t sets;
		const char *route;
	} cases[] = {
		{ "series = unit", 1, NULL },
		{ "series = unit\nwithin = labels", 4, "/a" },
		{ "series = unit,route\nwithin = labels", 2, NULL },
	};
	struct report *r = a_window();

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct push_series *s;
		struct push_config c;
		char why[PUSH_WHY];
		const char *route;
		size_t n;

		push_config_init(&c);
		ck_assert_int_eq(push_config_parse(&c, cases[i].config, a_file, why), 0);
		ck_assert_int_eq(push_series_make(&c, r, &s, &n), 0);
		ck_assert_uint_eq(report_label_sets(s[0].report), cases[i].sets);
		route = report_label_text(s[0].report, cases[i].sets > 1, "route");
		ck_assert(cases[i].route ? route && !strcmp(route, cases[i].route) : !route);
		for (size_t j = 0; j < cases[i].sets; j++) {
			ck_assert_ptr_null(report_label_text(s[0].report, j, "exe"));
			ck_assert_ptr_null(report_label_text(s[0].report, j, "build_id"));
		}
		push_series_free(s, n);
		push_config_free(&c);
	}
	report_free(r);
}
END_TEST

/* ---- the spool */

static struct push_item item_of(uint32_t target, uint64_t ms)
{
	return (struct push_item){ .target = target, .ms = ms, .bytes = 10, .kind = "cpu" };
}

static void put(struct push_spool *s, int dir, uint32_t target, uint64_t ms)
{
	const struct push_item i = item_of(target, ms);
	const int fd = openat(dir, "window", O_CREAT | O_RDWR, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "0123456789", 10), 10);
	close(fd);
	ck_assert_int_eq(push_spool_put(s, "window", &i), 0);
	ck_assert_int_eq(unlinkat(dir, "window", 0), 0); /* the spool has it all the same */
}

START_TEST(spool_keeps_order_and_bounds)
{
	char path[] = "/tmp/rawprof-spool-XXXXXX", command[64], text[16] = "";
	struct push_spool *s;
	struct push_item *i;
	int dir, fd;

	ck_assert_ptr_nonnull(mkdtemp(path));
	dir = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(push_spool_open(dir, &s), 0);
	put(s, dir, 1, 3000);
	put(s, dir, 1, 1000);
	put(s, dir, 2, 2000);
	push_spool_progress(s, push_spool_next(s, 1), 7);
	push_spool_close(s);
	fd = openat(dir, "spool/foreign", O_CREAT | O_WRONLY, 0600);
	close(fd);
	ck_assert_int_eq(push_spool_open(dir, &s), 0); /* as after a kill */
	ck_assert_uint_eq(push_spool_state(s, 0).windows, 3);
	ck_assert_uint_eq(push_spool_state(s, 0).bytes, 30);
	i = push_spool_next(s, 1);
	ck_assert_uint_eq(i->ms, 1000);
	ck_assert_uint_eq(i->done, 7);
	fd = push_spool_read(s, i);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 10);
	ck_assert_str_eq(text, "0123456789");
	close(fd);
	ck_assert_ptr_null(push_spool_excess(s, 30, 1000));
	ck_assert_uint_eq(push_spool_excess(s, 29, 0)->ms, 1000);
	ck_assert_uint_eq(push_spool_excess(s, 30, 1001)->ms, 1000);
	i->busy = true; /* what is being sent does not go */
	ck_assert_ptr_eq(push_spool_busy(s, 1), i);
	ck_assert_uint_eq(push_spool_excess(s, 29, 0)->ms, 2000);
	push_spool_remove(s, i);
	ck_assert_uint_eq(push_spool_next(s, 1)->ms, 3000);
	push_spool_remove(s, push_spool_next(s, 2));
	ck_assert_ptr_null(push_spool_next(s, 2));
	push_spool_close(s);
	ck_assert_int_eq(faccessat(dir, "spool/foreign", F_OK, 0), 0);
	close(dir);
	snprintf(command, sizeof(command), "rm -r %s", path);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Answers of OTLP, byte by byte. */
START_TEST(partial_success)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool said;
		uint64_t rejected;
		const char *reason;
	} answers[] = {
		{ "", 0, false, 0, "" },
		{ "\x0a\x00", 2, false, 0, "" },
		{ "\x0a\x02\x08\x07", 4, true, 7, "" },
		{ "\x0a\x08\x08\xac\x02\x12\x03"
		  "a\nb",
		  10, true, 300, "a b" },
		{ "\x0a\x04\x12\x02ok", 6, true, 0, "ok" },
		/* fields that a later version has, of each wire type, before and inside it */
		{ "\x10\x01\x1a\x01x\x0a\x13\x18\x05\x21"
		  "12345678"
		  "\x2d"
		  "1234"
		  "\x08\x02",
		  26, true, 2, "" },
		/* cut, longer than it is, a group, a negative number, text */
		{ "\x0a\x02\x08", 3, false, 0, "" },
		{ "\x0a\x7f\x08\x07", 4, false, 0, "" },
		{ "\x0b\x08\x07", 3, false, 0, "" },
		{ "\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, false, 0, "" },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, false, 0, "" },
		{ "{\"partialSuccess\":{}}", 21, false, 0, "" },
	};
	char reason[PUSH_REASON];
	uint64_t rejected;

	ck_assert_int_eq(push_partial(answers[_i].bytes, answers[_i].n, &rejected, reason),
			 answers[_i].said);
	ck_assert_uint_eq(rejected, answers[_i].rejected);
	ck_assert_str_eq(reason, answers[_i].reason);
}
END_TEST

static void copy_self(const char *path)
{
	const int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char part[65536];
	ssize_t n;

	ck_assert_int_ge(from, 0);
	ck_assert_int_ge(to, 0);
	while ((n = read(from, part, sizeof(part))) > 0)
		ck_assert_int_eq(write(to, part, (size_t)n), n);
	close(from);
	close(to);
}

/* Anyone can write the build id of a system's library into a file of theirs. */
START_TEST(debug_files_of_other_users)
{
	char dir[] = "/tmp/test_agent_pushXXXXXX", path[64];
	struct sym_object *self;
	int fd;

	ck_assert_int_eq(sym_object_open(&self, open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), 0);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	copy_self(path);
	fd = push_debug_file(path, self->build_id);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(push_debug_file(path, "00112233445566778899"), -ENOENT);
	if (!geteuid()) {
		ck_assert_int_eq(chown(path, 65534, 65534), 0);
		ck_assert_int_eq(push_debug_file(path, self->build_id), -ENOENT);
	}
	unlink(path);
	rmdir(dir);
	sym_object_close(self);
}
END_TEST

/* What is no file is not opened either: a watchdog's timer would run from then on. */
START_TEST(debug_files_are_plain)
{
	char dir[] = "/tmp/test_agent_pushXXXXXX", path[64], event[4096];
	const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pipe", dir);
	ck_assert_int_eq(mkfifo(path, 0644), 0);
	ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
	ck_assert_int_lt(push_debug_file(path, "00112233445566778899"), 0);
	ck_assert_int_eq(read(watch, event, sizeof(event)), -1);
	ck_assert_int_eq(errno, EAGAIN);
	close(watch);
	unlink(path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent_push");
	TCase *t = tcase_create("push");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_test(t, labels_within);
	tcase_add_loop_test(t, wrong_lines, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_loop_test(t, partial_success, 0, 12);
	tcase_add_test(t, right_lines);
	tcase_add_loop_test(t, rules, 0, sizeof(rules_of) / sizeof(rules_of[0]));
	tcase_add_test(t, light_services_fold_no_heavy_one);
	tcase_add_test(t, spool_keeps_order_and_bounds);
	tcase_add_test(t, debug_files_of_other_users);
	tcase_add_test(t, debug_files_are_plain);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
