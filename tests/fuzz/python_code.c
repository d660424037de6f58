/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code objects of Python as a process has them in its memory: texts of any width, and line tables
 * of any version. The input is one struct python_code, cut or not; then positions are asked for.
 */
#include "record/name_share.h"
#include "record/names.h"
#include "record/python_names.c"

#include "fuzz.h"

static void ask(struct name_share *names, const struct python_code *c, uint32_t position)
{
	const struct name_owner owner = { .pid = (uint32_t)(c->pid_tgid >> 32),
					  .generation = c->generation };
	const uint64_t words[2] = { MANAGED_WORD | c->code,
				    MANAGED_WORD | (uint64_t)c->check << PYTHON_CHECK_SHIFT |
					    position };
	struct report_frame frame;

	record_python_names_find(names, &owner, words, &frame);
	fuzz_check(frame.name && *frame.name && frame.kind == REPORT_PYTHON);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = { 0x0308, 0x030a, 0x030b, 0x030e };
	struct python_code *c = calloc(1, sizeof(*c));
	struct name_share *names;

	fuzz_check(c && !record_name_share_open(&names));
	memcpy(c, data, size < sizeof(*c) ? size : sizeof(*c));
	c->code &= PYTHON_CODE_MASK;
	c->file_bytes %= PYTHON_TEXT_BYTES + 1;
	c->name_bytes %= PYTHON_TEXT_BYTES + 1;
	c->lines_bytes %= PYTHON_LINES_BYTES + 1;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		c->version = versions[i];
		c->check = (uint32_t)i;
		fuzz_check(!record_python_names_add(names, c));
		ask(names, c, 0);
		ask(names, c, 100);
		ask(names, c, PYTHON_POSITION_MAX);
	}
	c->check = 77; /* of another object at the same address */
	ask(names, c, 1);
	record_name_share_close(names);
	free(c);
	return 0;
}
