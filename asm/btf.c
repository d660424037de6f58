/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's own BTF, so that the verifier's log and `bpftool prog dump xlated linum` quote the
 * DSL, and so that callbacks are allowed at all (the kernel asks func_info of them).
 *
 * The types are the least that the kernel takes (Documentation/bpf/btf.rst):
 *
 *	[1] int			[2] void *		[3] int (void *ctx)
 *	[4...] one FUNC of type [3], static, for each function
 *
 * After them come the strings: names, and file and text of every line.
 */
#include <ctype.h>
#include <errno.h>
#include <linux/btf.h>
#include <string.h>

#include "internal.h"

enum { TYPE_INT = 1, TYPE_PTR, TYPE_PROTO, TYPE_FUNC };

#define BTF_INFO(kind, vlen) ((uint32_t)(kind) << 24 | (uint32_t)(vlen))

/* line_info.line_col: the line in the upper 22 bits, which is all that asm_insn has. */
#define LINE_COL(line) ((uint32_t)(line) << 10)

/* Sizes are counted first, so that one allocation holds everything and nothing has to grow. */
struct blob {
	unsigned char *types;
	uint32_t types_used;
	char *strings;
	uint32_t strings_used;
};

static void put(struct blob *b, const void *bytes, size_t size)
{
	memcpy(b->types + b->types_used, bytes, size);
	b->types_used += (uint32_t)size;
}

static uint32_t put_string(struct blob *b, const char *text)
{
	uint32_t at = b->strings_used;
	size_t size = strlen(text) + 1;

	memcpy(b->strings + at, text, size);
	b->strings_used += (uint32_t)size;
	return at;
}

/* A function's name in BTF has to be an identifier. */
static uint32_t put_name(struct blob *b, const char *name)
{
	uint32_t at = put_string(b, *name ? name : "_");

	for (char *c = b->strings + at; *c; c++)
		if (!isalnum((unsigned char)*c) ||
		    (c == b->strings + at && isdigit((unsigned char)*c)))
			*c = '_';
	return at;
}

static void put_common_types(struct blob *b)
{
	const struct btf_type integer = { .name_off = put_string(b, "int"),
					  .info = BTF_INFO(BTF_KIND_INT, 0),
					  .size = 4 };
	const uint32_t encoding = (uint32_t)BTF_INT_SIGNED << 24 | 32;
	const struct btf_type pointer = { .info = BTF_INFO(BTF_KIND_PTR, 0) };
	const struct btf_type proto = { .info = BTF_INFO(BTF_KIND_FUNC_PROTO, 1),
					.type = TYPE_INT };
	const struct btf_param ctx = { .name_off = put_string(b, "ctx"), .type = TYPE_PTR };

	put(b, &integer, sizeof(integer));
	put(b, &encoding, sizeof(encoding));
	put(b, &pointer, sizeof(pointer));
	put(b, &proto, sizeof(proto));
	put(b, &ctx, sizeof(ctx));
}

static void put_funcs(struct blob *b, struct asm_image *image)
{
	for (uint32_t i = 0; i < image->nfuncs; i++) {
		const struct btf_type func = { .name_off = put_name(b, image->funcs[i].name),
					       .info = BTF_INFO(BTF_KIND_FUNC, BTF_FUNC_STATIC),
					       .type = TYPE_PROTO };

		put(b, &func, sizeof(func));
		image->func_info[i] = (struct bpf_func_info){ .insn_off = image->funcs[i].insn,
							      .type_id = TYPE_FUNC + i };
	}
	image->nfunc_info = image->nfuncs;
}

/*
 * The verifier quotes a line only when the offset of its file's name, or its number, differs from
 * the last it quoted, and so would show the first instruction of a composed macro and hide the
 * others. Every file's name is therefore stored twice, and neighbours take turns.
 */
static void put_lines(struct blob *b, struct asm_image *image)
{
	const char *file = NULL, *text = NULL;
	uint32_t file_off[2] = { 0, 0 }, text_off = 0, n = 0;

	for (uint32_t slot = 0; slot < image->ninsns; slot++) {
		const struct asm_insn *line = &image->program->lines[image->line_of[slot]];

		if (!image->text_of[slot])
			continue;
		if (image->file_of[slot] != file) {
			file = image->file_of[slot];
			file_off[0] = put_string(b, file);
			file_off[1] = put_string(b, file);
		}
		if (image->text_of[slot] != text)
			text_off = put_string(b, text = image->text_of[slot]);
		image->line_info[n] = (struct bpf_line_info){
			.insn_off = slot,
			.file_name_off = file_off[n % 2],
			.line_off = text_off,
			.line_col = LINE_COL(line->line),
		};
		n++;
	}
	image->nline_info = n;
}

static size_t strings_size(const struct asm_image *image)
{
	size_t size = 1 + sizeof("int") + sizeof("ctx");

	for (uint32_t i = 0; i < image->nfuncs; i++)
		size += strlen(image->funcs[i].name) + 2;
	for (uint32_t slot = 0; slot < image->ninsns; slot++)
		if (image->text_of[slot])
			size += strlen(image->text_of[slot]) + 1 +
				2 * (strlen(image->file_of[slot]) + 1);
	return size;
}

static size_t types_size(const struct asm_image *image)
{
	return (3 + image->nfuncs) * sizeof(struct btf_type) + sizeof(uint32_t) +
	       sizeof(struct btf_param);
}

void asm_make_btf(struct assembly *a, struct asm_image *image)
{
	size_t types = types_size(image), strings = strings_size(image);
	struct btf_header header = { .magic = BTF_MAGIC,
				     .version = BTF_VERSION,
				     .hdr_len = sizeof(header) };
	struct blob b = { .strings_used = 1 };
	unsigned char *bytes = asm_arena_alloc(&a->arena, sizeof(header) + types + strings);

	image->func_info = asm_arena_alloc(&a->arena, image->nfuncs * sizeof(*image->func_info));
	image->line_info = asm_arena_alloc(&a->arena, image->ninsns * sizeof(*image->line_info));
	if (!bytes || !image->func_info || !image->line_info) {
		a->error = -ENOMEM;
		return;
	}
	b.types = bytes + sizeof(header);
	b.strings = (char *)b.types + types;
	put_common_types(&b);
	put_funcs(&b, image);
	put_lines(&b, image);

	header.type_len = b.types_used;
	header.str_off = b.types_used;
	header.str_len = b.strings_used;
	memcpy(bytes, &header, sizeof(header));
	image->btf = bytes;
	image->btf_size = (uint32_t)sizeof(header) + header.str_off + header.str_len;
}
