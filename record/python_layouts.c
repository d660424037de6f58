/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each version of CPython is laid out, of 64-bit builds without Py_DEBUG on x86-64 with glibc.
 * A new version is a row. 3.8 to 3.13: offsetof() with the headers of 3.8.18, 3.9.18, 3.10.13,
 * 3.11.7, 3.12.1 and 3.13.0; 3.14: with its published structs, tried with 3.14.10. From 3.13 on the
 * interpreter says itself where most of it is (_Py_DebugOffsets), which then counts: python_file.c.
 */
#include <stddef.h>

#include "python.h"

/* glibc 2.36, struct pthread: specific_1stblock, specific; tid. */
#define GLIBC .slots = 0x310, .slot_blocks = 0x510
#define GLIBC_TID 0x2d0

#define FRAMES_TO_310                                                                              \
	.thread_frame = 24, .frame_code = 32, .frame_previous = 24, .code_first_line = 40,         \
	.code_file = 104, .code_name = 112, .code_lines = 120, .text_ascii = 48,                   \
	.text_compact = 72
#define CODE_FROM_312                                                                              \
	.frame_code = 0, .frame_previous = 8, .frame_position = 56, .position_shift = 1,           \
	.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,              \
	.text_ascii = 40, .text_compact = 56

static const struct python_layout layouts[] = {
	{ .version = 0x0308,
	  .boundary = PYTHON_BY_PC,
	  .tss = 1392,
	  GLIBC,
	  FRAMES_TO_310,
	  .frame_position = 104,
	  .position_shift = 1,
	  .runtime_gil = 1152,
	  .runtime_current = 1368,
	  .thread_id = 176,
	  .pthread_id = GLIBC_TID },
	{ .version = 0x0309,
	  .boundary = PYTHON_BY_PC,
	  .tss = 584,
	  GLIBC,
	  FRAMES_TO_310,
	  .frame_position = 104,
	  .position_shift = 1,
	  .runtime_gil = 352,
	  .runtime_current = 568,
	  .thread_id = 176,
	  .pthread_id = GLIBC_TID },
	{ .version = 0x030a,
	  .boundary = PYTHON_BY_CFRAME,
	  .tss = 584,
	  GLIBC,
	  FRAMES_TO_310,
	  .thread_cframe = 48,
	  .cframe_previous = 8,
	  .frame_position = 96,
	  .runtime_gil = 352,
	  .runtime_current = 568,
	  .thread_id = 176,
	  .pthread_id = GLIBC_TID },
	{ .version = 0x030b,
	  .boundary = PYTHON_BY_ENTRY,
	  .tss = 592,
	  GLIBC,
	  .thread_cframe = 56,
	  .cframe_frame = 1 + 8,
	  .cframe_previous = 16,
	  .frame_code = 32,
	  .frame_previous = 48,
	  .frame_position = 56,
	  .position_shift = 1,
	  .frame_mark = 68,
	  .mark = 1,
	  .code_first_line = 72,
	  .code_file = 112,
	  .code_name = 128,
	  .code_lines = 136,
	  .code_bytes = 184,
	  .text_ascii = 48,
	  .text_compact = 72,
	  .runtime_gil = 360,
	  .runtime_current = 576,
	  .thread_id = 160 },
	{ .version = 0x030c,
	  .boundary = PYTHON_BY_SHIM,
	  .tss = 1544,
	  GLIBC,
	  .thread_cframe = 56,
	  .cframe_frame = 1 + 0,
	  CODE_FROM_312,
	  .frame_mark = 70,
	  .mark = 3,
	  .code_bytes = 192,
	  .interpreter_gil = 384,
	  .thread_id = 144 },
	{ .version = 0x030d,
	  .boundary = PYTHON_BY_SHIM,
	  .tss = 2160,
	  GLIBC,
	  .thread_frame = 72,
	  CODE_FROM_312,
	  .frame_mark = 70,
	  .mark = 3,
	  .code_bytes = 200,
	  .interpreter_gil = 16,
	  .thread_id = 160 },
	{ .version = 0x030e,
	  .boundary = PYTHON_BY_SHIM,
	  .tss = 2336,
	  GLIBC,
	  .thread_frame = 72,
	  CODE_FROM_312,
	  .frame_mark = 74,
	  .mark = 3,
	  .code_bytes = 208,
	  .interpreter_gil = 16,
	  .thread_id = 160 },
};

const struct python_layout *record_python_layout(unsigned int version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].version == version)
			return &layouts[i];
	return NULL;
}
