/* SPDX-License-Identifier: BSD-2-Clause */
/* Where .eh_frame is in a file, however it was linked and stripped, and files that are damaged. */
#include <fcntl.h>
#include <glob.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unwind_made.h"

enum {
	CODE_OFFSET = 0x1000, /* addresses are 0x400000 above offsets, those of data 0x401000 */
	DATA_OFFSET = 0x2000,
	FILE_SIZE = 0x4000,
	CODE = 0x401000,
	DATA = 0x403000,
	HEADER_SIZE = 16, /* of .eh_frame_hdr, at DATA; .eh_frame follows */
};

/* How a file tells of its .eh_frame. */
struct shape {
	const char *what;
	bool by_header, by_section;
	uint32_t type; /* of the section */
	int err;
};

static const struct shape shapes[] = {
	{ "as gcc links", true, true, SHT_PROGBITS, 0 },
	{ "stripped of its sections", true, false, 0, 0 },
	{ "a static program of glibc", false, true, SHT_PROGBITS, 0 },
	{ "as clang links", true, true, SHT_X86_64_UNWIND, 0 },
	{ "the same, static", false, true, SHT_X86_64_UNWIND, 0 },
	{ "debug information alone", false, true, SHT_NOBITS, -ENODATA },
	{ "assembly", false, false, 0, -ENODATA },
};

static struct {
	_Alignas(16) uint8_t bytes[FILE_SIZE];
	size_t size, eh_frame, eh_frame_size;
} file;

static struct unwind_table *table;

static void put(size_t at, const void *data, size_t size)
{
	memcpy(file.bytes + at, data, size);
}

static void put_frames(void)
{
	static struct made m;
	uint8_t header[HEADER_SIZE] = { 1, 0x1b, 0xff, 0xff }; /* pcrel sdata4; no table */
	int32_t to_frames = HEADER_SIZE - 4;

	memset(&m, 0, sizeof(m));
	made_cie(&m, "", 16, made_x86, sizeof(made_x86));
	made_fde(&m, CODE + 0x100, 0x80, "\x44\x0e\x10", 3);
	made_fde(&m, CODE + 0x200, 0x1000, NULL, 0); /* longer than the segment */
	made_uint(&m, 0, 4);
	memcpy(header + 4, &to_frames, 4);
	put(DATA_OFFSET, header, sizeof(header));
	put(DATA_OFFSET + HEADER_SIZE, m.bytes, m.size);
	file.eh_frame = DATA_OFFSET + HEADER_SIZE;
	file.eh_frame_size = m.size;
}

static void put_sections(const struct shape *shape, Elf64_Ehdr *eh)
{
	static const char names[] = "\0.text\0.eh_frame\0.shstrtab";
	Elf64_Shdr sh[4] = {
		{ 0 },
		{ .sh_name = 1,
		  .sh_type = SHT_PROGBITS,
		  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		  .sh_addr = CODE,
		  .sh_offset = CODE_OFFSET,
		  .sh_size = 0x1000 },
		{ .sh_name = 7,
		  .sh_type = shape->type,
		  .sh_flags = SHF_ALLOC,
		  .sh_addr = DATA + HEADER_SIZE,
		  .sh_offset = file.eh_frame,
		  .sh_size = file.eh_frame_size },
		{ .sh_name = 17,
		  .sh_type = SHT_STRTAB,
		  .sh_offset = 0x3000,
		  .sh_size = sizeof(names) },
	};

	put(0x3000, names, sizeof(names));
	put(0x3100, sh, sizeof(sh));
	eh->e_shoff = 0x3100;
	eh->e_shentsize = sizeof(sh[0]);
	eh->e_shnum = 4;
	eh->e_shstrndx = 3;
}

static void build(const struct shape *shape)
{
	Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(eh),
			  .e_ehsize = sizeof(eh),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = shape->by_header ? 3 : 2 };
	Elf64_Phdr ph[3] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_offset = CODE_OFFSET,
		  .p_vaddr = CODE,
		  .p_filesz = 0x1000,
		  .p_memsz = 0x1000 },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R,
		  .p_offset = DATA_OFFSET,
		  .p_vaddr = DATA,
		  .p_filesz = 0x1000,
		  .p_memsz = 0x1000 },
		{ .p_type = PT_GNU_EH_FRAME,
		  .p_flags = PF_R,
		  .p_offset = DATA_OFFSET,
		  .p_vaddr = DATA,
		  .p_filesz = HEADER_SIZE,
		  .p_memsz = HEADER_SIZE },
	};

	memset(&file, 0, sizeof(file));
	file.size = FILE_SIZE;
	put_frames();
	if (shape->by_section)
		put_sections(shape, &eh);
	put(0, &eh, sizeof(eh));
	put(sizeof(eh), ph, sizeof(ph));
}

static void setup(void)
{
	table = NULL;
}

static void teardown(void)
{
	unwind_table_free(table);
}

static void check_table(void)
{
	ck_assert_uint_eq(table->machine, EM_X86_64);
	ck_assert_uint_eq(table->nfdes, 2);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0xff)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x100)->cfa_off, 8);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x104)->cfa_off, 16);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x180)->kind, UNWIND_NO_ROW);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x200)->kind, UNWIND_SP);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0xfff)->kind, UNWIND_SP);
	ck_assert_int_eq(unwind_table_rule(table, CODE + 0x1000)->kind, UNWIND_NO_ROW);
}

START_TEST(test_shapes)
{
	int fd, err;

	build(&shapes[_i]);
	err = unwind_table_build_image(&table, file.bytes, file.size);
	ck_assert_msg(err == shapes[_i].err, "%s: %d", shapes[_i].what, err);
	if (err)
		return;
	check_table();
	unwind_table_free(table);
	table = NULL;

	fd = memfd_create("elf", MFD_CLOEXEC);
	ck_assert_int_eq(write(fd, file.bytes, file.size), file.size);
	ck_assert_int_eq(lseek(fd, 11, SEEK_SET), 11);
	ck_assert_int_eq(unwind_table_build(&table, fd), 0);
	ck_assert_int_eq(lseek(fd, 0, SEEK_CUR), 11);
	close(fd);
	check_table();
}
END_TEST

/* An image may lie anywhere. */
START_TEST(test_unaligned_image)
{
	char *copy = malloc(FILE_SIZE + 1);

	build(&shapes[0]);
	memcpy(copy + 1, file.bytes, file.size);
	ck_assert_int_eq(unwind_table_build_image(&table, copy + 1, file.size), 0);
	free(copy);
	check_table();
}
END_TEST

/* Two sections of that name: the header says which one counts. */
START_TEST(test_two_sections)
{
	Elf64_Shdr *sh = (Elf64_Shdr *)(file.bytes + 0x3100);

	build(&shapes[0]);
	sh[1].sh_name = sh[2].sh_name;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), 0);
	check_table();
}
END_TEST

START_TEST(test_not_for_us)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file.bytes;
	Elf64_Phdr *ph = (Elf64_Phdr *)(eh + 1);
	static const char *const paths[] = { "/dev/null", "/etc/passwd", "/", "/proc/self/maps" };

	build(&shapes[0]);
	eh->e_machine = EM_386;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENOEXEC);
	build(&shapes[0]);
	eh->e_ident[EI_CLASS] = ELFCLASS32;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENOEXEC);
	build(&shapes[0]);
	eh->e_ident[EI_DATA] = ELFDATA2MSB;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENOEXEC);
	build(&shapes[0]);
	ph[0].p_flags = PF_R;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENODATA);
	ck_assert_int_eq(unwind_table_build_image(&table, "", 0), -ENOEXEC);
	ck_assert_int_eq(unwind_table_build(&table, -1), -EBADF);
	for (int i = 0; i < 4; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		ck_assert_int_eq(unwind_table_build(&table, fd), -ENOEXEC);
		close(fd);
	}
	ck_assert_ptr_null(table);
}
END_TEST

/* ---- signal trampolines */

static const struct trampoline {
	const char *what;
	uint16_t machine;
	uint8_t size, code[9];
	struct unwind_rule rule;
} trampolines[] = {
	/* As in musl 1.2.3, in Go's runtime, and in the vdso of Linux 6.12. */
	{ "x86-64",
	  EM_X86_64,
	  9,
	  { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	  { .kind = UNWIND_SIGNAL, .cfa_off = 160, .ra_off = 168, .fp_off = 120 } },
	{ "x86-64, short",
	  EM_X86_64,
	  7,
	  { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 },
	  { .kind = UNWIND_SIGNAL, .cfa_off = 160, .ra_off = 168, .fp_off = 120 } },
	{ "arm64",
	  EM_AARCH64,
	  8,
	  { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 },
	  { .kind = UNWIND_SIGNAL, .cfa_off = 560, .ra_off = 568, .fp_off = 544, .arg = 552 } },
	{ "riscv64",
	  EM_RISCV,
	  8,
	  { 0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0 },
	  { .kind = UNWIND_SIGNAL, .cfa_off = 320, .ra_off = 304, .fp_off = 368, .arg = 312 } },
};

static void build_trampoline(const struct shape *shape, const struct trampoline *t, uint64_t at)
{
	build(shape);
	((Elf64_Ehdr *)file.bytes)->e_machine = t->machine;
	put(CODE_OFFSET + at, t->code, t->size);
}

static int kind_at(uint64_t at)
{
	return unwind_table_rule(table, CODE + at)->kind;
}

/* Where a return address to it, less one, is looked up, and while it runs; no further. */
START_TEST(test_trampoline)
{
	static const struct unwind_rule nothing;
	const struct trampoline *t = &trampolines[_i];
	int fd;

	build_trampoline(&shapes[6], t, 0x300);
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), 0);
	ck_assert(unwind_table_is_sound(table));
	ck_assert_uint_eq(table->nfdes, 0);
	ck_assert_mem_eq(unwind_table_rule(table, CODE + 0x2fe), &nothing, sizeof(nothing));
	for (int i = -1; i < 7; i++)
		ck_assert_mem_eq(unwind_table_rule(table, CODE + 0x300 + i), &t->rule,
				 sizeof(t->rule));
	ck_assert_int_eq(kind_at(0x309), UNWIND_NO_ROW);
	unwind_table_free(table);
	table = NULL;

	/* One bit off is another system call. */
	file.bytes[CODE_OFFSET + 0x300 + t->size - 1] ^= 1;
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENODATA);

	/* A vdso describes its other functions. */
	build_trampoline(&shapes[0], t, 0x1a0);
	if (t->machine == EM_X86_64) {
		ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), 0);
		ck_assert_int_eq(kind_at(0x17f), UNWIND_SP);
		ck_assert_int_eq(kind_at(0x19e), UNWIND_NO_ROW);
		ck_assert_int_eq(kind_at(0x19f), UNWIND_SIGNAL);
		ck_assert_int_eq(kind_at(0x1a0), UNWIND_SIGNAL);
		ck_assert_int_eq(kind_at(0x200), UNWIND_SP);
		unwind_table_free(table);
		table = NULL;
	}

	/* In a file, who has .eh_frame describes trampolines too. */
	fd = memfd_create("elf", MFD_CLOEXEC);
	ck_assert_int_eq(write(fd, file.bytes, file.size), file.size);
	ck_assert_int_eq(unwind_table_build(&table, fd), 0);
	close(fd);
	ck_assert_int_eq(kind_at(0x1a0), UNWIND_NO_ROW);
}
END_TEST

/* At the very beginning there is no byte before; more than there can be are the first ones. */
START_TEST(test_many_trampolines)
{
	const struct trampoline *t = &trampolines[0];

	build_trampoline(&shapes[6], t, 0);
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), -ENODATA);
	for (uint64_t at = 0x100; at < 0x1000; at += 0x100)
		put(CODE_OFFSET + at, t->code, t->size);
	ck_assert_int_eq(unwind_table_build_image(&table, file.bytes, file.size), 0);
	ck_assert_int_eq(kind_at(0), UNWIND_NO_ROW);
	ck_assert_int_eq(kind_at(0x100), UNWIND_SIGNAL);
	ck_assert_int_eq(kind_at(0x100 * UNWIND_TRAMPOLINES), UNWIND_SIGNAL);
	ck_assert_int_eq(kind_at(0x100 * (UNWIND_TRAMPOLINES + 1)), UNWIND_NO_ROW);
}
END_TEST

/* ---- damaged files */

/* Headers that promise more than the file has. */
START_TEST(test_lies)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)file.bytes;
	Elf64_Phdr *ph = (Elf64_Phdr *)(eh + 1);
	Elf64_Shdr *sh = (Elf64_Shdr *)(file.bytes + 0x3100);
	uint64_t huge[] = { 0, 1, FILE_SIZE - 1, FILE_SIZE, 1ULL << 40, -1ULL, -0x1000ULL };
	int tables = 0;

	for (int i = 0; i < 7; i++) {
		for (int k = 0; k < 10; k++) {
			build(&shapes[0]);
			*(uint64_t *[]){ &ph[0].p_filesz, &ph[0].p_offset, &ph[0].p_vaddr,
					 &ph[1].p_filesz, &ph[1].p_offset, &ph[2].p_vaddr,
					 &ph[2].p_offset, &sh[2].sh_size,  &sh[2].sh_offset,
					 &eh->e_shoff }[k] = huge[i];
			tables += !unwind_table_build_image(&table, file.bytes, file.size);
			unwind_table_free(table);
			table = NULL;
		}
	}
	ck_assert_int_gt(tables, 10);
	ck_assert_int_lt(tables, 60);
}
END_TEST

START_TEST(test_truncated)
{
	for (size_t size = 0; size < FILE_SIZE; size += 7) {
		build(&shapes[1]);
		/* Its own piece of memory: who reads beyond is caught. */
		uint8_t *part = malloc(size ? size : 1);
		int err;

		memcpy(part, file.bytes, size);
		err = unwind_table_build_image(&table, part, size);
		free(part);
		if (size >= file.eh_frame + file.eh_frame_size)
			ck_assert_int_eq(err, 0);
		else if (size < DATA_OFFSET)
			ck_assert_int_lt(err, 0);
		unwind_table_free(table);
		table = NULL;
	}
}
END_TEST

/* ---- what is installed */

/* Whether there is code and an .eh_frame worth the name, looked up in another way than ours. */
static bool should_have_table(const char *path)
{
	char command[4500], line[512];
	unsigned long size = 0;
	FILE *p;

	snprintf(command, sizeof(command),
		 "readelf -lSW '%s' 2>/dev/null | awk '/^  LOAD .* R.E / { code = 1 } "
		 "/ \\.eh_frame +(PROGBITS|X86_64_UNWIND|LOPROC)/ { sub(/.*\\] /, \"\"); size = $5 "
		 "} "
		 "END { print code ? size : 0 }'",
		 path);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	if (fgets(line, sizeof(line), p))
		size = strtoul(line, NULL, 16);
	pclose(p);
	return size > 4;
}

static void digest(const char *path, int counts[3])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err;

	if (fd < 0)
		return;
	err = unwind_table_build(&table, fd);
	close(fd);
	if (!err) {
		counts[0]++;
		ck_assert_msg(unwind_table_is_sound(table), "%s", path);
		ck_assert_msg(!table->stats.bad_fdes, "%s: %lu bad FDEs", path,
			      table->stats.bad_fdes);
		unwind_table_free(table);
		table = NULL;
	} else if (err == -ENODATA) {
		counts[1]++;
		ck_assert_msg(!should_have_table(path), "%s: what of its .eh_frame?", path);
	} else {
		counts[2]++;
		ck_assert_msg(err == -ENOEXEC, "%s: %s", path, strerror(-err));
	}
}

/* All of them with ALL=1; else every 16th, and no more than some hundred. */
START_TEST(test_installed)
{
	int counts[3] = { 0 }, every = getenv("ALL") ? 1 : 16, n = 0;
	char path[4096];
	FILE *p = popen("find /usr/bin /usr/lib -xdev -type f \\( -perm -u+x -o -name '*.so*' \\) "
			"-size +0 2>/dev/null",
			"r");

	ck_assert_ptr_nonnull(p);
	while (fgets(path, sizeof(path), p)) {
		path[strcspn(path, "\n")] = 0;
		if (n++ % every == 0 && !strchr(path, '\''))
			digest(path, counts);
	}
	pclose(p);
	printf("%d files digested, %d without .eh_frame, %d not for us\n", counts[0], counts[1],
	       counts[2]);
	ck_assert_int_gt(counts[0], 20);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("unwind tables of ELF files");
	TCase *t = tcase_create("ELF");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 600);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_shapes, 0, sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(t, test_unaligned_image);
	tcase_add_test(t, test_two_sections);
	tcase_add_test(t, test_not_for_us);
	tcase_add_loop_test(t, test_trampoline, 0, sizeof(trampolines) / sizeof(trampolines[0]));
	tcase_add_test(t, test_many_trampolines);
	tcase_add_test(t, test_lies);
	tcase_add_test(t, test_truncated);
	tcase_add_test(t, test_installed);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
