/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and files of functions of PHP, Ruby and Perl, as the programs sent them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "symbolize/utf8.h"

#include "name_share.h"
#include "names.h"
#include "script.h"

/* A character of one byte may become two. */
enum { TEXT_ROOM = 2 * SCRIPT_TEXT_BYTES + 1 };

/* Perl keeps names in Latin-1 that can be said in it, though the source be in UTF-8. */
static bool is_latin1(const char *s)
{
	char unit[RP_TEXT_UNIT];

	while (*s) {
		const bool plain = !(*s & 0x80);

		rp_text_unit(&s, unit, NULL);
		if (!plain && *unit == '\\')
			return true;
	}
	return false;
}

/* Copies one text, which may have been cut by a NUL or the room. */
static void take_text(const struct script_function *f, enum script_text which, char out[TEXT_ROOM])
{
	const size_t n = strnlen(f->text[which], f->bytes[which]);
	char *end = out;

	memcpy(out, f->text[which], n);
	out[n] = '\0';
	if (f->language != SCRIPT_PERL || which == SCRIPT_FILE || !is_latin1(out))
		return;
	for (size_t i = 0; i < n; i++)
		end = sym_put_utf8(end, (unsigned char)f->text[which][i]);
	*end = '\0';
}

enum { NAME_ROOM = 2 * TEXT_ROOM + 2 };

/* "Class::name"; of code without a name what PHP and Perl themselves call it. */
static const char *name_of(const struct script_function *f, char out[NAME_ROOM])
{
	static const char *const unnamed[SCRIPT_LANGUAGES][SCRIPT_KINDS - SCRIPT_MAIN] = {
		[SCRIPT_PHP] = { "{main}", "{eval}", "{main}" },
		[SCRIPT_RUBY] = { "<main>", "<main>", "<main>" },
		[SCRIPT_PERL] = { "(main)", "(eval)", "(require)" },
	};
	char class[TEXT_ROOM], own[TEXT_ROOM];

	if (f->kind != SCRIPT_NAMED)
		return unnamed[f->language][f->kind - SCRIPT_MAIN];
	take_text(f, SCRIPT_CLASS, class);
	take_text(f, SCRIPT_NAME, own);
	snprintf(out, NAME_ROOM, "%s%s%s", class, *class ? "::" : "", own);
	return out;
}

int record_script_names_add(struct name_share *names, const struct script_function *f)
{
	char name[NAME_ROOM], file[TEXT_ROOM];
	const struct named_code code = { .pid = (uint32_t)(f->pid_tgid >> 32),
					 .check = f->check,
					 .generation = f->generation,
					 .address = f->function,
					 .name = name_of(f, name),
					 .file = file };

	take_text(f, SCRIPT_FILE, file);
	return record_name_code(names, &code);
}

void record_script_names_find(const struct name_share *names, const struct name_owner *owner,
			      enum managed_language language, const uint64_t words[2],
			      struct report_frame *out)
{
	static const struct {
		const char *name;
		enum report_frame_kind kind;
	} kinds[] = { { "[php]", REPORT_PHP },
		      { "[ruby]", REPORT_RUBY },
		      { "[perl]", REPORT_PERL } };
	const struct named_code key = { .pid = owner->pid,
					.check = (uint32_t)(words[1] >> SCRIPT_CHECK_SHIFT),
					.generation = owner->generation,
					.address = words[0] & SCRIPT_FUNCTION_MASK };
	const struct named_code *f = record_name_find(names, &key);

	*out = (struct report_frame){ .name = kinds[language - MANAGED_PHP].name,
				      .kind = kinds[language - MANAGED_PHP].kind,
				      .address = key.address };
	if (!f)
		return;
	out->name = *f->name ? f->name : out->name;
	if (!*f->file)
		return;
	out->module = out->file = f->file;
	out->line = words[1] & SCRIPT_LINE_MAX;
}
