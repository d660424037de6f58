/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --resolve: names for code that was stripped where it was recorded, and source lines, from files
 * with its symbols and debug data. Which file belongs to which frame is told by the build id alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>
#include <rawprof/symbolize.h>

#include "base/file.h"
#include "base/grow.h"
#include "report.h"
#include "symbolize/lines_aside.h"
#include "symbolize/symtab.h"

struct symbols {
	const char *path; /* as it was given */
	struct sym_object *object;
	struct sym_symtab *symtab;
	struct sym_lines *lines; /* NULL: it has none */
	uint64_t frames;	 /* that it has named */
};

struct resolver {
	struct symbols *files;
	size_t n, capacity;
	struct sym_strings strings;
	struct sym_demangler *demangler;
	char *list;   /* the paths */
	bool inlined; /* functions that are inlined are wanted */
};

static int open_file(struct resolver *r, const char *path)
{
	struct symbols s = { .path = path };
	int fd = rp_open_regular(AT_FDCWD, path), err;

	if (fd < 0)
		return rp_fail(fd, "--resolve %s: %s", path, strerror(-fd));
	err = sym_object_open(&s.object, fd);
	if (err)
		return rp_fail(err, "--resolve %s: %s", path,
			       err == -ENOEXEC ? "it is no ELF file of this byte order"
					       : strerror(-err));
	if (!err && !*s.object->build_id)
		err = rp_fail(
			-EINVAL,
			"--resolve %s: it has no build id, so what it belongs to is not to be "
			"told",
			path);
	if (!err) {
		err = sym_symtab_open(&s.symtab, s.object, NULL, &r->strings);
		if (err)
			rp_fail(err, "--resolve %s: %s", path, strerror(-err));
	}
	if (!err) {
		err = sym_lines_open(&s.lines, s.object, s.object);
		if (err == -ENODATA)
			err = 0;
	}
	if (!err)
		err = RP_PUSH(r->files, r->n, r->capacity, s);
	if (err) {
		sym_lines_close(s.lines);
		sym_symtab_close(s.symtab);
		sym_object_close(s.object);
	}
	return err;
}

static void set_line(struct report_frame *frame, const struct sym_line *line)
{
	frame->file = line->file;
	frame->line = line->file ? line->line : 0;
}

/*
 * A line that is known already was told by the machine that recorded it. Returns how many functions
 * are inlined there, which stand behind the frame then, outermost first.
 */
static int find_lines(const struct resolver *r, const struct symbols *s, uint64_t at,
		      struct report_frame *frame)
{
	struct sym_line lines[SYM_INLINE_MAX + 1];
	bool failed;
	size_t n;

	if (frame->file || !s->lines)
		return 0;
	n = sym_lines_find(s->lines, at, r->inlined, lines, SYM_INLINE_MAX + 1, &failed);
	if (!n)
		return 0;
	set_line(frame, &lines[n - 1]);
	for (size_t i = 1; i < n; i++) {
		const struct sym_line *line = &lines[n - 1 - i];

		frame[i] = *frame;
		frame[i].name = line->function ? sym_demangle(r->demangler, line->function) : NULL;
		frame[i].symbol_offset = 0;
		frame[i].kind = REPORT_INLINED;
		set_line(&frame[i], line);
	}
	return (int)n - 1;
}

/* The call is in front of a return address. Inlined functions keep the names that they have. */
static int name(void *ctx, struct report_frame *frame)
{
	struct resolver *r = ctx;
	const uint64_t at = frame->module_addr - frame->is_return;
	const char *function;
	uint64_t start;
	int inlined = 0;

	if (!frame->build_id || frame->kind == REPORT_INLINED || !frame->module_addr)
		return 0;
	/* A stripped file and its symbols have the same build id. */
	for (size_t i = 0; i < r->n; i++) {
		struct symbols *s = &r->files[i];

		if (strcmp(s->object->build_id, frame->build_id) ||
		    !sym_symtab_lookup(s->symtab, at, &function, &start))
			continue;
		frame->name = sym_demangle(r->demangler, function);
		frame->symbol_offset = frame->module_addr - start;
		inlined = find_lines(r, s, at, frame);
		s->frames++;
		break;
	}
	return inlined;
}

static void close_all(struct resolver *r)
{
	for (size_t i = 0; i < r->n; i++) {
		sym_lines_close(r->files[i].lines);
		sym_symtab_close(r->files[i].symtab);
		sym_object_close(r->files[i].object);
	}
	free(r->files);
	sym_strings_free(&r->strings);
	if (r->demangler)
		sym_demangler_close(r->demangler);
	free(r->list);
}

static int open_all(struct resolver *r, const char *list)
{
	char *rest = r->list = strdup(list), *path;
	int err = r->list ? sym_demangler_open(&r->demangler) : -ENOMEM;

	while (!err && (path = strsep(&rest, ",")))
		err = open_file(r, path);
	return err;
}

int report_resolve(const char *list, bool inlined, const struct report *from, struct report **out)
{
	struct resolver r = { .inlined = inlined };
	int err = open_all(&r, list);

	if (!err)
		err = report_change_frames(from, name, &r, out);
	for (size_t i = 0; !err && i < r.n; i++)
		if (!r.files[i].frames)
			rp_log(RP_WARN,
			       "--resolve %s: no address of the profile is in it (build id %s)",
			       r.files[i].path, r.files[i].object->build_id);
	close_all(&r);
	return err;
}
