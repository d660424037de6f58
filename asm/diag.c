/* SPDX-License-Identifier: BSD-2-Clause */
/* What the assembler says of a line, and how it looks when it is printed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

static void tell(struct assembly *a, enum asm_severity severity, uint32_t line, const char *fmt,
		 va_list args) __attribute__((format(printf, 4, 0)));

static void tell(struct assembly *a, enum asm_severity severity, uint32_t line, const char *fmt,
		 va_list args)
{
	struct asm_diag diag = { .severity = severity,
				 .file = a->file_of[line],
				 .line = a->program->lines[line].line };

	if (!a->report)
		return;
	diag.message = asm_arena_vprintf(&a->arena, fmt, args);
	diag.text = asm_line_text(a, line);
	if (!diag.message) {
		a->error = -ENOMEM;
		return;
	}
	a->report(a->report_ctx, &diag);
}

void asm_fault(struct assembly *a, int err, uint32_t line, const char *fmt, ...)
{
	va_list args;

	if (!a->error || (a->error != -ENOMEM && err == -EINVAL))
		a->error = err;
	va_start(args, fmt);
	tell(a, ASM_ERROR, line, fmt, args);
	va_end(args);
}

void asm_warning(struct assembly *a, uint32_t line, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	tell(a, ASM_WARNING, line, fmt, args);
	va_end(args);
}

void asm_diag_print(void *ctx, const struct asm_diag *diag)
{
	fprintf(ctx ? ctx : stderr, "%s:%u: %s: %s\n\t%s\n", diag->file, diag->line,
		diag->severity == ASM_ERROR ? "error" : "warning", diag->message, diag->text);
}
