/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have an interpreter of Python. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "base/machine.h"
#include "symbolize/proc.h"

#include "mapped_file.h"
#include "names.h"
#include "python.h"
#include "uid_share.h"

/* A file whose name says that it may have one; layout is its number + 1 in the map, or 0. */
struct known_file {
	struct file_key key;
	struct python_file file;
	uint32_t layout;
};

struct record_python {
	int layouts_fd;
	uint32_t nlayouts;
	struct record_share places;		      /* of them, by who has the file */
	struct python_layout layouts[PYTHON_LAYOUTS]; /* as they are in the map */
	struct hash_map files;			      /* of struct known_file */
	struct name_share *names;
};

int record_python_open(struct record_python **out, int layouts, struct name_share *share)
{
	struct record_python *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->names = share;
	p->layouts_fd = layouts;
	p->places = RECORD_SHARE(PYTHON_LAYOUTS / 4 * 3, "places for layouts of Python");
	p->files = HASH_MAP(struct known_file, key);
	*out = p;
	return 0;
}

void record_python_close(struct record_python *p)
{
	if (!p)
		return;
	record_share_free(&p->places);
	rp_hash_free(&p->files);
	free(p);
}

/* Files with the same layout share it; 0: there is no room. */
static uint32_t publish(struct record_python *p, const struct python_layout *layout, uid_t owner)
{
	uint32_t i = 0;

	while (i < p->nlayouts && memcmp(&p->layouts[i], layout, sizeof(*layout)))
		i++;
	if (i < p->nlayouts)
		return i + 1;
	if (i == PYTHON_LAYOUTS || !record_share_take(&p->places, owner, 1) ||
	    rp_map_write(p->layouts_fd, i * sizeof(*layout), layout, sizeof(*layout)))
		return 0;
	p->layouts[p->nlayouts++] = *layout;
	return i + 1;
}

static bool has_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strstr(slash ? slash : path, "python") != NULL;
}

static void look_at(struct record_python *p, struct known_file *f, const char *path, int fd)
{
	const uid_t owner = record_share_owner(fd);

	record_python_read_file(fd, path, &f->file);
	if (f->file.layout.version)
		f->layout = publish(p, &f->file.layout, owner);
}

void record_python_mapped(struct record_python *p, const struct mapped_file *file, uint64_t bias,
			  struct python_process *out)
{
	const char *path = file->map->path;
	struct known_file *f;
	int fd;

	if (!has_name(path))
		return;
	f = record_known_file(&p->files, &file->key, file, &fd);
	if (!f)
		return; /* its frames stay native */
	if (fd >= 0)
		look_at(p, f, path, fd);
	if (!f->layout)
		return;
	*out = (struct python_process){ .layout = f->layout,
					.runtime = f->file.runtime + bias,
					.code_type = f->file.code_type + bias,
					.eval = f->file.eval + bias,
					.eval_bytes = f->file.eval_bytes };
}

int record_python_code(struct record_python *p, const void *data, size_t size)
{
	const struct python_code *code = data;

	if (size < offsetof(struct python_code, lines) || code->lines_bytes > PYTHON_LINES_BYTES ||
	    size < offsetof(struct python_code, lines) + code->lines_bytes ||
	    code->file_bytes > PYTHON_TEXT_BYTES || code->name_bytes > PYTHON_TEXT_BYTES)
		return -EBADMSG;
	return record_python_names_add(p->names, code);
}

void record_python_frame(const struct record_python *p, const struct name_owner *owner,
			 const uint64_t words[2], struct report_frame *out)
{
	record_python_names_find(p->names, owner, words, out);
}
