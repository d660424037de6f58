/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of JavaScript as a process has them in its memory, which is the input: a byte that says
 * which version, one where the function is, the rest lies at BASE.
 */
#include "record/v8.h"
#include "record/v8_layouts.c"

#include "fuzz.h"

#define BASE 0x200000000ull

struct image {
	const uint8_t *data;
	size_t size;
	uint64_t reads;
};

static bool read_image(void *ctx, uint64_t address, void *out, size_t n)
{
	struct image *image = ctx;

	image->reads++;
	if (address < BASE || address - BASE > image->size || n > image->size - (address - BASE))
		return false;
	memcpy(out, image->data + (address - BASE), n);
	return true;
}

static void ask(const struct sym_v8_memory *m, const struct sym_v8_layout *l, uint64_t shared,
		uint64_t address)
{
	struct sym_v8_place at[8];
	struct sym_v8_lines lines;
	uint64_t script, source;
	char text[64];
	size_t n;

	sym_v8_name(m, l, shared, text, sizeof(text));
	fuzz_check(memchr(text, 0, sizeof(text)));
	at[0] = sym_v8_interpreted(m, l, shared, address & 0xffff);
	fuzz_check(at[0].shared == shared && at[0].position >= -1);
	n = sym_v8_compiled(m, l, shared, address, at, 8);
	fuzz_check(n <= 8);
	script = sym_v8_script(m, l, shared, &source);
	if (!script)
		return;
	sym_v8_script_name(m, l, script, text, sizeof(text));
	fuzz_check(memchr(text, 0, sizeof(text)));
	if (!sym_v8_lines(m, l, script, &lines))
		return;
	fuzz_check(lines.n && sym_v8_line(&lines, -1) == 0);
	for (size_t i = 0; i < n; i++)
		sym_v8_line(&lines, at[i].position);
	for (uint32_t i = 1; i < lines.n; i++)
		fuzz_check(lines.ends[i - 1] < lines.ends[i]);
	free(lines.ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image image = { .data = data };
	const struct sym_v8_memory m = { .read = read_image, .ctx = &image };
	struct sym_v8_layout l;
	uint64_t shared;

	if (size < 2)
		return 0;
	image.data += 2;
	image.size = size - 2;
	record_v8_layout(layouts[data[0] % (sizeof(layouts) / sizeof(layouts[0]))][INDEX(version)],
			 &l);
	l.bytecodes = 200;
	memset(l.bytecode_bytes, 1 + data[0] % 3, sizeof(l.bytecode_bytes));
	shared = BASE + 8ull * data[1] + 1;
	ask(&m, &l, shared, 64);
	ask(&m, &l, shared, BASE + image.size / 2);
	ask(&m, &l, shared, BASE + image.size);
	fuzz_check(image.reads < 1 << 24);
	return 0;
}
