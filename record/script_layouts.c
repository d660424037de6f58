/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each version of PHP, Ruby and Perl is laid out, of 64-bit builds. A new version is a row. PHP
 * 8.2: offsetof() with the headers of 8.2.36, without ZTS.
 */
#include <stddef.h>

#include "script.h"

static const struct script_layout layouts[] = {
	{ .language = SCRIPT_PHP,
	  .version = 0x0802,
	  .at = { [PHP_CURRENT] = 488,
		  [PHP_OPLINE] = 0,
		  [PHP_FUNCTION] = 24,
		  [PHP_INFO] = 40,
		  [PHP_PREVIOUS] = 48,
		  [PHP_NAME] = 8,
		  [PHP_SCOPE] = 16,
		  [PHP_OPCODES] = 88,
		  [PHP_FILE] = 152,
		  [PHP_LINE] = 24,
		  [PHP_CLASS_NAME] = 8,
		  [PHP_LENGTH] = 16,
		  [PHP_TEXT] = 24 } },
};

static const struct {
	const char *name, *word, *versions;
} languages[SCRIPT_LANGUAGES] = {
	[SCRIPT_PHP] = { "PHP", "php", "8.2 is" },
	[SCRIPT_RUBY] = { "Ruby", "ruby", "3.1 is" },
	[SCRIPT_PERL] = { "Perl", "perl", "5.36 is" },
};

const struct script_layout *record_script_layout(enum script_language language,
						 unsigned int version)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].language == language && layouts[i].version == version)
			return &layouts[i];
	return NULL;
}

const char *record_script_name(enum script_language language)
{
	return languages[language].name;
}

const char *record_script_word(enum script_language language)
{
	return languages[language].word;
}

const char *record_script_versions(enum script_language language)
{
	return languages[language].versions;
}
