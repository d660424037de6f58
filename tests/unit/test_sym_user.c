/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes over time, told by events alone, and the files behind their mappings. */
#include <fcntl.h>

#include "sym_user.h"

/* ---- mappings over time */

START_TEST(test_mappings)
{
	map(10, 1, 0x1000, 0x9000, 0, "/a");
	map(20, 1, 0x3000, 0x5000, 0, "/b"); /* splits it */
	map(30, 1, 0x4000, 0xa000, 0x2000, "/c");
	ck_module(1, 9, 0x1000, NULL);
	ck_module(1, 10, 0x1000, "/a");
	ck_module(1, 19, 0x3000, "/a");
	ck_module(1, 20, 0x3000, "/b");
	ck_module(1, 20, 0x5000, "/a");
	ck_module(1, 30, 0x4fff, "/c");
	ck_module(1, 30, 0x3fff, "/b");
	ck_module(1, 30, 0x2fff, "/a");
	ck_module(1, UINT64_MAX, 0xa000, NULL);
	ck_module(1, 30, 0xfff, NULL);
	ck_module(2, 30, 0x1000, NULL);
	ck_assert_int_eq(look(1, 30, 0x4010).kind, SYM_USER);
	ck_assert_uint_eq(look(1, 30, 0x4010).module_addr, 0x2010);
	ck_assert_uint_eq(look(1, 30, 0x4010).map_start, 0x4000);
	ck_assert_uint_eq(look(1, 30, 0x4010).map_end, 0xa000);
	ck_assert_uint_eq(look(1, 30, 0x4010).map_offset, 0x2000);
	ck_assert_int_eq(look(1, 9, 0x1000).kind, SYM_UNKNOWN);
	ck_assert_uint_eq(look(1, 9, 0x1000).module_addr, 0x1000);
}
END_TEST

START_TEST(test_return_address)
{
	struct sym_frame f;

	map(10, 1, 0x1000, 0x2000, 0, "/a");
	map(10, 1, 0x2000, 0x3000, 0, "/b");
	sym_user_lookup(user, 1, 10, 0x2000, true, &f);
	ck_assert_str_eq(f.module, "/a");
	ck_assert_uint_eq(f.module_addr, 0x1000);
	sym_user_lookup(user, 1, 10, 0x2000, false, &f);
	ck_assert_str_eq(f.module, "/b");
}
END_TEST

START_TEST(test_fork_and_exec)
{
	map(10, 1, 0x1000, 0x2000, 0, "/parent");
	sym_user_comm(user, 11, 1, 1, "sh", false);
	sym_user_fork(user, 20, 2, 1);
	map(25, 1, 0x1000, 0x2000, 0, "/later_in_parent");
	sym_user_comm(user, 30, 2, 2, "child", true);
	map(31, 2, 0x5000, 0x6000, 0, "/child");
	sym_user_fork(user, 40, 3, 2);
	sym_user_fork(user, 41, 4, 3);
	sym_user_exit(user, 50, 2);

	ck_module(2, 19, 0x1000, NULL); /* not born yet */
	ck_module(2, 20, 0x1000, "/parent");
	ck_module(2, 29, 0x1000, "/parent");
	ck_module(1, 29, 0x1000, "/later_in_parent");
	ck_module(2, 30, 0x1000, NULL);
	ck_module(2, 31, 0x5000, "/child");
	ck_module(4, 45, 0x5000, "/child"); /* from its grandparent */
	ck_module(4, 45, 0x1000, NULL);
	ck_module(2, 51, 0x5000, "/child"); /* a last sample may come late */
	ck_comm(2, 19, NULL);
	ck_comm(2, 20, "sh");
	ck_comm(2, 30, "child");
	ck_comm(4, 41, "child");
	ck_comm(1, 100, "sh");
	ck_comm(1, 10, NULL);
	ck_comm(77, 10, NULL);
}
END_TEST

START_TEST(test_pid_reused)
{
	sym_user_fork(user, 10, 5, 1);
	sym_user_comm(user, 11, 5, 5, "first", true);
	map(12, 5, 0x1000, 0x2000, 0, "/first");
	sym_user_exit(user, 20, 5);
	sym_user_comm(user, 5, 1, 1, "init", false);
	sym_user_fork(user, 30, 5, 1);
	sym_user_comm(user, 35, 5, 5, "second", true);
	map(36, 5, 0x1000, 0x2000, 0, "/second");

	ck_module(5, 15, 0x1000, "/first");
	ck_module(5, 32, 0x1000, NULL);
	ck_module(5, 40, 0x1000, "/second");
	ck_comm(5, 15, "first");
	ck_comm(5, 31, "init"); /* not the name of the dead one */
	ck_comm(5, 40, "second");
}
END_TEST

START_TEST(test_threads)
{
	map(10, 1, 0x1000, 0x2000, 0, "/a");
	ck_assert_int_eq(sym_user_fork(user, 20, 1, 1), 0); /* a thread: nothing happens */
	ck_module(1, 25, 0x1000, "/a");
	sym_user_comm(user, 21, 1, 9, "worker", false);
	ck_comm(9, 22, "worker");
	ck_comm(9, 20, NULL);
	sym_user_exit(user, 30, 1); /* the leader; its threads go on mapping */
	map(40, 1, 0x5000, 0x6000, 0, "/b");
	ck_module(1, 45, 0x1000, "/a");
	ck_module(1, 45, 0x5000, "/b");
}
END_TEST

/* The same events in every order that some ring might deliver them, with questions in between. */
START_TEST(test_any_order)
{
	int order[6] = { 0, 1, 2, 3, 4, 5 };

	srand(_i);
	for (int i = 5; i > 0; i--) {
		int k = rand() % (i + 1), swap = order[i];

		order[i] = order[k];
		order[k] = swap;
	}
	for (int i = 0; i < 6; i++) {
		switch (order[i]) {
		case 0:
			map(10, 1, 0x1000, 0x2000, 0, "/a");
			break;
		case 1:
			sym_user_fork(user, 20, 2, 1);
			break;
		case 2:
			sym_user_comm(user, 30, 2, 2, "two", true);
			break;
		case 3:
			map(31, 2, 0x1000, 0x2000, 0, "/b");
			break;
		case 4:
			map(32, 2, 0x1800, 0x2000, 0, "/c");
			break;
		case 5:
			sym_user_comm(user, 5, 1, 1, "one", false);
			break;
		}
		if (rand() % 2)
			look(2, rand() % 40, 0x1000);
	}
	ck_module(1, 40, 0x1000, "/a");
	ck_module(2, 25, 0x1000, "/a");
	ck_module(2, 30, 0x1000, NULL);
	ck_module(2, 31, 0x1800, "/b");
	ck_module(2, 32, 0x1800, "/c");
	ck_module(2, 32, 0x17ff, "/b");
	ck_comm(2, 25, "one");
	ck_comm(2, 30, "two");
}
END_TEST

START_TEST(test_bad_events)
{
	struct sym_mmap m = { .pid = 1, .start = 0x1000, .len = 0, .filename = "/a" };

	ck_assert_int_eq(sym_user_mmap(user, &m), -EINVAL);
	m.len = UINT64_MAX;
	ck_assert_int_eq(sym_user_mmap(user, &m), -EINVAL);
	m.len = 0x1000;
	m.build_id_size = 21;
	ck_assert_int_eq(sym_user_mmap(user, &m), -EINVAL);
	/* Two that are each other's parents, and one that is its own grandparent. */
	sym_user_fork(user, 5, 10, 11);
	sym_user_fork(user, 5, 11, 10);
	ck_module(10, 5, 0x1000, NULL);
	ck_comm(10, 5, NULL);
	ck_comm(11, 6, NULL);
}
END_TEST

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/*
 * 20,000 processes, 100,000 events, half of them late, and as many questions: no quadratic
 * surprise.
 */
START_TEST(test_many)
{
	double start = cpu_ms();
	char path[32];

	for (int ring = 0; ring < 2; ring++) {
		for (uint32_t i = 0; i < 20000; i++) {
			uint64_t t = 1000 + 10 * i;

			if (i % 2 == (uint32_t)ring)
				continue;
			snprintf(path, sizeof(path), "/bin/%u", i % 100);
			sym_user_fork(user, t, 100 + i % 5000, 1);
			sym_user_comm(user, t + 1, 100 + i % 5000, 100 + i % 5000, path, true);
			map(t + 2, 100 + i % 5000, 0x1000, 0x2000, 0, path);
			map(t + 3, 100 + i % 5000, 0x3000, 0x4000, 0, "/lib/libc");
			sym_user_exit(user, t + 9, 100 + i % 5000);
		}
	}
	for (uint32_t i = 0; i < 20000; i++) {
		snprintf(path, sizeof(path), "/bin/%u", i % 100);
		ck_module(100 + i % 5000, 1000 + 10 * i + 5, 0x1800, path);
		ck_comm(100 + i % 5000, 1000 + 10 * i + 5, path);
	}
	ck_assert_double_lt(cpu_ms() - start,
			    5000); /* a second with sanitizers; quadratic: minutes */
}
END_TEST

/* ---- files */

static const struct elf_symbol two[] = { { "two", 0x1000, 0x100, STT_FUNC, STB_GLOBAL, 0 } };
static const uint8_t id_one[] = { 1, 1, 1, 1 };

START_TEST(test_names)
{
	const char *path = in_dir("lib");
	struct sym_frame f;

	write_elf(path, one, id_one);
	map(10, 1, 0x70001000, 0x70002000, 0x1000, path);
	f = look(1, 10, 0x70001004);
	ck_assert_int_eq(f.kind, SYM_USER);
	ck_assert_pstr_eq(f.name, "one");
	ck_assert_uint_eq(f.offset, 4);
	ck_assert_uint_eq(f.module_addr, 0x1004);
	ck_assert_str_eq(f.module, path);
	ck_assert_str_eq(f.build_id, "01010101");
	f = look(1, 10, 0x70001200);
	ck_assert_ptr_null(f.name);
	ck_assert_uint_eq(f.module_addr, 0x1200);
	sym_user_lookup(user, 1, 10, 0x70001100, true, &f);
	ck_assert_pstr_eq(f.name, "one");
	ck_assert_uint_eq(f.offset, 0x100);
	ck_assert_uint_eq(f.module_addr, 0x1100);
}
END_TEST

/* The path leads to another file now: its names must not be given. */
START_TEST(test_replaced)
{
	const char *path = in_dir("lib"), *new = in_dir("new");

	write_elf(path, one, NULL);
	map(10, 1, 0x1000, 0x2000, 0x1000, path);
	write_elf(new, two, NULL);
	ck_assert_int_eq(rename(new, path), 0);
	ck_assert_ptr_null(look(1, 10, 0x1004).name);
	ck_assert_str_eq(look(1, 10, 0x1004).module, path);
	ck_assert_uint_eq(look(1, 10, 0x1004).module_addr, 0x1004);
	map(20, 2, 0x1000, 0x2000, 0x1000, path);
	ck_assert_pstr_eq(look(2, 20, 0x1004).name, "two");
}
END_TEST

static void map_with_build_id(uint64_t time, uint32_t pid, const char *path, const uint8_t *id)
{
	struct sym_mmap m = { .time = time,
			      .pid = pid,
			      .start = 0x1000,
			      .len = 0x1000,
			      .pgoff = 0x1000,
			      .build_id_size = 4,
			      .filename = path };

	memcpy(m.build_id, id, 4);
	ck_assert_int_eq(sym_user_mmap(user, &m), 0);
}

START_TEST(test_build_ids)
{
	static const uint8_t id_other[] = { 2, 2, 2, 2 };
	const char *path = in_dir("lib"), *copy = in_dir("copy");

	write_elf(path, one, id_one);
	write_elf(copy, one, id_one);
	map_with_build_id(10, 1, path, id_one);
	map_with_build_id(10, 2, path, id_other);
	map_with_build_id(10, 3, copy, id_one);
	ck_assert_pstr_eq(look(1, 10, 0x1004).name, "one");
	ck_assert_ptr_null(look(2, 10, 0x1004).name);
	ck_assert_pstr_eq(look(2, 10, 0x1004).build_id, "02020202");
	/* One table for both: the very same string, and the module as each process saw it. */
	ck_assert_ptr_eq(look(3, 10, 0x1004).build_id, look(1, 10, 0x1004).build_id);
	ck_assert_str_eq(look(3, 10, 0x1004).module, copy);
}
END_TEST

/* Files that are no ELF, that are not there, or that must not even be opened. */
START_TEST(test_no_elf)
{
	const char *text = in_dir("text"), *fifo = in_dir("fifo");

	write_file(text, "hello", 5);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	map(10, 1, 0x1000, 0x2000, 0, text);
	map(10, 1, 0x2000, 0x3000, 0, fifo);
	map(10, 1, 0x3000, 0x4000, 0, "/nonexistent (deleted)");
	map(10, 1, 0x4000, 0x5000, 0, "//anon");
	map(10, 1, 0x5000, 0x6000, 0, "[stack]");
	map(10, 1, 0x6000, 0x7000, 0, "/dev/zero");
	map(10, 1, 0x7000, 0x8000, 0, "/memfd:x (deleted)");
	map(10, 1, 0x8000, 0x9000, 0, dir);
	map(10, 1, 0x9000, 0xa000, 0, "[uprobes]");
	map(10, 1, 0xa000, 0xb000, 0, "/SYSV00000000 (deleted)");
	for (uint64_t addr = 0x1000; addr < 0xb000; addr += 0x1000)
		ck_assert_ptr_null(look(1, 10, addr).name);
	ck_assert_int_eq(look(1, 10, 0x3000).kind, SYM_USER);
	ck_assert_int_eq(look(1, 10, 0x4000).kind, SYM_UNKNOWN);
	ck_assert_str_eq(look(1, 10, 0x4000).module, "[anon]");
	ck_assert_str_eq(look(1, 10, 0x5000).module, "[stack]");
	ck_assert_str_eq(look(1, 10, 0x9000).module, "[uprobes]");
}
END_TEST

/* Text that was copied to huge pages, at its old address, is no file's any more: no stale name. */
START_TEST(test_anonymous_over_file)
{
	const char *path = in_dir("lib");

	write_elf(path, one, NULL);
	map(10, 1, 0x70000000, 0x70003000, 0, path);
	map(20, 1, 0x70000000, 0x70003000, 0, "//anon");
	map(30, 1, 0x70000000, 0x70003000, 0, "/anon_hugepage (deleted)");
	ck_assert_pstr_eq(look(1, 15, 0x70001004).name, "one");
	ck_assert_ptr_null(look(1, 25, 0x70001004).name);
	ck_assert_str_eq(look(1, 25, 0x70001004).module, "[anon]");
	ck_assert_ptr_null(look(1, 35, 0x70001004).name);
}
END_TEST

static uint64_t mapped_number(uint32_t pid, uint64_t time, uint64_t addr)
{
	struct sym_mapped at;

	sym_user_find(user, pid, time, addr, &at);
	return at.number;
}

/* One number for one place of one file, another for everything else. */
START_TEST(test_mapping_numbers)
{
	uint64_t first, second;

	map(10, 1, 0x1000, 0x9000, 0x1000, "/a");
	map(20, 1, 0x1000, 0x3000, 0x1000, "/a"); /* again, and only a part */
	map(30, 1, 0x1000, 0x9000, 0x1000, "/b");
	map(40, 1, 0x1000, 0x9000, 0x2000, "/b"); /* another part of it */
	map(50, 1, 0x1000, 0x9000, 0x1000, "/a");
	ck_assert_uint_eq(mapped_number(1, 9, 0x2000), 0);
	ck_assert_uint_eq(mapped_number(1, 10, 0x9000), 0);
	ck_assert_uint_eq(mapped_number(2, 10, 0x2000), 0);
	first = mapped_number(1, 10, 0x2000);
	ck_assert_uint_ne(first, 0);
	ck_assert_uint_eq(mapped_number(1, 25, 0x2000), first);
	second = mapped_number(1, 30, 0x2000);
	ck_assert_uint_ne(second, first);
	ck_assert_uint_ne(mapped_number(1, 40, 0x2000), first);
	ck_assert_uint_ne(mapped_number(1, 40, 0x2000), second);
	ck_assert_uint_eq(mapped_number(1, 50, 0x2000), first);
}
END_TEST

/* What was found before names were asked for gives the frame that one question gives. */
START_TEST(test_found_and_named)
{
	const char *path = in_dir("lib");

	write_elf(path, one, NULL);
	map(10, 1, 0x70000000, 0x70003000, 0, path);
	map(10, 1, 0x80000000, 0x80001000, 0x5000, "//anon");
	for (uint64_t addr = 0x6fffffff; addr < 0x80002000; addr += 0xfff) {
		for (int is_return = 0; is_return < 2; is_return++) {
			struct sym_frame f, whole;
			struct sym_mapped at;

			memset(&f, 0, sizeof(f));
			memset(&whole, 0, sizeof(whole));
			sym_user_find(user, 1, 15, addr - is_return, &at);
			sym_user_lookup(user, 1, 15, addr, is_return, &whole);
			sym_user_name(user, 1, 15, addr, is_return, &at, &f);
			ck_assert_ptr_eq(f.name, whole.name);
			ck_assert_ptr_eq(f.module, whole.module);
			ck_assert_ptr_eq(f.image, whole.image);
			ck_assert_int_eq(f.kind, whole.kind);
			ck_assert_uint_eq(f.offset, whole.offset);
			ck_assert_uint_eq(f.module_addr, whole.module_addr);
			ck_assert_uint_eq(f.map_start, whole.map_start);
			ck_assert_int_eq(at.number != 0, f.module != NULL);
		}
		if (addr == 0x70003ffe)
			addr = 0x7fffffff - 0xfff;
	}
}
END_TEST

START_TEST(test_code_before)
{
	static struct elf_file file;
	const char *path = in_dir("lib");
	uint8_t code[4] = { 0 };
	struct sym_frame f;

	elf_build(&file, one, 1, NULL, 0, NULL);
	memcpy(file.bytes + ELF_TEXT + 0x20, "\x01\x02\x0f\x05", 4);
	write_file(path, file.bytes, file.size);
	map(10, 1, 0x70000000, 0x70003000, 0, path);
	f = look(1, 10, 0x70000000 + ELF_TEXT + 0x24);
	ck_assert_int_eq(sym_user_code_before(user, &f, code, 2), 0);
	ck_assert(!memcmp(code, "\x0f\x05", 2));
	ck_assert_int_eq(sym_user_code_before(user, &f, code, 4), 0);
	ck_assert(!memcmp(code, "\x01\x02\x0f\x05", 4));
	f = look(1, 10, 0x70000000 + ELF_TEXT + 1); /* the section begins there */
	ck_assert_int_eq(sym_user_code_before(user, &f, code, 2), -ENOENT);
	f = look(1, 10, 0x70000000 + ELF_TEXT);
	ck_assert_int_eq(sym_user_code_before(user, &f, code, 1), -ENOENT);
	f = look(1, 9, 0x70000000 + ELF_TEXT + 0x24); /* nothing is mapped */
	ck_assert_int_eq(sym_user_code_before(user, &f, code, 2), -ENOENT);
}
END_TEST

static unsigned int open_files(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Of a recording that goes on for months: what nobody asks about any more is closed. */
START_TEST(test_files_rest)
{
	const char *path = in_dir("lib"), *other = in_dir("other");
	const unsigned int before = open_files();

	write_elf(path, one, NULL);
	write_elf(other, two, NULL);
	map(10, 1, 0x1000, 0x2000, 0x1000, path);
	map(10, 1, 0x3000, 0x4000, 0x1000, other);
	for (int i = 0; i < 20; i++) {
		if (!i)
			ck_assert_pstr_eq(look(1, 10, 0x1004).name, "one");
		ck_assert_pstr_eq(look(1, 10, 0x3004).name, "two");
		sym_user_unuse(user);
		ck_assert_uint_eq(open_files() - before, i < 6 ? 2 : 1);
	}
	ck_assert_pstr_eq(look(1, 10, 0x1004).name, "one");
	ck_assert_uint_eq(open_files() - before, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("processes");
	TCase *t = tcase_create("processes");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_mappings);
	tcase_add_test(t, test_return_address);
	tcase_add_test(t, test_fork_and_exec);
	tcase_add_test(t, test_pid_reused);
	tcase_add_test(t, test_threads);
	tcase_add_loop_test(t, test_any_order, 0, 40);
	tcase_add_test(t, test_bad_events);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_replaced);
	tcase_add_test(t, test_build_ids);
	tcase_add_test(t, test_no_elf);
	tcase_add_test(t, test_anonymous_over_file);
	tcase_add_test(t, test_mapping_numbers);
	tcase_add_test(t, test_found_and_named);
	tcase_add_test(t, test_code_before);
	tcase_add_test(t, test_files_rest);
	return run_all(s, t);
}
