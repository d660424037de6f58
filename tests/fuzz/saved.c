/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Saved results. The input is a file as it is, and then what is in the sections of one, whose
 * checksums are right: tag number, two bytes of length, contents, one after the other. What is
 * accepted leaves in every form, and is saved as what is read as the same again; and no expression
 * or time breaks it.
 */
#include <zlib.h>

#include <rawprof/grid.h>
#include <rawprof/hist.h>

#include "fuzz.h"

static const char *const tags[] = { "META", "SHOW", "STRS", "TYPE", "MAPS", "FUNC", "FRAM",
				    "NODE", "LABL", "SAMP", "TIME", "HIST", "GRID", "none" };
enum { TAGS = sizeof(tags) / sizeof(*tags), HEADER = 16, ENTRY = 24, FILE_ROOM = 1 << 18 };

static void put(uint8_t *at, uint64_t v, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static char *written(const struct report_format *f, const struct report_file *file, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	fuzz_check(!(file->report  ? f->write(file->report, out, &file->show)
		     : file->hists ? f->write_hists(file->hists, out, &file->show)
				   : f->write_grid(file->grid, out, &file->show)));
	fuzz_check(!fclose(out));
	return text;
}

static void check_forms(const struct report_file *file)
{
	for (const struct report_format *f = report_formats; f->name; f++) {
		size_t size;

		if (file->report ? !f->write : file->hists ? !f->write_hists : !f->write_grid)
			continue;
		free(written(f, file, &size));
	}
}

/* Order is all that may change, and only once. */
static void check_saved(const struct report_file *file)
{
	const struct report_format *f = report_format_by_name("rawprof");
	struct report_file again, third;
	size_t size, other;
	char *text = written(f, file, &size), *second;

	fuzz_check(!report_read(text, size, &again));
	second = written(f, &again, &other);
	fuzz_check(size == other && !memcmp(text, second, size));
	fuzz_check(!report_read(second, other, &third));
	free(text);
	free(second);
	report_file_free(&again);
	report_file_free(&third);
}

/* What was made, if it was. */
static void drop(struct report **r)
{
	report_free(*r);
	*r = NULL;
}

static void change(const struct report *r)
{
	struct report_place *places;
	struct report_grid *grid;
	size_t n;
	struct report *other = NULL;
	char why[REPORT_WHY];
	FILE *out = fopen("/dev/null", "w");

	report_select(r, "not (leaf=a* or dso!~x) and pid!=1,2", &other, why);
	drop(&other);
	report_between(r, 3, 1000000, &other, why);
	drop(&other);
	report_around(r, "*a*", true, &other, why);
	drop(&other);
	report_around(r, "*", false, &other, why);
	drop(&other);
	fuzz_check(!report_lines_in_names(r, &other));
	drop(&other);
	if (!report_places(r, "*", 0, &places, &n, why))
		free(places);
	if (!report_group(r, "comm,pid,symbol,dso,tid", 0, 2, &grid, why))
		report_grid_free(grid);
	fuzz_check(!report_write_tree(r, out, NULL));
	fclose(out);
}

static void read_whole(const uint8_t *data, size_t size)
{
	struct report_file file;

	if (report_read(data, size, &file)) {
		fuzz_check(!file.report && !file.hists && !file.grid && !file.next);
		return;
	}
	for (const struct report_file *part = &file; part; part = part->next) {
		check_forms(part);
		check_saved(part);
		if (part->report)
			change(part->report);
	}
	report_file_free(&file);
}

/* The table comes first, but is known last: sections are laid behind the largest that it can be. */
static void read_sections(const uint8_t *data, size_t size)
{
	static uint8_t file[FILE_ROOM];
	uint8_t table[TAGS * ENTRY];
	size_t n = 0, at = 0;

	while (n < TAGS && size >= 3) {
		const uint8_t tag = data[0] % TAGS;
		size_t length = data[1] | (size_t)data[2] << 8;
		uint8_t *entry = &table[n++ * ENTRY];
		uLongf packed = FILE_ROOM / 2 - at;

		length = length < size - 3 ? length : size - 3;
		if (compress2(&file[FILE_ROOM / 2 + at], &packed, data + 3, length, 1) != Z_OK)
			return;
		memcpy(entry, tags[tag], 4);
		put(entry + 4, crc32(0, &file[FILE_ROOM / 2 + at], (uInt)packed), 4);
		put(entry + 8, packed, 8);
		put(entry + 16, length, 8);
		at += packed;
		data += 3 + length;
		size -= 3 + length;
	}
	memcpy(file, "\x89RPROF\r\n", 8);
	put(file + 8, 1, 2);
	put(file + 10, n, 2);
	put(file + 12, crc32(crc32(0, file, 12), table, (uInt)(n * ENTRY)), 4);
	memcpy(file + HEADER, table, n * ENTRY);
	memmove(file + HEADER + n * ENTRY, file + FILE_ROOM / 2, at);
	data = fuzz_copy(file, HEADER + n * ENTRY + at);
	read_whole(data, HEADER + n * ENTRY + at);
	free((void *)data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_whole(data, size);
	read_sections(data, size);
	return 0;
}
