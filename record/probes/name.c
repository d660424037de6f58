/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of user functions matched with patterns: as they are, and as their source has them. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"

/* Parts of readable names that a mangled one does not spell out. */
static const char *const not_spelled[] = {
	"std",	     "string",	  "allocator",	   "basic_string",  "operator",
	"anonymous", "namespace", "unsigned",	   "signed",	    "char",
	"short",     "int",	  "long",	   "float",	    "double",
	"void",	     "bool",	  "const",	   "volatile",	    "wchar_t",
	"true",	     "false",	  "basic_istream", "basic_ostream", "basic_iostream",
	"istream",   "ostream",	  "iostream",	   "nullptr_t",	    "decltype",
	"auto",	     "as",	  "dyn",	   "mut",	    "str",
	"impl",	     "closure",	  "shim",	   "vtable",	    "crate",
	"new",	     "delete",
};

static bool is_word(unsigned char c)
{
	return isalnum(c) || c == '_';
}

static bool is_spelled(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(not_spelled) / sizeof(not_spelled[0]); i++)
		if (strlen(not_spelled[i]) >= n && strstr(not_spelled[i], word))
			return false;
	return !isdigit((unsigned char)*word);
}

/*
 * The longest run of letters in the pattern: to make 100,000 names readable takes a second, and one
 * that does not have these letters in it needs none of that. Sets of letters in brackets count as
 * wildcards.
 */
static void choose_word(const char *glob, char word[64])
{
	size_t best = 0, n;

	for (const char *s = glob; *s; s += n ? n : 1) {
		char run[64];

		if (*s == '[' && strchr(s, ']'))
			s = strchr(s, ']');
		for (n = 0; is_word((unsigned char)s[n]); n++)
			;
		if (n <= best || n >= sizeof(run))
			continue;
		memcpy(run, s, n);
		run[n] = '\0';
		if (!is_spelled(run, n))
			continue;
		best = n;
		memcpy(word, run, n + 1);
	}
	if (!best)
		*word = '\0';
}

/* Where the parameters begin: the "(" that belongs to the last ")"; the end if there are none. */
static size_t params_at(const char *name)
{
	const char *s = strrchr(name, ')');
	int depth = 0;

	for (; s && s >= name; s--) {
		depth += *s == ')';
		depth -= *s == '(';
		if (!depth)
			return (size_t)(s - name);
	}
	return strlen(name);
}

/* Leaves out what stands in <...>, but for the operators that are written with these. */
static void drop_args(char *name)
{
	char *to = name;
	int depth = 0;

	for (const char *s = name; *s; s++) {
		if (!strncmp(s, "operator", 8) && !depth) {
			memmove(to, s, 8);
			to += 8;
			s += 8;
			while (*s && strchr("<>-=", *s))
				*to++ = *s++;
			s--;
			continue;
		}
		if (*s == '<')
			depth++;
		if (!depth)
			*to++ = *s;
		if (*s == '>' && depth)
			depth--;
	}
	*to = '\0';
}

void record_name_make(const char *glob, struct name_pattern *out)
{
	char plain[PATTERN_MAX + 1];

	snprintf(plain, sizeof(plain), "%s", glob);
	drop_args(plain);
	*out = (struct name_pattern){ .glob = glob,
				      .is_glob = record_pattern_is_glob(glob),
				      .has_args = strcmp(plain, glob) != 0 };
	choose_word(glob, out->word);
}

/* What a glob begins with is compared first: fnmatch(3) makes wide characters of both. */
static bool fits(const struct name_pattern *p, const char *name)
{
	return p->is_glob ? !strncmp(p->glob, name, strcspn(p->glob, "*?[\\")) &&
				    !fnmatch(p->glob, name, 0)
			  : !strcmp(p->glob, name);
}

/* Without what demanglers say of a clone, "f(int) [clone .isra.0]", if it is of the whole. */
static size_t clone_at(const char *readable)
{
	const char *clone = strstr(readable, " [clone .");

	if (clone && (!strncmp(clone + 9, "isra.", 5) || !strncmp(clone + 9, "constprop.", 10)))
		return (size_t)(clone - readable);
	return strlen(readable);
}

static bool match_readable(const struct name_pattern *p, const char *readable)
{
	char text[SYM_DEMANGLED_MAX + 1];

	if (fits(p, readable))
		return true;
	snprintf(text, sizeof(text), "%.*s", (int)clone_at(readable), readable);
	if (fits(p, text))
		return true;
	text[params_at(text)] = '\0';
	if (fits(p, text))
		return true;
	if (p->has_args)
		return false;
	drop_args(text);
	return *text && fits(p, text);
}

/* A clone that the compiler made of the whole function: its name without what it added. */
static bool clone_of(const char *name, char *base, size_t size)
{
	const char *dot = strchr(name, '.');

	while (dot && strncmp(dot, ".constprop.", 11) && strncmp(dot, ".isra.", 6) &&
	       strcmp(dot, ".constprop") && strcmp(dot, ".isra"))
		dot = strchr(dot + 1, '.');
	if (!dot || dot == name || (size_t)(dot - name) >= size)
		return false;
	memcpy(base, name, (size_t)(dot - name));
	base[dot - name] = '\0';
	return true;
}

bool record_name_match(const struct name_pattern *p, struct sym_demangler *d, const char *name)
{
	const char *cold = strstr(name, ".cold"), *part = strstr(name, ".part.");
	const char *readable;
	char base[512];

	if (cold && (!cold[5] || cold[5] == '.') && !strstr(p->glob, ".cold"))
		return false;
	if (part && !strstr(p->glob, ".part") && strcmp(p->glob, "*") != 0)
		return false;
	if (fits(p, name))
		return true;
	if (strchr(name, '.') && clone_of(name, base, sizeof(base)) && fits(p, base))
		return true;
	if (strncmp(name, "_Z", 2) && strncmp(name, "_R", 2))
		return false;
	if (*p->word && !strstr(name, p->word))
		return false;
	readable = sym_demangle(d, name);
	return readable != name && match_readable(p, readable);
}
