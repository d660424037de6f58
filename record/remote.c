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

#include "remote.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_A_FILE (1ULL << 61)
#define WRITE_PROTECTED (1ULL << 57)
#define MANY 512

static int open_file(pid_t pid, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool be_open(struct record_remote *r)
{
	if (!r->is_open) {
		r->memory = open_file(r->pid, "mem");
		r->error = errno;
		r->pages = r->memory < 0 ? -1 : open_file(r->pid, "pagemap");
		r->error = r->memory >= 0 && r->pages < 0 ? errno : r->error;
	}
	r->is_open = true;
	return r->pages >= 0;
}

static bool is_there(uint64_t entry)
{
	return entry & PRESENT || (entry & (SWAPPED | OF_A_FILE | WRITE_PROTECTED)) == SWAPPED;
}

static bool are_there(const struct record_remote *r, uint64_t address, size_t n)
{
	static long page_size;
	uint64_t entries[MANY], first, left;

	if (!page_size)
		page_size = sysconf(_SC_PAGESIZE);
	first = address / (uint64_t)page_size;
	left = (address + n - 1) / (uint64_t)page_size - first + 1;
	for (uint64_t some; left; left -= some, first += some) {
		some = left < MANY ? left : MANY;
		if (pread(r->pages, entries, some * sizeof(*entries),
			  (off_t)(first * sizeof(*entries))) != (ssize_t)(some * sizeof(*entries)))
			return false;
		for (uint64_t i = 0; i < some; i++)
			if (!is_there(entries[i]))
				return false;
	}
	return true;
}

bool record_remote_read(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	if (!be_open(r))
		return false;
	r->error = EFAULT;
	if (!n || address >> 63 || n >> 63 || !are_there(r, address, n))
		return !n;
	if (pread(r->memory, out, n, (off_t)address) == (ssize_t)n)
		return true;
	r->error = errno;
	return false;
}

void record_remote_close(struct record_remote *r)
{
	if (r->is_open && r->memory >= 0)
		close(r->memory);
	if (r->is_open && r->pages >= 0)
		close(r->pages);
	r->is_open = false;
}
