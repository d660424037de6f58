/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of io where there is no room: values for which no histogram can be made come through
 * the ring, and requests that find no place are counted. On whatever disk the working directory is,
 * or a null_blk.
 */
#include "test_loader.h"

#include "programs/io/io.h"
#include "programs/shared/stack.h"

#define BLOCK 4096
#define ROUNDS 64

struct recording {
	struct asm_map maps[IO_MAPS];
	int fds[IO_MAPS];
	struct rp_ring *ring;
	struct rp_link *links[2];
	uint64_t counted, came; /* in histograms, through the ring */
};

/* Tables of unwinding and stacks are not used here. */
static void make_maps(struct recording *r, uint32_t hists, uint32_t requests)
{
	memcpy(r->maps, rp_io_maps, sizeof(r->maps));
	for (int i = STACK_MAP_MAPPINGS; i <= STACK_MAP_RULES; i++)
		r->maps[i].value_size = 8;
	r->maps[IO_MAP_HISTS].max_entries = hists;
	r->maps[IO_MAP_REQUESTS].max_entries = requests;
	ck_assert_int_eq(rp_maps_create(r->maps, IO_MAPS, r->fds), 0);
	ck_assert_int_eq(
		rp_ring_open(r->fds[IO_MAP_RING], r->maps[IO_MAP_RING].max_entries, &r->ring), 0);
}

static bool attach(struct recording *r)
{
	struct io_config config = rp_io_usual_config;
	const struct asm_bindings bind = { .maps = r->maps,
					   .map_fds = r->fds,
					   .nmaps = IO_MAPS,
					   .config = &config,
					   .config_size = sizeof(config) };
	const struct rp_program *programs[2] = { rp_program_named("io_start"),
						 rp_program_named("io_done") };
	const struct rp_btf *btf;
	int64_t bit;

	if (rp_btf_kernel(&btf) ||
	    rp_btf_tracepoint_takes(btf, "block_io_start", 0, "request") != 1)
		return false;
	config.kernel.flush_seq =
		rp_btf_enum(btf, NULL, "__RQF_FLUSH_SEQ", &bit) ? 1u << 4 : 1u << bit;
	config.key_disk = 0; /* by operation alone */
	for (int i = 0; i < 2; i++) {
		int fd = rp_program_load(&programs[i]->code, &bind);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(rp_attach_raw_tracepoint(fd, NULL, &r->links[i]), 0);
		close(fd);
	}
	return true;
}

/* Reads and writes past the page cache, one after the other. False if the file cannot. */
static bool read_and_write(void)
{
	const char *path = access("/dev/nullb0", W_OK) ? "build-io-test" : "/dev/nullb0";
	int fd = open(path, O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
	bool good = fd >= 0;
	void *block;

	ck_assert_int_eq(posix_memalign(&block, BLOCK, BLOCK), 0);
	memset(block, 'x', BLOCK);
	for (int i = 0; good && i < ROUNDS; i++)
		good = pwrite(fd, block, BLOCK, (off_t)i * BLOCK) == BLOCK &&
		       pread(fd, block, BLOCK, (off_t)i * BLOCK) == BLOCK;
	free(block);
	if (fd >= 0)
		close(fd);
	if (path[0] != '/')
		unlink(path);
	return good;
}

static int add_counts(void *ctx, const void *key, const void *value)
{
	struct recording *r = ctx;
	const size_t stride = rp_map_cpu_stride(&r->maps[IO_MAP_HISTS]);

	(void)key;
	for (int cpu = 0; cpu < rp_cpus_possible(); cpu++) {
		const struct asm_hist *h =
			(const void *)((const char *)value + (size_t)cpu * stride);

		for (unsigned int slot = 0; slot < IO_HIST_SLOTS; slot++)
			r->counted += h->slots[slot];
	}
	return 0;
}

static int add_sample(void *ctx, const void *record, size_t size)
{
	struct recording *r = ctx;
	const struct io_sample *sample = record;

	ck_assert_uint_eq(size, sizeof(*sample));
	ck_assert_uint_eq(sample->key.phase, IO_TOTAL);
	ck_assert_uint_eq(sample->key.disk, 0);
	ck_assert_uint_gt(sample->value, 0);
	r->came++;
	return 0;
}

/*
 * Everything ended and adds up: what was told of is in a histogram, came through the ring, or is
 * lost and counted.
 */
static struct io_stats collect(struct recording *r)
{
	struct io_stats stats;

	for (int i = 0; i < 2; i++)
		rp_link_close(r->links[i]);
	rp_quiesce();
	ck_assert_int_ge(rp_ring_drain(r->ring, add_sample, r), 0);
	ck_assert_int_ge(rp_map_each(r->fds[IO_MAP_HISTS], &r->maps[IO_MAP_HISTS], add_counts, r),
			 0);
	ck_assert_int_eq(rp_map_lookup(r->fds[STACK_MAP_STATS], &(uint32_t){ 0 }, &stats), 0);
	ck_assert_uint_eq(stats.common.fired, r->counted + r->came + stats.unknown + stats.no_end +
						      stats.common.ring_full);
	return stats;
}

static void release(struct recording *r)
{
	rp_ring_close(r->ring);
	rp_fds_close(r->fds, IO_MAPS);
}

/*
 * False, with a word, where nothing has come of it: no event at the start, a file system in memory.
 */
static bool recorded(struct recording *r, struct io_stats *stats)
{
	const char *why = NULL;

	if (!attach(r))
		why = "block_io_start came with Linux 6.4";
	else if (!read_and_write())
		why = "no file that can be read past the page cache";
	*stats = collect(r);
	if (!why && stats->common.fired < 2 * ROUNDS)
		why = "what is read and written here goes to no disk";
	if (why)
		printf("skip: %s\n", why);
	return !why;
}

/*
 * Writes have a histogram, still empty. Else it would go to the operation that ends first, and on a
 * machine that is busy that may be anybody's: a flush, of which there are few.
 */
static void give_writes_the_room(struct recording *r)
{
	const struct io_key key = { .flags = IO_OP_WRITE, .phase = IO_TOTAL };
	const size_t bytes = rp_map_value_bytes(&r->maps[IO_MAP_HISTS]);
	void *empty = calloc(1, bytes);

	ck_assert_ptr_nonnull(empty);
	ck_assert_int_eq(rp_map_update(r->fds[IO_MAP_HISTS], &key, empty, BPF_NOEXIST), 0);
	free(empty);
}

START_TEST(a_histogram_has_no_capacity)
{
	struct recording r = { 0 };
	struct io_stats stats;

	make_maps(&r, 1, 16384);
	give_writes_the_room(&r);
	if (recorded(&r, &stats)) {
		/* Reads have none. */
		ck_assert_uint_ge(r.counted, ROUNDS);
		ck_assert_uint_ge(r.came, ROUNDS);
		ck_assert_uint_eq(stats.common.ring_full, 0);
	}
	release(&r);
}
END_TEST

START_TEST(requests_have_no_capacity)
{
	struct recording r = { 0 };
	struct io_stats stats;

	make_maps(&r, 64, 1);
	if (recorded(&r, &stats)) {
		/* The time that the kernel noted has served instead. */
		ck_assert_uint_ge(r.counted + r.came, 2 * ROUNDS);
		ck_assert_uint_eq(stats.unknown, 0);
	}
	release(&r);
}
END_TEST

/* Writes that wait for the flush of the disk's cache, one after the other. */
static void flush_often(void)
{
	int fd = open("build-io-test", O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	for (int i = 0; i < 8; i++)
		ck_assert(pwrite(fd, "x", 1, (off_t)i * BLOCK) == 1 && !fsync(fd));
	close(fd);
	unlink("build-io-test");
}

/* When the last flush that is under way began. */
static int latest_flush(void *ctx, const void *key, const void *value)
{
	const struct io_request *request = value;
	uint64_t *latest = ctx;

	(void)key;
	if ((request->flags & IO_OP_MASK) == IO_OP_FLUSH && request->start > *latest)
		*latest = request->start;
	return 0;
}

START_TEST(a_flush_whose_predecessor_has_not_ended_is_another_one)
{
	struct recording r = { 0 };
	struct io_config config = rp_io_usual_config;
	const struct asm_bindings bind = { .maps = r.maps,
					   .map_fds = r.fds,
					   .nmaps = IO_MAPS,
					   .config = &config,
					   .config_size = sizeof(config) };
	uint64_t first = 0, last = 0;
	const struct rp_btf *btf;
	struct timespec between;
	cpu_set_t here, before;
	int fd;

	make_maps(&r, 64, 16384);
	if (rp_btf_kernel(&btf) ||
	    rp_btf_tracepoint_takes(btf, "block_io_start", 0, "request") != 1) {
		printf("skip: block_io_start came with Linux 6.4\n");
		release(&r);
		return;
	}
	/* Nobody tells of ends. */
	config.timeline = 1;
	config.only_time = 0;
	fd = rp_program_load(&rp_program_named("io_issue")->code, &bind);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(rp_attach_raw_tracepoint(fd, NULL, &r.links[0]), 0);
	close(fd);

	/* From one CPU, for other ones may have another request for their flushes. */
	ck_assert_int_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(here), &here), 0);
	flush_often();
	ck_assert_int_ge(
		rp_map_each(r.fds[IO_MAP_REQUESTS], &r.maps[IO_MAP_REQUESTS], latest_flush, &first),
		0);
	clock_gettime(CLOCK_MONOTONIC, &between);
	flush_often();
	sched_setaffinity(0, sizeof(before), &before);
	rp_link_close(r.links[0]);
	ck_assert_int_ge(
		rp_map_each(r.fds[IO_MAP_REQUESTS], &r.maps[IO_MAP_REQUESTS], latest_flush, &last),
		0);
	if (first)
		ck_assert_uint_gt(last, (uint64_t)between.tv_sec * 1000000000 +
						(uint64_t)between.tv_nsec);
	else
		printf("skip: what is written here needs no flush\n");
	release(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("io");
	TCase *tc = tcase_create("no room");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_histogram_has_no_capacity);
	tcase_add_test(tc, requests_have_no_capacity);
	tcase_add_test(tc, a_flush_whose_predecessor_has_not_ended_is_another_one);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
