/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack as a C struct, and what lies between the members of a key. */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "../lesson.h"

/* 6 bytes, and yet sizeof says 8: the compiler fills up to a multiple of 4. A map's keys are bytes,
 * so the 2 bytes behind cpu are part of the key. */
struct key {
	uint32_t pid;
	uint16_t cpu;
};
struct frame {
	uint64_t one;
	struct key key;
};
enum {
	ONE = FRAME(struct frame, one),
	KEY = FRAME(struct frame, key),
	KEY_PID = FRAME(struct frame, key.pid),
	KEY_CPU = FRAME(struct frame, key.cpu)
};

static const struct asm_map counts = { "counts", BPF_MAP_TYPE_HASH, sizeof(struct key), 8, 16 };

/* Leaves a random number on the stack, where the frame of the function called next will be. */
#define LITTER \
	FUNC(litter), CALL(get_prandom_u32), LSH(R0, 32), STX(DW, R10, KEY, R0), MOV(R0, 0), EXIT()

static const struct asm_insn padding_cleared_lines[] = {
	CALL_FUNC(litter),
	CALL_FUNC(count),
	EXIT(),

	FUNC(count),
	ZERO_FRAME(struct frame),
	ST(DW, R10, ONE, 1),
	ST(W, R10, KEY_PID, 1),
	ST(H, R10, KEY_CPU, 7),
	MAP_ADD(counts, KEY, ONE),
	EXIT(),

	LITTER,
};
static const struct asm_program padding_cleared = {
	.name = "padding_cleared",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(padding_cleared_lines),
};

/* That program without ZERO_FRAME. */
static const struct asm_insn padding_left_lines[] = {
	CALL_FUNC(litter),
	CALL_FUNC(count),
	EXIT(),

	FUNC(count),
	ST(DW, R10, ONE, 1),
	ST(W, R10, KEY_PID, 1),
	ST(H, R10, KEY_CPU, 7),
	MAP_ADD(counts, KEY, ONE),
	EXIT(),

	LITTER,
};
static const struct asm_program padding_left = {
	.name = "padding_left",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	.license = "GPL",
	ASM_LINES(padding_left_lines),
};

/* What lies on the stack, without anything having been stored there. */
static const struct asm_insn unwritten_lines[] = {
	LDX(DW, R0, R10, -8),
	EXIT(),
};
static const struct asm_program unwritten = {
	.name = "unwritten",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(unwritten_lines),
};

/* An address of the kernel as the result: for all to see, where it should be a secret. */
static const struct asm_insn tells_lines[] = {
	MOV_REG(R0, R10),
	EXIT(),
};
static const struct asm_program tells = {
	.name = "tells",
	.type = BPF_PROG_TYPE_SOCKET_FILTER,
	ASM_LINES(tells_lines),
};

const struct lesson_program lesson_good[] = {
	{ &padding_cleared, &counts, 1, "counts under the key {1, 7}" },
	{ &padding_left, &counts, 1, "the same, and not: a fault that the verifier lets pass" },
	{ &unwritten, NULL, 0, "returns what lies on the stack" },
	{ &tells, NULL, 0, "returns an address of the kernel" },
	{ 0 },
};

static int print_entry(void *ctx, const void *key, const void *value)
{
	const unsigned char *byte = key;

	(void)ctx;
	printf("    ");
	for (size_t i = 0; i < sizeof(struct key); i++)
		printf("%02x%s", byte[i], i == 3 || i == 5 ? "  " : " ");
	printf("count %llu\n", *(const unsigned long long *)value);
	return 0;
}

/* Runs a program five times, and shows what is in the map then. */
static void run_and_show(const struct lesson_program *entry)
{
	unsigned char packet[64] = { 0 };
	int map = must(rp_map_create(&counts), "map"), fd = lesson_load(entry, &map);

	for (int i = 0; i < 5; i++) {
		struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };

		must(rp_prog_test_run(fd, &run), "test run");
	}
	printf("%s, after 5 runs (bytes of the key: pid, cpu, padding):\n",
	       entry->program->name);
	must(rp_map_each(map, &counts, print_entry, NULL), "map");
	close(fd);
	close(map);
}

/* The capabilities of a process that may load programs and may not read kernel memory. */
static void keep_only_cap_bpf(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	data[CAP_TO_INDEX(CAP_BPF)].effective = CAP_TO_MASK(CAP_BPF);
	data[CAP_TO_INDEX(CAP_BPF)].permitted = CAP_TO_MASK(CAP_BPF);
	if (syscall(SYS_capset, &header, data))
		printf("capset: %m\n");
}

/* Whether it is accepted; what the verifier says if it is not is printed before. */
static void try_and_tell(const struct lesson_program *entry, const int *map)
{
	int fd = lesson_try(entry, map);

	printf("%s: ==> %s\n", entry->program->name, fd < 0 ? strerror(-fd) : "ACCEPTED");
	if (fd >= 0)
		close(fd);
}

int main(void)
{
	int map;

	lesson_begin("A key of a u32 and a u16: how many bytes of it do you have to write?");
	map = must(rp_map_create(&counts), "map");
	lesson_refused(&map);

	run_and_show(&lesson_good[0]);
	printf("--- what the verifier does not check: the bytes that no member owns\n");
	run_and_show(&lesson_good[1]);

	printf("--- nor what else the stack holds, nor where it lies\n");
	try_and_tell(&lesson_good[2], NULL);
	try_and_tell(&lesson_good[3], NULL);
	printf("--- unless you have CAP_BPF alone: without CAP_PERFMON no stack residue is "
	       "shown\n");
	keep_only_cap_bpf();
	for (int i = 1; i <= 3; i++)
		try_and_tell(&lesson_good[i], &map);
	return 0;
}
