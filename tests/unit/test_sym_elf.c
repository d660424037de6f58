/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of ELF files built byte by byte, and of what is left when such a file is spoiled. */
#include <sys/mman.h>

#include "sym_elf.h"
#include "sym_table.h"

static struct elf_file file;

static void open_built(void)
{
	ck_assert_int_eq(sym_object_open_image(&object, file.bytes, file.size), 0);
	ck_assert_int_eq(sym_symtab_open(&symtab, object, NULL, &strings), 0);
}

START_TEST(test_symbols)
{
	static const struct elf_symbol syms[] = {
		{ "sized", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "unsized", 0x1020, 0, STT_FUNC, STB_LOCAL, 0 },
		{ "outer", 0x1040, 0x60, STT_FUNC, STB_LOCAL, 0 },
		{ "inner", 0x1060, 0x10, STT_FUNC, STB_LOCAL, 0 },
		{ "label_in_outer", 0x1050, 0, STT_NOTYPE, STB_LOCAL, 0 },
		{ "versioned@@LIB_1.0", 0x1100, 8, STT_FUNC, STB_GLOBAL, 0 },
		{ "resolver", 0x1110, 8, STT_GNU_IFUNC, STB_GLOBAL, 0 },
		{ "a_file.c", 0x1120, 8, STT_FILE, STB_LOCAL, 0 },
		{ "a_section", 0x1128, 8, STT_SECTION, STB_LOCAL, 0 },
		{ "a_variable", 0x1130, 8, STT_OBJECT, STB_LOCAL, 0 },
		{ "thread_local", 0x1138, 8, STT_TLS, STB_LOCAL, 0 },
		{ "absolute", 0x1140, 8, STT_FUNC, STB_GLOBAL, SHN_ABS },
		{ "label_in_data", 0x3000, 8, STT_NOTYPE, STB_LOCAL, S_DATA },
		{ "too_long", 0x17f0, 0x1000, STT_FUNC, STB_GLOBAL, 0 },
		{ "last_unsized", 0x1780, 0, STT_NOTYPE, STB_GLOBAL, 0 },
	};

	elf_build(&file, syms, sizeof(syms) / sizeof(syms[0]), NULL, 0, NULL);
	open_built();
	ck_name(0xfff, NULL, 0);
	ck_name(0x1000, "sized", 0);
	ck_name(0x100f, "sized", 0xf);
	ck_name(0x1010, NULL, 0); /* not the neighbour's */
	ck_name(0x103f, "unsized", 0x1f);
	ck_name(0x1050, "outer", 0x10);
	ck_name(0x1060, "inner", 0);
	ck_name(0x106f, "inner", 0xf);
	ck_name(0x1070, "outer", 0x30);
	ck_name(0x10a0, NULL, 0);
	ck_name(0x1104, "versioned", 4);
	ck_name(0x1110, "resolver", 0);
	for (uint64_t addr = 0x1118; addr < 0x1780; addr++)
		ck_name(addr, NULL, 0);
	ck_name(0x17ef, "last_unsized", 0x6f);
	ck_name(0x17ff, "too_long", 0xf);
	ck_name(0x1800, NULL, 0); /* the next section */
	ck_name(0x3000, NULL, 0);
	ck_name(UINT64_MAX, NULL, 0);
}
END_TEST

/* The last symbol of a long section, and what is left of it is not all the symbol's. */
START_TEST(test_unsized_is_short)
{
	static const struct elf_symbol syms[] = {
		{ "sized", 0x1000, 0x1080, STT_FUNC, STB_GLOBAL, 0 },
		{ "unsized", 0x1100, 0, STT_NOTYPE, STB_GLOBAL, 0 },
	};

	for (size_t first = 0; first < 2; first++) {
		Elf64_Shdr *sh;

		elf_build(&file, &syms[first], 1, NULL, 0, NULL);
		sh = (Elf64_Shdr *)(file.bytes + file.section_headers);
		sh[S_PLT] = (Elf64_Shdr){ 0 };
		sh[S_TEXT].sh_size = 0x1200;
		open_built();
		ck_name(0x1100, syms[first].name, first ? 0 : 0x100);
		ck_name(0x207f, syms[first].name, first ? 0xf7f : 0x107f);
		ck_name(0x20ff, first ? "unsized" : NULL, first ? 0xfff : 0);
		ck_name(0x2100, NULL, 0);
		teardown();
	}
}
END_TEST

/* Those that are asked for by name, in the table that has the first of them. */
START_TEST(test_wanted)
{
	static const struct elf_symbol all[] = {
		{ "loop", 0x1000, 0x40, STT_FUNC, STB_LOCAL, 0 },
		{ "root", 0x3000, 8, STT_OBJECT, STB_LOCAL, S_DATA },
		{ "block", 0, 8, STT_TLS, STB_LOCAL, S_DATA },
		{ "small", 0x1100, 4, STT_FUNC, STB_LOCAL, 0 },
	};
	static const struct elf_symbol dynamic[] = {
		{ "other", 0x1010, 8, STT_FUNC, STB_GLOBAL, 0 },
		{ "loop", 0x1040, 0x20, STT_FUNC, STB_GLOBAL, 0 },
	};
	for (int dynsym = 0; dynsym < 2; dynsym++) {
		struct sym_sought w[] = { { "loop", STT_FUNC, 8 }, { "root", STT_OBJECT, 8 },
					  { "block", STT_TLS, 8 }, { "small", STT_FUNC, 8 },
					  { "root", STT_FUNC, 0 }, { "loops", STT_FUNC, 0 },
					  { "loo", STT_FUNC, 0 },  { "", STT_FUNC, 0 } };
		const bool rest = !dynsym;

		elf_build(&file, all, 4, dynamic, dynsym ? 2 : 1, NULL);
		ck_assert_int_eq(sym_object_open_image(&object, file.bytes, file.size), 0);
		sym_symtab_find(object, w, sizeof(w) / sizeof(w[0]));
		ck_assert(w[0].found);
		ck_assert_uint_eq(w[0].address, dynsym ? 0x1040 : 0x1000);
		ck_assert_uint_eq(w[0].size, dynsym ? 0x20 : 0x40);
		ck_assert_int_eq(w[1].found, rest);
		ck_assert_uint_eq(w[1].address, rest ? 0x3000 : 0);
		ck_assert_int_eq(w[2].found, rest); /* where it has no address */
		for (size_t i = 3; i < sizeof(w) / sizeof(w[0]); i++)
			ck_assert(!w[i].found);
		sym_object_close(object);
		object = NULL;
	}
}
END_TEST

static bool is_found_behind(uint32_t n, const Elf64_Sym *others)
{
	static const struct elf_symbol loop = { "loop", 0x1000, 0x40, STT_FUNC, STB_LOCAL, 0 };
	const int fd = memfd_create("many", MFD_CLOEXEC);
	struct sym_sought wanted = { "loop", STT_FUNC, 8 };

	elf_build(&file, &loop, 1, NULL, 0, NULL);
	ck_assert_int_eq(sym_object_open(&object, elf_with_many(&file, fd, n, others)), 0);
	sym_symtab_find(object, &wanted, 1);
	sym_object_close(object);
	object = NULL;
	return wanted.found;
}

/* A file may have very many, all of which look like it. */
START_TEST(test_wanted_among_many)
{
	const Elf64_Sym other = { .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
				  .st_shndx = S_TEXT,
				  .st_size = 8 };

	ck_assert(is_found_behind(400000, &other));
	ck_assert(!is_found_behind(500000, &other));
}
END_TEST

/* What lies at an address, if one segment has all of it in the file. */
START_TEST(test_read_at)
{
	char got[16];

	elf_build(&file, NULL, 0, NULL, 0, NULL);
	memcpy(file.bytes + 0x2000, "sixteen bytes...", 16); /* .data */
	ck_assert_int_eq(sym_object_open_image(&object, file.bytes, file.size), 0);
	ck_assert_uint_eq(sym_object_read_at(object, ELF_DATA + 8, got, 8), 8);
	ck_assert(!memcmp(got, "bytes...", 8));
	ck_assert_uint_eq(sym_object_read_at(object, 0x2000, got, 8), 0);
	ck_assert_uint_eq(sym_object_read_at(object, UINT64_MAX, got, 8), 0);
	for (size_t i = 0; i < object->segment_count; i++) {
		const struct sym_segment *s = &object->segments[i];

		ck_assert_uint_eq(sym_object_read_at(object, s->vaddr + s->size - 8, got, 8), 8);
		ck_assert_uint_eq(sym_object_read_at(object, s->vaddr + s->size - 7, got, 8), 0);
	}
	sym_object_close(object);
	object = NULL;
}
END_TEST

/* The winner among names of one address, whatever the order in the file. */
static const struct {
	struct elf_symbol sym[3];
	const char *winner;
} aliases[] = {
	{ { { "z_global", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "weak", 0x1000, 8, STT_FUNC, STB_WEAK, 0 },
	    { "a_local", 0x1000, 8, STT_FUNC, STB_LOCAL, 0 } },
	  "z_global" },
	{ { { "z_weak", 0x1000, 8, STT_FUNC, STB_WEAK, 0 },
	    { "local", 0x1000, 8, STT_FUNC, STB_LOCAL, 0 },
	    { "another", 0x1000, 8, STT_FUNC, STB_LOCAL, 0 } },
	  "z_weak" },
	{ { { "z_sized", 0x1000, 8, STT_FUNC, STB_LOCAL, 0 },
	    { "a_unsized", 0x1000, 0, STT_NOTYPE, STB_LOCAL, 0 },
	    { "b_unsized", 0x1000, 0, STT_NOTYPE, STB_LOCAL, 0 } },
	  "z_sized" },
	{ { { "__GI___libc_malloc", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "malloc", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "__libc_malloc", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 } },
	  "malloc" },
	{ { { "cfree", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "free", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "_afree", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 } },
	  "cfree" },
	{ { { "long", 0x1000, 16, STT_FUNC, STB_GLOBAL, 0 },
	    { "a_short", 0x1000, 8, STT_FUNC, STB_GLOBAL, 0 },
	    { "b_short", 0x1000, 4, STT_FUNC, STB_GLOBAL, 0 } },
	  "long" },
};

START_TEST(test_aliases)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (int i = 0; i < 6; i++) {
		struct elf_symbol syms[3];

		for (int k = 0; k < 3; k++)
			syms[k] = aliases[_i].sym[orders[i][k]];
		elf_build(&file, syms, 3, NULL, 0, NULL);
		open_built();
		ck_name(0x1003, aliases[_i].winner, 3);
		ck_name(0x1003, aliases[_i].winner, 3); /* and again, now that it is settled */
		teardown();
	}
}
END_TEST

START_TEST(test_both_tables)
{
	static const struct elf_symbol stat[] = { { "in_symtab", 0x1000, 8, STT_FUNC, STB_LOCAL,
						    0 },
						  { "both", 0x1010, 8, STT_FUNC, STB_GLOBAL, 0 } };
	static const struct elf_symbol dyn[] = { { "both@V1", 0x1010, 8, STT_FUNC, STB_GLOBAL, 0 },
						 { "in_dynsym", 0x1020, 8, STT_FUNC, STB_WEAK,
						   0 } };

	elf_build(&file, stat, 2, dyn, 2, NULL);
	open_built();
	ck_name(0x1000, "in_symtab", 0);
	ck_name(0x1010, "both", 0);
	ck_name(0x1020, "in_dynsym", 0);
}
END_TEST

START_TEST(test_plt)
{
	static const struct elf_symbol dyn[] = {
		{ "puts@GLIBC_2.2.5", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
		{ "exit", 0, 0, STT_FUNC, STB_GLOBAL, SHN_UNDEF },
	};
	struct elf_symbol undefined[2];

	memcpy(undefined, dyn, sizeof(dyn));
	undefined[0].section = undefined[1].section = SHN_COMMON; /* not of this file either */
	elf_build(&file, NULL, 0, undefined, 2, NULL);
	open_built();
	ck_name(ELF_PLT, "puts@plt", 0);
	ck_name(ELF_PLT + 10, "puts@plt", 10);
	ck_name(ELF_PLT + 16, "exit@plt", 0);
	ck_name(ELF_PLT + 31, "exit@plt", 15);
	ck_name(ELF_PLT + 32, NULL, 0); /* no stub there */
	ck_name(ELF_PLT + 33, NULL, 0);
}
END_TEST

START_TEST(test_machines)
{
	static const struct elf_symbol syms[] = { { "$x", 0x1000, 0, STT_NOTYPE, STB_LOCAL, 0 },
						  { "thumb", 0x1011, 8, STT_FUNC, STB_GLOBAL, 0 },
						  { "$d.1", 0x1014, 0, STT_NOTYPE, STB_LOCAL, 0 },
						  { "_start", 0x1020, 0, STT_NOTYPE, STB_GLOBAL,
						    0 } };
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file.bytes;

	elf_build(&file, syms, 4, NULL, 0, NULL);
	eh->e_machine = EM_AARCH64;
	open_built();
	ck_name(0x1000, NULL, 0);
	ck_name(0x1014, "thumb", 3);
	ck_name(0x1024, "_start", 4);
	teardown();
	eh->e_machine = EM_ARM;
	open_built();
	ck_name(0x1010, "thumb", 0);
	ck_name(0x1018, NULL, 0);
	teardown();
	eh->e_ident[EI_DATA] = ELFDATA2MSB;
	ck_assert_int_eq(sym_object_open_image(&object, file.bytes, file.size), -ENOEXEC);
}
END_TEST

/* File offsets to addresses, by the program headers of files as linkers make them. */
static const struct {
	const char *what;
	Elf64_Phdr ph[3];
	int n;
	uint64_t offset;
	int64_t vaddr; /* -1: none */
} segments[] = {
#define LOAD(off, addr, size, flags)                                                               \
	{                                                                                          \
		.p_type = PT_LOAD, .p_flags = flags, .p_offset = off, .p_vaddr = addr,             \
		.p_filesz = size, .p_memsz = size                                                  \
	}
	{ "PIE",
	  { LOAD(0, 0, 0x500, PF_R), LOAD(0x1000, 0x1000, 0x900, PF_R | PF_X) },
	  2,
	  0x1234,
	  0x1234 },
	{ "ET_EXEC", { LOAD(0x1000, 0x401000, 0x900, PF_R | PF_X) }, 1, 0x1234, 0x401234 },
	{ "lld: each segment moved by one more page",
	  { LOAD(0, 0, 0x770, PF_R), LOAD(0x770, 0x1770, 0x1000, PF_R | PF_X) },
	  2,
	  0x800,
	  0x1800 },
	{ "lld: the page that two segments share belongs to the executable one",
	  { LOAD(0, 0, 0x770, PF_R), LOAD(0x770, 0x1770, 0x1000, PF_R | PF_X) },
	  2,
	  0x700,
	  0x1700 },
	{ "the rest of the last page",
	  { LOAD(0x1000, 0x1000, 0x900, PF_R | PF_X), LOAD(0x1900, 0x2900, 0x100, PF_R) },
	  2,
	  0x1980,
	  0x1980 },
	{ "of two executable ones, the one that has the byte",
	  { LOAD(0x1000, 0x1000, 0x900, PF_R | PF_X), LOAD(0x1900, 0x2900, 0x100, PF_R | PF_X) },
	  2,
	  0x1980,
	  0x2980 },
	{ "beyond all", { LOAD(0x1000, 0x1000, 0x900, PF_R | PF_X) }, 1, 0x2000, -1 },
	{ "before all", { LOAD(0x1000, 0x1000, 0x900, PF_R | PF_X) }, 1, 0xfff, -1 },
	{ "not loaded", { { .p_type = PT_NOTE, .p_filesz = 0x1000 } }, 1, 0x10, -1 },
	{ "sizes that wrap around",
	  { LOAD(0x1000, 0x1000, UINT64_MAX, PF_R | PF_X) },
	  1,
	  0x500,
	  -1 },
};

START_TEST(test_segments)
{
	uint64_t vaddr = 0;
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file.bytes;
	int err;

	elf_build(&file, NULL, 0, NULL, 0, NULL);
	memcpy(file.bytes + sizeof(*eh), segments[_i].ph, sizeof(segments[_i].ph));
	eh->e_phnum = segments[_i].n;
	open_built();
	err = sym_object_vaddr(object, segments[_i].offset, &vaddr);
	if (segments[_i].vaddr < 0) {
		ck_assert_msg(err == -ENOENT, "%s: %" PRIx64, segments[_i].what, vaddr);
	} else {
		ck_assert_msg(!err, "%s: %d", segments[_i].what, err);
		ck_assert_uint_eq(vaddr, segments[_i].vaddr);
	}
}
END_TEST

START_TEST(test_build_id)
{
	static const uint8_t id[] = { 0x0f, 0xed, 0x00, 0xff };

	elf_build(&file, NULL, 0, NULL, 0, id);
	open_built();
	ck_assert_str_eq(object->build_id, "0fed00ff");
	teardown();
	elf_build(&file, NULL, 0, NULL, 0, NULL);
	open_built();
	ck_assert_str_eq(object->build_id, "");
}
END_TEST

START_TEST(test_notes)
{
	uint8_t id[SYM_BUILD_ID_MAX];
	struct {
		Elf64_Nhdr h1;
		char name1[8], desc1[4];
		Elf64_Nhdr h2;
		char name2[4];
		uint8_t desc2[24];
	} n = {
		{ 6, 3, NT_GNU_BUILD_ID }, "Other", "abc", { 4, 24, NT_GNU_BUILD_ID }, "GNU", { 0 }
	};

	for (int i = 0; i < 24; i++)
		n.desc2[i] = i;
	ck_assert_uint_eq(sym_note_build_id(&n, sizeof(n), 4, id), 20); /* too long: cut */
	ck_assert_uint_eq(id[19], 19);
	for (size_t cut = 0; cut < sizeof(n); cut++)
		ck_assert_uint_eq(sym_note_build_id(&n, cut, 4, id), 0);
	n.h1.n_descsz = UINT32_MAX;
	ck_assert_uint_eq(sym_note_build_id(&n, sizeof(n), 4, id), 0);
	n.h1.n_descsz = 3;
	n.h1.n_namesz = UINT32_MAX;
	ck_assert_uint_eq(sym_note_build_id(&n, sizeof(n), 4, id), 0);
}
END_TEST

/* Opens whatever is in @file as it is and asks for all of it: nothing may break. */
static void look_at_all(void)
{
	uint64_t vaddr, offset;

	if (sym_object_open_image(&object, file.bytes, file.size))
		return;
	ck_assert_int_eq(sym_symtab_open(&symtab, object, NULL, &strings), 0);
	for (uint64_t addr = 0xff0; addr < 0x1900; addr += 8)
		name_at(addr, &offset);
	for (offset = 0; offset < 0x4000; offset += 0x100)
		sym_object_vaddr(object, offset, &vaddr);
}

static void build_full(void)
{
	static const uint8_t id[] = { 1, 2, 3, 4 };
	static const struct elf_symbol syms[] = {
		{ "one", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "uno", 0x1000, 0x10, STT_FUNC, STB_GLOBAL, 0 },
		{ "two", 0x1020, 0, STT_FUNC, STB_LOCAL, 0 },
		{ "three", 0x1100, 0x600, STT_FUNC, STB_LOCAL, 0 },
		{ "four", 0x1200, 0x100, STT_FUNC, STB_WEAK, 0 },
	};

	elf_build(&file, syms, 5, syms, 5, id);
}

START_TEST(test_truncated)
{
	size_t whole;

	build_full();
	whole = file.size;
	for (file.size = 0; file.size < whole; file.size += file.size < 0x2000 ? 61 : 7) {
		look_at_all();
		teardown();
	}
}
END_TEST

/* Every byte of headers, symbols and strings set to what hurts most. */
START_TEST(test_spoiled)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	size_t headers = sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr);

	build_full();
	for (size_t at = 4; at < file.size; at++) {
		uint8_t kept = file.bytes[at];

		if (at == headers)
			at = ELF_PLT;
		if (at == ELF_PLT + ELF_PLT_SIZE)
			at = 0x2200;
		kept = file.bytes[at];
		for (size_t i = 0; i < sizeof(values); i++) {
			file.bytes[at] = values[i];
			look_at_all();
			teardown();
		}
		file.bytes[at] = kept;
	}
}
END_TEST

START_TEST(test_random_spoiled)
{
	build_full();
	srand(_i);
	for (int round = 0; round < 200; round++) {
		struct elf_file kept = file;

		for (int i = 0; i < 20; i++) {
			size_t at = rand() % 256;

			if (rand() % 4)
				at = 0x2200 + rand() % (file.size - 0x2200);

			file.bytes[at] = rand();
		}
		look_at_all();
		teardown();
		file = kept;
	}
}
END_TEST

START_TEST(test_bad_names)
{
	Elf64_Sym *sym;
	Elf64_Shdr *sh;

	build_full();
	sym = (Elf64_Sym *)(file.bytes + file.symbols);
	sh = (Elf64_Shdr *)(file.bytes + file.section_headers);
	sym[1].st_name = 1000000; /* one; uno is left */
	sym[3].st_name = sh[S_STRTAB].sh_size - 1;
	sh[S_DYNSYM].sh_type = SHT_PROGBITS;
	/* The strings end without a NUL where the last name does. */
	sh[S_STRTAB].sh_size -= 1;
	open_built();
	ck_name(0x1000, "uno", 0);
	ck_name(0x1020, NULL, 0);
	ck_name(0x1200, "four", 0);
	teardown();
	/*
	 * More sections than the header has room for: the number is in section 0 (gABI, e_shnum).
	 */
	build_full();
	sh[0].sh_size = S_COUNT;
	sh[0].sh_link = S_NAMES;
	((Elf64_Ehdr *)file.bytes)->e_shnum = 0;
	((Elf64_Ehdr *)file.bytes)->e_shstrndx = SHN_XINDEX;
	open_built();
	ck_name(0x1000, "one", 0);
	ck_name(ELF_PLT, "one@plt", 0);
	teardown();
	/* No sections: no names, but offsets still become addresses. */
	((Elf64_Ehdr *)file.bytes)->e_shoff = 0;
	open_built();
	ck_name(0x1000, NULL, 0);
	ck_assert_str_eq(object->build_id, "01020304");
}
END_TEST

/* As many program headers as do not fit into e_phnum: section 0 has their number. */
START_TEST(test_many_segments)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file.bytes;
	uint64_t vaddr;

	build_full();
	((Elf64_Shdr *)(file.bytes + file.section_headers))->sh_info = eh->e_phnum;
	eh->e_phnum = PN_XNUM;
	open_built();
	ck_assert_int_eq(sym_object_vaddr(object, 0x1004, &vaddr), 0);
	ck_assert_uint_eq(vaddr, 0x1004);
	ck_assert_str_eq(object->build_id, "01020304");
	ck_name(0x1000, "one", 0);
}
END_TEST

START_TEST(test_not_elf)
{
	static const char *const paths[] = { "/dev/null", "/etc/passwd", "/proc/self/maps" };

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(sym_object_open(&object, open(paths[i], O_RDONLY)), -ENOEXEC);
	ck_assert_int_eq(sym_object_open(&object, open("/tmp", O_RDONLY)), -ENOEXEC);
	ck_assert_int_eq(sym_object_open_image(&object,
					       "\x7f"
					       "ELF",
					       4),
			 -ENOEXEC);
	ck_assert_int_eq(sym_object_open_image(&object, "", 0), -ENOEXEC);
	ck_assert_ptr_null(object);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ELF");
	TCase *t = tcase_create("ELF");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, test_symbols);
	tcase_add_test(t, test_unsized_is_short);
	tcase_add_test(t, test_wanted);
	tcase_add_test(t, test_wanted_among_many);
	tcase_add_test(t, test_read_at);
	tcase_add_loop_test(t, test_aliases, 0, sizeof(aliases) / sizeof(aliases[0]));
	tcase_add_test(t, test_both_tables);
	tcase_add_test(t, test_plt);
	tcase_add_test(t, test_machines);
	tcase_add_loop_test(t, test_segments, 0, sizeof(segments) / sizeof(segments[0]));
	tcase_add_test(t, test_build_id);
	tcase_add_test(t, test_notes);
	tcase_add_test(t, test_truncated);
	tcase_add_test(t, test_spoiled);
	tcase_add_loop_test(t, test_random_spoiled, 0, 8);
	tcase_add_test(t, test_bad_names);
	tcase_add_test(t, test_many_segments);
	tcase_add_test(t, test_not_elf);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
