/* SPDX-License-Identifier: BSD-2-Clause */
/* Ring buffers on the running kernel: a million records in order, none twice, none missing unless
 * counted. */
#include "test_loader.h"

#include <poll.h>

enum { RING_BYTES = 1 << 16, BURST = 1000 };

/* A million, and where a machine is emulated a tenth of it: a multiple of BURST * 4. */
static int records;

struct counters {
	uint64_t next, lost;
};

/* A record of 24 bytes: with its header of 8 the ring's size is no multiple of it, so that records
 * run over the end. */
struct record {
	uint64_t number, twice, salt;
};

static const struct asm_map maps[] = {
	{ "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, RING_BYTES },
	{ "counters", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct counters), 1, BPF_F_MMAPABLE },
};

/* clang-format off */
/* Numbers a record from the counter, which our only thread moves; a record that finds no room is
 * counted. */
static const struct asm_insn emit_lines[] = {
	LD_MAP_VALUE(R6, counters, 0),
	LDX(DW, R7, R6, offsetof(struct counters, next)),
	MOV_REG(R1, R7),
	ADD(R1, 1),
	STX(DW, R6, offsetof(struct counters, next), R1),
	LD_MAP(R1, ring),
	MOV(R2, sizeof(struct record)),
	MOV(R3, 0),
	CALL(ringbuf_reserve),
	JNE(R0, 0, capacity),
	MOV(R1, 1),
	ATOMIC_ADD(DW, R6, offsetof(struct counters, lost), R1),
	JA(out),
LABEL(capacity),
	STX(DW, R0, offsetof(struct record, number), R7),
	MOV_REG(R1, R7),
	ADD_REG(R1, R7),
	STX(DW, R0, offsetof(struct record, twice), R1),
	ST(DW, R0, offsetof(struct record, salt), 0x5a17),
	MOV_REG(R1, R0),
	MOV(R2, BPF_RB_NO_WAKEUP),
	/* every eighth is thrown away again, which the reader must step over */
	AND(R7, 7),
	JEQ(R7, 7, discard),
	CALL(ringbuf_submit),
	JA(out),
LABEL(discard),
	CALL(ringbuf_discard),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */

static const struct asm_program emit = {
	.name = "emit",
	.type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.license = "Dual BSD/GPL",
	ASM_LINES(emit_lines),
};

static int fds[2], prog;
static struct counters *counters;
static struct rp_ring *ring;

static void setup(void)
{
	const struct asm_bindings bind = { .maps = maps, .map_fds = fds, .nmaps = 2 };
	void *at;
	size_t size;

	records = getenv("VM_EMULATED") ? 100000 : 1000000;
	ck_assert_int_eq(rp_maps_create(maps, 2, fds), 0);
	ck_assert_int_eq(rp_map_mmap(fds[1], &maps[1], &at, &size), 0);
	counters = at;
	prog = rp_program_load(&emit, &bind);
	ck_assert_int_ge(prog, 0);
	ck_assert_int_eq(rp_ring_open(fds[0], RING_BYTES, &ring), 0);
}

static void teardown(void)
{
	rp_ring_close(ring);
	rp_fds_close(fds, 2);
	close(prog);
}

static void burst(int n)
{
	struct rp_test_run run = { 0 };

	int err = 0;

	for (int i = 0; !err && i < n; i++)
		err = rp_prog_test_run(prog, &run);
	ck_assert_int_eq(err, 0);
}

struct reader {
	uint64_t expect, got, gaps;
	int stop_after;
};

/* Numbers only grow; those ending in 7 modulo 8 never come. */
static int take(void *ctx, const void *data, size_t size)
{
	struct reader *r = ctx;
	const struct record *rec = data;

	/* check(3) writes each assertion to a file: too much for a million records. */
	if (size != sizeof(*rec) || rec->salt != 0x5a17 || rec->twice != 2 * rec->number ||
	    rec->number % 8 == 7 || rec->number < r->expect)
		ck_abort_msg("record %llu, expected %llu: %zu bytes, twice %llu, salt %llx",
			     (unsigned long long)rec->number, (unsigned long long)r->expect, size,
			     (unsigned long long)rec->twice, (unsigned long long)rec->salt);
	for (; r->expect < rec->number; r->expect++)
		r->gaps += r->expect % 8 != 7;
	r->expect++;
	r->got++;
	return r->stop_after && r->got == (uint64_t)r->stop_after ? -ECANCELED : 0;
}

START_TEST(test_a_million)
{
	struct reader r = { 0 };

	for (int i = 0; i < records / BURST; i++) {
		burst(BURST);
		ck_assert_int_eq(rp_ring_drain(ring, take, &r), BURST * 7 / 8);
		ck_assert_uint_eq(rp_ring_pending(ring), 0);
	}
	ck_assert_uint_eq(r.got, records * 7 / 8);
	ck_assert_uint_eq(r.gaps, 0);
	ck_assert_uint_eq(counters->lost, 0);
}
END_TEST

static void *write_all(void *arg)
{
	burst(records / 4);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Reader and writer at the same time, the ring too small: what is missing has been counted. */
START_TEST(test_while_being_written)
{
	struct reader r = { 0 };
	bool done = false;
	pthread_t writer;

	ck_assert_int_eq(pthread_create(&writer, NULL, write_all, &done), 0);
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		ck_assert_int_ge(rp_ring_drain(ring, take, &r), 0);
	pthread_join(writer, NULL);
	ck_assert_int_ge(rp_ring_drain(ring, take, &r), 0);
	ck_assert_uint_eq(counters->next, records / 4);
	/* Records that find room again show how many were lost before them. */
	burst(8);
	ck_assert_int_eq(rp_ring_drain(ring, take, &r), 7);
	/* A lost record with a number 7 modulo 8 leaves no gap, so gaps may be fewer. */
	ck_assert_uint_le(r.gaps, counters->lost);
	ck_assert_uint_ge(r.gaps + records / 4 / 8, counters->lost);
	ck_assert_uint_eq(r.got + r.gaps, r.expect - r.expect / 8);
}
END_TEST

START_TEST(test_full)
{
	enum { FIT = RING_BYTES / (8 + sizeof(struct record)) };
	struct reader r = { 0 };

	burst(FIT + 100);
	ck_assert_uint_ge(counters->lost, 100);
	ck_assert_uint_le(rp_ring_pending(ring), RING_BYTES);
	rp_ring_drain(ring, take, &r);
	ck_assert_uint_eq(r.got + r.gaps, r.expect - r.expect / 8);
	burst(8);
	ck_assert_int_eq(rp_ring_drain(ring, take, &r), 7);
	ck_assert_uint_ge(r.gaps, 80);
}
END_TEST

START_TEST(test_stops_when_told)
{
	struct reader r = { .stop_after = 3 };

	burst(8);
	ck_assert_int_eq(rp_ring_drain(ring, take, &r), -ECANCELED);
	ck_assert_uint_eq(r.got, 3);
	r.stop_after = 0;
	ck_assert_int_eq(rp_ring_drain(ring, take, &r), 4);
}
END_TEST

START_TEST(test_poll)
{
	struct pollfd p = { .fd = fds[0], .events = POLLIN };
	struct reader r = { 0 };

	ck_assert_int_eq(poll(&p, 1, 0), 0);
	burst(1);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_int_eq(rp_ring_drain(ring, take, &r), 1);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
}
END_TEST

START_TEST(test_not_a_ring)
{
	struct rp_ring *none = NULL;

	capture_log();
	ck_assert_int_lt(rp_ring_open(prog, RING_BYTES, &none), 0);
	ck_assert_ptr_null(none);
	ck_assert_logged("cannot map a ring buffer");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: ring buffer");
	TCase *tc = tcase_create("live");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_million);
	tcase_add_test(tc, test_while_being_written);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_stops_when_told);
	tcase_add_test(tc, test_poll);
	tcase_add_test(tc, test_not_a_ring);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
