/* SPDX-License-Identifier: BSD-2-Clause */
/* Three tables of lines that the kernel does not take. */
#include "lines.h"

/* The same line twice: the kernel wants them in rising order of instructions. */
static const struct bpf_line_info twice[] = {
	LINE(0, TEXT_FIRST, 1),
	LINE(0, TEXT_SECOND, 2),
};
/* Every function has to begin with a line. */
static const struct bpf_line_info begins_late[] = {
	LINE(2, TEXT_SECOND, 2),
};
/* The second half of a 64-bit constant is no instruction. */
static const struct bpf_line_info between_halves[] = {
	LINE(0, TEXT_FIRST, 1),
	LINE(1, TEXT_SECOND, 2),
};

const struct lesson_program lesson_bad[] = {
	{ 0 }, /* these programs are not written in the DSL */
};

void show_refused(void)
{
	show_lines("twice: two lines for one instruction", twice, 2);
	show_lines("begins_late: no line for the first instruction", begins_late, 1);
	show_lines("between_halves: a line for the second half of a constant", between_halves, 2);
}
