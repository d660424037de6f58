/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each version of V8 lays out its objects, of 64-bit builds without pointer compression, as
 * Node's are. A new version is a row. Node 18.20.8 (V8 10.2), 20.20.2 (11.3) and 22.23.3 (12.4):
 * their v8dbg_* symbols, and for what these leave out their memory. Where a file has the symbols
 * they count: v8_file.c.
 */
#include <stddef.h>
#include <string.h>

#include "v8.h"

/* Members of two bytes each; from bytecodes on there are others, which a file tells. */
#define INDEX(member) (offsetof(struct sym_v8_layout, member) / 2)
#define AT(member) [INDEX(member)]
#define IN_ALL                                                                                     \
	AT(shared_data) = 8, AT(shared_name) = 16, AT(shared_script) = 32, AT(script_source) = 8,  \
	AT(script_name) = 16, AT(script_line_offset) = 24, AT(code_flags) = 48,                    \
	AT(code_kind_mask) = 15

/* clang-format off */
static const uint16_t layouts[][INDEX(bytecodes)] = {
	{ AT(version) = 0x0a02,
	  IN_ALL,
	  AT(type_bytecode) = 195,
	  AT(type_shared) = 257,
	  AT(type_script) = 170,
	  AT(type_scope) = 256,
	  AT(type_code) = 240,
	  AT(type_stream) = 240,
	  AT(type_bytes) = 194,
	  AT(type_trusted_bytes) = UINT16_MAX,
	  AT(type_interpreter_data) = 162,
	  AT(function_shared) = 24,
	  AT(bytecode_positions) = 32,
	  AT(bytecode_data) = 56,
	  AT(code_inline) = 128,
	  AT(code_size) = 40,
	  AT(code_deopt) = 16,
	  AT(code_positions) = 24,
	  AT(code_kind_baseline) = 11 },
	{ AT(version) = 0x0b03,
	  IN_ALL,
	  AT(type_bytecode) = 191,
	  AT(type_shared) = 262,
	  AT(type_script) = 167,
	  AT(type_scope) = 261,
	  AT(type_code) = 245,
	  AT(type_stream) = 252,
	  AT(type_bytes) = 190,
	  AT(type_trusted_bytes) = UINT16_MAX,
	  AT(type_interpreter_data) = 159,
	  AT(function_shared) = 24,
	  AT(bytecode_positions) = 32,
	  AT(bytecode_data) = 54,
	  AT(stream_code) = 8,
	  AT(code_start) = 40,
	  AT(code_size) = 56,
	  AT(code_deopt) = 16,
	  AT(code_positions) = 24,
	  AT(code_kind_baseline) = 11 },
	{ AT(version) = 0x0c04,
	  IN_ALL,
	  AT(type_bytecode) = 205,
	  AT(type_shared) = 274,
	  AT(type_script) = 167,
	  AT(type_scope) = 272,
	  AT(type_code) = 206,
	  AT(type_stream) = 210,
	  AT(type_bytes) = 186,
	  AT(type_trusted_bytes) = 212,
	  AT(type_interpreter_data) = 207,
	  AT(function_shared) = 32,
	  AT(bytecode_positions) = 24,
	  AT(bytecode_data) = 64,
	  AT(stream_code) = 8,
	  AT(code_start) = 40,
	  AT(code_size) = 52,
	  AT(code_deopt) = 8,
	  AT(code_positions) = 16,
	  AT(code_kind_baseline) = 10 },
};
/* clang-format on */

bool record_v8_layout(unsigned int version, struct sym_v8_layout *out)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i][INDEX(version)] == version) {
			*out = (struct sym_v8_layout){ 0 };
			memcpy(out, layouts[i], sizeof(layouts[i]));
			return true;
		}
	return false;
}
