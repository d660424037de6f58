/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions without symbols are known by where they begin. */
#include <fcntl.h>

#include <rawprof/unwind.h>

#include "symbolize/fdes.h"
#include "sym_user.h"

static struct sym_object *object;
static struct sym_fdes *fdes;

static int open_fdes(const char *path)
{
	ck_assert_int_eq(sym_object_open(&object, open(path, O_RDONLY | O_CLOEXEC)), 0);
	return sym_fdes_read(&fdes, object);
}

/* By all of .eh_frame, as if the file had no table of it. */
static struct sym_fdes *read_all(void)
{
	const struct sym_bytes table = object->eh_frame_hdr;
	struct sym_fdes *all;

	ck_assert_uint_gt(table.size, 0);
	object->eh_frame_hdr = (struct sym_bytes){ 0 };
	ck_assert_int_eq(sym_fdes_read(&all, object), 0);
	object->eh_frame_hdr = table;
	return all;
}

static void close_fdes(void)
{
	sym_fdes_close(fdes);
	sym_object_close(object);
	fdes = NULL;
	object = NULL;
}

/* Every 61 bytes of code it is what the unwind table says, which tests compare with readelf. */
static void compare_with_table(const char *path)
{
	struct unwind_table *t;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = unwind_table_build(&t, fd);
	uint64_t start, by_all, expected, found = 0;
	struct sym_fdes *all;
	size_t index;
	bool is_found;

	close(fd);
	if (err == -ENOEXEC)
		return; /* a machine that no tables are made for */
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(open_fdes(path), 0);
	all = read_all();
	for (size_t i = 0; i < object->code_count; i++) {
		const struct sym_section *code = &object->code[i];

		for (uint64_t at = code->addr; at < code->addr + code->size; at += 61) {
			is_found = sym_fdes_find(fdes, at, &start, &index);
			ck_assert_uint_lt(is_found ? index : 0, sym_fdes_count(fdes));
			ck_assert_msg(is_found == sym_fdes_find(all, at, &by_all, &index) &&
					      (!is_found || start == by_all),
				      "%s: %" PRIx64 " by .eh_frame_hdr and by all", path, at);
			/* The padding behind a function counts as the function's there. */
			if (!is_found)
				continue;
			ck_assert_int_eq(unwind_table_fde_start(t, at, &expected), 0);
			ck_assert_msg(start == expected, "%s: %" PRIx64, path, at);
			found++;
		}
	}
	ck_assert_uint_ge(found, 10);
	unwind_table_free(t);
	sym_fdes_close(all);
	close_fdes();
}

START_TEST(test_as_table)
{
	char line[512], path[512];
	FILE *f = fopen("/proc/self/maps", "r");

	compare_with_table("/proc/self/exe");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s r-xp %*s %*s %*s %511s", path) == 1 && *path == '/')
			compare_with_table(path);
	}
	fclose(f);
}
END_TEST

static void compile(const char *flags)
{
	static const char source[] =
		"static int __attribute__((noinline)) first(int x) { return x * 3; }\n"
		"int __attribute__((noinline)) second(int x) { return first(x) + 1; }\n"
		"int main(int n, char **v) { return second(n); }\n";

	write_file(in_dir("a.c"), source, strlen(source));
	run("gcc -w -O1 %s -Wl,--build-id=sha1 -o %s/a %s/a.c", flags, dir, dir);
	run("cp %s/a %s/stripped && strip -s %s/stripped", dir, dir, dir);
}

struct function {
	uint64_t addr, size;
};

static struct function from_nm(const char *name)
{
	struct function f = { 0 };
	char command[600], line[256], word[64];
	FILE *p;

	snprintf(command, sizeof(command), "nm -S %s/a", dir);
	p = popen(command, "r");
	ck_assert_ptr_nonnull(p);
	while (fgets(line, sizeof(line), p)) {
		uint64_t addr, size;

		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %*c %63s", &addr, &size, word) == 3 &&
		    !strcmp(word, name))
			f = (struct function){ addr, size };
	}
	pclose(p);
	ck_assert_uint_gt(f.size, 1);
	return f;
}

static uint64_t offset_of(uint64_t vaddr)
{
	for (size_t i = 0; i < object->segment_count; i++) {
		const struct sym_segment *s = &object->segments[i];

		if (vaddr - s->vaddr < s->size)
			return vaddr - s->vaddr + s->offset;
	}
	ck_abort_msg("%" PRIx64 " is in no segment", vaddr);
}

static const char *const builds[] = { "", "-no-pie", "-static", "-static-pie" };

/* Every address of a function of a stripped file has one name, that of its start. */
START_TEST(test_stripped)
{
	static const char *const names[] = { "first", "second", "main" };
	char place[64];

	compile(builds[_i]);
	ck_assert_int_eq(open_fdes(in_dir("stripped")), 0);
	map(10, 1, 0x70000000, 0x70400000, 0, in_dir("stripped"));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct function f = from_nm(names[i]);

		snprintf(place, sizeof(place), "[stripped+0x%" PRIx64 "]", f.addr);
		for (uint64_t at = f.addr; at < f.addr + f.size; at++) {
			struct sym_frame frame;

			frame = look(1, 10, 0x70000000 + offset_of(at));
			ck_assert_pstr_eq(frame.name, place);
			ck_assert(frame.is_place);
			ck_assert_uint_eq(frame.offset, at - f.addr);
			ck_assert_uint_eq(frame.module_addr, at);
		}
	}
	close_fdes();
}
END_TEST

/* A return address behind the last instruction of a function is that function's. */
START_TEST(test_return_address)
{
	struct function f;
	struct sym_frame frame;
	char place[64];

	compile("-no-pie -Wl,-z,noseparate-code");
	f = from_nm("second");
	map(10, 1, 0x400000, 0x402000, 0, in_dir("stripped"));
	snprintf(place, sizeof(place), "[stripped+0x%" PRIx64 "]", f.addr);
	sym_user_lookup(user, 1, 10, f.addr + f.size, true, &frame);
	ck_assert_pstr_eq(frame.name, place);
	ck_assert_uint_eq(frame.offset, f.size);
}
END_TEST

/* With symbols nothing changes; where no FDE is, there is no name. */
START_TEST(test_elsewhere)
{
	static const struct elf_symbol half[] = { { "half", 0x1000, 0x10, STT_FUNC, STB_GLOBAL,
						    0 } };
	struct sym_frame f;

	compile("-no-pie -Wl,-z,noseparate-code");
	map(10, 1, 0x400000, 0x402000, 0, in_dir("a"));
	f = look(1, 10, from_nm("first").addr + 1);
	ck_assert_pstr_eq(f.name, "first");
	ck_assert(!f.is_place);
	write_elf(in_dir("lib"), half, NULL);
	map(10, 1, 0x1000, 0x2000, 0x1000, in_dir("lib"));
	ck_assert_pstr_eq(look(1, 10, 0x1004).name, "half");
	ck_assert_ptr_null(look(1, 10, 0x1014).name);
	ck_assert(!look(1, 10, 0x1014).is_place);
}
END_TEST

/* A path as long as a file's name may be, and one that the kernel says is deleted. */
START_TEST(test_odd_paths)
{
	char path[600], place[300], link[600];
	struct sym_mmap m = { .time = 20,
			      .pid = 2,
			      .start = 0x400000,
			      .len = 0x2000,
			      .filename = "/gone/by now (deleted)" };
	struct stat st;
	uint64_t start;

	compile("-no-pie -Wl,-z,noseparate-code");
	start = from_nm("first").addr;
	snprintf(path, sizeof(path), "%s/%0255d", dir, 7);
	run("cp %s/stripped %s", dir, path);
	map(10, 1, 0x400000, 0x402000, 0, path);
	snprintf(place, sizeof(place), "[%0255d+0x%" PRIx64 "]", 7, start);
	ck_assert_pstr_eq(look(1, 10, start).name, place);

	run("mkdir -p %s/proc/2/map_files", dir);
	snprintf(link, sizeof(link), "%s/proc/2/map_files/400000-402000", dir);
	ck_assert_int_eq(symlink(path, link), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	m.inode = st.st_ino;
	ck_assert_int_eq(sym_user_mmap(user, &m), 0);
	snprintf(place, sizeof(place), "[by now+0x%" PRIx64 "]", start);
	ck_assert_pstr_eq(look(2, 20, start).name, place);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("places");
	TCase *t = tcase_create("places");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_as_table);
	tcase_add_loop_test(t, test_stripped, 0, sizeof(builds) / sizeof(builds[0]));
	tcase_add_test(t, test_return_address);
	tcase_add_test(t, test_elsewhere);
	tcase_add_test(t, test_odd_paths);
	return run_all(s, t);
}
