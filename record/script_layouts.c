/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How each version of PHP, Ruby and Perl is laid out, of 64-bit builds. A new version is a row. PHP
 * 8.2: offsetof() with the headers of 8.2.36, without ZTS. Ruby 3.1: with the one that its JIT
 * compiles with, rb_mjit_min_header-3.1.2.h. Perl 5.36: with those of Debian's 5.36.0, for several
 * threads.
 */
#include <stddef.h>

#include "script.h"

/* glibc 2.36, struct pthread: specific_1stblock, specific. */
#define GLIBC_SLOTS [PERL_SLOTS] = 0x310, [PERL_SLOT_BLOCKS] = 0x510

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
	{ .language = SCRIPT_RUBY,
	  .version = 0x0301,
	  .at = { [RUBY_STACK] = 0,
		  [RUBY_FRAME_BYTES] = 64,
		  [RUBY_PC] = 0,
		  [RUBY_ISEQ] = 16,
		  [RUBY_EP] = 32,
		  [RUBY_BODY] = 16,
		  [RUBY_SIZE] = 4,
		  [RUBY_CODE] = 8,
		  [RUBY_PATH] = 64,
		  [RUBY_LABEL] = 80,
		  [RUBY_FIRST_LINE] = 88,
		  [RUBY_LINES] = 120,
		  [RUBY_LINES_COUNT] = 136,
		  [RUBY_LINES_INDEX] = 144,
		  [RUBY_LINE_BYTES] = 12,
		  [RUBY_DEFINITION] = 16,
		  [RUBY_CFUNC] = 8,
		  [RUBY_ID] = 32,
		  [RUBY_LAST_OPERATOR] = 169 } },
	{ .language = SCRIPT_PERL,
	  .version = 0x0524,
	  .at = { [PERL_BYTES] = 3768,
		  [PERL_OP] = 8,
		  [PERL_COP] = 208,
		  [PERL_STACK] = 224,
		  [PERL_COMPILING] = 1936,
		  [PERL_CONTEXTS] = 8,
		  [PERL_PREVIOUS] = 16,
		  [PERL_INDEX] = 32,
		  [PERL_SUB_INDEX] = 40,
		  [PERL_CONTEXT_BYTES] = 104,
		  [PERL_OLD_COP] = 16,
		  [PERL_RETURN] = 48,
		  [PERL_SUB_BELOW] = 56,
		  [PERL_CV] = 72,
		  [PERL_LINE] = 36,
		  [PERL_FILE] = 48,
		  [PERL_SEQUENCE] = 60,
		  [PERL_CV_STASH] = 32,
		  [PERL_CV_ROOT] = 48,
		  [PERL_CV_NAME] = 56,
		  [PERL_CV_FLAGS] = 92,
		  [PERL_GLOB_OF] = 56,
		  [PERL_GLOB_NAME] = 32,
		  [PERL_GLOB_STASH] = 40,
		  [PERL_STASH_NAME] = 32,
		  [PERL_STASH_NAMES] = 60,
		  [PERL_NEXTSTATE] = 195,
		  [PERL_SCOPE] = 200,
		  GLIBC_SLOTS } },
};

static const struct {
	const char *name, *word, *versions;
} languages[SCRIPT_LANGUAGES] = {
	[SCRIPT_PHP] = { "PHP", "php", "8.2 is" },
	[SCRIPT_RUBY] = { "Ruby", "ruby", "3.1 is" },
	[SCRIPT_PERL] = { "Perl", "perl", "5.36 for several threads is" },
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
