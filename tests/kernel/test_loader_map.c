/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps on the running kernel: every type, and walks that see each entry once. */
#include "test_loader.h"

enum { ENTRIES = 5000 };

static const struct asm_map hash = { "hash", BPF_MAP_TYPE_HASH, 4, 8, ENTRIES, 0 };
static const struct asm_map lru = { "lru", BPF_MAP_TYPE_LRU_HASH, 4, 8, ENTRIES, 0 };
static const struct asm_map percpu_hash = { "percpu_hash", BPF_MAP_TYPE_PERCPU_HASH, 4, 12,
					    ENTRIES };
static const struct asm_map percpu_lru = { "pclru", BPF_MAP_TYPE_LRU_PERCPU_HASH, 4, 8, ENTRIES };
static const struct asm_map array = { "array", BPF_MAP_TYPE_ARRAY, 4, 8, 100, 0 };
static const struct asm_map percpu_array = { "pcarray", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 100 };
static const struct asm_map stacks = { "stacks", BPF_MAP_TYPE_STACK_TRACE, 4, 8 * 127, 64 };
static const struct asm_map ring = { "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 16 };
static const struct asm_map progs = { "progs", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 8 };
static const struct asm_map pointers = {
	"pointers", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 2, 0, &hash
};
static const struct asm_map pointers_hash = { "pointers", BPF_MAP_TYPE_HASH_OF_MAPS, 4, 4, 2, 0,
					      &array };
/* A name that the kernel would refuse as it is. */
static const struct asm_map odd_name = { "what a/long-name it is!", BPF_MAP_TYPE_HASH, 8, 8, 1 };

static const struct asm_map *const all[] = { &hash,  &lru,	&percpu_hash,	&percpu_lru,
					     &array, &stacks,	&percpu_array,	&ring,
					     &progs, &pointers, &pointers_hash, &odd_name };

START_TEST(test_every_type)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const int fd = rp_map_create(all[i]);

		ck_assert_msg(fd >= 0, "%s: %s", all[i]->name, strerror(-fd));
		ck_assert_int_eq(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		close(fd);
	}
}
END_TEST

START_TEST(test_all_or_none)
{
	const struct asm_map maps[] = { hash, array, { "bad", BPF_MAP_TYPE_RINGBUF, 0, 0, 12345 } };
	const int before = dup(0);
	int fds[3] = { -1, -1, -1 };

	close(before);
	capture_log();
	ck_assert_int_eq(rp_maps_create(maps, 3, fds), -EINVAL);
	ck_assert_logged(
		"cannot create map bad (ring buffer, key 0, value 0 bytes, 12345 entries)");
	ck_assert_logged("power of two");
	ck_assert_int_eq(dup(0), before); /* none of the descriptors is left open */
}
END_TEST

START_TEST(test_elements)
{
	const int fd = rp_map_create(&hash);
	uint32_t key = 7, next = 0;
	uint64_t value = 42, got = 0;

	ck_assert_int_eq(rp_map_lookup(fd, &key, &got), -ENOENT);
	ck_assert_int_eq(rp_map_next_key(fd, NULL, &next), -ENOENT);
	ck_assert_int_eq(rp_map_update(fd, &key, &value, BPF_NOEXIST), 0);
	ck_assert_int_eq(rp_map_update(fd, &key, &value, BPF_NOEXIST), -EEXIST);
	ck_assert_int_eq(rp_map_lookup(fd, &key, &got), 0);
	ck_assert_uint_eq(got, 42);
	ck_assert_int_eq(rp_map_next_key(fd, NULL, &next), 0);
	ck_assert_uint_eq(next, 7);
	ck_assert_int_eq(rp_map_next_key(fd, &key, &next), -ENOENT);
	got = 0;
	ck_assert_int_eq(rp_map_take(fd, &key, &got), 0);
	ck_assert_uint_eq(got, 42);
	ck_assert_int_eq(rp_map_take(fd, &key, &got), -ENOENT);
	ck_assert_int_eq(rp_map_delete(fd, &key), -ENOENT);
	close(fd);
}
END_TEST

/* ---- walks */

/* seen[key] counts the visits; sum adds the values, over CPUs where there are several. */
struct walk {
	const struct asm_map *map;
	uint8_t seen[ENTRIES];
	uint64_t sum;
	int stop_after, n;
};

static int visit(void *ctx, const void *key, const void *value)
{
	struct walk *w = ctx;
	uint32_t k;

	memcpy(&k, key, sizeof(k));
	ck_assert_uint_lt(k, ENTRIES);
	w->seen[k]++;
	w->sum += rp_map_cpu_sum(w->map, value, 0);
	return w->stop_after && ++w->n == w->stop_after ? -ECANCELED : 0;
}

/* Value k + 1 under key k; on CPU c of a per-CPU map 1000 * c more. */
static int fill(const struct asm_map *map, uint32_t n, uint64_t *sum)
{
	const size_t bytes = rp_map_value_bytes(map), stride = rp_map_cpu_stride(map);
	const int fd = rp_map_create(map);
	char *value = calloc(1, bytes);

	ck_assert_int_ge(fd, 0);
	*sum = 0;
	for (uint32_t k = 0; k < n; k++) {
		for (size_t at = 0, cpu = 0; at + 8 <= bytes; at += stride, cpu++) {
			const uint64_t v = k + 1 + 1000 * cpu;

			memcpy(value + at, &v, sizeof(v));
			*sum += v;
			if (!stride)
				break;
		}
		ck_assert_int_eq(rp_map_update(fd, &k, value, BPF_ANY), 0);
	}
	free(value);
	return fd;
}

static void check_walk(const struct asm_map *map, uint32_t n, bool drain)
{
	struct walk w = { .map = map };
	uint64_t sum;
	const int fd = fill(map, n, &sum);
	const int count =
		drain ? rp_map_drain(fd, map, visit, &w) : rp_map_each(fd, map, visit, &w);

	ck_assert_msg(count == (int)n, "%s: %d of %u entries", map->name, count, n);
	ck_assert_uint_eq(w.sum, sum);
	for (uint32_t k = 0; k < n; k++)
		ck_assert_msg(w.seen[k] == 1, "%s: key %u seen %d times", map->name, k, w.seen[k]);
	memset(&w.seen, 0, sizeof(w.seen));
	ck_assert_int_eq(rp_map_each(fd, map, visit, &w), drain ? 0 : (int)n);
	close(fd);
}

/* An LRU map may drop entries before it is full (its free list is split between the CPUs), hence
 * fewer. */
static const struct {
	const struct asm_map *map;
	uint32_t n;
	bool can_drain;
} walks[] = {
	{ &hash, ENTRIES, true },     { &hash, 1, true },
	{ &hash, 0, true },	      { &lru, 1000, true },
	{ &percpu_hash, 3000, true }, { &percpu_lru, 1000, true },
	{ &array, 100, false },	      { &percpu_array, 100, false },
};

static void check_walks(void)
{
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		check_walk(walks[i].map, walks[i].n, false);
		if (walks[i].can_drain)
			check_walk(walks[i].map, walks[i].n, true);
	}
}

START_TEST(test_walk_by_batches)
{
	check_walks();
}
END_TEST

START_TEST(test_walk_by_keys)
{
	without_commands(1ULL << BPF_MAP_LOOKUP_BATCH | 1ULL << BPF_MAP_LOOKUP_AND_DELETE_BATCH |
			 1ULL << BPF_MAP_LOOKUP_AND_DELETE_ELEM);
	check_walks();
}
END_TEST

START_TEST(test_walk_ends_when_told)
{
	struct walk w = { .map = &hash, .stop_after = 3 };
	uint64_t sum;
	const int fd = fill(&hash, 100, &sum);

	ck_assert_int_eq(rp_map_each(fd, &hash, visit, &w), -ECANCELED);
	ck_assert_int_eq(w.n, 3);
	close(fd);
}
END_TEST

/* The kernel hands out whole buckets: one entry of room is too little for most, and the walk makes
 * more. */
START_TEST(test_walk_of_long_buckets)
{
	static const struct asm_map big = { "big", BPF_MAP_TYPE_HASH, 4, 32768, 64 };
	uint64_t sum;
	struct walk w = { .map = &big };
	const int fd = fill(&big, 64, &sum);

	ck_assert_int_eq(rp_map_each(fd, &big, visit, &w), 64);
	ck_assert_uint_eq(w.sum, sum);
	close(fd);
}
END_TEST

/* Stack maps know no batches (errno 524), so this goes by keys of its own accord. */
START_TEST(test_walk_of_stacks)
{
	struct walk w = { .map = &stacks };
	const int fd = rp_map_create(&stacks);

	ck_assert_int_eq(rp_map_each(fd, &stacks, visit, &w), 0);
	close(fd);
}
END_TEST

/* ---- maps of maps, constants, shared memory */

START_TEST(test_map_in_map)
{
	const int outer = rp_map_create(&pointers), inner = rp_map_create(&hash),
		  wrong = rp_map_create(&ring);
	uint32_t slot = 1, id = 0;

	ck_assert_int_eq(rp_map_update(outer, &slot, &inner, BPF_ANY), 0);
	ck_assert_int_eq(rp_map_update(outer, &slot, &wrong, BPF_ANY), -EINVAL);
	ck_assert_int_eq(rp_map_lookup(outer, &slot, &id), 0);
	ck_assert_uint_gt(id, 0);
	close(outer);
	close(inner);
	close(wrong);
}
END_TEST

START_TEST(test_freeze)
{
	static const struct asm_map text = {
		"text", BPF_MAP_TYPE_ARRAY, 4, 16, 1, BPF_F_RDONLY_PROG
	};
	const int fd = rp_map_create(&text);
	const uint32_t zero = 0;
	char value[16] = "%pS", got[16];

	ck_assert_int_eq(rp_map_update(fd, &zero, value, BPF_ANY), 0);
	ck_assert_int_eq(rp_map_freeze(fd), 0);
	ck_assert_int_eq(rp_map_update(fd, &zero, value, BPF_ANY), -EPERM);
	ck_assert_int_eq(rp_map_lookup(fd, &zero, got), 0);
	ck_assert_str_eq(got, "%pS");
	capture_log();
	ck_assert_int_lt(rp_map_freeze(fd), 0);
	ck_assert_logged("cannot freeze");
	close(fd);
}
END_TEST

START_TEST(test_mmap)
{
	static const struct asm_map shared = { "shared", BPF_MAP_TYPE_ARRAY, 4, 8,
					       1000,	 BPF_F_MMAPABLE };
	const int fd = rp_map_create(&shared), plain = rp_map_create(&array);
	const uint32_t last = 999;
	uint64_t value = 99;
	size_t size = 0;
	void *at = NULL;

	ck_assert_int_eq(rp_map_mmap(fd, &shared, &at, &size), 0);
	ck_assert_uint_ge(size, 8000);
	ck_assert_int_eq(rp_map_update(fd, &last, &value, BPF_ANY), 0);
	ck_assert_uint_eq(((uint64_t *)at)[999], 99);
	((uint64_t *)at)[999] = 100;
	ck_assert_int_eq(rp_map_lookup(fd, &last, &value), 0);
	ck_assert_uint_eq(value, 100);
	munmap(at, size);
	capture_log();
	at = NULL;
	ck_assert_int_lt(rp_map_mmap(plain, &array, &at, &size), 0);
	ck_assert_ptr_null(at);
	ck_assert_logged("BPF_F_MMAPABLE");
	close(fd);
	close(plain);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: maps");
	TCase *tc = tcase_create("live");

	tcase_add_test(tc, test_every_type);
	tcase_add_test(tc, test_all_or_none);
	tcase_add_test(tc, test_elements);
	tcase_add_test(tc, test_walk_by_batches);
	tcase_add_test(tc, test_walk_by_keys);
	tcase_add_test(tc, test_walk_ends_when_told);
	tcase_add_test(tc, test_walk_of_long_buckets);
	tcase_add_test(tc, test_walk_of_stacks);
	tcase_add_test(tc, test_map_in_map);
	tcase_add_test(tc, test_freeze);
	tcase_add_test(tc, test_mmap);
	tcase_set_timeout(tc, 30);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
