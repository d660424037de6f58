/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that a profile can be read from, told apart by how they begin. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "file.h"
#include "report/grid/grids.h"
#include "report/hist/hists.h"
#include "report/read/read.h"
#include "report/saved/saved.h"

static const struct form {
	const char *magic; /* the bytes that it begins with */
	size_t size;
	report_reader *read;
	unsigned int most; /* a file of more MiB is no profile */
} forms[] = {
	{ SAVED_MAGIC, SAVED_MAGIC_SIZE, report_read_saved, 1024 },
	{ "\x1f\x8b", 2, report_read_gzip, 512 },
	{ "", 0, report_read_others, 512 }, /* which have none */
};

int report_why(struct report_file *file, int err, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = rp_text_format(format, args);
	va_end(args);
	snprintf(file->why, sizeof(file->why), "%s", text ? text : "out of memory");
	free(text);
	return err;
}

/* The last has no magic, and is of all that is none of the others. */
static const struct form *form_of(const void *data, size_t size)
{
	const struct form *form = forms;

	while (size < form->size || memcmp(data, form->magic, form->size))
		form++;
	return form;
}

/*
 * A stack of a thousand frames may be named in a byte or two, as often as the file likes. In a file
 * that nobody made for this, times take some bytes, and few stacks are so deep.
 */
#define MOST_WRITTEN (1ull << 30)
#define MOST_RATIO 16384

int report_read(const void *data, size_t size, struct report_file *out)
{
	uint64_t parts = 1;
	int err;

	*out = (struct report_file){ 0 };
	err = form_of(data, size)->read(data, size, out);
	for (const struct report_file *part = out->next; part; part = part->next)
		parts++;
	for (struct report_file *part = out; part; part = part->next)
		part->show.most_bytes = (MOST_WRITTEN + size * MOST_RATIO) / parts;
	return err;
}

/*
 * What descriptor fd has up to its end, which may never come; *data is to be freed, after an error
 * too. How large a file may be is known from how it begins.
 */
static int read_all(int fd, char **data, size_t *size)
{
	size_t capacity = 0;
	struct stat st;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return -errno;
	while (n) {
		uint64_t most;

		if (RP_GROW_TO(*data, *size + 65536, capacity))
			return -ENOMEM;
		n = read(fd, *data + *size, capacity - *size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		*size += (size_t)n;
		most = (uint64_t)form_of(*data, *size)->most << 20;
		if (*size > most || (S_ISREG(st.st_mode) && (uint64_t)st.st_size > most))
			return -EFBIG;
	}
	return 0;
}

int report_open(const char *path, struct report_file *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err;
	char *data = NULL;
	size_t size = 0;

	*out = (struct report_file){ 0 };
	err = fd < 0 ? -errno : read_all(fd, &data, &size);
	if (err)
		report_why(out, err, "%s", strerror(-err));
	else
		err = report_read(data, size, out);
	if (err && !*out->why)
		report_why(out, err, "%s", strerror(-err));
	free(data);
	if (fd >= 0)
		close(fd);
	return err;
}

static const struct report_meta *meta_of(const struct report_file *file)
{
	return file->report  ? &file->report->meta
	       : file->hists ? &file->hists->meta
			     : &file->grid->meta;
}

const struct report_info *report_file_info(const struct report_file *file)
{
	return &meta_of(file)->info;
}

const struct report_ledger *report_file_ledger(const struct report_file *file)
{
	return meta_of(file)->has_ledger ? &meta_of(file)->ledger : NULL;
}

const struct report_cost *report_file_cost(const struct report_file *file)
{
	return meta_of(file)->has_cost ? &meta_of(file)->cost : NULL;
}

void report_file_free(struct report_file *file)
{
	struct report_file *next = file->next;

	report_free(file->report);
	report_hists_free(file->hists);
	report_grid_free(file->grid);
	free(file->texts);
	*file = (struct report_file){ 0 };
	while (next) {
		struct report_file *part = next;

		next = part->next;
		part->next = NULL;
		report_file_free(part);
		free(part);
	}
}
