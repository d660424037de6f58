/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --annotate: the instructions of a function, with what was at each of them. objdump takes the file
 * apart, if it is the one that was recorded, which its build id says. BPF programs are taken from
 * the kernel (annotate_bpf.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/file.h"
#include "base/text.h"
#include "annotate.h"
#include "symbolize/symtab.h"

extern char **environ;

/* No function is longer; what is beyond is not shown. */
#define LONGEST_FUNCTION (1 << 20)

/* The file of the function; *fd stays open while it is read by others. */
static int open_file(const struct report_place *p, struct sym_object **object, int *fd)
{
	const char *path = p->module ? p->module : "it";
	int err;

	if (p->kind == REPORT_KERNEL || p->kind == REPORT_MARK || p->kind == REPORT_JIT ||
	    p->kind >= REPORT_PYTHON || !p->module || *p->module != '/')
		return rp_fail(-ENOENT, "--annotate: the code of %s is in no file", p->name);
	if (!p->build_id)
		return rp_fail(-ENOENT,
			       "--annotate: whether %s is the file that was recorded is not to be "
			       "told: it has no build id",
			       path);
	*fd = rp_open_regular(AT_FDCWD, path);
	if (*fd < 0)
		return rp_fail(*fd, "--annotate: cannot read %s: %s", path, strerror(-*fd));
	err = sym_object_open(object, dup(*fd));
	if (!err && strcmp((*object)->build_id, p->build_id)) {
		err = rp_fail(-ESTALE,
			      "--annotate: %s is another file than was recorded: its build id is "
			      "%s, not %s",
			      path, *(*object)->build_id ? (*object)->build_id : "not there",
			      p->build_id);
		sym_object_close(*object);
	} else if (err) {
		rp_fail(err, "--annotate: cannot read %s: %s", path, strerror(-err));
	}
	if (err)
		close(*fd);
	return err;
}

/* Where the function ends: at the first address that its symbol does not have; past the last place
 * where there is no symbol. */
static uint64_t find_end(struct sym_object *object, const struct report_place *places, size_t n)
{
	const uint64_t start = places->start, last = places[n - 1].address;
	struct sym_strings strings = { 0 };
	struct sym_symtab *t = NULL;
	uint64_t end = start, begin;
	const char *name;

	if (!sym_symtab_open(&t, object, NULL, &strings))
		while (end - start < LONGEST_FUNCTION && sym_symtab_lookup(t, end, &name, &begin) &&
		       begin == start)
			end++;
	sym_symtab_close(t);
	sym_strings_free(&strings);
	return end > last ? end : last + 16;
}

/* What is worth something at addresses below this one and has not been shown. */
static void take_places(struct annotation *l, uint64_t below, uint64_t *self, uint64_t *total)
{
	for (*self = *total = 0; l->next < l->n && l->places[l->next].address < below; l->next++) {
		*self += l->places[l->next].self;
		*total += l->places[l->next].total;
	}
}

void report_annotate_line(struct annotation *l, const char *line, uint64_t below)
{
	uint64_t self, total;

	take_places(l, below, &self, &total);
	if (!total)
		fprintf(l->out, "%32s", "");
	else
		fprintf(l->out, " %5.1f%% %12" PRIu64 " %11" PRIu64,
			100.0 * (double)total / (double)l->whole, total, self);
	rp_text_print(l->out, "  %s\n", line);
}

/* "  401136:\tmov ..."; false: another line of objdump. */
static bool is_instruction(const char *line, uint64_t *address)
{
	char *end;

	*address = strtoull(line, &end, 16);
	return end != line && *end == ':' && (end[1] == '\t' || end[1] == ' ');
}

/* Each is shown when the next is there: what is between them belongs to it. */
static size_t read_lines(struct annotation *l, FILE *in)
{
	char *line = NULL, *before = NULL;
	size_t room = 0, n = 0;
	uint64_t address;
	ssize_t length;

	while ((length = getline(&line, &room, in)) > 0) {
		line[length - (line[length - 1] == '\n')] = '\0';
		if (!is_instruction(line, &address))
			continue;
		for (char *tab = line; (tab = strchr(tab, '\t')); tab++)
			*tab = ' ';
		if (before)
			report_annotate_line(l, before, address);
		free(before);
		before = strdup(line + strspn(line, " "));
		n++;
	}
	if (before)
		report_annotate_line(l, before, UINT64_MAX);
	free(before);
	free(line);
	return n;
}

/* Its output is a pipe; the file comes as its standard input, which is the file that we have read.
 */
static int start_objdump(int file, const struct annotation *l, pid_t *pid, FILE **out)
{
	char start[40], stop[40];
	const char *const argv[] = {
		"objdump", "--disassemble",   "--demangle", "--no-show-raw-insn", start,
		stop,	   "/proc/self/fd/0", NULL
	};
	posix_spawn_file_actions_t actions;
	int ends[2], err;

	snprintf(start, sizeof(start), "--start-address=0x%" PRIx64, l->places->start);
	snprintf(stop, sizeof(stop), "--stop-address=0x%" PRIx64, l->end);
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	err = -posix_spawn_file_actions_init(&actions);
	if (!err) {
		err = -posix_spawn_file_actions_adddup2(&actions, file, STDIN_FILENO);
		if (!err)
			err = -posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
		if (!err)
			err = -posix_spawnp(pid, "objdump", &actions, NULL, (char *const *)argv,
					    environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[1]);
	*out = err ? NULL : fdopen(ends[0], "r");
	if (!*out)
		close(ends[0]);
	return err;
}

static int list(struct annotation *l, int file)
{
	FILE *in = NULL;
	size_t n = 0;
	pid_t pid;
	int err = start_objdump(file, l, &pid, &in), status = 0;

	if (err == -ENOENT)
		return rp_fail(err, "--annotate: objdump takes files apart, and is not installed "
				    "(package binutils)");
	if (err)
		return rp_fail(err, "--annotate: cannot start objdump: %s", strerror(-err));
	if (in) {
		n = read_lines(l, in);
		fclose(in);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!in)
		return -ENOMEM;
	return n && !status ? 0 : rp_fail(-EIO, "--annotate: objdump cannot take it apart");
}

void report_annotate_head(const struct annotation *l)
{
	const struct report_place *p = l->places;
	uint64_t self = 0, total = 0;

	for (size_t i = 0; i < l->n; i++) {
		self += p[i].self;
		total += p[i].total;
	}
	rp_text_print(l->out,
		      "%s, %s: %" PRIu64 " in it and what it calls, %" PRIu64 " in itself\n\n",
		      p->name, p->module, total, self);
	fprintf(l->out, "               TOTAL        SELF  INSTRUCTION\n");
}

static int annotate_one(struct annotation *l)
{
	const struct report_place *p = l->places;
	struct sym_object *object;
	int fd = -1, err;

	if (report_is_bpf(p))
		return report_annotate_bpf(l);
	err = open_file(p, &object, &fd);
	if (err)
		return err;
	l->end = find_end(object, p, l->n);
	report_annotate_head(l);
	err = list(l, fd);
	sym_object_close(object);
	close(fd);
	return err;
}

/* Functions of that name one after the other. */
int report_annotate(const struct report *r, const char *function, unsigned int weight, FILE *out,
		    bool *usage)
{
	struct report_place *places = NULL;
	char why[REPORT_WHY];
	size_t n, end;
	int err = report_places(r, function, weight, &places, &n, why);

	*usage = err == -EINVAL;
	if (err)
		return *usage ? rp_fail(err, "--annotate '%s': %s", function, why) : err;
	for (size_t at = 0; at < n && !err; at = end) {
		struct annotation l = { .out = out,
				     .places = &places[at],
				     .whole = report_total(r, weight) };

		for (end = at; end < n && places[end].start == places[at].start &&
			       places[end].module == places[at].module &&
			       places[end].build_id == places[at].build_id;)
			end++;
		l.n = end - at;
		if (at)
			fputc('\n', out);
		err = annotate_one(&l);
	}
	free(places);
	return err;
}
