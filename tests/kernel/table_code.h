/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with code, as little else as has a table, and as many parts of it as a test wants. */
#ifndef TESTS_TABLE_CODE_H
#define TESTS_TABLE_CODE_H

#include <check.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#define TABLE_CODE_AT 0x1000 /* in the file, and its address there */
#define TABLE_CODE_MOST 64

/* What comes before .eh_frame, which has @n functions. */
static inline void write_code_headers(int fd, uint32_t n, uint64_t bytes)
{
	enum { TABLE = 0x200, NAMES = 0x1d0 };
	const Elf64_Ehdr eh = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
				.e_machine = EM_X86_64,
				.e_phoff = sizeof(eh),
				.e_phentsize = sizeof(Elf64_Phdr),
				.e_phnum = 1,
				.e_shoff = 0x100,
				.e_shentsize = sizeof(Elf64_Shdr),
				.e_shnum = 3,
				.e_shstrndx = 1 };
	const Elf64_Phdr ph = { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = TABLE_CODE_AT,
				.p_vaddr = TABLE_CODE_AT,
				.p_filesz = bytes };
	const Elf64_Shdr sh[3] = {
		[1] = { .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = 16 },
		[2] = { .sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC,
			.sh_addr = TABLE,
			.sh_offset = TABLE,
			.sh_size = 24 + 32 * n + 8 },
	};

	ck_assert_int_eq(pwrite(fd, &eh, sizeof(eh), 0), sizeof(eh));
	ck_assert_int_eq(pwrite(fd, &ph, sizeof(ph), sizeof(eh)), sizeof(ph));
	ck_assert_int_eq(pwrite(fd, sh, sizeof(sh), 0x100), sizeof(sh));
	ck_assert_int_eq(pwrite(fd, "\0.eh_frame", 11, NAMES), 11);
}

/* A file of @uid's with @n functions of so many bytes, so far from each other: 64 MB are a gap. */
static inline int code_of_functions(uid_t uid, uint32_t n, uint64_t bytes, uint64_t apart)
{
	static const uint8_t cie[] = { 20, 0,	 0, 0, 0,    0, 0, 0, 1, 0, 1, 0x78,
				       16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0 };
	const uint64_t all = (n - 1) * apart + bytes;
	int fd = memfd_create("code", MFD_CLOEXEC);

	ck_assert_uint_le(n, TABLE_CODE_MOST);
	ck_assert_int_eq(ftruncate(fd, (off_t)(TABLE_CODE_AT + all)), 0);
	write_code_headers(fd, n, all);
	ck_assert_int_eq(pwrite(fd, cie, sizeof(cie), 0x200), sizeof(cie));
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = (uint32_t)sizeof(cie) + 32 * i;
		const struct {
			uint32_t len, cie;
			uint64_t start, size;
			uint64_t nothing;
		} fde = { 28, at + 4, TABLE_CODE_AT + i * apart, bytes, 0 };

		ck_assert_int_eq(pwrite(fd, &fde, sizeof(fde), 0x200 + at), sizeof(fde));
	}
	ck_assert_int_eq(fchown(fd, uid, (gid_t)-1), 0);
	return fd;
}

#endif
