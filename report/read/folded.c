/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folded stacks, "comm;frame;frame count", root first, as stackcollapse-perf.pl, inferno and
 * report/folded.c write them. The count is what follows the last blank, so that names may have
 * blanks in them. The marks of kernel, JIT, inlined, Python, JavaScript, Java, PHP, Ruby and Perl
 * frames (_[k] _[j] _[i] _[p] _[s] _[J] _[h] _[r] _[l]) become kinds; what --pid and --tid append
 * to the first name ("comm-1234", "comm-1234/1235") becomes ids, if all lines have it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "read.h"

struct folded {
	const unsigned char *at, *end;
	uint64_t line;
	char *text; /* of the line, with NULs for its separators */
	size_t length, capacity;
	bool has_ids; /* of each line, behind its first name */
	bool rounded;
	struct report_file *out;
};

/* The next line that is no comment and not empty. False at the end, or *err. */
static bool next_line(struct folded *f, int *err)
{
	while (f->at < f->end) {
		const unsigned char *end = memchr(f->at, '\n', (size_t)(f->end - f->at));
		const unsigned char *at = f->at;

		end = end ? end : f->end;
		f->at = end < f->end ? end + 1 : end;
		f->line++;
		while (end > at && (end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t'))
			end--;
		if (at == end || *at == '#')
			continue;
		f->length = (size_t)(end - at);
		*err = RP_GROW_TO(f->text, f->length + 1, f->capacity);
		if (*err)
			return false;
		memcpy(f->text, at, f->length);
		f->text[f->length] = '\0';
		return true;
	}
	return false;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A whole number, or one with decimals, which is rounded. Saturates. */
static bool parse_count(struct folded *f, const char *s, uint64_t *count)
{
	uint64_t v = 0;

	if (!is_digit(*s))
		return false;
	for (; is_digit(*s); s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			v = UINT64_MAX;
	if (*s == '.') {
		f->rounded = true;
		v += *++s >= '5' && *s <= '9' && v < UINT64_MAX;
		s += strspn(s, "0123456789");
	}
	*count = v;
	return !*s;
}

/* Parts the line into its stack and its count. */
static int take_count(struct folded *f, uint64_t *count)
{
	char *blank = strrchr(f->text, ' ');

	if (!blank || blank == f->text || !parse_count(f, blank + 1, count))
		return report_why(f->out, -EINVAL,
				  "line %" PRIu64 " is no folded stack: it ends in no count",
				  f->line);
	*blank = '\0';
	f->length = (size_t)(blank - f->text);
	return 0;
}

/* Where "-1234" or "-1234/1235" begins, at the end of a name; NULL. */
static char *ids_at(char *name)
{
	char *dash = strrchr(name, '-'), *s;

	if (!dash || dash == name)
		return NULL;
	if (!strcmp(dash, "-?") || !strcmp(dash, "-?/?"))
		return dash;
	s = dash + 1 + strspn(dash + 1, "0123456789");
	if (s == dash + 1)
		return NULL;
	if (*s == '/')
		s += 1 + strspn(s + 1, "0123456789");
	return *s || s[-1] == '/' ? NULL : dash;
}

static int32_t id_from(const char *s)
{
	const unsigned long v = strtoul(s, NULL, 10);

	return v <= INT32_MAX ? (int32_t)v : 0;
}

static void take_ids(char *name, struct report_sample *s)
{
	char *ids = ids_at(name), *slash;

	if (!ids)
		return;
	slash = strchr(ids, '/');
	s->pid = id_from(ids + 1);
	s->tid = slash ? id_from(slash + 1) : 0;
	*ids = '\0';
}

static enum report_frame_kind take_kind(char *name)
{
	const size_t n = strlen(name);
	static const struct {
		char mark[5];
		enum report_frame_kind kind;
	} marks[] = { { "_[k]", REPORT_KERNEL },  { "_[j]", REPORT_JIT },
		      { "_[i]", REPORT_INLINED }, { "_[p]", REPORT_PYTHON },
		      { "_[s]", REPORT_JS },	  { "_[J]", REPORT_JVM },
		      { "_[h]", REPORT_PHP },	  { "_[r]", REPORT_RUBY },
		      { "_[l]", REPORT_PERL } };

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (n > 4 && !strcmp(name + n - 4, marks[i].mark)) {
			name[n - 4] = '\0';
			return marks[i].kind;
		}
	return REPORT_USER;
}

static int add_frame(struct report *r, char *name, uint32_t *id)
{
	struct report_frame frame = { .kind = take_kind(name) };

	if (!strcmp(name, "-") || !strcmp(name, "--"))
		frame.kind = REPORT_MARK;
	frame.name = *name && strcmp(name, "[unknown]") ? name : NULL;
	return report_frame_add(r, &frame, id);
}

/* From the leaf to the root, which is the first name of the line. */
static int add_line(struct folded *f, struct report *r, uint64_t count)
{
	uint32_t frames[REPORT_MAX_STACK];
	struct report_sample s = { .frames = frames, .values = &count };
	char *semicolon;
	int err;

	while ((semicolon = memrchr(f->text, ';', f->length))) {
		if (s.nframes == REPORT_MAX_STACK)
			return report_why(f->out, -EINVAL,
					  "line %" PRIu64 ": a stack of more than %d frames",
					  f->line, REPORT_MAX_STACK);
		err = add_frame(r, semicolon + 1, &frames[s.nframes++]);
		if (err)
			return err;
		*semicolon = '\0';
		f->length = (size_t)(semicolon - f->text);
	}
	if (f->has_ids)
		take_ids(f->text, &s);
	s.comm = strcmp(f->text, "[unknown]") ? f->text : "";
	return report_add(r, &s);
}

/* What is true of all lines, before the first is added. */
static int look(struct folded *f)
{
	const struct folded start = *f;
	uint64_t lines = 0, twice = 0, count;
	int err = 0;

	f->has_ids = true;
	while (next_line(f, &err) && !(err = take_count(f, &count))) {
		const char *blank = strrchr(f->text, ' ');

		lines++;
		twice += blank && parse_count(f, blank + 1, &count);
		f->text[strcspn(f->text, ";")] = '\0';
		f->has_ids = f->has_ids && ids_at(f->text);
	}
	f->at = start.at;
	f->line = start.line;
	if (err)
		return err;
	if (!lines)
		return report_why(f->out, -EINVAL, "it has no folded stacks");
	if (twice == lines)
		return report_why(f->out, -EINVAL, "its lines have two counts: it is a difference");
	return 0;
}

int report_read_folded(const void *bytes, size_t n, struct report_file *out)
{
	static const struct report_value_type samples = { "samples", "count" };
	struct folded f = { .at = bytes, .end = (const unsigned char *)bytes + n, .out = out };
	struct report *r = NULL;
	uint64_t count;
	int err = look(&f);

	f.rounded = false;
	if (!err)
		err = report_new(&samples, 1, &r);
	while (!err && next_line(&f, &err) && !(err = take_count(&f, &count)))
		err = add_line(&f, r, count);
	if (!err && f.rounded) {
		const struct report_info info = { .note = "counts with decimals were rounded" };

		err = report_set_info(r, &info);
	}
	free(f.text);
	if (err)
		report_free(r);
	else
		out->report = r;
	return err;
}
