/* SPDX-License-Identifier: BSD-2-Clause */
/* Small files that ask for much memory: counts, sizes and what is packed, larger than the file. */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#ifdef HAVE_LZMA
#include <lzma.h>
#endif

#include "base/budget.h"
#include "symbolize/debug.h"
#include "symbolize/symtab.h"
#include "sym_elf.h"

#define MB (1ULL << 20)

enum { ENOUGH = 48 << 20 }; /* for what is right in each of these files, with room to spare */

static struct elf_file file;
static int fd;

static const struct elf_symbol syms[] = {
	{ "alpha", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
	{ "beta", 0x1010, 0x10, STT_FUNC, STB_LOCAL, 0 },
};

static Elf64_Shdr *header(int section)
{
	return (Elf64_Shdr *)(file.bytes + file.section_headers) + section;
}

static Elf64_Ehdr *ehdr(void)
{
	return (Elf64_Ehdr *)file.bytes;
}

static void setup(void)
{
	elf_build(&file, syms, 2, syms, 2, (const uint8_t[]){ 1, 2, 3, 4 });
	fd = memfd_create("hostile", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
}

static void put(const void *data, size_t size, uint64_t at)
{
	ck_assert_int_eq(pwrite(fd, data, size, at), size);
}

/* Writes @file, and a hole behind it up to @size. */
static void write_sparse(uint64_t size)
{
	put(file.bytes, file.size, 0);
	if (size > file.size)
		ck_assert_int_eq(ftruncate(fd, size), 0);
}

static size_t most_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss * 1024;
}

/* All that is asked of a file. Each test is a process: its memory is that of the file. */
static void look_at_all(void)
{
	size_t before = most_memory();
	struct sym_object *object = NULL, *packed = NULL;
	struct sym_strings strings = { 0 };
	struct sym_symtab *symtab = NULL;
	const char *name;
	uint64_t start;

	if (!sym_object_open(&object, fd)) {
		sym_debug_unpack(&packed, object);
		ck_assert_int_eq(sym_symtab_open(&symtab, object, packed, &strings), 0);
		for (uint64_t addr = 0x1000; addr < 0x1800; addr++)
			sym_symtab_lookup(symtab, addr, &name, &start);
	}
	sym_symtab_close(symtab);
	sym_object_close(packed);
	sym_object_close(object);
	sym_strings_free(&strings);
	ck_assert_uint_lt(most_memory() - before, ENOUGH);
	ck_assert_uint_eq(rp_memory_taken(), 0);
}

static void look_at_sparse(void)
{
	write_sparse(12ULL << 30);
	look_at_all();
}

/* ---- tables larger than the file, or as large as a file with holes */

START_TEST(test_section_names)
{
	header(S_NAMES)->sh_offset = 4096 * MB;
	header(S_NAMES)->sh_size = 2048 * MB;
	look_at_sparse();
}
END_TEST

START_TEST(test_section_count)
{
	header(0)->sh_size = 60000000;
	header(0)->sh_link = S_NAMES;
	ehdr()->e_shnum = 0;
	ehdr()->e_shstrndx = SHN_XINDEX;
	look_at_sparse();
}
END_TEST

START_TEST(test_segment_count)
{
	header(0)->sh_info = 60000000;
	ehdr()->e_phnum = PN_XNUM;
	look_at_sparse();
}
END_TEST

START_TEST(test_symbol_count)
{
	header(S_SYMTAB)->sh_offset = 4096 * MB;
	header(S_SYMTAB)->sh_size = 960 * MB;
	header(S_STRTAB)->sh_offset = 8192 * MB;
	header(S_STRTAB)->sh_size = 960 * MB;
	look_at_sparse();
}
END_TEST

START_TEST(test_strings)
{
	header(S_STRTAB)->sh_size = header(S_DYNSTR)->sh_size = 60 * MB;
	header(S_DYNSTR)->sh_offset = header(S_STRTAB)->sh_offset;
	write_sparse(0);
	look_at_all();
}
END_TEST

/* ---- what is packed */

/* @size bytes of nothing, packed a thousand times smaller, behind what is there. */
static void pack_zeros(Elf64_Shdr *sh, size_t size)
{
	Elf64_Chdr ch = { ELFCOMPRESS_ZLIB, 0, size, 1 };
	uLongf packed_size = compressBound(size);
	unsigned char *packed = malloc(packed_size), *zeros = calloc(1, size);
	uint64_t at = (lseek(fd, 0, SEEK_END) + 4095) & -4096;

	ck_assert_int_eq(compress(packed, &packed_size, zeros, size), Z_OK);
	put(&ch, sizeof(ch), at);
	put(packed, packed_size, at + sizeof(ch));
	sh->sh_offset = at;
	sh->sh_size = sizeof(ch) + packed_size;
	sh->sh_flags |= SHF_COMPRESSED;
	free(packed);
	free(zeros);
}

/* The memory for packing is given back before the first look. */
static void with_packed(int section, size_t size)
{
	write_sparse(0);
	pack_zeros(header(section), size);
	write_sparse(0);
}

START_TEST(test_packed)
{
	rp_memory_limit(16 * MB);
	with_packed(_i ? S_STRTAB : S_SYMTAB, 15 * MB);
	look_at_all();
}
END_TEST

START_TEST(test_packed_is_within_the_budget)
{
	struct sym_object *object;

	rp_memory_limit(8 * MB);
	with_packed(S_STRTAB, 9 * MB);
	ck_assert_int_eq(sym_object_open(&object, fd), 0);
	ck_assert_uint_le(rp_memory_taken(), 8 * MB);
	ck_assert_uint_eq(object->symbols[SYM_SYMTAB].count, 0);
	sym_object_close(object);
	ck_assert_uint_eq(rp_memory_taken(), 0);
}
END_TEST

/* Tables without symbols, each with strings of its own, which are packed: the same bytes. */
START_TEST(test_empty_tables)
{
	enum { TABLES = 100 };
	static Elf64_Shdr sh[S_COUNT + 2 * TABLES];
	uint64_t at = MB;

	with_packed(S_STRTAB, 4 * MB);
	memcpy(sh, header(0), S_COUNT * sizeof(*sh));
	for (int i = S_COUNT; i < S_COUNT + 2 * TABLES; i += 2) {
		sh[i] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB,
				      .sh_offset = 0x1000,
				      .sh_entsize = sizeof(Elf64_Sym),
				      .sh_link = i + 1 };
		sh[i + 1] = sh[S_STRTAB];
	}
	sh[S_SYMTAB].sh_type = SHT_NULL;
	ehdr()->e_shoff = at;
	ehdr()->e_shnum = S_COUNT + 2 * TABLES;
	put(file.bytes, file.size, 0);
	put(sh, sizeof(sh), at);
	look_at_all();
}
END_TEST

#ifdef HAVE_LZMA

/* .gnu_debugdata has no size of what it unpacks to. */
START_TEST(test_debugdata)
{
	static const char names[] = "\0.gnu_debugdata";
	size_t size = 200 * MB, n = 0, room = MB;
	uint8_t *zeros = calloc(1, size), *packed = malloc(room);

	memcpy(zeros, file.bytes, file.size);
	ck_assert_int_eq(
		lzma_easy_buffer_encode(0, LZMA_CHECK_NONE, NULL, zeros, size, packed, &n, room),
		LZMA_OK);
	free(zeros);
	*header(S_NOTE) = (Elf64_Shdr){
		.sh_type = SHT_PROGBITS, .sh_offset = MB, .sh_size = n, .sh_name = 1
	};
	header(S_SYMTAB)->sh_type = SHT_NULL;
	header(S_NAMES)->sh_offset = elf_put(&file, names, sizeof(names));
	header(S_NAMES)->sh_size = sizeof(names);
	write_sparse(0);
	put(packed, n, MB);
	free(packed);
	look_at_all();
}
END_TEST

#endif

/* ---- many, in a file that has them all */

START_TEST(test_symbols_are_within_the_budget)
{
	enum { MANY = 400000 };
	Elf64_Sym *many = calloc(MANY, sizeof(*many));
	struct sym_strings strings = { 0 };
	struct sym_symtab *symtab;
	struct sym_object *object;
	const char *name;
	uint64_t start;

	for (int i = 0; i < MANY; i++)
		many[i] = (Elf64_Sym){ .st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = S_TEXT,
				       .st_value = 0x1000 + i % 0x800,
				       .st_size = 1 };
	header(S_SYMTAB)->sh_offset = MB;
	header(S_SYMTAB)->sh_size = MANY * sizeof(*many);
	write_sparse(0);
	put(many, MANY * sizeof(*many), MB);
	free(many);

	rp_memory_limit(_i ? 4 * MB : 512 * MB);
	ck_assert_int_eq(sym_object_open(&object, fd), 0);
	ck_assert_int_eq(sym_symtab_open(&symtab, object, NULL, &strings), 0);
	ck_assert_uint_le(rp_memory_taken(), 512 * MB / 8);
	ck_assert_int_eq(sym_symtab_lookup(symtab, 0x1000, &name, &start), !_i);
	sym_symtab_close(symtab);
	sym_object_close(object);
	sym_strings_free(&strings);
	ck_assert_uint_eq(rp_memory_taken(), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hostile");
	TCase *t = tcase_create("hostile");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_section_names);
	tcase_add_test(t, test_section_count);
	tcase_add_test(t, test_segment_count);
	tcase_add_test(t, test_symbol_count);
	tcase_add_test(t, test_strings);
	tcase_add_loop_test(t, test_packed, 0, 2);
	tcase_add_test(t, test_packed_is_within_the_budget);
	tcase_add_test(t, test_empty_tables);
#ifdef HAVE_LZMA
	tcase_add_test(t, test_debugdata);
#endif
	tcase_add_loop_test(t, test_symbols_are_within_the_budget, 0, 2);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
