/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug data that another user made to harm whoever reads it: it has no lines, and takes neither
 * the process that asks, nor its memory, nor its time.
 */
#include "sym_user.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/budget.h"
#include "symbolize/lines_aside.h"

/* So that memory ends in the tests as it does in the product. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

enum { CODE = 0x1000, CODE_BYTES = 0x1000, ANOTHER_USER = 1234 };
/* DWARF 5, sections 7.5.3 to 7.5.6 */
enum {
	TAG_UNIT = 0x11,
	TAG_NAMESPACE = 0x39,
	TAG_VARIABLE = 0x34,
	AT_SIBLING = 0x01,
	AT_LINES = 0x10,
	AT_LOW = 0x11,
	AT_HIGH = 0x12,
	AT_DIRECTORY = 0x1b,
	FORM_ADDRESS = 0x01,
	FORM_DATA8 = 0x07,
	FORM_STRING = 0x08,
	FORM_REF4 = 0x13,
	FORM_OFFSET = 0x17,
};

struct bytes {
	unsigned char *at;
	size_t n, capacity;
};

static void put(struct bytes *b, const void *from, size_t n)
{
	if (b->n + n > b->capacity) {
		b->capacity = 2 * (b->n + n);
		b->at = realloc(b->at, b->capacity);
		ck_assert_ptr_nonnull(b->at);
	}
	memcpy(b->at + b->n, from, n);
	b->n += n;
}

static void put1(struct bytes *b, unsigned int value)
{
	put(b, &(uint8_t){ (uint8_t)value }, 1);
}

static void put4(struct bytes *b, size_t value)
{
	put(b, &(uint32_t){ (uint32_t)value }, 4);
}

static void put8(struct bytes *b, uint64_t value)
{
	put(b, &value, 8);
}

static void put_text(struct bytes *b, const char *text)
{
	put(b, text, strlen(text) + 1);
}

/* A tag, whether it has children, and pairs of attribute and form up to a 0. */
static void put_abbreviation(struct bytes *b, const unsigned char *code)
{
	size_t n = 3;

	while (code[n])
		n += 2;
	put(b, code, n);
	put(b, "\0", 2);
}

/* ---- the three sections */

struct debug {
	struct bytes abbrev, info, line;
};

static void begin_unit(struct debug *d)
{
	put4(&d->info, 0);
	put(&d->info, &(uint16_t){ 4 }, 2);
	put4(&d->info, 0);
	put1(&d->info, 8);
}

static void end_unit(struct debug *d, size_t at)
{
	memcpy(d->info.at + at, &(uint32_t){ (uint32_t)(d->info.n - at - 4) }, 4);
}

/* Of all that is there, but for its end. */
static void put_unit(struct debug *d, const char *directory)
{
	begin_unit(d);
	put1(&d->info, 1);
	put8(&d->info, CODE);
	put8(&d->info, CODE_BYTES);
	put4(&d->info, 0);
	put(&d->info, directory, strlen(directory));
}

static void put_abbreviations(struct debug *d)
{
	static const unsigned char unit[] = {
		1,	    TAG_UNIT, 1,	   AT_LOW,	 FORM_ADDRESS, AT_HIGH,
		FORM_DATA8, AT_LINES, FORM_OFFSET, AT_DIRECTORY, FORM_STRING,  0
	};

	put_abbreviation(&d->abbrev, unit);
}

/* All of the code is line 14 of a file; of so many files in a directory of so long a name. */
static void put_lines(struct debug *d, size_t directory, uint32_t files)
{
	static const unsigned char head[] = { 1, 1, 1, 0xfb, 14, 13, 0, 1, 1,
					      1, 1, 0, 0,    0,	 1,  0, 0, 1 };
	struct bytes h = { 0 }, p = { 0 };
	char *name = malloc(directory + 1);

	ck_assert_ptr_nonnull(name);
	put(&h, head, sizeof(head));
	memset(name, 'd', directory);
	name[directory] = '\0';
	if (directory)
		put_text(&h, name);
	put1(&h, 0);
	for (uint32_t i = 0; i < files; i++) {
		put_text(&h, "f");
		put1(&h, directory ? 1 : 0);
		put(&h, "\0", 2);
	}
	put1(&h, 0);
	put(&p, "\0\11\2", 3); /* DW_LNE_set_address */
	put8(&p, CODE);
	put(&p, "\3\15\1\2\200\40\0\1\1", 9); /* 13 lines on, a row, 0x1000 bytes on, the end */
	put4(&d->line, 2 + 4 + h.n + p.n);
	put(&d->line, &(uint16_t){ 4 }, 2);
	put4(&d->line, h.n);
	put(&d->line, h.at, h.n);
	put(&d->line, p.at, p.n);
	free(name);
	free(h.at);
	free(p.at);
}

/* The info is what lies at the end, which is at a multiple of @align. */
static void write_debug(const char *name, struct debug *d, size_t align)
{
	static const char names[] = "\0.text\0.debug_abbrev\0.debug_line\0.debug_info\0.shstrtab";
	const struct bytes *parts[] = { &d->abbrev, &d->line, &d->info };
	static const uint32_t name_of[] = { 7, 21, 33 };
	Elf64_Shdr sh[6] = { 0 };
	Elf64_Ehdr eh = { .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = 1,
			  .e_ehsize = sizeof(eh),
			  .e_shentsize = sizeof(*sh),
			  .e_shoff = sizeof(eh),
			  .e_shnum = 6,
			  .e_shstrndx = 5 };
	size_t at = sizeof(eh) + sizeof(sh) + sizeof(names);
	const size_t all = d->abbrev.n + d->line.n + d->info.n;
	FILE *f = fopen(in_dir(name), "w");

	ck_assert_ptr_nonnull(f);
	memcpy(eh.e_ident, ELFMAG "\2\1\1", 7);
	sh[1] = (Elf64_Shdr){ .sh_name = 1,
			      .sh_type = SHT_NOBITS,
			      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			      .sh_addr = CODE,
			      .sh_size = CODE_BYTES };
	sh[5] = (Elf64_Shdr){ .sh_name = 45,
			      .sh_type = SHT_STRTAB,
			      .sh_offset = at - sizeof(names),
			      .sh_size = sizeof(names) };
	at = (at + all + align - 1) / align * align - all;
	for (int i = 0; i < 3; i++) {
		sh[2 + i] = (Elf64_Shdr){ .sh_name = name_of[i],
					  .sh_type = SHT_PROGBITS,
					  .sh_offset = at,
					  .sh_size = parts[i]->n,
					  .sh_addralign = 1 };
		ck_assert_int_eq(fseek(f, (long)at, SEEK_SET), 0);
		ck_assert_uint_eq(fwrite(parts[i]->at, 1, parts[i]->n, f), parts[i]->n);
		at += parts[i]->n;
		free(parts[i]->at);
	}
	rewind(f);
	ck_assert_uint_eq(fwrite(&eh, sizeof(eh), 1, f), 1);
	ck_assert_uint_eq(fwrite(sh, sizeof(sh), 1, f), 1);
	ck_assert_uint_eq(fwrite(names, sizeof(names), 1, f), 1);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chown(in_dir(name), ANOTHER_USER, ANOTHER_USER), 0);
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
	put_lines(&d, 0, 1);
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
	put_lines(&d, 65536, 100000);
	write_debug("names", &d, 1);
	ask_hostile("names");
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
	put_lines(&d, 0, 1);
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
	put_lines(&d, 0, 1);
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
	run("p=$(cut -d ' ' -f 1 /proc/%d/task/*/children) && [ $(ls /proc/$p/fd | wc -l) = 2 ] && "
	    "grep -q '^CapEff:.0*$' /proc/$p/status && grep -q '^CapPrm:.0*$' /proc/$p/status && "
	    "grep -q '^Max processes *0 *0 ' /proc/$p/limits",
	    (int)getpid());
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

int main(void)
{
	Suite *s = suite_create("lines");
	TCase *t = tcase_create("lines");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_honest);
	tcase_add_test(t, test_memory_of_names);
	tcase_add_test(t, test_memory_of_abbreviations);
	tcase_add_test(t, test_time);
	tcase_add_test(t, test_no_end);
	tcase_add_test(t, test_has_nothing);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_stop);
	return run_all(s, t);
}
