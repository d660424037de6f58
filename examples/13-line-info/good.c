/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How does the verifier know our source lines? They are handed over with the program: as BTF, the
 * format of type information, and two tables that tie it to instructions. Everything that the DSL
 * does by itself is done by hand here, the instructions too.
 */
#include "lines.h"

/* r1 = 0x123456789abcdef0 ll; r0 = r6; exit */
static const struct bpf_insn instructions[] = {
	{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .imm = (int32_t)0x9abcdef0 },
	{ .imm = 0x12345678 }, /* its second half */
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 6 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* Three types: int; a function without parameters that returns one; the function by_hand of that
 * kind. Types are counted from 1. */
enum {
	TYPE_INT = 1,
	TYPE_PROTO,
	TYPE_FUNCTION,
};
#define BTF_SIZE (offsetof(struct btf, strings) + sizeof(struct strings)) /* without padding */
#define INFO(kind) ((kind) << 24)
static const struct btf {
	struct btf_header header;
	struct {
		struct btf_type type;
		uint32_t bits;
	} number;
	struct btf_type proto, function;
	struct strings strings;
} btf = {
	.header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(struct btf_header),
		.type_len = offsetof(struct btf, strings) - sizeof(struct btf_header),
		.str_off = offsetof(struct btf, strings) - sizeof(struct btf_header),
		.str_len = sizeof(struct strings),
	},
	.number = { { TEXT_INT, INFO(BTF_KIND_INT), { .size = 4 } }, BTF_INT_SIGNED << 24 | 32 },
	.proto = { 0, INFO(BTF_KIND_FUNC_PROTO), { .type = TYPE_INT } },
	.function = { TEXT_FUNCTION, INFO(BTF_KIND_FUNC), { .type = TYPE_PROTO } },
	.strings = {
		.type_int = "int",
		.function = "by_hand",
		.file = "poem.txt",
		.first = "A constant of sixty-four bits,",
		.second = "a register that nobody wrote:",
		.third = "this is where it ends.",
	},
};

/* Which function begins where, and which line. */
static const struct bpf_func_info functions[] = {
	{ .insn_off = 0, .type_id = TYPE_FUNCTION },
};
static const struct bpf_line_info poem[] = {
	LINE(0, TEXT_FIRST, 1),
	LINE(2, TEXT_SECOND, 2), /* 1 is the second half of the constant */
	LINE(3, TEXT_THIRD, 3),
};

const struct lesson_program lesson_good[] = {
	{ 0 }, /* this program is not written in the DSL */
};

void show_lines(const char *title, const struct bpf_line_info *lines, uint32_t n)
{
	const struct rp_prog program = {
		.name = "by_hand",
		.type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insns = instructions,
		.ninsns = 4,
		.btf = &btf,
		.btf_size = n ? BTF_SIZE : 0,
		.func_info = functions,
		.nfunc_info = 1,
		.line_info = lines,
		.nline_info = n,
	};
	char *log = NULL;
	int fd = rp_prog_load_verbose(&program, 1, &log);

	printf("--- %s\n%s==> %s\n\n", title, log ? log : "",
	       fd < 0 ? strerror(-fd) : "ACCEPTED");
	if (fd >= 0)
		close(fd);
	free(log);
}

int main(void)
{
	lesson_begin("The verifier quotes source lines. Who gave them to it?");
	show_lines("the program alone", NULL, 0);
	show_lines("the program and its lines", poem, 3);
	show_refused();
	return 0;
}
