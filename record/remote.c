/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages are there, says /proc/PID/pagemap: in memory, or swapped out. A page of a file that
 * was never read looks swapped out once its owner has write-protected it (userfaultfd(2)), and
 * whoever reads it waits for the file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/proc.h"

#include "remote.h"
#include "tables_read.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_A_FILE (1ULL << 61)
#define WRITE_PROTECTED (1ULL << 57)
#define MANY 512

static int open_file(const struct record_remote *r, int directory, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)r->pid, name);
	return directory < 0 ? open(path, O_RDONLY | O_CLOEXEC)
			     : openat(directory, name, O_RDONLY | O_CLOEXEC);
}

int record_remote_open_at(struct record_remote *r, int directory)
{
	if (!r->is_open) {
		r->memory = open_file(r, directory, "mem");
		r->error = errno;
		r->pages = r->memory < 0 ? -1 : open_file(r, directory, "pagemap");
		r->error = r->memory >= 0 && r->pages < 0 ? errno : r->error;
		r->since_ns = r->by_files ? rp_monotonic_ns() : 0;
	}
	r->is_open = true;
	return r->pages >= 0 ? 0 : -r->error;
}

/* ---- pages */

static uint64_t page_bytes(void)
{
	static uint64_t size;

	if (!size)
		size = (uint64_t)sysconf(_SC_PAGESIZE);
	return size;
}

static bool is_there(uint64_t entry)
{
	return entry & PRESENT || (entry & (SWAPPED | OF_A_FILE | WRITE_PROTECTED)) == SWAPPED;
}

/* How many of the bytes from an address on are on pages that are there. */
static size_t there(const struct record_remote *r, uint64_t address, size_t n)
{
	const uint64_t first = address / page_bytes(),
		       all = (address + n - 1) / page_bytes() - first + 1;
	uint64_t entries[MANY], good = 0, some = MANY;

	while (good < all && some == MANY) {
		ssize_t got;

		some = all - good < MANY ? all - good : MANY;
		got = pread(r->pages, entries, some * sizeof(*entries),
			    (off_t)((first + good) * sizeof(*entries)));
		if (got != (ssize_t)(some * sizeof(*entries)))
			break;
		for (some = 0; some < MANY && good < all && is_there(entries[some]); some++)
			good++;
	}
	return good == all ? n : good ? (first + good) * page_bytes() - address : 0;
}

/* ---- files */

static const struct remote_file *known_file(const struct record_remote *r, uint64_t address)
{
	for (int i = 0; i < REMOTE_FILES; i++)
		if (address - r->files[i].start < r->files[i].end - r->files[i].start)
			return &r->files[i];
	return NULL;
}

struct looking {
	struct record_remote *r;
	uint64_t address;
};

/* What the process has written itself would be there, if it is its own. */
static int take_file(void *ctx, const struct sym_proc_map *m)
{
	struct looking *l = ctx;
	struct remote_file *f = &l->r->files[l->r->nfiles % REMOTE_FILES];
	int fd;

	if (l->address - m->start >= m->end - m->start)
		return l->address < m->start; /* they come in order */
	fd = m->inode && m->path[0] == '/' ? record_open_mapped((uint32_t)l->r->pid, m) : -1;
	if (fd < 0)
		return 1;
	if (l->r->nfiles >= REMOTE_FILES)
		close(f->fd);
	*f = (struct remote_file){ m->start, m->end, m->offset, fd };
	l->r->nfiles++;
	return 1;
}

/* Whoever has very many mappings, and reads here and there, has a twentieth of the time for it. */
#define LOOK_NS (2 * (NS_PER_SECOND / 1000))

static const struct remote_file *find_file(struct record_remote *r, uint64_t address)
{
	const struct remote_file *f = known_file(r, address);
	const uint64_t now = rp_monotonic_ns();
	struct looking l = { r, address };

	if (f || r->look_ns > LOOK_NS + (now - r->since_ns) / 20)
		return f;
	sym_proc_maps("/proc", (uint32_t)r->pid, take_file, &l);
	r->look_ns += rp_monotonic_ns() - now;
	return known_file(r, address);
}

/* Up to the end of the page. */
static size_t read_page_of_file(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	const struct remote_file *f = r->by_files ? find_file(r, address) : NULL;
	const uint64_t left = page_bytes() - address % page_bytes();
	ssize_t got;

	if (!f)
		return 0;
	got = pread(f->fd, out, n < left ? n : left, (off_t)(f->offset + address - f->start));
	return got < 0 ? 0 : (size_t)got;
}

/* ---- both */

size_t record_remote_read_some(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	char *to = out;
	size_t done = 0;

	if (record_remote_open_at(r, -1))
		return 0;
	r->error = EFAULT;
	if (address >> 63 || n >> 63)
		return 0;
	while (done < n) {
		const size_t some = there(r, address + done, n - done);
		ssize_t got = some ? pread(r->memory, to + done, some, (off_t)(address + done)) : 0;

		if (got < 0) {
			r->error = errno;
			break;
		}
		if (!some)
			got = (ssize_t)read_page_of_file(r, address + done, to + done, n - done);
		if (!got)
			break;
		done += (size_t)got;
	}
	return done;
}

bool record_remote_read(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	return record_remote_read_some(r, address, out, n) == n;
}

void record_remote_close(struct record_remote *r)
{
	if (r->is_open && r->memory >= 0)
		close(r->memory);
	if (r->is_open && r->pages >= 0)
		close(r->pages);
	for (uint32_t i = 0; i < r->nfiles && i < REMOTE_FILES; i++)
		close(r->files[i].fd);
	*r = (struct record_remote){ .pid = r->pid, .by_files = r->by_files, .error = r->error };
}
