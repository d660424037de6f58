/* SPDX-License-Identifier: BSD-2-Clause */
/* Names and files of functions of PHP, Ruby and Perl, as the programs sent them. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "symbolize/utf8.h"

#include "name_share.h"
#include "names.h"
#include "script.h"

/* A function of a process. */
struct function {
	uint32_t pid, check;
	uint64_t generation, address;
	const char *name, *file;
};

struct script_names {
	struct name_share *share;
	struct sym_strings texts;
	struct hash_map functions; /* of struct function */
};

int record_script_names_open(struct script_names **out, struct name_share *share)
{
	struct script_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->share = share;
	names->functions = HASH_MAP(struct function, address);
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

/* What it points to is copied. */
static int keep(struct script_names *names, uid_t uid, struct function f)
{
	struct function *kept;

	f.name = record_name_keep(names->share, uid, &names->texts, f.name);
	f.file = record_name_keep(names->share, uid, &names->texts, f.file);
	kept = f.name && f.file ? rp_hash_add(&names->functions, &f) : NULL;
	if (!kept)
		return -ENOMEM;
	if (!kept->name)
		record_name_add(names->share, uid, sizeof(f) + RECORD_NAME_INDEX);
	*kept = f;
	return 0;
}

int record_script_names_add(struct script_names *names, const struct script_function *f)
{
	const uint32_t pid = (uint32_t)(f->pid_tgid >> 32);
	const uid_t uid = record_name_owner(names->share, pid, f->generation);
	char name[NAME_ROOM], file[TEXT_ROOM];

	if (!record_name_has_room(names->share, uid, sizeof(name) + sizeof(file)))
		return 0;
	take_text(f, SCRIPT_FILE, file);
	return keep(names, uid,
		    (struct function){ pid, f->check, f->generation, f->function, name_of(f, name),
				       file });
}

void record_script_names_forget(struct script_names *names)
{
	struct script_names *left, all = *names;
	const struct function *f = names->functions.items;

	if (record_script_names_open(&left, names->share))
		return;
	for (uint32_t i = 0; i < names->functions.count; i++)
		if (!record_name_is_gone(names->share, f[i].pid, f[i].generation))
			keep(left, record_name_owner(names->share, f[i].pid, f[i].generation),
			     f[i]);
	*names = *left;
	*left = all;
	record_script_names_close(left);
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
	const struct function key = { .pid = owner->pid,
				      .check = (uint32_t)(words[1] >> SCRIPT_CHECK_SHIFT),
				      .generation = owner->generation,
				      .address = words[0] & SCRIPT_FUNCTION_MASK };
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
