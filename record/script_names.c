/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and files of functions of PHP, Ruby and Perl, as the programs sent them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "symbolize/strings.h"
#include "symbolize/utf8.h"

#include "names.h"
#include "script.h"

/* A function of a process. */
struct function {
	uint64_t pid, generation, address, check;
	const char *name, *file;
};

/* 100 MB: then what is new has no names. */
#define MOST_FUNCTIONS (1u << 20)

struct script_names {
	struct sym_strings texts;
	struct hash_map functions; /* of struct function */
};

int record_script_names_open(struct script_names **out)
{
	struct script_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->functions = HASH_MAP(struct function, check);
	*out = names;
	return 0;
}

void record_script_names_close(struct script_names *names)
{
	if (!names)
		return;
	rp_hash_free(&names->functions);
	sym_strings_free(&names->texts);
	free(names);
}

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

/* "Class::name"; of code without a name what PHP and Perl themselves call it. */
static const char *name_of(struct script_names *names, const struct script_function *f)
{
	static const char *const unnamed[SCRIPT_LANGUAGES][SCRIPT_KINDS - SCRIPT_MAIN] = {
		[SCRIPT_PHP] = { "{main}", "{eval}", "{main}" },
		[SCRIPT_RUBY] = { "<main>", "<main>", "<main>" },
		[SCRIPT_PERL] = { "(main)", "(eval)", "(require)" },
	};
	char class[TEXT_ROOM], own[TEXT_ROOM], whole[2 * sizeof(own) + 2];

	if (f->kind != SCRIPT_NAMED) {
		const char *s = unnamed[f->language][f->kind - SCRIPT_MAIN];

		return sym_strings_add(&names->texts, s, strlen(s));
	}
	take_text(f, SCRIPT_CLASS, class);
	take_text(f, SCRIPT_NAME, own);
	snprintf(whole, sizeof(whole), "%s%s%s", class, *class ? "::" : "", own);
	return sym_strings_add(&names->texts, whole, strlen(whole));
}

int record_script_names_add(struct script_names *names, const struct script_function *f)
{
	const struct function key = {
		f->pid_tgid >> 32, f->generation, f->function, f->check, 0, 0
	};
	char file[TEXT_ROOM];
	struct function *function;

	if (names->functions.count == MOST_FUNCTIONS)
		return 0;
	function = rp_hash_add(&names->functions, &key);
	if (!function)
		return -ENOMEM;
	take_text(f, SCRIPT_FILE, file);
	function->name = name_of(names, f);
	function->file = sym_strings_add(&names->texts, file, strlen(file));
	return function->name && function->file ? 0 : -ENOMEM;
}

void record_script_names_find(const struct script_names *names, const struct name_owner *owner,
			      enum managed_language language, const uint64_t words[2],
			      struct report_frame *out)
{
	static const struct {
		const char *name;
		enum report_frame_kind kind;
	} kinds[] = { { "[php]", REPORT_PHP },
		      { "[ruby]", REPORT_RUBY },
		      { "[perl]", REPORT_PERL } };
	const struct function key = { owner->pid,
				      owner->generation,
				      words[0] & SCRIPT_FUNCTION_MASK,
				      (uint32_t)(words[1] >> SCRIPT_CHECK_SHIFT),
				      0,
				      0 };
	const struct function *f = rp_hash_find(&names->functions, &key);

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
