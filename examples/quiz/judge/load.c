/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "Make this load": what each program has to compute, tried on inputs that its file does not show.
 * load_exercises at the end says which judge is whose.
 */
#include <sys/mman.h>

#include "judge.h"

static enum verdict one_more(struct exam *exam)
{
	static const uint32_t inputs[] = { 0, 41, 70000 };
	enum verdict verdict = RIGHT;

	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs) && verdict == RIGHT; i++)
		verdict = exam_expect(exam, inputs[i], 5, inputs[i] + 1);
	return verdict;
}

/* The first argument and the caller's process id. */
static enum verdict sum_with_process(struct exam *exam)
{
	enum verdict verdict = exam_expect(exam, 0, 9, (uint32_t)getpid());

	if (verdict == RIGHT)
		verdict = exam_expect(exam, 123456, 9, 123456 + (uint32_t)getpid());
	return verdict;
}

struct counted {
	unsigned char key[8];
	uint64_t count;
	int entries;
};

static int keep_entry(void *ctx, const void *key, const void *value)
{
	struct counted *c = ctx;

	memcpy(c->key, key, sizeof(c->key));
	memcpy(&c->count, value, sizeof(c->count));
	c->entries++;
	return 0;
}

/* Five runs, one key: a pid, a CPU and two bytes of 0. */
static enum verdict one_key(struct exam *exam)
{
	static const unsigned char expected[8] = { 0x39, 0x30, 0, 0, 0x03, 0x02, 0, 0 };
	struct counted c = { 0 };
	uint32_t result;

	if (!exam_map_is(exam, BPF_MAP_TYPE_HASH, 8, 8))
		return WRONG;
	for (uint64_t i = 1; i <= 5; i++) /* what is above the pid is another each time */
		if (!exam_run(exam, i * 0x1234 << 48 | 12345, 0x203, &result))
			return WRONG;
	if (rp_map_each(exam->fds[0], &exam->quiz->maps[0], keep_entry, &c) < 0)
		return exam_wrong(exam, "the map cannot be read");
	if (c.entries != 1)
		return exam_wrong(exam, "five runs of one pid and CPU made %d keys", c.entries);
	if (memcmp(c.key, expected, sizeof(expected)))
		return exam_wrong(exam, "the key is not the two arguments and two bytes of 0");
	if (c.count != 5)
		return exam_wrong(exam, "five runs were counted as %llu",
				  (unsigned long long)c.count);
	return RIGHT;
}

/* What is stored under the first argument; 7 if nothing is. */
static enum verdict stored_or_7(struct exam *exam)
{
	const uint64_t key = 0x100000001, value = 31;
	enum verdict verdict;
	int err;

	if (!exam_map_is(exam, BPF_MAP_TYPE_HASH, 8, 8))
		return WRONG;
	err = rp_map_update(exam->fds[0], &key, &value, BPF_ANY);
	if (err)
		return exam_wrong(exam, "the map takes no entry: %s", strerror(-err));
	verdict = exam_expect(exam, key, 0, 31);
	if (verdict == RIGHT)
		verdict = exam_expect(exam, 1, 0, 7);
	return verdict;
}

static int atomic_adds(struct exam *exam)
{
	struct asm_image image;
	int n = 0;

	if (asm_assemble(exam->quiz->program, &exam->bind, &image, NULL, NULL))
		return 0;
	for (uint32_t i = 0; i < image.ninsns; i++)
		n += image.insns[i].code == (BPF_STX | BPF_ATOMIC | BPF_DW);
	asm_image_free(&image);
	return n;
}

/* {runs, sum of the first arguments} */
static enum verdict runs_and_sum(struct exam *exam)
{
	uint64_t found[2] = { 0 };
	uint32_t result;

	if (!exam_map_is(exam, BPF_MAP_TYPE_ARRAY, 4, 16))
		return WRONG;
	for (uint64_t i = 1; i <= 4; i++)
		if (!exam_run(exam, i * 1000, 77, &result))
			return WRONG;
	if (rp_map_lookup(exam->fds[0], &(uint32_t){ 0 }, found))
		return exam_wrong(exam, "the map cannot be read");
	if (found[0] != 4 || found[1] != 10000)
		return exam_wrong(exam,
				  "four runs with 1000, 2000, 3000, 4000 were counted as %llu runs "
				  "and a sum of %llu",
				  (unsigned long long)found[0], (unsigned long long)found[1]);
	if (atomic_adds(exam) < 2)
		return exam_wrong(exam, "two CPUs at once would lose counts: not all is atomic");
	return RIGHT;
}

/* 1 + 2 + ... + n, and 0 if n is above 100. */
static enum verdict sum_to_n(struct exam *exam)
{
	static const uint64_t inputs[] = { 0, 1, 2, 63, 64, 99, 100, 101, 5000, UINT64_MAX };
	enum verdict verdict = RIGHT;

	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs) && verdict == RIGHT; i++) {
		uint64_t n = inputs[i];

		verdict = exam_expect(exam, n, 0, n > 100 ? 0 : (uint32_t)(n * (n + 1) / 2));
	}
	return verdict;
}

/* How much longer is one packet than another, to the program? */
static enum verdict packet_length(struct exam *exam)
{
	uint32_t small, middle, large;

	if (!exam_run_packet(exam, 64, &small) || !exam_run_packet(exam, 65, &middle) ||
	    !exam_run_packet(exam, 964, &large))
		return WRONG;
	if (middle - small != 1 || large - small != 900)
		return exam_wrong(exam, "packets of 64, 65 and 964 bytes: it returned %u, %u, %u",
				  small, middle, large);
	return RIGHT;
}

/* The number at an address of ours; 0 where there is nothing. */
static enum verdict user_number(struct exam *exam)
{
	const uint32_t number = 0xc0ffee;
	enum verdict verdict = exam_expect(exam, (uint64_t)(uintptr_t)&number, 0, number);
	void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (nothing == MAP_FAILED)
		return exam_wrong(exam, "no memory");
	if (verdict == RIGHT)
		verdict = exam_expect(exam, (uint64_t)(uintptr_t)nothing, 0, 0);
	munmap(nothing, 4096);
	return verdict;
}

/* The number of this process's stack, whose first address is one of its own. */
static enum verdict user_stack(struct exam *exam)
{
	uint64_t frames[20] = { 0 };
	uint32_t id;

	if (!exam_map_is(exam, BPF_MAP_TYPE_STACK_TRACE, 4, 160) || !exam_run(exam, 0, 0, &id))
		return WRONG;
	if ((int32_t)id < 0)
		return exam_wrong(exam, "it returned %d: %s", (int32_t)id, strerror(-(int32_t)id));
	if (rp_map_lookup(exam->fds[0], &id, frames))
		return exam_wrong(exam, "it returned %u, and no stack has that number", id);
	if (!frames[0] || frames[0] >> 63)
		return exam_wrong(exam, "the stack's first address, %#llx, is not the process's",
				  (unsigned long long)frames[0]);
	return RIGHT;
}

struct delivered {
	uint64_t number[8];
	size_t n;
};

static int keep_record(void *ctx, const void *record, size_t size)
{
	struct delivered *d = ctx;

	if (size >= sizeof(uint64_t) && d->n < 8)
		memcpy(&d->number[d->n++], record, sizeof(uint64_t));
	return 0;
}

/* A record for each even number, and none for the others. */
static enum verdict even_only(struct exam *exam)
{
	struct delivered d = { 0 };
	struct rp_ring *ring;
	uint32_t result;
	int err;

	if (!exam_map_is(exam, BPF_MAP_TYPE_RINGBUF, 0, 0))
		return WRONG;
	for (uint64_t i = 10; i < 16; i++)
		if (!exam_run(exam, i, 0, &result))
			return WRONG;
	err = rp_ring_open(exam->fds[0], exam->quiz->maps[0].max_entries, &ring);
	if (err)
		return exam_wrong(exam, "the ring cannot be read: %s", strerror(-err));
	rp_ring_drain(ring, keep_record, &d);
	rp_ring_close(ring);
	if (d.n != 3)
		return exam_wrong(exam, "of the numbers 10 to 15 it delivered %zu, not 3", d.n);
	for (size_t i = 0; i < d.n; i++)
		if (d.number[i] != 10 + 2 * i)
			return exam_wrong(exam, "it delivered %llu, where %zu was next",
					  (unsigned long long)d.number[i], 10 + 2 * i);
	return RIGHT;
}

/* Three times the first argument, and the second. */
static enum verdict three_times(struct exam *exam)
{
	enum verdict verdict = exam_expect(exam, 14, 1000, 1042);

	if (verdict == RIGHT)
		verdict = exam_expect(exam, 700, 9, 2109);
	return verdict;
}

static enum verdict parent(struct exam *exam)
{
	return exam_expect(exam, 1, 2, (uint32_t)getppid());
}

/* The byte of that number; 0 if there is no such byte. */
static enum verdict byte_at(struct exam *exam)
{
	static const int64_t inputs[] = { 0, 1, 37, 63, 64, 65, 127, -1, INT64_MIN, INT64_MAX };
	unsigned char places[64];
	enum verdict verdict = RIGHT;

	if (!exam_map_is(exam, BPF_MAP_TYPE_ARRAY, 4, sizeof(places)))
		return WRONG;
	for (size_t i = 0; i < sizeof(places); i++)
		places[i] = (unsigned char)(200 - i);
	if (rp_map_update(exam->fds[0], &(uint32_t){ 0 }, places, BPF_ANY))
		return exam_wrong(exam, "the map cannot be filled");
	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs) && verdict == RIGHT; i++)
		verdict = exam_expect(exam, (uint64_t)inputs[i], 0,
				      inputs[i] >= 0 && inputs[i] < 64 ? places[inputs[i]] : 0);
	return verdict;
}

/* The lowest 20 bits turned round, plus the byte that the lowest six of that name. */
static enum verdict turned_round(struct exam *exam)
{
	static const uint64_t inputs[] = { 0, 1, 0x80000, 0xfffff, 0x12345, ~0ull, 0xf00000 };
	unsigned char places[64];
	enum verdict verdict = RIGHT;

	if (!exam_map_is(exam, BPF_MAP_TYPE_ARRAY, 4, sizeof(places)))
		return WRONG;
	for (size_t i = 0; i < sizeof(places); i++)
		places[i] = (unsigned char)(3 * i + 1);
	if (rp_map_update(exam->fds[0], &(uint32_t){ 0 }, places, BPF_ANY))
		return exam_wrong(exam, "the map cannot be filled");
	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs) && verdict == RIGHT; i++) {
		uint32_t turned = 0;

		for (int bit = 0; bit < 20; bit++)
			if (inputs[i] >> bit & 1)
				turned |= 1u << (19 - bit);
		verdict = exam_expect(exam, inputs[i], 0, turned + places[turned & 63]);
	}
	return verdict;
}

/* The number in the map, and the caller's process id. */
static enum verdict value_and_process(struct exam *exam)
{
	static const uint64_t values[] = { 5, 80000 };
	enum verdict verdict = RIGHT;

	if (!exam_map_is(exam, BPF_MAP_TYPE_ARRAY, 4, sizeof(values[0])))
		return WRONG;
	for (size_t i = 0; i < 2 && verdict == RIGHT; i++) {
		if (rp_map_update(exam->fds[0], &(uint32_t){ 0 }, &values[i], BPF_ANY))
			return exam_wrong(exam, "the map cannot be filled");
		verdict = exam_expect(exam, 0, 0, (uint32_t)(values[i] + (uint64_t)getpid()));
	}
	return verdict;
}

const struct judged load_exercises[] = {
	{ "01-result", "01-exit", "01/no_result --repair", NULL, one_more },
	{ "03-over-a-call", "02-registers", "02/kept_in_r1", NULL, sum_with_process },
	{ "05-one-key", "03-stack-and-keys", "03/padding_left --lint", NULL, one_key },
	{ "07-no-such-key", "04-maps", "04/unchecked --repair", NULL, stored_or_7 },
	{ "08-shared-counter", "05-counting", "05/count_atomic", NULL, runs_and_sum },
	{ "10-sum", "06-loops-and-log2", "06/by_loop --step", NULL, sum_to_n },
	{ "12-length", "07-context", "07/on_sample --xlated", NULL, packet_length },
	{ "14-user-memory", "08-probe-read", "08/follows", NULL, user_number },
	{ "15-stack-number", "09-stacks", "09/wrong_order --repair", NULL, user_stack },
	{ "16-even-only", "10-opensnoop", "10/kept --step", NULL, even_only },
	{ "17-callers-register", "11-functions", "11/callers_r6", NULL, three_times },
	{ "19-parent", "12-btf", "12/ancestors --step", "bpf_get_current_task_btf", parent },
	{ "22-index", "15-reading-scalars", "15/signed_bound", NULL, byte_at },
	{ "24-twenty", "16-pruning", "16/forgotten --step", NULL, turned_round },
	{ "26-spilled", "17-spill-and-fill", "17/pointer", NULL, value_and_process },
	{ 0 },
};
