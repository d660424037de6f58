/* SPDX-License-Identifier: BSD-2-Clause */
/* Files made to cost as much time and memory as can be: none costs more than an honest one. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "base/budget.h"
#include "symbolize/fdes.h"
#include "unwind_made.h"

enum {
	HALF = 4 << 20,
	CODE = 0x400000,
	CODE_SIZE = 0x100000,
	FDE_SIZE = 32,
};

static struct unwind_table *table;
static uint8_t frames[2 * HALF];
static size_t frames_size;
static struct unwind_go go;

static void setup(void)
{
	table = NULL;
	frames_size = 0;
	go = (struct unwind_go){ .text = CODE };
	memset(frames, 0, sizeof(frames));
}

static void teardown(void)
{
	unwind_table_free(table);
	free(go.data);
	ck_assert_uint_eq(rp_memory_taken(), 0);
}

/* ---- .eh_frame */

static void put(const void *data, size_t size)
{
	ck_assert_uint_le(frames_size + size, sizeof(frames));
	memcpy(frames + frames_size, data, size);
	frames_size += size;
}

static void put_cie(uint32_t len)
{
	static const uint8_t body[] = { 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };
	size_t at = frames_size;

	put(&len, 4);
	put(body, sizeof(body));
	frames_size = at + 4 + len; /* the rest is DW_CFA_nop */
}

static void put_fde(uint32_t cie, uint64_t start)
{
	uint32_t len = FDE_SIZE - 4, back = frames_size + 4 - cie;
	uint64_t size = 4;
	size_t at = frames_size;

	put(&len, 4);
	put(&back, 4);
	put(&start, 8);
	put(&size, 8);
	frames_size = at + FDE_SIZE;
}

/* Two CIEs of 2 MB, and FDEs of the one and the other in turn. */
static void two_huge_cies(void)
{
	uint32_t second = HALF / 2;

	put_cie(HALF / 2 - 4);
	put_cie(HALF / 2 - 4);
	for (unsigned int i = 0; frames_size + FDE_SIZE <= sizeof(frames); i++)
		put_fde(i % 2 ? second : 0, CODE + 8 * i % CODE_SIZE);
}

/* 4 MB in which a CIE begins every 16 bytes, each up to the end, and FDEs of each. */
static void nested_cies(void)
{
	/* The last operation skips the head of the next: DW_CFA_val_expression. */
	static const uint8_t body[] = { 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x16, 3, 13 };

	while (frames_size < HALF) {
		uint32_t len = HALF - frames_size - 4;

		put(&len, 4);
		put(body, sizeof(body));
	}
	for (unsigned int i = 0; frames_size + FDE_SIZE <= sizeof(frames); i++)
		put_fde(i * 16 % HALF, CODE + 8 * i % CODE_SIZE);
	/* To the records themselves: the first CIE reaches up to the first FDE. */
}

static int make(void)
{
	struct unwind_code code = { CODE, CODE + CODE_SIZE };
	struct unwind_source s = { .machine = EM_X86_64,
				   .code = &code,
				   .ncode = 1,
				   .addr = 0x10000000,
				   .data = frames,
				   .size = frames_size,
				   .go = go };

	return unwind_table_make(&s, UNWIND_PART_ROWS, &table);
}

START_TEST(a_cie_is_parsed_once)
{
	two_huge_cies();
	ck_assert_int_eq(make(), 0);
	ck_assert_uint_gt(table->nfdes, 100000);
}
END_TEST

START_TEST(work_is_bounded)
{
	nested_cies();
	ck_assert_int_eq(make(), -EFBIG);
}
END_TEST

static bool stop(void *ctx)
{
	++*(int *)ctx;
	return true;
}

static bool go_on(void *ctx)
{
	++*(int *)ctx;
	return false;
}

START_TEST(the_person_may_stop_it)
{
	int asked = 0;

	two_huge_cies();
	rp_work_watch(stop, &asked);
	ck_assert_int_eq(make(), -EFBIG);
	rp_work_watch(NULL, NULL);
	ck_assert_int_gt(asked, 0);
}
END_TEST

/* Each byte of an FDE is a row: 8 MB would need 32 MB for them, and there is less. */
START_TEST(rows_need_memory)
{
	two_huge_cies();
	rp_memory_limit(16 << 20);
	ck_assert_int_eq(make(), -ENOMEM);
	rp_memory_limit(512ULL << 20);
}
END_TEST

/* ---- .gopclntab */

enum {
	GAP_EVERY = 32,
	GAPS = CODE_SIZE / GAP_EVERY,
	STEPS = CODE_SIZE, /* one for each byte */
};

/* Functions at @at, the last one of which is only an end: all count the stack by the same steps. */
static void put_go(const uint32_t *at, uint64_t n, const uint8_t *steps, size_t size)
{
	const uint64_t names = 72, functions = names + 1 + size, table_size = 8 * n;
	const uint64_t head[] = { n - 1, 0, CODE, names, names, names, names, functions };
	const uint32_t pcsp = 1, described = (uint32_t)table_size;
	uint8_t *to;

	go.size = functions + table_size + 64;
	go.data = to = calloc(1, go.size);
	memcpy(to, "\xf1\xff\xff\xff\0\0\1\x8", 8);
	memcpy(to + 8, head, sizeof(head));
	memcpy(to + names + pcsp, steps, size);
	for (uint64_t i = 0; i < n; i++) {
		memcpy(to + functions + 8 * i, &at[i], 4);
		memcpy(to + functions + 8 * i + 4, &described, 4);
	}
	memcpy(to + functions + table_size + 4 + GO_PCSP, &pcsp, 4);
}

static void put_gaps(void)
{
	put_cie(16);
	for (uint32_t i = 0; i < GAPS; i++)
		put_fde(0, CODE + i * GAP_EVERY);
}

/* As many functions as gaps, and more that are empty: all for each gap would take minutes. */
START_TEST(each_function_of_go_is_looked_at_once)
{
	enum { EMPTY = 70000 };
	uint32_t *at = calloc(GAPS + EMPTY, sizeof(*at));
	int asked = 0;

	put_gaps();
	for (uint32_t i = 0; i < GAPS + EMPTY; i++)
		at[i] = i < GAPS ? i * GAP_EVERY : CODE_SIZE - 4;
	/* From -1 on: 16 bytes. */
	put_go(at, GAPS + EMPTY, (const uint8_t *)"\x22\x20", 3);
	free(at);
	rp_work_watch(go_on, &asked);
	ck_assert_int_eq(make(), 0);
	rp_work_watch(NULL, NULL);
	ck_assert_int_gt(asked, 0);
	ck_assert_int_lt(asked, 100);
	for (uint32_t i = 0; i < GAPS; i++)
		ck_assert_int_eq(
			unwind_table_rule(table, CODE + i * GAP_EVERY + GAP_EVERY / 2)->cfa_off,
			16 + 8);
}
END_TEST

/* One function has all gaps in it, and says something of each byte. */
START_TEST(steps_of_go_are_work)
{
	static const uint32_t at[] = { 0, CODE_SIZE };
	uint8_t *steps = calloc(STEPS, 2);

	put_gaps();
	for (uint32_t i = 0; i < STEPS; i++)
		memcpy(steps + 2 * i, i % 2 ? "\x1\x1" : "\x2\x1", 2);
	put_go(at, 2, steps, 2 * STEPS);
	free(steps);
	ck_assert_int_eq(make(), -EFBIG);
}
END_TEST

/* ---- files */

/* A file that may claim to be huge: sparse, in memory. Section 1 has the names, 2 is @name. */
struct elf {
	Elf64_Ehdr head;
	Elf64_Shdr sections[4];
	char names[32];
	Elf64_Phdr segments[8000];
};

static struct elf *elf;
static int fd;

#define TEXT 0x100000ULL /* offset */
#define DATA 0x1000000ULL

static void begin_elf(const char *name)
{
	elf = calloc(1, sizeof(*elf));
	elf->head = (Elf64_Ehdr){ .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
				  .e_type = ET_DYN,
				  .e_machine = EM_X86_64,
				  .e_version = EV_CURRENT,
				  .e_ehsize = sizeof(elf->head),
				  .e_phoff = offsetof(struct elf, segments),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 1,
				  .e_shoff = offsetof(struct elf, sections),
				  .e_shentsize = sizeof(Elf64_Shdr),
				  .e_shnum = 3,
				  .e_shstrndx = 1 };
	snprintf(elf->names + 1, sizeof(elf->names) - 1, "%s", name);
	elf->sections[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
					 .sh_offset = offsetof(struct elf, names),
					 .sh_size = sizeof(elf->names) };
	elf->sections[2] = (Elf64_Shdr){ .sh_name = 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_flags = *name && name[1] == 'e' ? SHF_ALLOC : 0,
					 .sh_offset = DATA,
					 .sh_size = 4096 };
	for (int i = 0; i < 8000; i++)
		elf->segments[i] = (Elf64_Phdr){ .p_type = PT_LOAD,
						 .p_flags = PF_R | PF_X,
						 .p_offset = TEXT,
						 .p_vaddr = CODE + i * (uint64_t)CODE_SIZE,
						 .p_filesz = CODE_SIZE };
	fd = memfd_create("elf", MFD_CLOEXEC);
}

static void write_elf(uint64_t size)
{
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	ck_assert_int_eq(pwrite(fd, elf, sizeof(*elf), 0), sizeof(*elf));
	free(elf);
}

static int end_elf(uint64_t size)
{
	int err;

	write_elf(size);
	err = unwind_table_build(&table, fd);
	close(fd);
	return err;
}

static void put_data(uint64_t at, const void *data, size_t size)
{
	ck_assert_int_eq(pwrite(fd, data, size, (off_t)at), size);
}

START_TEST(segments_may_overlap)
{
	begin_elf("");
	elf->head.e_phnum = 8000;
	for (int i = 0; i < 8000; i++)
		elf->segments[i].p_filesz = 8 << 20;
	ck_assert_int_eq(end_elf(DATA), -EFBIG);

	begin_elf("");
	elf->head.e_phnum = 1000;
	for (int i = 0; i < 1000; i++)
		elf->segments[i].p_filesz = 8 << 20;
	ck_assert_int_eq(end_elf(DATA), -ENODATA);
}
END_TEST

enum { SAME = 1000, SAME_SIZE = 15 << 20 };

/* A little code that something may point to, and more, which @SAME segments say that they have. */
static void begin_same(void)
{
	static const uint8_t function[] = { 0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3 };

	begin_elf("");
	put_data(TEXT, function, sizeof(function));
	elf->head.e_entry = CODE;
	elf->head.e_phnum = 1 + SAME;
	elf->segments[0].p_filesz = 32;
	for (int i = 1; i <= SAME; i++) {
		elf->segments[i].p_vaddr = CODE + CODE_SIZE;
		elf->segments[i].p_filesz = SAME_SIZE;
	}
}

START_TEST(code_is_looked_at_once)
{
	int asked = 0;

	begin_same();
	rp_work_watch(go_on, &asked);
	ck_assert_int_eq(end_elf(DATA), 0);
	/* Twice a megabyte; and for sections, of which there is one. */
	ck_assert_int_ge(asked, SAME_SIZE >> 19);
	ck_assert_int_lt(asked, SAME_SIZE >> 17);
	unwind_table_free(table);
	table = NULL;

	asked = 0;
	begin_same();
	rp_work_watch(stop, &asked);
	ck_assert_int_eq(end_elf(DATA), -EFBIG);
	rp_work_watch(NULL, NULL);
	ck_assert_int_eq(asked, 1);
}
END_TEST

/* What points to code is not known where there is no memory for it: another time it may be. */
START_TEST(a_table_without_starts_is_not_kept)
{
	const struct unwind_secret secret = { .sip = { 1, 2 } };
	struct unwind_made made = { .secret = &secret };
	struct unwind_source s = { .is_computed = true };

	begin_same();
	write_elf(DATA);
	ck_assert_int_eq(unwind_source_read(&s, fd, NULL, 0), 0);
	s.made = &made;
	rp_memory_limit(_i ? 512ULL << 20 : 4096);
	ck_assert_int_eq(unwind_table_make(&s, UNWIND_PART_ROWS, &table), 0);
	rp_memory_limit(512ULL << 20);
	ck_assert_uint_eq(table->ngaps, 2);
	ck_assert_int_eq(made.is_known, _i);
	unwind_source_free(&s);
	close(fd);
}
END_TEST

static long peak_mb(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_maxrss / 1024;
}

/* Of a file of 12 GB, which has 16 KB on the disk: tables, names, headers of 2 GB. */
START_TEST(sizes_are_not_believed)
{
	const uint64_t huge = 12ULL << 30;
	long before = peak_mb();

	begin_elf(".debug_frame");
	elf->sections[2].sh_size = 2ULL << 30;
	ck_assert_int_eq(end_elf(huge), -EFBIG);
	begin_elf(".eh_frame");
	elf->sections[2].sh_size = 2ULL << 30;
	ck_assert_int_eq(end_elf(huge), -EFBIG);
	begin_elf(".eh_frame");
	elf->sections[2].sh_size = 48 << 20; /* that much zeroes are read: there is no record */
	ck_assert_int_eq(end_elf(huge), -ENODATA);
	begin_elf(".debug_frame");
	elf->sections[1].sh_size = 2ULL << 30;
	ck_assert_int_eq(end_elf(huge), -ENODATA);
	begin_elf("");
	elf->head.e_shnum = 0;
	elf->sections[0].sh_size = 100 << 20;
	ck_assert_int_eq(end_elf(huge), -ENODATA);
	ck_assert_int_lt(peak_mb() - before, 100);
}
END_TEST

/* A section as compressors leave it, which says that it becomes @claimed bytes. */
/* What the sanitizer keeps of memory that was freed; the code is looked at each time. */
#ifdef __SANITIZE_ADDRESS__
enum { FREED_MB = 256 };
#else
enum { FREED_MB = 0 };
#endif

static void put_packed(bool is_gnu, uint64_t claimed, const void *data, size_t size)
{
	Elf64_Chdr ch = { ELFCOMPRESS_ZLIB, 0, claimed, 8 };
	uint64_t big = __builtin_bswap64(claimed);
	uLongf n = compressBound(size);
	uint8_t *packed = malloc(n);
	size_t head = is_gnu ? 12 : sizeof(ch);

	ck_assert_int_eq(compress(packed, &n, data, size), Z_OK);
	if (is_gnu) {
		put_data(DATA, "ZLIB", 4);
		put_data(DATA + 4, &big, 8);
	} else {
		put_data(DATA, &ch, sizeof(ch));
		elf->sections[2].sh_flags = SHF_COMPRESSED;
	}
	put_data(DATA + head, packed, n);
	elf->sections[2].sh_size = head + n;
	free(packed);
}

static void debug_frame(struct made *m)
{
	memset(m, 0, sizeof(*m));
	m->is_debug_frame = true;
	made_cie(m, "", 16, made_x86, sizeof(made_x86));
	made_fde(m, CODE + 0x100, 0x80, "\x44\x0e\x10", 3);
}

START_TEST(compressed_tables)
{
	static const char *const names[] = { ".debug_frame", ".zdebug_frame" };
	const uint64_t claims[] = { 0, 1, 1 << 20, 63 << 20, 500 << 20, 1ULL << 40, -1ULL };
	static struct made m;
	long before = peak_mb();

	debug_frame(&m);
	begin_elf(names[_i]);
	put_packed(_i, m.size, m.bytes, m.size);
	ck_assert_int_eq(end_elf(DATA + (1 << 20)), 0);
	ck_assert_uint_eq(table->nfdes, 1);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x110)->cfa_off, 16);
	for (int i = 0; i < 7; i++) {
		begin_elf(names[_i]);
		put_packed(_i, claims[i], m.bytes, m.size);
		unwind_table_free(table);
		table = NULL;
		ck_assert_int_lt(end_elf(DATA + (1 << 20)), 0);
	}
	for (int i = 0; i < 16; i++) { /* less than its header */
		begin_elf(names[_i]);
		put_packed(_i, m.size, m.bytes, m.size);
		elf->sections[2].sh_size = i;
		ck_assert_int_eq(end_elf(DATA + i), -ENODATA);
	}
	ck_assert_int_lt(peak_mb() - before, 50 + FREED_MB);
}
END_TEST

/* As many bytes as a stream can claim, a thousand times its own: less than the memory for files. */
START_TEST(unpacked_tables_are_counted)
{
	uint8_t *zeroes = calloc(1, 60 << 20);

	begin_elf(".debug_frame");
	put_packed(false, 60 << 20, zeroes, 60 << 20);
	free(zeroes);
	rp_memory_limit(100 << 20);
	ck_assert_int_eq(end_elf(DATA + (1 << 20)), -ENOMEM);
	rp_memory_limit(512ULL << 20);
}
END_TEST

/* ---- where functions begin */

static int read_fdes(void)
{
	struct sym_fdes *fdes = NULL;
	struct sym_object *object;
	int err;

	begin_elf(".eh_frame");
	elf->sections[2].sh_size = frames_size;
	put_data(DATA, frames, frames_size);
	write_elf(DATA + frames_size);
	ck_assert_int_eq(sym_object_open(&object, fd), 0);
	err = sym_fdes_read(&fdes, object);
	sym_fdes_close(fdes);
	sym_object_close(object);
	return err;
}

START_TEST(functions_of_hostile_files)
{
	two_huge_cies();
	/* Without a NUL the augmentation is as long as the CIE; 'z' lets it be. */
	memset(frames + 9, 'z', HALF / 2 - 16);
	memset(frames + HALF / 2 + 9, 'z', HALF / 2 - 16);
	ck_assert_int_eq(read_fdes(), -EFBIG);
}
END_TEST

int main(void)
{
	const int timeout = 60; /* what takes a second at most took minutes or gigabytes */
	Suite *s = suite_create("hostile unwind tables");
	TCase *t = tcase_create("hostile");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, timeout);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_cie_is_parsed_once);
	tcase_add_test(t, work_is_bounded);
	tcase_add_test(t, the_person_may_stop_it);
	tcase_add_test(t, rows_need_memory);
	tcase_add_test(t, each_function_of_go_is_looked_at_once);
	tcase_add_test(t, steps_of_go_are_work);
	tcase_add_test(t, segments_may_overlap);
	tcase_add_test(t, code_is_looked_at_once);
	tcase_add_loop_test(t, a_table_without_starts_is_not_kept, 0, 2);
	tcase_add_test(t, sizes_are_not_believed);
	tcase_add_loop_test(t, compressed_tables, 0, 2);
	tcase_add_test(t, unpacked_tables_are_counted);
	tcase_add_test(t, functions_of_hostile_files);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
