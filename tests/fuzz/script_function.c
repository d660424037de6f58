/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of PHP, Ruby and Perl as a process has them in its memory: the input is one struct
 * script_function, cut or not. Then a frame of it is asked for, and one of another.
 */
#include "record/name_share.h"
#include "record/names.h"
#include "record/script.c"
#include "record/script_names.c"

#include "fuzz.h"

static void ask(const struct record_script *p, const struct script_function *f, uint32_t check)
{
	const struct name_owner owner = { .pid = (uint32_t)(f->pid_tgid >> 32),
					  .generation = f->generation };
	const uint64_t words[2] = { MANAGED_WORD | f->function,
				    MANAGED_WORD | (uint64_t)check << SCRIPT_CHECK_SHIFT | 7 };
	struct report_frame frame;

	for (int i = MANAGED_PHP; i < MANAGED_LANGUAGES; i++) {
		record_script_frame(p, &owner, (enum managed_language)i, words, &frame);
		fuzz_check(frame.name && *frame.name && frame.kind >= REPORT_PHP);
		fuzz_check(frame.file ? frame.line == 7 : frame.line == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script_function *f = calloc(1, sizeof(*f));
	struct name_share *share;
	struct record_script *p;

	fuzz_check(f && !record_name_share_open(&share));
	fuzz_check(!record_script_open(&p, -1, share));
	memcpy(f, data, size < sizeof(*f) ? size : sizeof(*f));
	f->function &= SCRIPT_FUNCTION_MASK;
	record_script_function(p, f); /* may be refused */
	f->language = SCRIPT_PHP + f->language % 3;
	f->kind %= SCRIPT_KINDS;
	for (int i = 0; i < SCRIPT_TEXTS; i++)
		f->bytes[i] %= SCRIPT_TEXT_BYTES + 1;
	fuzz_check(!record_script_function(p, f));
	ask(p, f, f->check);
	ask(p, f, f->check + 1);
	record_script_close(p);
	record_name_share_close(share);
	free(f);
	return 0;
}
