/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each version of V8 lays out its objects, of 64-bit builds without pointer compression, as
 * Node's are. A new version is a row. Node 18.20.8 (V8 10.2), 20.20.2 (11.3) and 22.23.3 (12.4):
 * their v8dbg_* symbols, and for what these leave out their memory. Where a file has the symbols
 * they count: v8_file.c.
 */
#include <stddef.h>

#include "v8.h"

#define IN_ALL                                                                                     \
	.shared_data = 8, .shared_name = 16, .shared_script = 32, .script_source = 8,              \
	.script_name = 16, .script_line_offset = 24, .code_flags = 48, .code_kind_mask = 15

static const struct sym_v8_layout layouts[] = {
	{ .version = 0x0a02,
	  IN_ALL,
	  .type_bytecode = 195,
	  .type_shared = 257,
	  .type_script = 170,
	  .type_scope = 256,
	  .type_code = 240,
	  .type_stream = 240,
	  .type_bytes = 194,
	  .type_trusted_bytes = UINT16_MAX,
	  .type_interpreter_data = 162,
	  .function_shared = 24,
	  .bytecode_positions = 32,
	  .bytecode_data = 56,
	  .code_inline = 128,
	  .code_size = 40,
	  .code_deopt = 16,
	  .code_positions = 24,
	  .code_kind_baseline = 11 },
	{ .version = 0x0b03,
	  IN_ALL,
	  .type_bytecode = 191,
	  .type_shared = 262,
	  .type_script = 167,
	  .type_scope = 261,
	  .type_code = 245,
	  .type_stream = 252,
	  .type_bytes = 190,
	  .type_trusted_bytes = UINT16_MAX,
	  .type_interpreter_data = 159,
	  .function_shared = 24,
	  .bytecode_positions = 32,
	  .bytecode_data = 54,
	  .stream_code = 8,
	  .code_start = 40,
	  .code_size = 56,
	  .code_deopt = 16,
	  .code_positions = 24,
	  .code_kind_baseline = 11 },
	{ .version = 0x0c04,
	  IN_ALL,
	  .type_bytecode = 205,
	  .type_shared = 274,
	  .type_script = 167,
	  .type_scope = 272,
	  .type_code = 206,
	  .type_stream = 210,
	  .type_bytes = 186,
	  .type_trusted_bytes = 212,
	  .type_interpreter_data = 207,
	  .function_shared = 32,
	  .bytecode_positions = 24,
	  .bytecode_data = 64,
	  .stream_code = 8,
	  .code_start = 40,
	  .code_size = 52,
	  .code_deopt = 8,
	  .code_positions = 16,
	  .code_kind_baseline = 10 },
};

const struct sym_v8_layout *record_v8_layout(unsigned int version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
