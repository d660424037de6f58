/* SPDX-License-Identifier: BSD-2-Clause */
/* Records whose length is known only when the program runs. */
#include "../lesson.h"

static const struct asm_map maps[] = {
	{ "events", BPF_MAP_TYPE_RINGBUF, 0, 0, 4096 },
	{ "number", BPF_MAP_TYPE_ARRAY, 4, 8, 1 },
	{ "text", BPF_MAP_TYPE_ARRAY, 4, 256, 1 },
};

/* The dynptr: 16 bytes of the stack that belong to the kernel. */
struct frame {
	uint64_t room[2];
	uint64_t dynptr[2];
};
enum { DYNPTR = FRAME(struct frame, dynptr),
       ROOM = FRAME(struct frame, room) };

/* Reserves as much as a number says, and copies 32 bytes there. */
static const struct asm_insn any_length_lines[] = {
	LD_MAP_VALUE(R6, number, 0),
	LDX(DW, R6, R6, 0), /* any number */

	LD_MAP(R1, events),
	MOV_REG(R2, R6), /* reserve() wants a constant here, this one does not */
	MOV(R3, 0),
	FRAME_PTR(R4, DYNPTR),
	CALL(ringbuf_reserve_dynptr),
	MOV_REG(R7, R0), /* 0, or why not; it is to be submitted or discarded in any case */

	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0), /* from its beginning on */
	LD_MAP_VALUE(R3, text, 0),
	MOV(R4, 32), /* so many bytes: does that fit? It is looked at now, not before */
	MOV(R5, 0),
	CALL(dynptr_write),
	MOV_REG(R8, R0),

	FRAME_PTR(R1, DYNPTR),
	MOV(R2, 0),
	CALL(ringbuf_submit_dynptr),
	MOV_REG(R0, R7),
	JNE(R7, 0, out),
	MOV_REG(R0, R8),
	LABEL(out),
	NEG(R0),
	EXIT(),
};
static const struct asm_program any_length = {
	.name = "any_length",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(any_length_lines),
};

const struct lesson_program lesson_good[] = {
	{ &any_length, maps, 3, "a record of so many bytes as a number says" },
	{ 0 },
};

static void try_length(int fd, const int *fds, uint64_t length)
{
	uint32_t said;

	must(rp_map_update(fds[1], &(uint32_t){ 0 }, &length, BPF_ANY), "number");
	said = lesson_run(fd);
	printf("%20llu bytes: %s\n", (unsigned long long)length,
	       said ? strerror((int)said) : "written");
}

static int print_record(void *ctx, const void *record, size_t size)
{
	(void)ctx;
	printf("a record of %zu bytes: \"%.20s\"\n", size, (const char *)record);
	return 0;
}

int main(void)
{
	char text[256] = "as long as it takes";
	struct rp_ring *ring;
	int fds[3], fd;

	lesson_begin("A record's length comes from a packet. "
		     "How does the program get that past the verifier?");
	must(rp_maps_create(maps, 3, fds), "maps");
	lesson_refused(fds);

	must(rp_map_update(fds[2], &(uint32_t){ 0 }, text, BPF_ANY), "text");
	must(rp_ring_open(fds[0], maps[0].max_entries, &ring), "ring buffer");
	fd = lesson_load(&lesson_good[0], fds);
	try_length(fd, fds, 32);
	try_length(fd, fds, 100);
	try_length(fd, fds, 31);
	try_length(fd, fds, 5000);
	must(rp_ring_drain(ring, print_record, NULL), "drain");
	rp_ring_close(ring);
	close(fd);
	rp_fds_close(fds, 3);
	return 0;
}
