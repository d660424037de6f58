/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits of programs in managed languages: not the interpreter's function in C is of interest, but
 * the one that it executes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock.h"
#include "record/names.h"

static bool is_managed(enum report_frame_kind kind)
{
	return kind >= REPORT_PYTHON;
}

bool lock_managed_leaf(struct recording *rec, const struct stack_record *r,
		       struct report_frame *out)
{
	struct name_frames frames = { 0 };
	bool found = false;

	if (!r->managed_bytes || record_names_stack_user(rec, r, NAMES_SYSCALL, &frames)) {
		free(frames.frame);
		return false;
	}
	for (size_t i = 0; !found && i < frames.n; i++) {
		found = is_managed(frames.frame[i].kind);
		if (found)
			*out = frames.frame[i];
	}
	free(frames.frame);
	return found;
}

/* The last two parts of a path: "json/decoder.py". */
static const char *short_path(const char *path)
{
	const char *at = path + strlen(path);

	for (int slashes = 0; at > path; at--)
		if (at[-1] == '/' && ++slashes == 2)
			break;
	return at;
}

char *lock_managed_place(const struct report_frame *f)
{
	char *text;

	if (!f->file || !f->line)
		return strdup(f->name);
	return asprintf(&text, "%s:%u %s", short_path(f->file), f->line, f->name) < 0 ? NULL : text;
}

bool lock_is_interpreter(const char *module)
{
	const char *slash = module ? strrchr(module, '/') : NULL;
	const char *base = slash ? slash + 1 : module;

	return base && (!strncmp(base, "libpython", 9) || !strncmp(base, "python", 6));
}
