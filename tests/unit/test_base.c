/* SPDX-License-Identifier: BSD-2-Clause */
/* What all folders stand on: arrays, the hash map, sets of ids, also without memory; budgets. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/asm.h>

#include "base/budget.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/id_set.h"
#include "base/machine.h"

extern void *__libc_malloc(size_t size) __attribute__((weak));
extern void *__interceptor_malloc(size_t size) __attribute__((weak));

/* The allocation that fails, counted from 1; 0: none does. */
static int fails_at, allocations;

static bool fails(void)
{
	return fails_at && ++allocations == fails_at;
}

void *malloc(size_t size)
{
	if (fails())
		return NULL;
	return __interceptor_malloc ? __interceptor_malloc(size) : __libc_malloc(size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (fails() || __builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return realloc(p, bytes);
}

static void fail_at(int n)
{
	fails_at = n;
	allocations = 0;
}

START_TEST(array_grows_and_keeps_its_items)
{
	uint32_t *item = NULL, capacity = 0, n = 0;

	for (uint32_t i = 0; i < 1000; i++)
		ck_assert_int_eq(RP_PUSH(item, n, capacity, i * 3), 0);
	ck_assert_uint_eq(n, 1000);
	ck_assert_uint_ge(capacity, 1000);
	ck_assert_uint_le(capacity, 1502);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(item[i], i * 3);
	ck_assert_int_eq(RP_GROW_TO(item, 5000, capacity), 0);
	ck_assert_uint_ge(capacity, 5000);
	ck_assert_uint_eq(item[999], 2997);
	free(item);
}
END_TEST

START_TEST(array_without_memory_stays_as_it_is)
{
	char *item = NULL, *before;
	size_t capacity = 0, n = 0, had;

	ck_assert_int_eq(RP_PUSH(item, n, capacity, 'a'), 0);
	n = had = capacity;
	before = item;
	fail_at(1);
	ck_assert_int_eq(RP_PUSH(item, n, capacity, 'b'), -ENOMEM);
	fail_at(0);
	ck_assert_ptr_eq(item, before);
	ck_assert_uint_eq(capacity, had);
	ck_assert_uint_eq(n, had);
	ck_assert_int_eq(item[0], 'a');
	free(item);
}
END_TEST

/* A capacity of 8 bits counts to 254: 255 may be a number that stands for none. */
START_TEST(array_is_no_larger_than_its_capacity_can_say)
{
	uint64_t *item = NULL;
	uint8_t capacity = 0;
	unsigned int n = 0;

	while (n < 254)
		ck_assert_int_eq(RP_PUSH(item, n, capacity, n), 0);
	ck_assert_uint_eq(capacity, 254);
	ck_assert_int_eq(RP_PUSH(item, n, capacity, n), -EOVERFLOW);
	ck_assert_uint_eq(capacity, 254);
	ck_assert_uint_eq(item[253], 253);
	free(item);
}
END_TEST

struct seen {
	uint32_t pid, tid; /* the key */
	uint64_t value;
};

START_TEST(map_finds_what_was_added)
{
	struct hash_map map = HASH_MAP(struct seen, tid);
	struct seen *s;

	ck_assert_ptr_null(rp_hash_find(&map, &(uint32_t[]){ 1, 2 }));
	for (uint32_t i = 0; i < 5000; i++) {
		s = rp_hash_add(&map, &(uint32_t[]){ i % 7, i });
		ck_assert_uint_eq(s->pid, i % 7);
		ck_assert_uint_eq(s->tid, i);
		ck_assert_uint_eq(s->value, 0);
		s->value = i * 11ull;
	}
	ck_assert_uint_eq(map.count, 5000);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t number = 0;

		s = rp_hash_find(&map, &(uint32_t[]){ i % 7, i });
		ck_assert_ptr_nonnull(s);
		ck_assert_uint_eq(s->value, i * 11ull);
		ck_assert_ptr_eq(rp_hash_add(&map, &(uint32_t[]){ i % 7, i }), s);
		ck_assert_int_eq(rp_hash_number(&map, &(uint32_t[]){ i % 7, i }, &number), 0);
		ck_assert_uint_eq(number, i);
		ck_assert_ptr_null(rp_hash_find(&map, &(uint32_t[]){ i % 7 + 1, i }));
	}
	ck_assert_uint_eq(map.count, 5000);
	rp_hash_free(&map);
	ck_assert_ptr_null(rp_hash_find(&map, &(uint32_t[]){ 1, 1 }));
	ck_assert_ptr_nonnull(rp_hash_add(&map, &(uint32_t[]){ 1, 1 }));
	ck_assert_uint_eq(map.count, 1);
	rp_hash_free(&map);
}
END_TEST

/* What others make as many of as they like takes no more room, and what comes last is found. */
START_TEST(map_begins_anew_when_it_is_full)
{
	struct hash_map map = HASH_MAP(struct seen, tid);
	bool is_new = false;

	for (uint32_t i = 0; i < 1000; i++) {
		ck_assert_ptr_nonnull(rp_hash_add_within(&map, &(uint32_t[]){ 1, i }, 10, &is_new));
		ck_assert(is_new);
		ck_assert_uint_le(map.count, 10);
		ck_assert_ptr_nonnull(rp_hash_add_within(&map, &(uint32_t[]){ 1, i }, 10, &is_new));
		ck_assert(!is_new);
	}
	rp_hash_free(&map);
}
END_TEST

/* Every third goes, and says so. */
static bool is_no_third(void *ctx, void *entry)
{
	const struct seen *s = entry;

	*(uint32_t *)ctx += s->tid % 3 == 0;
	return s->tid % 3;
}

START_TEST(map_keeps_some)
{
	struct hash_map map = HASH_MAP(struct seen, tid);
	uint32_t gone = 0;

	rp_hash_keep(&map, is_no_third, &gone);
	ck_assert_uint_eq(gone, 0);
	for (uint32_t i = 0; i < 1000; i++)
		((struct seen *)rp_hash_add(&map, &(uint32_t[]){ 1, i }))->value = i + 7;
	rp_hash_keep(&map, is_no_third, &gone);
	ck_assert_uint_eq(gone, 334);
	ck_assert_uint_eq(map.count, 666);
	for (uint32_t i = 0; i < 1000; i++) {
		const struct seen *s = rp_hash_find(&map, &(uint32_t[]){ 1, i });

		ck_assert(!s == !(i % 3));
		ck_assert(!s || s->value == i + 7);
	}
	for (uint32_t i = 0; i < 5000; i++)
		ck_assert_ptr_nonnull(rp_hash_add(&map, &(uint32_t[]){ 1, i }));
	ck_assert_uint_eq(map.count, 5000);
	rp_hash_free(&map);
}
END_TEST

/* Keys of all lengths, whose bytes differ in one place. */
START_TEST(hash_looks_at_every_byte)
{
	unsigned char key[33] = { 0 };

	for (size_t n = 1; n <= sizeof(key); n++) {
		uint32_t before = rp_hash_bytes(key, n);

		ck_assert_uint_ne(before, rp_hash_bytes(key, n - 1));
		for (size_t i = 0; i < n; i++) {
			key[i] = 1;
			ck_assert_uint_ne(rp_hash_bytes(key, n), before);
			key[i] = 0;
		}
	}
}
END_TEST

/* Who knows the numbers that a hash is made with finds any number of names that have one hash. */
START_TEST(names_cannot_be_made_to_collide)
{
	const uint64_t n = 0x9e3779b97f4a7c15ull, k = 0xd6e8feb86659fd93ull, state = n ^ 16 * n;
	uint32_t first[2] = { 0 }, same[2] = { 0 };

	for (uint64_t i = 0; i < 1000; i++) {
		const unsigned __int128 product = (unsigned __int128)(state ^ i) * k;
		const uint64_t name[2] = { i, (uint64_t)product ^ (uint64_t)(product >> 64) };

		const uint32_t hash[2] = { rp_hash_lasting(name, sizeof(name)),
					   rp_hash_bytes(name, sizeof(name)) };

		for (int h = 0; h < 2; h++) {
			first[h] = i ? first[h] : hash[h];
			same[h] += hash[h] == first[h];
		}
	}
	ck_assert_uint_eq(same[0], 1000);
	ck_assert_uint_le(same[1], 2);
}
END_TEST

/* Whichever allocation fails: what was there is found, what failed is not, the next try works. */
START_TEST(map_without_memory_stays_as_it_is)
{
	for (int at = 1; at < 16; at++) {
		struct hash_map map = HASH_SET(uint64_t);
		uint64_t key = 0;

		fail_at(at);
		while (rp_hash_add(&map, &key))
			key++;
		fail_at(0);
		ck_assert_uint_eq(map.count, key);
		ck_assert_ptr_null(rp_hash_find(&map, &key));
		for (uint64_t i = 0; i < key; i++)
			ck_assert_ptr_nonnull(rp_hash_find(&map, &i));
		ck_assert_ptr_nonnull(rp_hash_add(&map, &key));
		ck_assert_uint_eq(map.count, key + 1);
		rp_hash_free(&map);
	}
}
END_TEST

/* Things of one hash are told apart by their owner: each of them is met once. */
START_TEST(index_meets_all_of_one_hash)
{
	struct hash_index x = { 0 };
	uint32_t at = 77, found, sum = 0;

	for (uint32_t id = 0; id < 100; id++) {
		ck_assert_int_eq(rp_index_reserve(&x), 0);
		rp_index_put(&x, 77, id);
	}
	while ((found = rp_index_next(&x, 77, &at)) != HASH_NONE)
		sum += found;
	ck_assert_uint_eq(sum, 99 * 100 / 2);
	at = 78;
	ck_assert_uint_eq(rp_index_next(&x, 78, &at), HASH_NONE);
	rp_index_free(&x);
}
END_TEST

START_TEST(set_says_what_is_new)
{
	struct id_set set = { 0 };

	ck_assert(rp_id_set_has(&set, 0));
	ck_assert(!rp_id_set_add(&set, 0));
	ck_assert(!rp_id_set_has(&set, 1));
	for (uint64_t id = 1; id < 1000; id++)
		ck_assert(rp_id_set_add(&set, id << 32 | 5));
	for (uint64_t id = 1; id < 1000; id++)
		ck_assert(!rp_id_set_add(&set, id << 32 | 5));
	ck_assert(!rp_id_set_has(&set, 5));
	rp_id_set_free(&set);
	fail_at(1);
	ck_assert(rp_id_set_add(&set, 9));
	fail_at(0);
	ck_assert(!rp_id_set_has(&set, 9));
	ck_assert(rp_id_set_add(&set, 9));
	rp_id_set_free(&set);
}
END_TEST

/* What is said of this machine agrees with this program's file and with the assembler. */
START_TEST(machine_is_the_one_that_runs_this)
{
	const struct machine *m = rp_machine_host();
	const struct asm_arch *arch = asm_arch_host();
	Elf64_Ehdr eh;
	FILE *f = fopen("/proc/self/exe", "re");

	ck_assert_uint_eq(fread(&eh, sizeof(eh), 1, f), 1);
	fclose(f);
	ck_assert_uint_eq(m->elf, eh.e_machine);
	ck_assert_ptr_eq(rp_machine(m->elf), m);
	ck_assert_ptr_null(rp_machine(EM_386));
	ck_assert_int_eq(arch->dwarf[m->sp], arch->reg[ASM_REG_SP]);
	ck_assert_int_eq(arch->dwarf[m->fp], arch->reg[ASM_REG_FP]);
#ifdef UNWIND_LINK_REG
	ck_assert(m->has_link_register);
	ck_assert_int_eq(arch->dwarf[m->ra], UNWIND_LINK_REG);
#else
	ck_assert(!m->has_link_register);
#endif
	for (int i = 0; i < 2; i++) { /* they end with the system call */
		const struct machine_bytes *t = &m->trampolines[i];

		if (t->size)
			ck_assert_mem_eq(t->bytes + t->size - m->syscall.size, m->syscall.bytes,
					 m->syscall.size);
	}
}
END_TEST

static unsigned int stop_asked;

static bool stops_at_third(void *ctx)
{
	(void)ctx;
	return ++stop_asked == 3;
}

START_TEST(work_ends_when_it_is_used_up_or_stopped)
{
	const uint64_t mb = 1 << 20;
	struct rp_work work = rp_work_for(10 * mb, 2), small = rp_work_for(1, 2);

	ck_assert(rp_work_spend(&work, 20 * mb));
	ck_assert(!rp_work_spend(&work, 1));
	ck_assert(!rp_work_spend(&work, 0));
	ck_assert(rp_work_spend(&small, mb)); /* small files have something to spend as well */
	ck_assert(!rp_work_spend(&small, UINT64_MAX));
	ck_assert(!rp_work_spend(&small, 1));

	rp_work_watch(stops_at_third, NULL);
	work = rp_work_for(UINT64_MAX, 2);
	ck_assert(rp_work_spend(&work, mb));
	ck_assert(rp_work_spend(&work, 1)); /* too little to ask */
	ck_assert(rp_work_spend(&work, mb));
	ck_assert(!rp_work_spend(&work, mb));
	ck_assert_uint_eq(stop_asked, 3);
	ck_assert(!rp_work_spend(&work, 0));
	rp_work_watch(NULL, NULL);
}
END_TEST

START_TEST(memory_is_one_sum)
{
	rp_memory_limit(1000);
	ck_assert(rp_memory_take(600));
	ck_assert(!rp_memory_take(401));
	ck_assert(!rp_memory_take(UINT64_MAX));
	ck_assert(rp_memory_take(400));
	ck_assert_uint_eq(rp_memory_taken(), 1000);
	rp_memory_give(1000);
	ck_assert(rp_memory_take(1000));
	rp_memory_give(1000);
}
END_TEST

/* ---- files of others */

/* A lease makes others wait in open(2); it is that of a child. */
static pid_t hold_lease(const char *path)
{
	int ready[2];
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		int fd = open(path, O_RDWR);

		signal(SIGIO, SIG_IGN);
		c = fd >= 0 && !fcntl(fd, F_SETLEASE, F_WRLCK) ? 'y' : 'n';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	ck_assert_int_eq(c, 'y');
	return pid;
}

START_TEST(plain_files_alone_are_opened)
{
	char dir[] = "/tmp/rawprof-test-XXXXXX", c;
	int dirfd, fd;
	pid_t holder;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	dirfd = open(dir, O_RDONLY | O_DIRECTORY);
	fd = openat(dirfd, "file", O_WRONLY | O_CREAT, 0600);
	ck_assert_int_eq(write(fd, "x", 1), 1);
	close(fd);
	ck_assert_int_eq(mkfifoat(dirfd, "fifo", 0600), 0);
	ck_assert_int_eq(symlinkat("file", dirfd, "link"), 0);
	ck_assert_int_eq(symlinkat("/dev/zero", dirfd, "device"), 0);
	ck_assert_int_eq(symlinkat("circle", dirfd, "circle"), 0);

	for (int i = 0; i < 2; i++) {
		fd = rp_open_regular(dirfd, i ? "link" : "file");
		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(read(fd, &c, 1), 1);
		ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
		close(fd);
	}
	ck_assert_int_eq(rp_open_regular(dirfd, "fifo"), -EPERM);
	ck_assert_int_eq(rp_open_regular(dirfd, "device"), -EPERM);
	ck_assert_int_eq(rp_open_regular(dirfd, "."), -EPERM);
	ck_assert_int_eq(rp_open_regular(dirfd, "none"), -ENOENT);
	ck_assert_int_eq(rp_open_regular(dirfd, "circle"), -ELOOP);

	ck_assert_int_eq(fchdir(dirfd), 0);
	holder = hold_lease("file");
	ck_assert_int_eq(rp_open_regular(AT_FDCWD, "file"), -EAGAIN);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	unlink("device");
	unlink("circle");
	unlink("fifo");
	unlink("link");
	unlink("file");
	close(dirfd);
	ck_assert_int_eq(chdir("/"), 0);
	rmdir(dir);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");
	SRunner *r;
	int failed;

	tcase_add_test(t, array_grows_and_keeps_its_items);
	tcase_add_test(t, array_without_memory_stays_as_it_is);
	tcase_add_test(t, array_is_no_larger_than_its_capacity_can_say);
	tcase_add_test(t, map_finds_what_was_added);
	tcase_add_test(t, map_begins_anew_when_it_is_full);
	tcase_add_test(t, map_keeps_some);
	tcase_add_test(t, hash_looks_at_every_byte);
	tcase_add_test(t, names_cannot_be_made_to_collide);
	tcase_add_test(t, map_without_memory_stays_as_it_is);
	tcase_add_test(t, index_meets_all_of_one_hash);
	tcase_add_test(t, set_says_what_is_new);
	tcase_add_test(t, machine_is_the_one_that_runs_this);
	tcase_add_test(t, work_ends_when_it_is_used_up_or_stopped);
	tcase_add_test(t, memory_is_one_sum);
	tcase_add_test(t, plain_files_alone_are_opened);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
