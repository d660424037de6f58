/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have an interpreter of PHP, Ruby or Perl. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "symbolize/proc.h"

#include "languages.h"
#include "mapped_file.h"
#include "names.h"
#include "script.h"

/* A file whose name says that it may have one; layout is its number + 1 in the map, or 0. */
struct known_file {
	struct file_key key;
	struct script_file file;
	uint32_t layout;
};

struct record_script {
	int layouts_fd;
	uint32_t nlayouts;
	const struct script_layout *layouts[SCRIPT_LAYOUTS]; /* as they are in the map */
	struct hash_map files;				     /* of struct known_file */
	struct name_share *names;
};

int record_script_open(struct record_script **out, int layouts, struct name_share *share)
{
	struct record_script *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = share;
	p->layouts_fd = layouts;
	p->files = HASH_MAP(struct known_file, key);
	*out = p;
	return 0;
}

void record_script_close(struct record_script *p)
{
	if (!p)
		return;
	rp_hash_free(&p->files);
	free(p);
}

/* ---- which files */

static enum script_language language_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	for (int i = SCRIPT_NONE + 1; i < SCRIPT_LANGUAGES; i++)
		if (strstr(slash ? slash : path, record_script_word(i)))
			return i;
	return SCRIPT_NONE;
}

/* Files with the same layout share it; 0: there is no room. */
static uint32_t publish(struct record_script *p, const struct script_layout *layout)
{
	uint32_t i = 0;

	while (i < p->nlayouts && p->layouts[i] != layout)
		i++;
	if (i < p->nlayouts)
		return i + 1;
	if (i == SCRIPT_LAYOUTS ||
	    rp_map_write(p->layouts_fd, i * sizeof(*layout), layout, sizeof(*layout)))
		return 0;
	p->layouts[p->nlayouts++] = layout;
	return i + 1;
}

static void look_at(struct record_script *p, struct known_file *f, const char *path, int fd)
{
	record_script_read_file(fd, path, language_of(path), &f->file);
	if (f->file.layout)
		f->layout = publish(p, f->file.layout);
}

void record_script_mapped(struct record_script *p, const struct mapped_file *file, uint64_t bias,
			  struct script_process *out, struct unwind_rule *generated)
{
	const char *path = file->map->path;
	struct known_file *f;
	int fd;

	if (language_of(path) == SCRIPT_NONE)
		return;
	f = record_known_file(&p->files, &file->key, file, &fd);
	if (!f)
		return; /* its frames stay native */
	if (fd >= 0)
		look_at(p, f, path, fd);
	if (!f->layout)
		return;
	if (f->file.generated.kind)
		*generated = f->file.generated;
	*out = (struct script_process){ .language = f->file.layout->language,
					.layout = (uint16_t)(f->layout - 1),
					.root = f->file.root + bias,
					.loop = f->file.loop + bias,
					.loop_bytes = (uint32_t)f->file.loop_bytes,
					.cold = f->file.cold + bias,
					.cold_bytes = f->file.cold_bytes,
					.again = f->file.again + bias,
					.again_bytes = f->file.again_bytes };
}

/* ---- who may run one */

static int is_one(void *language, const struct sym_proc_map *m)
{
	return language_of(m->path) == *(const enum script_language *)language;
}

bool record_script_may_run(uint32_t pid, enum script_language language)
{
	return sym_proc_maps("/proc", pid, is_one, &language) != 0;
}

static bool is_language(const void *language, const char *exe)
{
	return language_of(exe) == *(const enum script_language *)language;
}

static bool is_in_path(enum script_language language)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	bool found = false;

	while (path && *path && !found) {
		const size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, record_script_word(language));
		found = !access(file, X_OK);
		path += n + (path[n] == ':');
	}
	return found;
}

bool record_script_may_start(enum script_language language)
{
	char modules[32]; /* of a web server: "/usr/lib/php" */

	snprintf(modules, sizeof(modules), "/usr/lib/%s", record_script_word(language));
	return !access(modules, F_OK) || is_in_path(language) ||
	       record_program_runs(is_language, &language);
}

/* ---- what came */

int record_script_function(struct record_script *p, const struct script_function *function)
{
	if (function->language <= SCRIPT_NONE || function->language >= SCRIPT_LANGUAGES ||
	    function->kind >= SCRIPT_KINDS)
		return -EBADMSG;
	for (int i = 0; i < SCRIPT_TEXTS; i++)
		if (function->bytes[i] > SCRIPT_TEXT_BYTES)
			return -EBADMSG;
	return record_script_names_add(p->names, function);
}

void record_script_frame(const struct record_script *p, const struct name_owner *owner,
			 enum managed_language language, const uint64_t words[2],
			 struct report_frame *out)
{
	record_script_names_find(p->names, owner, language, words, out);
}
