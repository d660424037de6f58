/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes by name: those of this very file, of what Debian installs beside readelf, and of
 * files that were stripped, moved by prelink, or made to do harm.
 */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "../workloads/usdt_probes.h"

static struct sym_usdt *read_fd(int fd)
{
	struct sym_usdt *u = NULL;

	ck_assert_int_eq(sym_usdt_read(fd, &u), 0);
	return u;
}

static struct sym_usdt *read_path(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sym_usdt *u;

	ck_assert_int_ge(fd, 0);
	u = read_fd(fd);
	close(fd);
	return u;
}

static size_t count_named(const struct sym_usdt *u, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < u->count; i++)
		n += !strcmp(u->items[i].name, name);
	return n;
}

/* ---- our own file, in memory, to be changed */

struct image {
	unsigned char *bytes;
	size_t size;
	Elf64_Ehdr *eh;
	Elf64_Shdr *sh;
};

static void load_own(struct image *m)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fstat(fd, &st), 0);
	m->size = (size_t)st.st_size;
	m->bytes = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ck_assert_ptr_ne(m->bytes, MAP_FAILED);
	close(fd);
	m->eh = (Elf64_Ehdr *)m->bytes;
	m->sh = (Elf64_Shdr *)(m->bytes + m->eh->e_shoff);
}

static Elf64_Shdr *section(const struct image *m, const char *name)
{
	const Elf64_Shdr *names = &m->sh[m->eh->e_shstrndx];

	for (int i = 1; i < m->eh->e_shnum; i++) {
		if (!strcmp((char *)m->bytes + names->sh_offset + m->sh[i].sh_name, name))
			return &m->sh[i];
	}
	ck_abort_msg("no section %s", name);
}

static struct sym_usdt *read_image(const struct image *m)
{
	const int fd = memfd_create("image", MFD_CLOEXEC);
	struct sym_usdt *u;

	ck_assert_int_eq(write(fd, m->bytes, m->size), (ssize_t)m->size);
	u = read_fd(fd);
	close(fd);
	return u;
}

/* Where the addresses of note number @n are, which are padded to 4 bytes only. */
typedef uint64_t address_in_note __attribute__((aligned(4)));
static address_in_note *addresses(const struct image *m, int n)
{
	const Elf64_Shdr *sh = section(m, ".note.stapsdt");
	unsigned char *p = m->bytes + sh->sh_offset;

	for (; n; n--) {
		const Elf64_Nhdr *h = (const Elf64_Nhdr *)p;

		p += sizeof(*h) + 8 + ((h->n_descsz + 3) & ~3U);
	}
	return (address_in_note *)(p + sizeof(Elf64_Nhdr) + 8);
}

/* ---- what is there */

START_TEST(own_probes)
{
	struct sym_usdt *u = read_path("/proc/self/exe");
	uint64_t text = 0, data = 0;
	struct image m;

	load_own(&m);
	ck_assert_uint_eq(u->unusable, 0);
	ck_assert_uint_eq(count_named(u, "inlined"), 4);
	ck_assert_uint_eq(count_named(u, "heard"), 1);
	for (int n = 0; n <= 12; n++) {
		char name[16];

		snprintf(name, sizeof(name), "args%d", n);
		ck_assert_uint_eq(count_named(u, name), 1);
	}
	for (size_t i = 0; i < u->count; i++) {
		const struct sym_usdt_site *s = &u->items[i];

		ck_assert_str_eq(s->provider, "shop");
		if (i)
			ck_assert_int_le(strcmp(s[-1].name, s->name), 0);
		/* The instruction there is the nop. */
		ck_assert_uint_lt(s->offset + 4, m.size);
#if defined(__x86_64__)
		ck_assert_uint_eq(m.bytes[s->offset], 0x90);
#endif
		text += s->offset;
		if (!strcmp(s->name, "heard"))
			data = s->semaphore;
		else
			ck_assert_uint_eq(s->semaphore, 0);
	}
	ck_assert_uint_gt(text, 0);
	/* and 16 bits that are 0 in .probes */
	ck_assert_uint_eq(data, section(&m, ".probes")->sh_offset);
	munmap(m.bytes, m.size);
	sym_usdt_free(u);
}
END_TEST

/* As readelf has them: provider, name, location and arguments, in any order. */
static int compare_with_readelf(const char *path)
{
	struct sym_usdt *u = read_path(path);
	char command[512], *line = NULL;
	size_t room = 0, lines = 0;
	FILE *f;

	snprintf(command, sizeof(command),
		 "readelf -nW %s | awk '/Provider: / { p = $NF } /^    Name: / { n = $2 } "
		 "/^    Location: / { l = $2; sub(/,/, \"\", l); s = $NF } "
		 "/^    Arguments:/ { sub(/^    Arguments: ?/, \"\"); print p, n, l, s, $0 }'",
		 path);
	f = popen(command, "r");
	ck_assert_ptr_nonnull(f);
	while (getline(&line, &room, f) > 0) {
		bool found = false;

		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; !found && i < u->count; i++) {
			const struct sym_usdt_site *s = &u->items[i];
			char mine[512];
			int n = snprintf(mine, sizeof(mine), "%s %s 0x%016llx 0x", s->provider,
					 s->name, (unsigned long long)s->vaddr);

			found = !strncmp(line, mine, (size_t)n) &&
				!strcmp(line + n + 16 + 1, s->args) &&
				!strncmp(line + n, "0000000000000000", 16) == !s->semaphore;
		}
		ck_assert_msg(found, "%s: %s", path, line);
		lines++;
	}
	pclose(f);
	free(line);
	ck_assert_msg(lines == u->count, "%s: %zu, readelf %zu", path, u->count, lines);
	sym_usdt_free(u);
	return (int)lines;
}

START_TEST(as_readelf_has_them)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/lib/aarch64-linux-gnu/libstdc++.so.6",
		"/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/usr/bin/python3.11",
		"/usr/bin/x86_64-linux-gnu-gcc-12",
		"/lib/x86_64-linux-gnu/libc.so.6",
	};
	int compared = 0;
	char own[64];

	if (system("readelf --version >/dev/null 2>&1")) {
		puts("skip as_readelf_has_them (no readelf)");
		return;
	}
	snprintf(own, sizeof(own), "/proc/%d/exe", (int)getpid());
	ck_assert_int_gt(compare_with_readelf(own), 18);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!access(paths[i], R_OK))
			compared += compare_with_readelf(paths[i]) > 0;
	}
	printf("%d installed files with probes\n", compared);
}
END_TEST

START_TEST(prelink_has_moved_the_file)
{
	struct sym_usdt *before = read_path("/proc/self/exe"), *after;
	struct image m;

	load_own(&m);
	for (int n = 0; n < (int)before->count; n++) {
		address_in_note *a = addresses(&m, n);

		a[0] -= 0x5000;
		a[1] -= 0x5000;
		a[2] -= a[2] ? 0x5000 : 0;
	}
	after = read_image(&m);
	ck_assert_uint_eq(after->count, before->count);
	for (size_t i = 0; i < before->count; i++) {
		ck_assert_uint_eq(after->items[i].offset, before->items[i].offset);
		ck_assert_uint_eq(after->items[i].semaphore, before->items[i].semaphore);
	}
	munmap(m.bytes, m.size);
	sym_usdt_free(after);
	sym_usdt_free(before);
}
END_TEST

/* strip leaves the notes: they are how installed programs have them. */
START_TEST(stripped)
{
	char path[] = "/tmp/test_sym_usdt.XXXXXX", command[128];
	struct sym_usdt *before = read_path("/proc/self/exe"), *after;
	const int fd = mkstemp(path);
	uint64_t vaddr;
	struct image m;

	load_own(&m);
	ck_assert_int_eq(write(fd, m.bytes, m.size), (ssize_t)m.size);
	close(fd);
	snprintf(command, sizeof(command), "strip -s %s", path);
	if (!system(command)) {
		after = read_path(path);
		ck_assert_uint_eq(after->count, before->count);
		ck_assert_str_eq(after->items[0].args, before->items[0].args);
		ck_assert_int_eq(sym_usdt_variable(after, "usdt_sources", &vaddr), -ENOENT);
		sym_usdt_free(after);
	} else {
		puts("skip stripped (no strip)");
	}
	unlink(path);
	munmap(m.bytes, m.size);
	sym_usdt_free(before);
}
END_TEST

START_TEST(nothing_there)
{
	struct sym_usdt *u = NULL;
	int fd = memfd_create("text", MFD_CLOEXEC);
	struct image m;

	ck_assert_int_eq(write(fd, "no ELF file", 11), 11);
	ck_assert_int_eq(sym_usdt_read(fd, &u), -ENOEXEC);
	ck_assert_ptr_null(u);
	close(fd);
	ck_assert_int_eq(sym_usdt_read(-1, &u), -EBADF);
	load_own(&m);
	m.eh->e_shoff = 0;
	u = read_image(&m);
	ck_assert_uint_eq(u->count, 0);
	ck_assert_uint_eq(u->unusable, 0);
	sym_usdt_free(u);
	munmap(m.bytes, m.size);
}
END_TEST

/* ---- variables */

static int64_t only_here = 5;

START_TEST(variables)
{
	struct sym_usdt *u = read_path("/proc/self/exe");
	uint64_t sources = 0, here = 0, vaddr = 7;

	ck_assert_int_eq(sym_usdt_variable(u, "usdt_sources", &sources), 0);
	ck_assert_int_eq(sym_usdt_variable(u, "only_here", &here), 0);
	ck_assert_uint_eq(here - sources, (uint64_t)((char *)&only_here - (char *)&usdt_sources));
	ck_assert_int_eq(sym_usdt_variable(u, "usdt_source", &vaddr), -ENOENT);
	ck_assert_int_eq(sym_usdt_variable(u, "", &vaddr), -ENOENT);
	ck_assert_uint_eq(vaddr, 7);
	sym_usdt_free(u);
}
END_TEST

/* Every argument of every place may name another one that is not there. */
START_TEST(looking_for_variables_ends)
{
	struct sym_usdt *u = read_path("/proc/self/exe");
	uint64_t vaddr = 7;
	int err = -ENOENT, times = 0;

	for (; err == -ENOENT && times < 1000000; times++)
		err = sym_usdt_variable(u, "no_such_variable", &vaddr);
	ck_assert_int_eq(err, -E2BIG);
	ck_assert_int_gt(times, 20);
	ck_assert_int_eq(sym_usdt_variable(u, "usdt_sources", &vaddr), -E2BIG);
	ck_assert_uint_eq(vaddr, 7);
	sym_usdt_free(u);
}
END_TEST

/* ---- harm */

START_TEST(addresses_that_are_not_loaded)
{
	struct image m;
	struct sym_usdt *u;
	size_t count;

	load_own(&m);
	u = read_image(&m);
	count = u->count;
	sym_usdt_free(u);
	addresses(&m, 0)[0] = 0x7fffffffffff;
	addresses(&m, 1)[0] = section(&m, ".probes")->sh_addr; /* no code */
	addresses(&m, 2)[2] = addresses(&m, 2)[0];	       /* cannot be written to */
	u = read_image(&m);
	ck_assert_uint_eq(u->count, count - 3);
	ck_assert_uint_eq(u->unusable, 3);
	sym_usdt_free(u);
	munmap(m.bytes, m.size);
}
END_TEST

START_TEST(one_place_is_probed_once)
{
	struct image m;
	struct sym_usdt *u;
	size_t count;

	load_own(&m);
	u = read_image(&m);
	count = u->count;
	sym_usdt_free(u);
	/* The second of the four "inlined" at the place of the first. */
	for (int n = 0, at = -1; n < (int)count; n++) {
		if (strcmp((char *)(addresses(&m, n) + 3) + 5, "inlined"))
			continue;
		if (at < 0) {
			at = n;
			continue;
		}
		addresses(&m, n)[0] = addresses(&m, at)[0];
		break;
	}
	u = read_image(&m);
	ck_assert_uint_eq(u->count, count - 1);
	ck_assert_uint_eq(count_named(u, "inlined"), 3);
	sym_usdt_free(u);
	munmap(m.bytes, m.size);
}
END_TEST

START_TEST(damaged_notes)
{
	struct image m;
	struct sym_usdt *u;
	Elf64_Shdr *sh;
	size_t whole;

	load_own(&m);
	sh = section(&m, ".note.stapsdt");
	u = read_image(&m);
	whole = u->count;
	sym_usdt_free(u);
	/* Cut off anywhere: what is before stays. */
	for (uint64_t size = sh->sh_size; sh->sh_size > 40; sh->sh_size -= 7) {
		u = read_image(&m);
		ck_assert_uint_le(u->count, whole);
		ck_assert(u->count + 1 >= whole * sh->sh_size / size / 3);
		ck_assert_uint_le(u->unusable, 1);
		sym_usdt_free(u);
	}
	/* A size that reaches beyond the section ends it, whatever it is. */
	sh->sh_size = 400;
	((uint32_t *)(m.bytes + sh->sh_offset))[1] = 0xfffffffd;
	u = read_image(&m);
	ck_assert_uint_eq(u->count, 0);
	ck_assert_uint_eq(u->unusable, 1);
	sym_usdt_free(u);
	/* No string ends. */
	((uint32_t *)(m.bytes + sh->sh_offset))[1] = 380;
	memset(m.bytes + sh->sh_offset + 20 + 24, 'x', 356);
	u = read_image(&m);
	ck_assert_uint_eq(u->count, 0);
	ck_assert_uint_eq(u->unusable, 1);
	sym_usdt_free(u);
	/* The section is somewhere else, and larger than what there is. */
	sh->sh_offset = m.size - 16;
	sh->sh_size = 1ULL << 40;
	u = read_image(&m);
	ck_assert_uint_eq(u->count, 0);
	sym_usdt_free(u);
	munmap(m.bytes, m.size);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("USDT probes by name");
	TCase *tc = tcase_create("notes");
	SRunner *runner;
	int failed;

	usdt_pass_all(); /* they are used */
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, own_probes);
	tcase_add_test(tc, as_readelf_has_them);
	tcase_add_test(tc, prelink_has_moved_the_file);
	tcase_add_test(tc, stripped);
	tcase_add_test(tc, nothing_there);
	tcase_add_test(tc, variables);
	tcase_add_test(tc, looking_for_variables_ends);
	tcase_add_test(tc, addresses_that_are_not_loaded);
	tcase_add_test(tc, one_place_is_probed_once);
	tcase_add_test(tc, damaged_notes);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
