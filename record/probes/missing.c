/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of files that are not there: what is called nearly so, and why it may be missing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "list.h"

struct trying {
	struct record_probes *list;
	struct nearest nearest;
	bool has_namespace; /* what was typed has one */
	size_t seen;
};

/* Behind the namespaces and classes: "add" of "shop::Cart<std::string>::add". */
static const char *last_part(const char *name)
{
	const char *last = name;
	int inside = 0;

	for (const char *c = name; *c; c++) {
		inside += (*c == '<') - (*c == '>');
		if (!inside && c[0] == ':' && c[1] == ':')
			last = c + 2;
	}
	return last;
}

/* Without the parameters, which nobody types; who typed no namespace may not know of one. */
static size_t try_name(void *ctx, const char *name)
{
	struct trying *t = ctx;
	char text[256];

	t->seen++;
	snprintf(text, sizeof(text), "%s", sym_demangle(t->list->demangler, name));
	text[strcspn(text, "(")] = '\0';
	record_nearest_try(&t->nearest, text, text);
	if (!t->has_namespace)
		record_nearest_try(&t->nearest, last_part(text), text);
	return SIZE_MAX;
}

int record_probes_user_missing(struct record_probes *list, size_t at)
{
	const struct pattern *p = &list->patterns[at];
	struct trying t = { .list = list, .has_namespace = strstr(p->name, "::") };
	const char *path = NULL, *script = NULL;
	char hint[300];
	size_t files = 0;

	record_nearest_begin(&t.nearest, p->name);
	for (uint32_t i = 0; i < list->nfiles; i++) {
		const struct probe_file *f = &list->files[i];
		struct sym_functions_query query = { .path = f->path,
						     .match = try_name,
						     .ctx = &t };
		struct sym_functions *none;
		int err;

		if (!(f->looked & 1ull << (at < 63 ? at : 63)))
			continue;
		files++;
		path = f->path;
		query.fd = rp_open_regular(AT_FDCWD, f->path);
		if (query.fd < 0)
			continue;
		err = sym_functions_match(&query, &none);
		if (!err)
			sym_functions_free(none);
		else if (err == -ENOEXEC)
			script = f->path;
		close(query.fd);
	}
	if (!files)
		return rp_fail(-ENOENT, "'%s': no such file is executed from", p->text);
	if (!t.seen && script)
		return rp_fail(-ENOENT,
			       "'%s': %s is no ELF file, perhaps a script: its functions are not "
			       "such that a probe can be put on",
			       p->text, script);
	if (!t.seen)
		return rp_fail(-ENOENT,
			       "'%s': %s has no symbols at all (it was stripped): its debug file "
			       "would have them",
			       p->text, files == 1 ? path : "none of the files");
	record_nearest_hint(&t.nearest, hint, sizeof(hint));
	if (files > 1)
		return rp_fail(
			-ENOENT,
			"'%s': no such function in the %zu files; perhaps it is inlined into "
			"others%s",
			p->text, files, hint);
	return rp_fail(-ENOENT,
		       "'%s': %s has no such function; perhaps it is inlined into others%s",
		       p->text, path, hint);
}
