/* SPDX-License-Identifier: BSD-2-Clause */
/* The composed macros of macros.h, in the kernel: maps, rings, reading memory, the frame. */
#include "macros_world.h"

#include <pthread.h>

#include <sys/prctl.h>

struct frame {
	uint64_t key, value, other_key;
	char text[40];
};
enum {
	KEY = FRAME(struct frame, key),
	VALUE = FRAME(struct frame, value),
	OTHER_KEY = FRAME(struct frame, other_key),
	TEXT = FRAME(struct frame, text),
};

static uint64_t count_of(int map, uint64_t key)
{
	uint64_t value = 0;

	ck_assert_int_eq(rp_map_lookup(world_fds[map], &key, &value), 0);
	return value;
}

static void put(int map, uint64_t key, uint64_t value)
{
	ck_assert_int_eq(rp_map_update(world_fds[map], &key, &value, BPF_ANY), 0);
}

static bool has(int map, uint64_t key)
{
	uint64_t value;

	return rp_map_lookup(world_fds[map], &key, &value) == 0;
}

/* ---- maps */

START_TEST(look_up_update_delete)
{
	static const struct asm_insn look_up[] = {
		STX(DW, R10, KEY, R1), MAP_LOOKUP(counts, KEY),
		JEQ(R0, 0, none),      LDX(DW, R0, R0, 0),
		LABEL(none),
	};
	static const struct asm_insn insert[] = {
		STX(DW, R10, KEY, R1),
		STX(DW, R10, VALUE, R2),
		MAP_UPDATE(counts, KEY, VALUE, BPF_NOEXIST),
	};
	static const struct asm_insn replace[] = {
		STX(DW, R10, KEY, R1),
		STX(DW, R10, VALUE, R2),
		MAP_UPDATE(counts, KEY, VALUE, BPF_EXIST),
	};
	static const struct asm_insn delete[] = { STX(DW, R10, KEY, R1), MAP_DELETE(counts, KEY) };
	struct isa_cell cell;

	ck_assert_int_eq((int64_t)RUN(look_up, 7, 0, 0).out[0], 0);
	ck_assert_int_eq((int64_t)RUN(replace, 7, 1, 0).out[0], -ENOENT);
	ck_assert_int_eq((int64_t)RUN(insert, 7, 0x123456789, 0).out[0], 0);
	ck_assert_int_eq((int64_t)RUN(insert, 7, 2, 0).out[0], -EEXIST);
	ck_assert_uint_eq(count_of(COUNTS, 7), 0x123456789);
	cell = RUN(look_up, 7, 0, 0);
	ck_assert_uint_eq(cell.out[0], 0x123456789);
	for (int r = 6; r <= 8; r++)
		ck_assert_uint_eq(cell.out[r], cell.in[r]);
	ck_assert_int_eq((int64_t)RUN(replace, 7, 3, 0).out[0], 0);
	ck_assert_uint_eq(count_of(COUNTS, 7), 3);
	ck_assert_int_eq((int64_t)RUN(delete, 7, 0, 0).out[0], 0);
	ck_assert_int_eq((int64_t)RUN(delete, 7, 0, 0).out[0], -ENOENT);
	ck_assert(!has(COUNTS, 7));
}
END_TEST

START_TEST(look_up_or_init)
{
	static const struct asm_insn lines[] = {
		STX(DW, R10, KEY, R1),
		STX(DW, R10, VALUE, R2),
		MAP_LOOKUP_OR_INIT(full, KEY, VALUE),
		JEQ(R0, 0, none),
		LDX(DW, R6, R0, 0),
		MOV(R0, 1),
		LABEL(none),
	};
	int fd = LOAD(lines);
	struct isa_cell cell = world_run(fd, 100, 42, 0);

	ck_assert_uint_eq(cell.out[0], 1);
	ck_assert_uint_eq(cell.out[6], 42);
	cell = world_run(fd, 100, 43, 0); /* is there already, with 42 */
	ck_assert_uint_eq(cell.out[6], 42);
	ck_assert_uint_eq(count_of(FULL, 100), 42);
	for (uint64_t key = 101; key < 100 + FEW; key++)
		ck_assert_uint_eq(world_run(fd, key, key, 0).out[6], key);
	ck_assert_uint_eq(world_run(fd, 99, 1, 0).out[0], 0); /* no room */
	ck_assert(!has(FULL, 99));
	ck_assert_uint_eq(world_run(fd, 103, 1, 0).out[6], 103);
	close(fd);
}
END_TEST

START_TEST(map_add)
{
	static const struct asm_insn lines[] = {
		STX(DW, R10, KEY, R1),
		STX(DW, R10, VALUE, R2),
		MAP_ADD(full, KEY, VALUE),
	};
	int fd = LOAD(lines);
	struct isa_cell cell;

	cell = world_run(fd, 1, 5, 0); /* new */
	ck_assert_int_eq((int64_t)cell.out[0], 0);
	ck_assert_uint_eq(count_of(FULL, 1), 5);
	for (int r = 6; r <= 8; r++)
		ck_assert_uint_eq(cell.out[r], cell.in[r]);
	ck_assert_int_eq((int64_t)world_run(fd, 1, 0x700000000, 0).out[0], 0);
	ck_assert_uint_eq(count_of(FULL, 1), 0x700000005);
	ck_assert_int_eq((int64_t)world_run(fd, 1, (uint64_t)-6, 0).out[0], 0);
	ck_assert_uint_eq(count_of(FULL, 1), 0x6ffffffff);
	for (uint64_t key = 2; key <= FEW; key++)
		ck_assert_int_eq((int64_t)world_run(fd, key, key, 0).out[0], 0);
	ck_assert_int_eq((int64_t)world_run(fd, FEW + 1, 1, 0).out[0], -E2BIG);
	ck_assert(!has(FULL, FEW + 1));
	/* A full map still counts what it has. */
	ck_assert_int_eq((int64_t)world_run(fd, 2, 8, 0).out[0], 0);
	ck_assert_uint_eq(count_of(FULL, 2), 10);
	close(fd);
}
END_TEST

/* Each use has labels of its own, and a jump between the uses is the program's. */
START_TEST(the_same_macro_twice)
{
	static const struct asm_insn lines[] = {
		STX(DW, R10, KEY, R1),
		STX(DW, R10, OTHER_KEY, R2),
		STX(DW, R10, VALUE, R3),
		MAP_ADD(full, KEY, VALUE),
		MOV_REG(R6, R0),
		JNE(R0, 0, done),
		MAP_ADD(full, OTHER_KEY, VALUE),
		LABEL(done),
	};
	struct isa_cell cell = RUN(lines, 11, 12, 3);

	ck_assert_int_eq((int64_t)cell.out[6], 0);
	ck_assert_int_eq((int64_t)cell.out[0], 0);
	cell = RUN(lines, 12, 11, 4);
	ck_assert_uint_eq(count_of(FULL, 11), 7);
	ck_assert_uint_eq(count_of(FULL, 12), 7);
	put(FULL, 13, 0);
	put(FULL, 14, 0);
	cell = RUN(lines, 15, 11, 1); /* the first finds no room, the second is jumped over */
	ck_assert_int_eq((int64_t)cell.out[6], -E2BIG);
	ck_assert_int_eq((int64_t)cell.out[0], -E2BIG);
	ck_assert_uint_eq(count_of(FULL, 11), 7);
}
END_TEST

START_TEST(count)
{
	static const struct asm_insn lines[] = {
		COUNT(stats, struct stats, lost),
		COUNT(stats, struct stats, kept),
		COUNT(stats, struct stats, lost),
		MOV_REG(R0, R3),
		ADD_REG(R0, R4),
		ADD_REG(R0, R5),
	};
	uint32_t zero = 0;
	struct stats stats = { .kept = 10, .lost = 0xffffffff };
	struct isa_cell cell;

	ck_assert_int_eq(rp_map_update(world_fds[STATS], &zero, &stats, BPF_ANY), 0);
	cell = RUN(lines, 1, 2, 3);
	ck_assert_uint_eq(cell.out[0], cell.in[3] + cell.in[4] + cell.in[5]);
	ck_assert_int_eq(rp_map_lookup(world_fds[STATS], &zero, &stats), 0);
	ck_assert_uint_eq(stats.kept, 11);
	ck_assert_uint_eq(stats.lost, 0x100000001);
}
END_TEST

/* ---- two CPUs at once */

struct hammer {
	int fd;
	uint32_t rounds;
};

static void *hammer(void *arg)
{
	const struct hammer *h = arg;
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet,
				   .data_size_in = sizeof(packet),
				   .repeat = h->rounds };

	return (void *)(intptr_t)rp_prog_test_run(h->fd, &run);
}

/* Runs lines so many times on each of two CPUs. Socket filters can be repeated. */
static void hammer_twice(const struct asm_insn *lines, size_t n, uint32_t rounds)
{
	struct hammer h = { .rounds = rounds };
	pthread_t threads[2];

	isa_type = BPF_PROG_TYPE_SOCKET_FILTER;
	h.fd = world_load(lines, n);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, &h), 0);
	for (int i = 0; i < 2; i++) {
		void *err;

		ck_assert_int_eq(pthread_join(threads[i], &err), 0);
		ck_assert_ptr_null(err);
	}
	close(h.fd);
}

static uint64_t lost(void)
{
	struct stats stats = { 0 };
	uint32_t zero = 0;

	ck_assert_int_eq(rp_map_lookup(world_fds[STATS], &zero, &stats), 0);
	return stats.lost;
}

#define ROUNDS 1000000U
#define KEYS 16

START_TEST(no_addition_is_lost_between_cpus)
{
	static const struct asm_insn lines[] = {
		CALL(get_prandom_u32),
		AND(R0, KEYS - 1),
		STX(DW, R10, KEY, R0),
		ST(DW, R10, VALUE, 3),
		MAP_ADD(counts, KEY, VALUE),
		JEQ(R0, 0, fine),
		COUNT(stats, struct stats, lost),
		LABEL(fine),
	};
	uint64_t sum = 0;

	hammer_twice(lines, COUNT_OF(lines), ROUNDS);
	for (uint64_t key = 0; key < KEYS; key++)
		sum += count_of(COUNTS, key);
	ck_assert_uint_eq(lost(), 0);
	ck_assert_uint_eq(sum, 2ULL * ROUNDS * 3);
}
END_TEST

/* Tickets in pairs: whoever draws 2n and 2n + 1 looks for key n at the same time, both miss it, and
 * both insert. */
START_TEST(no_insertion_overwrites_another)
{
	static const struct asm_insn lines[] = {
		MOV(R1, 1),
		ATOMIC_FETCH_ADD(DW, R9, MEM, R1),
		RSH(R1, 1),
		STX(DW, R10, KEY, R1),
		ST(DW, R10, VALUE, 3),
		MAP_ADD(many, KEY, VALUE),
		JEQ(R0, 0, fine),
		COUNT(stats, struct stats, lost),
		LABEL(fine),
	};

	if (isa_skip(lines, COUNT_OF(lines)))
		return;
	hammer_twice(lines, COUNT_OF(lines), MANY_KEYS);
	ck_assert_uint_eq(lost(), 0);
	for (uint64_t key = 0; key < MANY_KEYS; key++)
		ck_assert_uint_eq(count_of(MANY, key), 6);
}
END_TEST

/* ---- ring buffer */

struct records {
	uint64_t first[8];
	size_t size[8];
	int n;
};

static int keep_record(void *ctx, const void *record, size_t size)
{
	struct records *r = ctx;

	ck_assert_int_lt(r->n, 8);
	memcpy(&r->first[r->n], record, sizeof(uint64_t));
	r->size[r->n++] = size;
	return 0;
}

START_TEST(rings)
{
	static const struct asm_insn submit[] = {
		RING_RESERVE(ring, 24), JEQ(R0, 0, no_room), MOV_REG(R6, R0), LDX(DW, R1, R9, 8),
		STX(DW, R6, 0, R1),	RING_SUBMIT(R6, 0),  MOV(R0, 1),      LABEL(no_room),
	};
	static const struct asm_insn discard[] = {
		RING_RESERVE(ring, 24), JEQ(R0, 0, no_room), RING_DISCARD(R0), MOV(R0, 2),
		LABEL(no_room),
	};
	static const struct asm_insn output[] = {
		STX(DW, R10, VALUE, R1),      ST(DW, R10, OTHER_KEY, 0),
		FRAME_PTR(R2, VALUE),	      MOV(R3, 16),
		RING_OUTPUT(ring, R2, R3, 0),
	};
	struct rp_ring *ring;
	struct records records = { .n = 0 };
	int fd;

	ck_assert_int_eq(rp_ring_open(world_fds[RING], RING_BYTES, &ring), 0);
	ck_assert_uint_eq(RUN(submit, 0x1111, 0, 0).out[0], 1);
	ck_assert_uint_eq(RUN(discard, 0, 0, 0).out[0], 2);
	ck_assert_uint_eq(RUN(output, 0x2222, 0, 0).out[0], 0);
	ck_assert_int_eq(rp_ring_drain(ring, keep_record, &records), 2);
	ck_assert_int_eq(records.n, 2);
	ck_assert_uint_eq(records.first[0], 0x1111);
	ck_assert_uint_eq(records.size[0], 24);
	ck_assert_uint_eq(records.first[1], 0x2222);
	ck_assert_uint_eq(records.size[1], 16);

	/* Until it is full: 24 bytes and a head of 8. */
	fd = LOAD(submit);
	for (int i = 0; i < RING_BYTES / 32 - 1; i++)
		ck_assert_uint_eq(world_run(fd, 0, 0, 0).out[0], 1);
	world_run(fd, 0, 0, 0);
	ck_assert_uint_eq(world_run(fd, 0, 0, 0).out[0], 0);
	close(fd);
	/* 31 bytes are left: 16 and a head fit, once. */
	ck_assert_int_eq((int64_t)RUN(output, 0, 0, 0).out[0], 0);
	ck_assert_int_eq((int64_t)RUN(output, 0, 0, 0).out[0], -EAGAIN);
	rp_ring_close(ring);
}
END_TEST

/* ---- reading memory */

static char here[40] = "abcdefghijklmnopqrstuvwxyz";

START_TEST(reading_memory)
{
	static const struct asm_insn user[] = {
		MOV_REG(R3, R1),
		ZERO(TEXT, 40),
		READ_USER(TEXT, 16, R3),
		LDX(DW, R6, R10, TEXT),
		LDX(DW, R7, R10, TEXT + 8),
		LDX(DW, R8, R10, TEXT + 16),
	};
	/* The command name of the task, by its address. */
	static const struct asm_insn kernel[] = {
		CALL(get_current_task),	    ADD_FIELD_OFFSET(R0, "task_struct", "comm"),
		READ_KERNEL(TEXT, 16, R0),  LDX(DW, R6, R10, TEXT),
		LDX(DW, R7, R10, TEXT + 8),
	};
	static const struct asm_insn nowhere[] = {
		MOV_REG(R6, R1),
		ST(DW, R10, TEXT, -1),
		READ_KERNEL(TEXT, 8, R6),
		LDX(DW, R7, R10, TEXT),
	};
	static const struct asm_insn field[] = {
		ZERO(TEXT, 40),		CALL(get_current_task),
		MOV_REG(R6, R0),	READ_FIELD(TEXT, R6, "task_struct", "comm"),
		MOV_REG(R7, R0),	READ_FIELD(VALUE, R6, "task_struct", "tgid"),
		LDX(W, R8, R10, VALUE), LDX(DW, R6, R10, TEXT),
	};
	char name[16] = "a macro's test";
	struct isa_cell cell;
	uint64_t want[2];

	ck_assert_int_eq(prctl(PR_SET_NAME, name), 0);
	cell = RUN(user, (uintptr_t)here, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[0], 0);
	ck_assert_mem_eq(&cell.out[6], here, 16);
	ck_assert_uint_eq(cell.out[8], 0); /* no byte more */
	ck_assert_int_eq((int64_t)RUN(user, 8, 0, 0).out[0], -EFAULT);

	memcpy(want, name, sizeof(want));
	cell = RUN(kernel, 0, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[0], 0);
	ck_assert_uint_eq(cell.out[6], want[0]);
	ck_assert_uint_eq(cell.out[7], want[1]);
	cell = RUN(nowhere, 8, 0, 0);
	ck_assert((int64_t)cell.out[0] == -ERANGE || (int64_t)cell.out[0] == -EFAULT);
	ck_assert_uint_eq(cell.out[7], 0); /* the helper clears what it could not fill */

	cell = RUN(field, 0, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[7], 0);
	ck_assert_uint_eq(cell.out[6], want[0]);
	ck_assert_uint_eq(cell.out[8], (uint64_t)getpid());
}
END_TEST

/* Strings are cut to fit, their NUL counts, and what cannot be read is -EFAULT. */
START_TEST(reading_strings)
{
	static const struct asm_insn user[] = {
		MOV_REG(R3, R1),
		ZERO(TEXT, 40),
		READ_USER_STR(TEXT, 32, R3),
		LDX(DW, R6, R10, TEXT + 24),
	};
	static const struct asm_insn cut[] = {
		MOV_REG(R3, R1),
		ST(DW, R10, TEXT, -1),
		READ_USER_STR(TEXT, 4, R3),
		LDX(DW, R6, R10, TEXT),
	};
	static const struct asm_insn kernel[] = {
		CALL(get_current_task),
		MOV_REG(R6, R0),
		ADD_FIELD_OFFSET(R6, "task_struct", "comm"),
		ZERO(TEXT, 16),
		READ_KERNEL_STR(TEXT, 16, R6),
		LDX(DW, R6, R10, TEXT),
		LDX(DW, R7, R10, TEXT + 8),
	};
	static const struct asm_insn nowhere[] = {
		MOV_REG(R6, R1),
		READ_USER_STR(TEXT, 8, R6),
	};
	char name[16] = "fourteen chars";
	struct isa_cell cell;

	cell = RUN(user, (uintptr_t)here, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[0], 27);
	ck_assert_int_eq(memcmp(&cell.out[6], "yz\0\0\0\0\0", 8), 0);
	cell = RUN(cut, (uintptr_t)here, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[0], 4);
	ck_assert_int_eq(memcmp(&cell.out[6], "abc\0\xff\xff\xff\xff", 8), 0);
	ck_assert_int_eq(prctl(PR_SET_NAME, name), 0);
	cell = RUN(kernel, 0, 0, 0);
	ck_assert_int_eq((int64_t)cell.out[0], 15);
	ck_assert_str_eq((const char *)&cell.out[6], name);
	ck_assert_int_eq((int64_t)RUN(nowhere, 1, 0, 0).out[0], -EFAULT);
}
END_TEST

/* Only the bytes that are named are written. */
START_TEST(the_thread_that_runs)
{
	static const struct asm_insn process[] = {
		ST(DW, R10, TEXT, -1),
		READ_PID(TEXT),
		LDX(DW, R6, R10, TEXT),
	};
	static const struct asm_insn thread[] = {
		ST(DW, R10, TEXT, -1),
		READ_TID(TEXT),
		LDX(DW, R6, R10, TEXT),
	};
	static const struct asm_insn task[] = { READ_OWN_TASK(TEXT), LDX(DW, R6, R10, TEXT) };
	static const struct asm_insn comm[] = {
		ST(DW, R10, TEXT + 16, -1),  READ_COMM(TEXT),
		LDX(DW, R6, R10, TEXT),	     LDX(DW, R7, R10, TEXT + 8),
		LDX(DW, R8, R10, TEXT + 16),
	};
	const uint64_t beside = 0xffffffffULL << 32;
	const uint32_t pid = (uint32_t)getpid(), tid = (uint32_t)gettid();
	char name[16] = "who runs";
	struct isa_cell cell;

	cell = RUN(process, 0, 0, 0);
	ck_assert_uint_eq(cell.out[0], pid);
	ck_assert_uint_eq(cell.out[6], beside | pid);
	cell = RUN(thread, 0, 0, 0);
	ck_assert_uint_eq(cell.out[0], (uint64_t)pid << 32 | tid);
	ck_assert_uint_eq(cell.out[6], beside | tid);
	cell = RUN(task, 0, 0, 0);
	ck_assert_uint_gt(cell.out[6], INT64_MAX);
	ck_assert_uint_eq(cell.out[6], cell.out[0]);
	ck_assert_int_eq(prctl(PR_SET_NAME, name), 0);
	cell = RUN(comm, 0, 0, 0);
	ck_assert_str_eq((const char *)&cell.out[6], name);
	ck_assert_uint_eq(cell.out[8], UINT64_MAX);
}
END_TEST

/* ---- the frame */

START_TEST(addresses_in_the_frame)
{
	static const struct asm_insn lines[] = { FRAME_PTR(R0, KEY), SUB_REG(R0, R10) };

	ck_assert_int_eq((int64_t)RUN(lines, 0, 0, 0).out[0], -(int64_t)sizeof(struct frame));
	ck_assert_int_eq(KEY, -64);
	ck_assert_int_eq(VALUE, -56);
	ck_assert_int_eq(TEXT, -40);
	coverage_saw("FRAME_PTR"); /* two lines without a name of their own */
	coverage_saw("FRAME");
}
END_TEST

/* Fills 64 bytes with ones, clears some of them, and copies all to the cell. */
static void run_zero(const struct asm_insn *zero, int off, int bytes)
{
	static const struct asm_insn fill[] = {
		ST(DW, R10, -64, -1), ST(DW, R10, -56, -1), ST(DW, R10, -48, -1),
		ST(DW, R10, -40, -1), ST(DW, R10, -32, -1), ST(DW, R10, -24, -1),
		ST(DW, R10, -16, -1), ST(DW, R10, -8, -1),
	};
	static const struct asm_insn copy[] = {
		LDX(DW, R1, R10, -64),	   STX(DW, R9, MEM, R1),      LDX(DW, R1, R10, -56),
		STX(DW, R9, MEM + 8, R1),  LDX(DW, R1, R10, -48),     STX(DW, R9, MEM + 16, R1),
		LDX(DW, R1, R10, -40),	   STX(DW, R9, MEM + 24, R1), LDX(DW, R1, R10, -32),
		STX(DW, R9, MEM + 32, R1), LDX(DW, R1, R10, -24),     STX(DW, R9, MEM + 40, R1),
		LDX(DW, R1, R10, -16),	   STX(DW, R9, MEM + 48, R1), LDX(DW, R1, R10, -8),
		STX(DW, R9, MEM + 56, R1),
	};
	struct asm_insn lines[COUNT_OF(fill) + 1 + COUNT_OF(copy)];
	struct isa_cell cell;
	int fd;

	memcpy(lines, fill, sizeof(fill));
	lines[COUNT_OF(fill)] = *zero;
	memcpy(lines + COUNT_OF(fill) + 1, copy, sizeof(copy));
	fd = isa_load(lines, COUNT_OF(lines), false, NULL, 0);
	isa_fill(&cell);
	isa_run(fd, &cell);
	for (int i = 0; i < 64; i++)
		ck_assert_msg(cell.mem[i] == (i >= 64 + off && i < 64 + off + bytes ? 0 : 0xff),
			      "ZERO(%d, %d): byte %d is %02x", off, bytes, i - 64, cell.mem[i]);
	coverage_saw(zero->text);
	close(fd);
}

START_TEST(zero)
{
	static const struct asm_insn some[] = { ZERO(-61, 5), ZERO(-64, 64), ZERO(-1, 1),
						ZERO_FRAME(struct frame) };

	run_zero(&some[0], -61, 5);
	run_zero(&some[1], -64, 64);
	run_zero(&some[2], -1, 1);
	run_zero(&some[3], -64, 64);
	for (int off = -64; off < 0; off++)
		for (int bytes = 1; bytes <= -off; bytes += 1 + bytes / 8) {
			struct asm_insn line = some[0];

			line.insn.off = (int16_t)off;
			line.value = (uint64_t)bytes;
			run_zero(&line, off, bytes);
		}
}
END_TEST

START_TEST(nothing_is_left_out)
{
	coverage_check("macros");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("macros");
	TCase *tc = tcase_create("macros");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, world_setup, world_teardown);
	if (!isa_lacks("test runs of raw tracepoints", 5, 10)) {
		tcase_add_test(tc, look_up_update_delete);
		tcase_add_test(tc, look_up_or_init);
		tcase_add_test(tc, map_add);
		tcase_add_test(tc, the_same_macro_twice);
		tcase_add_test(tc, count);
		tcase_add_test(tc, no_addition_is_lost_between_cpus);
		tcase_add_test(tc, no_insertion_overwrites_another);
		tcase_add_test(tc, rings);
		tcase_add_test(tc, reading_memory);
		tcase_add_test(tc, reading_strings);
		tcase_add_test(tc, the_thread_that_runs);
		tcase_add_test(tc, addresses_in_the_frame);
		tcase_add_test(tc, zero);
		tcase_add_test(tc, nothing_is_left_out);
	}
	suite_add_tcase(suite, tc);
	srunner_set_fork_status(runner,
				CK_NOFORK); /* what was covered is counted in this process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
