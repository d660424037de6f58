/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge.c: what a run is worth that had a fault. Right is a status that is not 0 and a message.
 * Tolerated is a result that is whole, or that comes with a word about what it lacks. All else is a
 * mistake of rawprof.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <zlib.h>

#include "faults.h"

char *read_file(const char *dir, const char *name, size_t *size)
{
	char path[1024], *text = NULL;
	size_t n = 0, got, room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	do {
		if (room - n < 65536)
			text = realloc(text, room = 2 * room + 65537);
		got = fread(text + n, 1, room - n - 1, f);
		n += got;
	} while (got);
	text[n] = 0;
	fclose(f);
	if (size)
		*size = n;
	return text;
}

/* ---- messages */

/* Numbers differ from run to run. Returns the end of what was put to @out. */
static char *put_without_digits(char *out, const char *in)
{
	for (; in && *in; in++) {
		if (!isdigit((unsigned char)*in) && !strchr(".,", *in))
			*out++ = *in;
	}
	*out = 0;
	return out;
}

char *judge_usual(const struct row *row, const char *dir)
{
	size_t n = 0, m = 0;
	char *said = read_file(dir, "stderr", &n);
	char *told = row->tells ? read_file(dir, "stdout", &m) : NULL;
	char *text = malloc(n + m + 1);

	put_without_digits(put_without_digits(text, said), told);
	free(said);
	free(told);
	return text;
}

/* Whether something was said that a run without a fault does not say. */
static bool has_word(const struct row *row, const char *dir, const char *usual)
{
	char *said = judge_usual(row, dir), *rest = said, *line;
	bool found = false;

	while (!found && (line = strsep(&rest, "\n"))) {
		const char *at = usual;
		size_t n = strlen(line);

		while (n && (at = strstr(at, line)) &&
		       !((at == usual || at[-1] == '\n') && (at[n] == '\n' || !at[n])))
			at++;
		found = n && !at;
	}
	free(said);
	return found;
}

/* ---- forms of results */

static const char *json_value(const char *at);

static const char *json_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static const char *json_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	for (; *at != '"'; at++) {
		if ((unsigned char)*at < 0x20)
			return NULL;
		if (*at == '\\' && !*++at)
			return NULL;
	}
	return at + 1;
}

/* What stands between brackets; of an object each value has a name. */
static const char *json_list(const char *at, char end)
{
	at = json_space(at + 1);
	if (*at == end)
		return at + 1;
	for (;;) {
		if (end == '}') {
			at = json_string(json_space(at));
			if (!at || *(at = json_space(at)) != ':')
				return NULL;
			at++;
		}
		at = json_value(at);
		if (!at)
			return NULL;
		at = json_space(at);
		if (*at == end)
			return at + 1;
		if (*at++ != ',')
			return NULL;
	}
}

static const char *json_value(const char *at)
{
	size_t n;

	at = json_space(at);
	if (*at == '{')
		return json_list(at, '}');
	if (*at == '[')
		return json_list(at, ']');
	if (*at == '"')
		return json_string(at);
	n = strspn(at, "+-.0123456789eE");
	if (!n)
		n = !strncmp(at, "true", 4) || !strncmp(at, "null", 4) ? 4
		    : !strncmp(at, "false", 5)			       ? 5
								       : 0;
	return n ? at + n : NULL;
}

static bool is_json(const char *text)
{
	const char *end = json_value(text);

	return end && !*json_space(end);
}

/* Objects, each with a newline behind it, which a comma may precede. */
static bool is_lines(const char *text, size_t size)
{
	const char *at = text;

	while (at && at < text + size) {
		at = json_value(at);
		at = at && *at == ',' ? at + 1 : at;
		at = at && *at == '\n' ? at + 1 : NULL;
	}
	return at && size;
}

/* The bytes of a gzip file, or NULL if it is not whole; NULs are replaced, to be searched. */
static char *unpack(const char *bytes, size_t size)
{
	const size_t room = 16 << 20;
	char *out = malloc(room + 1);
	z_stream z = { .next_in = (Bytef *)bytes,
		       .avail_in = (uInt)size,
		       .next_out = (Bytef *)out,
		       .avail_out = (uInt)room };
	bool whole = !inflateInit2(&z, 16 + MAX_WBITS) && inflate(&z, Z_FINISH) == Z_STREAM_END &&
		     !z.avail_in;

	for (size_t i = 0; i < z.total_out; i++)
		out[i] = out[i] ? out[i] : ' ';
	out[z.total_out] = 0;
	inflateEnd(&z);
	if (whole)
		return out;
	free(out);
	return NULL;
}

/* A trace of Perfetto: field 1, a length, so many bytes, until the end. Made fit to be searched. */
static bool is_packets(char *bytes, size_t size)
{
	for (size_t at = 0, length; at < size; at += length) {
		if (bytes[at++] != (1 << 3 | 2))
			return false;
		length = 0;
		for (unsigned int shift = 0; shift < 63 && at < size; shift += 7) {
			length |= (size_t)(bytes[at] & 0x7f) << shift;
			if (!(bytes[at++] & 0x80))
				break;
		}
		if (length > size - at)
			return false;
	}
	for (size_t i = 0; i < size; i++)
		bytes[i] = isprint((unsigned char)bytes[i]) ? bytes[i] : ' ';
	return size;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	return n >= m && !strncmp(text + n - m, end, m);
}

static uint64_t number_at(const char *at, int n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | (unsigned char)at[n];
	return v;
}

/*
 * What the sections of a saved profile say, one after the other, a line for each text; NULL: it is
 * not whole (docs/saved.md).
 */
static char *unpack_saved(const char *file, size_t size)
{
	enum { HEAD = 16, ENTRY = 24, MOST = 16 << 20 };
	const size_t n = size >= HEAD ? number_at(file + 10, 2) : 0;
	size_t at = HEAD + n * ENTRY, length = 0;
	char *text = NULL;

	for (size_t i = 0; i < n && at < size; i++) {
		const char *entry = file + HEAD + i * ENTRY;
		const uint64_t packed = number_at(entry + 8, 8);
		uLongf inflated = number_at(entry + 16, 8);
		char *longer = inflated < MOST ? realloc(text, length + inflated + 1) : NULL;

		if (!longer || packed > size - at ||
		    uncompress((Bytef *)longer + length, &inflated, (const Bytef *)file + at,
			       packed) != Z_OK) {
			free(longer ? longer : text);
			return NULL;
		}
		text = longer;
		length += inflated;
		at += packed;
	}
	for (size_t i = 0; i < length; i++)
		if (!text[i])
			text[i] = '\n';
	if (text)
		text[length] = 0;
	if (at == size)
		return text;
	free(text);
	return NULL;
}

/*
 * The files of windows in the directory one after the other, as unpack_saved() has each; NULL: one
 * is not whole, or has a name of what is being written.
 */
static char *unpack_windows(const char *dir)
{
	char path[1024], *text = calloc(1, 1);
	struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "%s/windows", dir);
	d = opendir(path);
	while (d && text && (entry = readdir(d))) {
		size_t size = 0, n = strlen(text);
		char *file = ends_with(entry->d_name, ".rawprof")
				     ? read_file(path, entry->d_name, &size)
				     : NULL;
		char *inner = file ? unpack_saved(file, size) : NULL;

		if (inner) {
			text = realloc(text, n + strlen(inner) + 1);
			strcpy(text + n, inner);
		} else if (file || !strncmp(entry->d_name, ".unfinished", 11)) {
			free(text);
			text = NULL;
		}
		free(inner);
		free(file);
	}
	if (d)
		closedir(d);
	return text;
}

/* Whether it came to its end. *text may be replaced by what is packed in it. */
static bool is_complete(enum form form, char **text, size_t size)
{
	char *inner;

	switch (form) {
	case JSON:
		return is_json(*text);
	case LINES:
		return is_lines(*text, size);
	case WINDOWS:
		return true; /* if unpack_windows() had them */
	case SVG:
		return ends_with(*text, "</svg>");
	case HTML:
		return ends_with(*text, "</html>");
	case PACKETS:
		return is_packets(*text, size);
	case PPROF:
	case SAVED:
		inner = form == SAVED ? unpack_saved(*text, size) : unpack(*text, size);
		if (!inner)
			return false;
		free(*text);
		*text = inner;
		return true;
	default:
		return size && (*text)[size - 1] == '\n';
	}
}

/* The first of the row's expressions that the text does not have. */
static const char *lacks(const struct row *row, const char *text)
{
	for (int i = 0; i < 3 && row->whole[i]; i++) {
		regex_t re;
		bool found;

		if (regcomp(&re, row->whole[i], REG_EXTENDED | REG_NOSUB | REG_NEWLINE))
			return "a regular expression that compiles";
		found = !regexec(&re, text, 0, NULL, 0);
		regfree(&re);
		if (!found)
			return row->whole[i];
	}
	return NULL;
}

/* ---- the directory */

static const char old[] = "what was there before\n";

static bool to_file(const struct row *row)
{
	return strstr(row->args, "@out");
}

static void result_name(const struct row *row, char *out, size_t size)
{
	const char *at = strstr(row->args, "@out");

	snprintf(out, size, "result%.*s", at ? (int)strcspn(at + 4, " ") : 0, at ? at + 4 : "");
}

static void remove_all(const char *pattern)
{
	glob_t found;

	if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			remove(found.gl_pathv[i]);
	}
	globfree(&found);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	remove(path);
	return 0;
}

void judge_prepare(const struct run *run)
{
	char path[1024], name[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/result*", run->dir);
	remove_all(path);
	result_name(run->row, name, sizeof(name));
	snprintf(path, sizeof(path), "%s/sane", run->dir);
	remove(path);
	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	f = to_file(run->row) ? fopen(path, "we") : NULL;
	if (f) {
		fputs(old, f);
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s/cache/*/*/*", run->dir);
	if (run->row->cold)
		remove_all(path);
	snprintf(path, sizeof(path), "%s/windows", run->dir);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file that should not be there, which is removed. */
static bool stray_file(const struct run *run, char *out, size_t size)
{
	static const char *const known[] = { "stdout", "stderr", "points",
					     "sane",   "cache",	 "windows" };
	char name[64], path[1024];
	struct dirent *entry;
	bool found = false;
	DIR *d = opendir(run->dir);

	result_name(run->row, name, sizeof(name));
	while (d && (entry = readdir(d))) {
		bool mine =
			entry->d_name[0] == '.' && !entry->d_name[1 + (entry->d_name[1] == '.')];

		mine = mine || !strcmp(entry->d_name, name);
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			mine = mine || !strcmp(entry->d_name, known[i]);
		if (mine)
			continue;
		found = true;
		snprintf(out, size, "a file stays: %.100s", entry->d_name);
		snprintf(path, sizeof(path), "%s/%s", run->dir, entry->d_name);
		remove(path);
	}
	if (d)
		closedir(d);
	return found;
}

static bool program_found_something(const struct run *run, char *out, size_t size)
{
	char *sane = read_file(run->dir, "sane", NULL);
	bool found = sane && *sane && strcmp(sane, "sane\n"); /* empty: it was killed */

	if (found)
		snprintf(out, size, "the program found %.100s", sane);
	free(sane);
	return found;
}

/* ---- the verdict */

/* Gives up a right: rawprof is not to go on with it. Where there is none to give up, EINVAL. */
static bool gives_up(const struct point *p)
{
	const uint32_t what = (uint32_t)p->site.kind;

	switch (p->site.kind >> 32) {
	case SYS_capset:
		return true;
	case SYS_setresuid:
	case SYS_setresgid:
		return p->err != EINVAL;
	case SYS_prctl:
		return what == PR_SET_DUMPABLE || what == PR_SET_NO_NEW_PRIVS ||
		       (what == PR_SET_SECCOMP && p->err != EINVAL);
	default:
		return false;
	}
}

/* What remains: whether the file was touched, whether what is in it is whole, and what is said. */
static enum verdict judge_result(const struct run *run, struct outcome *out, const char *usual)
{
	const struct row *row = run->row;
	const bool mute = run->mode == RUN_FAIL && run->point.site.kind == KIND(SYS_write, 2);
	const int status = WEXITSTATUS(out->status);
	const bool word = has_word(row, run->dir, usual) || mute;
	char name[64], *text;
	const char *lacking;
	bool complete, kept, exists;
	size_t size = 0;

	result_name(row, name, sizeof(name));
	text = row->form == WINDOWS ? unpack_windows(run->dir)
				    : read_file(run->dir, to_file(row) ? name : "stdout", &size);
	exists = text != NULL;
	text = exists ? text : calloc(1, 1);
	kept = to_file(row) && (!exists || !strcmp(text, old));
	complete = (row->form != WINDOWS || exists) && is_complete(row->form, &text, size);
	lacking = lacks(row, text);
	free(text);
	if (to_file(row) && !kept && !complete && !(row->grows && size && status)) {
		snprintf(out->why, sizeof(out->why), "status %d, and %zu bytes of a result", status,
			 size);
		return PARTIAL;
	}
	if (status != row->status && (status == 1 || status == 126 || status == 127)) {
		snprintf(out->why, sizeof(out->why), "status %d without a word", status);
		return word ? RIGHT : SILENT;
	}
	if (status != row->status) {
		snprintf(out->why, sizeof(out->why), "status %d", status);
		return STATUS;
	}
	/* Nothing was read then, if something lacks. */
	if (run->mode == RUN_FAIL && gives_up(&run->point) && !lacking) {
		snprintf(out->why, sizeof(out->why), "status 0, and a right was kept");
		return STATUS;
	}
	if (kept || (!complete && !(row->grows && status))) {
		snprintf(out->why, sizeof(out->why), "status 0, and the result is not complete");
		return PARTIAL;
	}
	snprintf(out->why, sizeof(out->why), "status 0, no word, and the result lacks %s",
		 lacking ? lacking : "nothing");
	return lacking && !word ? SILENT : TOLERATED;
}

void judge(const struct run *run, struct outcome *out, const char *usual)
{
	const char *harmed = run->target ? target_harmed(run->target) : NULL;

	if (out->hung) {
		out->verdict = HUNG;
	} else if (out->why[0] || program_found_something(run, out->why, sizeof(out->why)) ||
		   stray_file(run, out->why, sizeof(out->why))) {
		out->verdict = LEFT;
	} else if (harmed) {
		snprintf(out->why, sizeof(out->why), "the process looked at is %s", harmed);
		out->verdict = LEFT;
	} else if (run->mode == RUN_KILL) {
		out->verdict = RIGHT;
	} else if (WIFSIGNALED(out->status)) {
		snprintf(out->why, sizeof(out->why), "signal %d", WTERMSIG(out->status));
		out->verdict = CRASHED;
	} else {
		enum verdict verdict =
			WIFSIGNALED(out->status) ? RIGHT : judge_result(run, out, usual);

		out->verdict = run->mode == RUN_FAIL && !out->fired ? NOT_REACHED : verdict;
	}
}
