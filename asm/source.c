/* SPDX-License-Identifier: BSD-2-Clause */
/* Which line each instruction came from, and how that line reads. */
#include <errno.h>

#include "internal.h"

const char *asm_line_text(struct assembly *a, uint32_t line)
{
	uint32_t outermost = NO_SCOPE;
	const char *text;

	for (uint32_t s = a->placed[line].scope; s != NO_SCOPE; s = a->placed[s].scope)
		outermost = s;
	if (outermost == NO_SCOPE)
		return a->program->lines[line].text;
	text = asm_arena_printf(&a->arena, "%s: %s", a->program->lines[outermost].text,
				a->program->lines[line].text);
	if (!text)
		a->error = -ENOMEM;
	return text ? text : a->program->lines[line].text;
}

/* The kernel takes no source line for the second half of a 64-bit constant. */
static bool is_second_half(const struct asm_image *image, uint32_t slot)
{
	return slot && image->text_of[slot - 1] &&
	       image->insns[slot - 1].code == (BPF_LD | BPF_IMM | BPF_DW);
}

static void attach_lines(struct assembly *a, struct asm_image *image)
{
	for (uint32_t i = 0; i < a->program->nlines; i++) {
		const struct placed *p = &a->placed[i];

		if (p->dropped || !p->nslots)
			continue;
		/* Two lines of INSN() may make a constant too. */
		if (is_second_half(image, p->slot)) {
			image->line_of[p->slot] = i;
			image->file_of[p->slot] = a->file_of[i];
			continue;
		}
		image->text_of[p->slot] = asm_line_text(a, i);
		for (uint32_t n = 0; n < p->nslots; n++) {
			uint32_t slot = p->slot + n;

			image->line_of[slot] = i;
			image->file_of[slot] = a->file_of[i];
			/* The second half of a 64-bit constant has the opcode 0 and no text. */
			if (n && image->insns[slot].code)
				image->text_of[slot] = image->text_of[p->slot];
		}
	}
}

void asm_attach_source(struct assembly *a, struct asm_image *image)
{
	attach_lines(a, image);
	for (uint32_t i = 0; i < a->nlabels; i++)
		image->labels[i] =
			(struct asm_symbol){ .name = a->labels[i].name, .insn = a->labels[i].slot };
	image->nlabels = a->nlabels;
	for (uint32_t i = 0; i < a->nfuncs; i++)
		image->funcs[i] =
			(struct asm_symbol){ .name = a->funcs[i].name, .insn = a->funcs[i].slot };
	image->nfuncs = a->nfuncs;
}
