/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every ELF file that is installed: its symbols and its unwind table are made without an error, or
 * the error is one that has a reason. A tenth of the files, chosen by their names; ALL_FILES=1:
 * all, which takes half a minute.
 */
#include <fcntl.h>
#include <elf.h>
#include <ftw.h>

#include <rawprof/unwind.h>

#include "base/hash.h"
#include "sym_table.h"

static const char *const roots[] = { "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec" };

enum { EVERY = 10, PLACES = 40 };

/* Why a file has no table. */
enum reason { TABLE, OTHER_MACHINE, NO_FRAMES, OBJECT_FILE, REASONS };
static const char *const reasons[REASONS] = {
	[TABLE] = "have a table",
	[OTHER_MACHINE] = "are of a machine that no tables are made for",
	[NO_FRAMES] = "have no code, or no .eh_frame that describes it",
	[OBJECT_FILE] = "are not linked yet (kernel modules, objects)",
};
static uint64_t files, count[REASONS], with_symbols, damaged;

static void look_at_symbols(const char *path, int fd)
{
	const char *name;
	uint64_t start;
	int err = sym_object_open(&object, fd);

	ck_assert_msg(!err, "%s: %d", path, err);
	err = sym_symtab_open(&symtab, object, NULL, &strings);
	ck_assert_msg(!err, "%s: symbols: %d", path, err);
	with_symbols += symtab->span_count != 0;
	for (size_t i = 0; i < object->code_count; i++) {
		const struct sym_section *code = &object->code[i];

		for (uint64_t k = 0; k < PLACES; k++) {
			uint64_t at = code->addr + code->size / PLACES * k;

			if (sym_symtab_lookup(symtab, at, &name, &start))
				ck_assert_msg(start <= at && *name, "%s: %" PRIx64, path, at);
			else if (sym_symtab_place(symtab, at, "/x", &name, &start))
				ck_assert_msg(start <= at, "%s: %" PRIx64, path, at);
		}
	}
	teardown();
}

static enum reason look_at_table(const char *path, int fd, const Elf64_Ehdr *eh)
{
	struct unwind_table *t;
	int err = unwind_table_build(&t, fd);

	if (!err) {
		/*
		 * A row that no rule expresses ends a walk, and is counted; a record that makes no
		 * sense too.
		 */
		if (t->stats.bad_fdes) {
			damaged++;
			printf("%s: %" PRIu64 " of %" PRIu64 " FDEs make no sense\n", path,
			       t->stats.bad_fdes, t->stats.fdes);
		}
		ck_assert_msg(t->nparts && t->nrules, "%s", path);
		unwind_table_free(t);
		return TABLE;
	}
	if (err == -ENODATA)
		return eh->e_type == ET_REL ? OBJECT_FILE : NO_FRAMES;
	ck_assert_msg(err == -ENOEXEC, "%s: table: %d", path, err);
	ck_assert_msg(eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB ||
			      (eh->e_machine != EM_X86_64 && eh->e_machine != EM_AARCH64),
		      "%s: refused", path);
	return OTHER_MACHINE;
}

static bool is_chosen(const char *path)
{
	return getenv("ALL_FILES") || rp_hash_lasting(path, strlen(path)) % EVERY == 0;
}

static int look(const char *path, const struct stat *st, int type, struct FTW *where)
{
	Elf64_Ehdr eh;
	int fd;

	(void)where;
	if (type != FTW_F || !S_ISREG(st->st_mode) || !is_chosen(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh) && !memcmp(eh.e_ident, ELFMAG, SELFMAG) &&
	    eh.e_ident[EI_DATA] == ELFDATA2LSB && eh.e_ident[EI_CLASS]) {
		files++;
		look_at_symbols(path, dup(fd));
		count[look_at_table(path, fd, &eh)]++;
	}
	close(fd);
	return 0;
}

START_TEST(test_installed)
{
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		nftw(roots[i], look, 32, FTW_PHYS);
	printf("%" PRIu64 " files; %" PRIu64 " have symbols\n", files, with_symbols);
	for (int r = 0; r < REASONS; r++)
		printf("%7" PRIu64 " %s\n", count[r], reasons[r]);
	ck_assert_uint_ge(files, 1);
	ck_assert_uint_ge(count[TABLE], 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("installed files");
	TCase *t = tcase_create("installed files");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 600);
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, test_installed);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
