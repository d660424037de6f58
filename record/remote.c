/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which pages are there, says /proc/PID/pagemap: in memory, or swapped out. A page of a file that
 * was never read looks swapped out once its owner has write-protected it (userfaultfd(2)), and
 * whoever reads it waits for the file system.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fuse.h"
#include "symbolize/others.h"
#include "symbolize/proc.h"

#include "generated_time.h"
#include "remote.h"
#include "tables_read.h"
#include "uid_share.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PRESENT (1ULL << 63)
#define SWAPPED (1ULL << 62)
#define OF_A_FILE (1ULL << 61)
#define WRITE_PROTECTED (1ULL << 57)
#define MANY 512

/* ---- aside */

/* False where nobody could keep us waiting now: whose it is was not asked then. */
static bool is_aside(struct record_remote *r)
{
	if (!r->whose && rp_fuse_is_served())
		r->whose = sym_is_of_others("/proc", (uint32_t)r->pid, &r->uid) ? REMOTE_OF_OTHERS
										: REMOTE_OURS;
	return r->whose == REMOTE_OF_OTHERS;
}

/* ---- waiting */

/*
 * Whose lock kept us waiting pays for that (generated_time.h), and none of its processes is read
 * until it has: there may be thousands of reads in one look.
 */
static _Thread_local struct generated_time kept;
static atomic_bool is_of_named;

void record_remote_is_named(bool is_named)
{
	is_of_named = is_named;
}

static uid_t payer_of(struct record_remote *r)
{
	if (!r->is_payer_known) {
		r->payer = record_share_user((uint32_t)r->pid);
		if (sym_is_ours(r->payer))
			r->payer = 0;
	}
	r->is_payer_known = true;
	return r->payer;
}

static bool has_paid(struct record_remote *r)
{
	const uint64_t now = rp_monotonic_ns();

	return record_generated_is_paid(&kept, now) ||
	       record_generated_has_time(&kept, payer_of(r), now);
}

static void read_here(struct record_remote *r, struct rp_aside *job)
{
	struct rp_wait wait;
	uint64_t waited;

	rp_wait_begin(&wait);
	job->read(job);
	waited = rp_wait_end(&wait);
	kept.is_named = is_of_named;
	if (waited)
		record_generated_spent(&kept, payer_of(r), rp_monotonic_ns(), waited);
}

/* ---- the two files */

struct opening {
	struct rp_aside job;
	pid_t pid;
	int directory; /* of the process; < 0: by its number */
	int memory, pages, error;
};

static int open_file(const struct opening *o, const char *name)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)o->pid, name);
	return o->directory < 0 ? open(path, O_RDONLY | O_CLOEXEC)
				: openat(o->directory, name, O_RDONLY | O_CLOEXEC);
}

static void open_both(struct rp_aside *job)
{
	struct opening *o = (struct opening *)job;

	o->memory = open_file(o, "mem");
	o->error = errno;
	o->pages = o->memory < 0 ? -1 : open_file(o, "pagemap");
	o->error = o->memory >= 0 && o->pages < 0 ? errno : o->error;
}

static void close_files(int memory, int pages)
{
	if (memory >= 0)
		close(memory);
	if (pages >= 0)
		close(pages);
}

static void drop_opening(struct rp_aside *job)
{
	struct opening *o = (struct opening *)job;

	close_files(o->memory, o->pages);
	if (o->directory >= 0)
		close(o->directory);
	free(o);
}

/* The files, or what is wrong, is in *o. */
static void open_aside(struct opening *o, uid_t uid)
{
	struct opening *copy = malloc(sizeof(*copy));

	o->error = ENOMEM;
	if (!copy)
		return;
	*copy = *o;
	copy->directory = o->directory < 0 ? -1 : dup(o->directory);
	o->error = -sym_read_aside(&copy->job, (uint32_t)o->pid, uid);
	if (o->error)
		return;
	o->memory = copy->memory;
	o->pages = copy->pages;
	o->error = copy->error;
	copy->memory = copy->pages = -1;
	drop_opening(&copy->job);
}

int record_remote_open_at(struct record_remote *r, int directory)
{
	struct opening o = { .job = { open_both, drop_opening },
			     .pid = r->pid,
			     .directory = directory,
			     .memory = -1,
			     .pages = -1 };

	if (!r->is_open) {
		if (is_aside(r)) {
			open_aside(&o, r->uid);
		} else if (has_paid(r)) {
			read_here(r, &o.job);
		} else {
			r->error = EBUSY;
			return -EBUSY;
		}
		r->memory = o.memory;
		r->pages = o.pages;
		r->error = o.error;
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
static size_t there(int pages, uint64_t address, size_t n)
{
	const uint64_t first = address / page_bytes(),
		       all = (address + n - 1) / page_bytes() - first + 1;
	uint64_t entries[MANY], good = 0, some = MANY;

	while (good < all && some == MANY) {
		ssize_t got;

		some = all - good < MANY ? all - good : MANY;
		got = pread(pages, entries, some * sizeof(*entries),
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

/*
 * A path may lead to another file by now, which is no way to one that the process itself may not
 * read.
 */
static bool may_read(const struct record_remote *r, int fd)
{
	struct sym_proc_ids ids;
	struct stat st;

	return !fstat(fd, &st) && !sym_proc_ids("/proc", (uint32_t)r->pid, &ids) &&
	       (st.st_mode & S_IROTH || st.st_uid == ids.uid || st.st_uid == ids.euid);
}

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
	if (!may_read(l->r, fd)) {
		close(fd);
		return 1;
	}
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

enum { MOST_AT_ONCE = 1 << 20 };

struct piece {
	struct rp_aside job;
	int memory, pages, error;
	uint64_t address;
	size_t n, got;
	char *to;
	char copy[];
};

/* What is there of it, from its first byte on. */
static void read_piece(struct rp_aside *job)
{
	struct piece *p = (struct piece *)job;
	const size_t some = there(p->pages, p->address, p->n);
	const ssize_t got = some ? pread(p->memory, p->to, some, (off_t)p->address) : 0;

	p->error = got < 0 ? errno : 0;
	p->got = got < 0 ? 0 : (size_t)got;
}

/* With the files, which whoever asked for it has no more. */
static void drop_piece(struct rp_aside *job)
{
	const struct piece *p = (const struct piece *)job;

	close_files(p->memory, p->pages);
	free(job);
}

static void read_piece_aside(struct record_remote *r, struct piece *p)
{
	const size_t n = p->n < MOST_AT_ONCE ? p->n : MOST_AT_ONCE;
	struct piece *copy = malloc(sizeof(*copy) + n);

	p->error = ENOMEM;
	if (!copy)
		return;
	*copy = *p;
	copy->n = n;
	copy->to = copy->copy;
	p->error = -sym_read_aside(&copy->job, (uint32_t)r->pid, r->uid);
	if (p->error) {
		r->memory = r->pages = -1;
		return;
	}
	p->error = copy->error;
	p->got = copy->got;
	memcpy(p->to, copy->copy, copy->got);
	free(copy);
}

/* How many bytes came; 0 with r->error: none will. */
static size_t read_some(struct record_remote *r, uint64_t address, char *to, size_t n)
{
	struct piece p = { .job = { read_piece, drop_piece },
			   .memory = r->memory,
			   .pages = r->pages,
			   .address = address,
			   .n = n,
			   .to = to };

	if (is_aside(r)) {
		read_piece_aside(r, &p);
	} else { /* the kernel takes the lock for each page anew */
		if (p.n > page_bytes() - address % page_bytes())
			p.n = page_bytes() - address % page_bytes();
		read_here(r, &p.job);
	}
	if (p.error)
		r->error = p.error;
	else if (!p.got)
		p.got = read_page_of_file(r, address, to, n);
	return p.got;
}

size_t record_remote_read_some(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	size_t done = 0, got = 1;

	if (record_remote_open_at(r, -1))
		return 0;
	r->error = EFAULT;
	if (address >> 63 || n >> 63)
		return 0;
	for (; done < n && got; done += got) {
		if (!has_paid(r)) {
			r->error = EBUSY;
			break;
		}
		got = read_some(r, address + done, (char *)out + done, n - done);
	}
	return done;
}

bool record_remote_read(struct record_remote *r, uint64_t address, void *out, size_t n)
{
	return record_remote_read_some(r, address, out, n) == n;
}

void record_remote_close(struct record_remote *r)
{
	if (r->is_open)
		close_files(r->memory, r->pages);
	for (uint32_t i = 0; i < r->nfiles && i < REMOTE_FILES; i++)
		close(r->files[i].fd);
	*r = (struct record_remote){ .pid = r->pid, .by_files = r->by_files, .error = r->error };
}
