/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, files and lines of Python's functions, as the programs sent them. */
#include <errno.h>
#include <stdlib.h>

#include "symbolize/python.h"

#include "name_share.h"
#include "names.h"
#include "python.h"

int record_python_names_add(struct name_share *names, const struct python_code *c)
{
	char *name = sym_python_text(c->name_state, c->name, c->name_bytes);
	char *file = sym_python_text(c->file_state, c->file, c->file_bytes);
	const struct named_code code = { .pid = (uint32_t)(c->pid_tgid >> 32),
					 .check = c->check,
					 .generation = c->generation,
					 .address = c->code,
					 .name = name,
					 .file = file,
					 .lines = c->lines,
					 .nlines = c->lines_bytes,
					 .first_line = c->first_line,
					 .version = c->version };
	const int err = name && file ? record_name_code(names, &code) : -ENOMEM;

	free(name);
	free(file);
	return err;
}

void record_python_names_find(struct name_share *names, const struct name_owner *owner,
			      const uint64_t words[2], struct report_frame *out)
{
	const bool is_entered = (words[1] & PYTHON_POSITION_MAX) == PYTHON_POSITION_ENTERED;
	const uint32_t position = is_entered ? 0 : words[1] & PYTHON_POSITION_MAX;
	const struct named_code key = { .pid = owner->pid,
					.check = (uint32_t)(words[1] >> PYTHON_CHECK_SHIFT),
					.generation = owner->generation,
					.address = words[0] & PYTHON_CODE_MASK };
	const struct named_code *f = record_name_find(names, &key);

	*out = (struct report_frame){ .name = "[python]",
				      .kind = REPORT_PYTHON,
				      .address = key.address + 2ull * position };
	if (!f)
		return;
	out->name = *f->name ? f->name : out->name;
	out->module = out->file = *f->file ? f->file : NULL;
	out->symbol_offset = 2ull * position;
	out->line = is_entered ? f->first_line : record_name_line(names, f, position);
}
