/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug data that another user made to harm whoever reads it: it has no lines, and takes neither
 * the process that asks, nor its memory, nor its time.
 */
#include "sym_user.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/budget.h"
#include "symbolize/lines_aside.h"
#include "symbolize/lines_budget.h"
#include "symbolize/lines_confine.h"
#include "symbolize/source.h"
#include "dwarf_made.h"

/* So that memory ends in the tests as it does in the product. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* ---- questions */

struct opened {
	struct sym_object *object;
	struct sym_lines *lines;
};

static int open_lines(const char *name, struct opened *o)
{
	ck_assert_int_eq(sym_object_open(&o->object, open(in_dir(name), O_RDONLY | O_CLOEXEC)), 0);
	return sym_lines_open(&o->lines, o->object, o->object);
}

static void close_lines(struct opened *o)
{
	sym_lines_close(o->lines);
	sym_object_close(o->object);
	*o = (struct opened){ 0 };
}

static void ask_honest(struct opened *o)
{
	struct sym_line line = { 0 };
	bool failed;

	ck_assert_uint_eq(sym_lines_find(o->lines, CODE + 1, true, &line, 1, &failed), 1);
	ck_assert(!failed);
	ck_assert_str_eq(line.file, "/c/f");
	ck_assert_int_eq(line.line, 14);
}

static void write_honest(const char *name)
{
	struct debug d = { 0 };

	put_abbreviations(&d);
	put1(&d.abbrev, 0);
	put_unit(&d, "/c");
	put(&d.info, "\0", 2);
	end_unit(&d, 0);
	put_lines(&d, 0, 1, false);
	write_debug(name, &d, 1);
}

static uint64_t peak(void)
{
	struct rusage u;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &u), 0);
	return (uint64_t)u.ru_maxrss;
}

/* It has no lines; that costs nothing here, and another file has some. */
static void ask_hostile(const char *name)
{
	const uint64_t before = peak();
	struct opened o = { 0 }, other = { 0 };
	struct sym_line line[SYM_INLINE_MAX + 1];
	bool failed = false;

	if (!open_lines(name, &o))
		ck_assert_uint_eq(
			sym_lines_find(o.lines, CODE + 1, true, line, SYM_INLINE_MAX + 1, &failed),
			0);
	ck_assert_uint_lt(peak() - before, 64 << 10);
	write_honest("honest");
	ck_assert_int_eq(open_lines("honest", &other), 0);
	ask_honest(&other);
	close_lines(&other);
	close_lines(&o);
}

static bool can_ask(void)
{
	return !geteuid() && sym_can_find_source();
}

START_TEST(test_honest)
{
	struct opened o = { 0 };

	if (!can_ask())
		return;
	write_honest("honest");
	ck_assert_int_eq(open_lines("honest", &o), 0);
	ask_honest(&o);
	ask_honest(&o);
	close_lines(&o);
}
END_TEST

/* One name of a directory, and 100,000 files in it: libdw writes each out. */
START_TEST(test_memory_of_names)
{
	struct debug d = { 0 };

	if (!can_ask())
		return;
	put_abbreviations(&d);
	put1(&d.abbrev, 0);
	put_unit(&d, "/c");
	put(&d.info, "\0", 2);
	end_unit(&d, 0);
	put_lines(&d, 65536, 100000, false);
	write_debug("names", &d, 1);
	ask_hostile("names");
}
END_TEST

/* Each answer is another path of 4,000 bytes: they are kept here, as far as there is room. */
START_TEST(test_memory_of_texts)
{
	struct opened o = { 0 };
	struct sym_line line = { 0 };
	struct debug d = { 0 };
	uint64_t before;
	uint32_t kept = 0;
	bool failed;

	if (!can_ask())
		return;
	put_abbreviations(&d);
	put1(&d.abbrev, 0);
	put_unit(&d, "/c");
	put(&d.info, "\0", 2);
	end_unit(&d, 0);
	put_lines(&d, 4000, CODE_BYTES, true);
	write_debug("texts", &d, 1);
	ck_assert_int_eq(open_lines("texts", &o), 0);
	before = peak();
	for (uint64_t at = CODE; at < CODE + CODE_BYTES; at++) {
		sym_lines_find(o.lines, at, false, &line, 1, &failed);
		ck_assert(!failed);
		kept += line.file != NULL;
	}
	ck_assert_uint_gt(kept, 1000);
	ck_assert_uint_lt(kept, CODE_BYTES / 2);
	ck_assert_uint_lt(peak() - before, 100 << 10);
	close_lines(&o);
	ck_assert_uint_eq(rp_memory_taken(), 0);
}
END_TEST

/* Units that each have their own table of the same 100,000 abbreviations. */
START_TEST(test_memory_of_abbreviations)
{
	struct debug d = { 0 };

	if (!can_ask())
		return;
	for (uint32_t i = 0; i < 100000; i++) { /* of codes of three bytes */
		const unsigned char code[] = { 0x80 | (i & 0x7f),
					       0x80 | (i >> 7 & 0x7f),
					       (i >> 14) + 8,
					       TAG_VARIABLE,
					       0,
					       0,
					       0 };

		put(&d.abbrev, code, sizeof(code));
	}
	put(&d.abbrev, (const unsigned char[]){ 1, TAG_UNIT, 0, 0, 0, 0 }, 6);
	for (int i = 0; i < 300; i++) {
		const size_t at = d.info.n;

		begin_unit(&d);
		put1(&d.info, 1);
		end_unit(&d, at);
	}
	put1(&d.line, 0);
	write_debug("abbreviations", &d, 1);
	ask_hostile("abbreviations");
}
END_TEST

/* Each namespace leads to the next one as its child and as its sibling: 2^64 ways. */
START_TEST(test_time)
{
	static const unsigned char space[] = { 2, TAG_NAMESPACE, 1, AT_SIBLING, FORM_REF4, 0 },
				   outer[] = { 3, TAG_VARIABLE, 1, 0 },
				   inner[] = { 4, TAG_VARIABLE, 0, 0 };
	struct debug d = { 0 };

	if (!can_ask())
		return;
	put_abbreviations(&d);
	put_abbreviation(&d.abbrev, space);
	put_abbreviation(&d.abbrev, outer);
	put_abbreviation(&d.abbrev, inner);
	put1(&d.abbrev, 0);
	put_unit(&d, "/c");
	put1(&d.info, 0);
	for (int i = 0; i < 20; i++) {
		put1(&d.info, 2);
		put4(&d.info, d.info.n + 4);
	}
	put1(&d.info, 3);
	for (int i = 0; i < 1000000; i++)
		put1(&d.info, 4);
	put(&d.info, "\0\0", 3);
	end_unit(&d, 0);
	put_lines(&d, 0, 1, false);
	write_debug("time", &d, 1);
	ask_hostile("time");
}
END_TEST

/* A text without an end is the last of the file: what lies behind that is not taken for it. */
START_TEST(test_no_end)
{
	struct debug d = { 0 };
	struct opened o = { 0 };
	struct sym_line line = { 0 };
	bool failed;

	if (!can_ask())
		return;
	put_abbreviations(&d);
	put1(&d.abbrev, 0);
	put_unit(&d, "cccc");
	end_unit(&d, 0);
	put_lines(&d, 0, 1, false);
	write_debug("no end", &d, 2 << 20);
	ck_assert_int_eq(open_lines("no end", &o), 0);
	ck_assert_uint_eq(sym_lines_find(o.lines, CODE + 1, false, &line, 1, &failed), 1);
	ck_assert_str_eq(line.file, "cccc/f");
	close_lines(&o);
}
END_TEST

/* ---- processes */

/* How many there are, each of which gets the signal. */
static int children(int signal)
{
	char path[64], line[4096] = "";
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	if (f && !fgets(line, sizeof(line), f))
		*line = '\0';
	if (f)
		fclose(f);
	for (char *at = line; *at && *at != '\n'; n++, at += *at == ' ')
		kill((pid_t)strtol(at, &at, 10), signal);
	return n;
}

static int first_child(void)
{
	char path[64], line[4096] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	fclose(f);
	return atoi(line);
}

/* It has the file and the socket open, no rights, and makes no process. */
START_TEST(test_has_nothing)
{
	struct opened o = { 0 };

	if (!can_ask())
		return;
	write_honest("honest");
	ck_assert_int_eq(open_lines("honest", &o), 0);
	ask_honest(&o);
	ck_assert_int_eq(children(0), 1);
	run("[ $(ls /proc/%d/fd | wc -l) = 2 ] && cd /proc/%d && grep -q '^CapEff:.0*$' status && "
	    "grep -q '^CapPrm:.0*$' status && grep -q '^Uid:.65534' status && "
	    "grep -q '^NoNewPrivs:.1' status && grep -q '^Max processes *0 *0 ' limits",
	    first_child(), first_child());
	close_lines(&o);
}
END_TEST

/* There are sixteen at most; whoever had one before has lines all the same. */
START_TEST(test_many)
{
	enum { FILES = 40 };
	struct opened o[FILES] = { 0 };

	if (!can_ask())
		return;
	write_honest("honest");
	for (int i = 0; i < FILES; i++)
		ck_assert_int_eq(open_lines("honest", &o[i]), 0);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < FILES; i++)
			ask_honest(&o[i]);
	ck_assert_int_gt(children(0), 15);
	for (int i = 0; i < FILES; i++)
		close_lines(&o[i]);
	/* They end by themselves, and the next question forgets them. */
	for (int i = 0; i < 600 && children(0) > 1; i++) {
		usleep(100 * 1000);
		ck_assert_int_eq(open_lines("honest", &o[0]), 0);
		close_lines(&o[0]);
	}
	ck_assert_int_le(children(0), 1);
}
END_TEST

/* One user has not all places: another's is there as long as it is asked. */
START_TEST(test_places)
{
	enum { FILES = 40, HALF = 8 };
	struct opened o[FILES] = { 0 }, other[HALF] = { 0 };
	int first;

	if (!can_ask())
		return;
	owner = ANOTHER_USER + 1;
	write_honest("another");
	owner = ANOTHER_USER;
	write_honest("honest");
	ck_assert_int_eq(open_lines("another", &other[0]), 0);
	ask_honest(&other[0]);
	first = first_child();
	for (int i = 0; i < FILES; i++) {
		ck_assert_int_eq(open_lines("honest", &o[i]), 0);
		ask_honest(&o[i]);
	}
	/* And may have half of them. */
	for (int i = 0; i < HALF; i++) {
		if (i)
			ck_assert_int_eq(open_lines("another", &other[i]), 0);
		ask_honest(&other[i]);
	}
	run("grep -q '^State:.[RS]' /proc/%d/status", first);
	for (int i = 0; i < FILES; i++)
		close_lines(&o[i]);
	for (int i = 0; i < HALF; i++)
		close_lines(&other[i]);
}
END_TEST

static bool stops(void *ctx)
{
	(void)ctx;
	return true;
}

/* Who wants to stop does not wait for it. */
START_TEST(test_stop)
{
	struct opened o = { 0 };
	struct sym_line line;
	bool failed;

	if (!can_ask())
		return;
	write_honest("honest");
	ck_assert_int_eq(open_lines("honest", &o), 0);
	ck_assert_int_eq(children(SIGSTOP), 1);
	rp_work_watch(stops, NULL);
	ck_assert_uint_eq(sym_lines_find(o.lines, CODE + 1, true, &line, 1, &failed), 0);
	ck_assert(failed);
	rp_work_watch(NULL, NULL);
	close_lines(&o);
	ck_assert_int_eq(children(SIGCONT), 1);
	for (int i = 0; i < 600 && children(0); i++) {
		usleep(100 * 1000);
		waitpid(-1, NULL, WNOHANG);
	}
	ck_assert_int_eq(children(0), 0);
}
END_TEST

static bool is_refused(long result)
{
	return result == -1 && errno == EPERM;
}

/* 0, or the line of what was not as it should be: there is nothing left to say it with. */
static int do_what_was_given_up(pid_t asks)
{
	const int fd = open("/dev/null", O_RDONLY);

	if (!sym_lines_confine(&fd, 1, 5))
		return __LINE__;
	if (!sym_lines_confine_calls())
		return __LINE__;
	if (!is_refused(open("/proc/self/status", O_RDONLY)))
		return __LINE__;
	if (!is_refused(kill(asks, 0)) || !is_refused(kill(getpid(), 0)))
		return __LINE__;
	if (!is_refused(syscall(SYS_tgkill, asks, asks, 0)))
		return __LINE__;
	if (!is_refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return __LINE__;
	if (!is_refused(syscall(SYS_process_vm_readv, asks, NULL, 0, NULL, 0, 0)))
		return __LINE__;
	if (!is_refused(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL)))
		return __LINE__;
	free(malloc(1 << 20));
	return close(fd) ? __LINE__ : 0;
}

/* Whatever libdw is made to run. */
START_TEST(test_no_calls)
{
	const pid_t asks = getpid(), pid = fork();
	int status;

	if (!pid) /* the sanitizers' _exit() would make more calls */
		syscall(SYS_exit_group, do_what_was_given_up(asks) & 0xff);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(!status, "status %x: the expectation of line %d, modulo 256", status,
		      WEXITSTATUS(status));
}
END_TEST

/* ---- files that are read here */

/* Of root: one function, in which the walk to each address costs a tenth of the file's work. */
static void open_dear(struct opened *o)
{
	static const unsigned char function[] = { 3,	   0x2e,       1, AT_LOW, FORM_ADDRESS,
						  AT_HIGH, FORM_DATA8, 0 },
				   variable[] = { 4, TAG_VARIABLE, 0, 0 };
	struct debug d = { 0 };

	put_abbreviations(&d);
	put_abbreviation(&d.abbrev, function);
	put_abbreviation(&d.abbrev, variable);
	put1(&d.abbrev, 0);
	put_unit(&d, "/c");
	put1(&d.info, 0);
	put1(&d.info, 3);
	put8(&d.info, CODE);
	put8(&d.info, CODE_BYTES);
	for (uint64_t i = 0; i < rp_work_for(0, 1).left / 40; i++)
		put1(&d.info, 4);
	put(&d.info, "\0\0", 2);
	end_unit(&d, 0);
	put_lines(&d, 0, 1, false);
	owner = 0;
	write_debug("dear", &d, 1);
	owner = ANOTHER_USER;
	ck_assert_int_eq(open_lines("dear", o), 0);
}

/* How many addresses of it have lines for that user. */
static int all_of(struct opened *o, uint32_t uid)
{
	struct sym_line line[2];
	bool failed = false;
	int n = 0;

	sym_lines_asked_by(uid);
	while (n < 100 && sym_lines_find(o->lines, CODE + 1, true, line, 2, &failed) && !failed)
		n++;
	ck_assert(failed);
	return n;
}

/* When there is nothing more that is said. */
START_TEST(test_too_much_work)
{
	struct opened o = { 0 };
	int n;

	if (!can_ask())
		return;
	open_dear(&o);
	n = all_of(&o, 0);
	ck_assert_int_ge(n, 7);
	ck_assert_int_le(n, 10);
	close_lines(&o);
}
END_TEST

/* One user leaves another some of it, and of the next file there is some as well. */
START_TEST(test_askers)
{
	struct opened o = { 0 };

	if (!can_ask())
		return;
	open_dear(&o);
	ck_assert_int_le(all_of(&o, 1000), 6);
	ck_assert_int_ge(all_of(&o, 1001), 1);
	ck_assert_int_eq(all_of(&o, 1000), 0);
	ck_assert_int_ge(all_of(&o, 0), 1);
	close_lines(&o);
	open_dear(&o);
	ck_assert_int_ge(all_of(&o, 1000), 3);
	close_lines(&o);
	sym_lines_asked_by(0);
}
END_TEST

/* What one user was denied at an address another has there; and it is told that there is less. */
START_TEST(test_denied_is_not_kept)
{
	struct sym_source source = { 0 };
	struct opened o = { 0 };
	struct sym_line line[2];
	uint64_t at = CODE;

	if (!can_ask())
		return;
	open_dear(&o);
	sym_lines_asked_by(1000);
	while (at < CODE + 100 && sym_source_find(&source, o.object, o.object, at, true, line, 2)) {
		ck_assert(!source.unreadable);
		at++;
	}
	ck_assert(source.unreadable);
	ck_assert_uint_eq(sym_source_find(&source, o.object, o.object, CODE, true, line, 2), 1);
	sym_lines_asked_by(1001);
	ck_assert_uint_eq(sym_source_find(&source, o.object, o.object, at, true, line, 2), 1);
	ck_assert_str_eq(line[0].file, "/c/f");
	sym_lines_asked_by(0);
	sym_source_free(&source);
	close_lines(&o);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lines");
	TCase *t = tcase_create("lines");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_honest);
	tcase_add_test(t, test_memory_of_names);
	tcase_add_test(t, test_memory_of_texts);
	tcase_add_test(t, test_memory_of_abbreviations);
	tcase_add_test(t, test_time);
	tcase_add_test(t, test_no_end);
	tcase_add_test(t, test_has_nothing);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_places);
	tcase_add_test(t, test_stop);
	tcase_add_test(t, test_no_calls);
	tcase_add_test(t, test_too_much_work);
	tcase_add_test(t, test_askers);
	tcase_add_test(t, test_denied_is_not_kept);
	return run_all(s, t);
}
