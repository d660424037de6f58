/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of /proc/PID/maps, read where that cannot keep us waiting. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maps.h"
#include "proc.h"

struct opening {
	struct rp_aside job;
	uint32_t pid;
	int fd; /* or a negative errno */
};

static void open_maps(struct rp_aside *job)
{
	struct opening *o = (struct opening *)job;

	o->fd = sym_proc_open_file("/proc", o->pid, "maps");
}

static void drop_opening(struct rp_aside *job)
{
	const struct opening *o = (const struct opening *)job;

	if (o->fd >= 0)
		close(o->fd);
	free(job);
}

static int open_aside(const struct sym_maps *m)
{
	struct opening *o = malloc(sizeof(*o));
	int fd;

	if (!o)
		return -ENOMEM;
	*o = (struct opening){ .job = { open_maps, drop_opening }, .pid = m->pid, .fd = -1 };
	fd = sym_read_aside(&o->job, m->pid, m->uid);
	if (fd)
		return fd;
	fd = o->fd;
	free(o);
	return fd;
}

int sym_maps_open(struct sym_maps *m, const char *proc, uint32_t pid)
{
	*m = (struct sym_maps){ .proc = proc, .pid = pid };
	m->is_aside = sym_has_to_be_aside(proc, pid, &m->uid);
	m->fd = m->is_aside ? open_aside(m) : sym_proc_open_file(proc, pid, "maps");
	return m->fd < 0 ? m->fd : 0;
}

struct piece {
	struct rp_aside job;
	int fd;	     /* which goes with it, if it is left behind */
	ssize_t got; /* or a negative errno */
	size_t n;
	char text[];
};

static void read_piece(struct rp_aside *job)
{
	struct piece *p = (struct piece *)job;

	p->got = read(p->fd, p->text, p->n);
	if (p->got < 0)
		p->got = -errno;
}

static void drop_piece(struct rp_aside *job)
{
	close(((const struct piece *)job)->fd);
	free(job);
}

static ssize_t read_aside(struct sym_maps *m, char *text, size_t n)
{
	struct piece *p = malloc(sizeof(*p) + n);
	ssize_t got;

	if (!p)
		return -ENOMEM;
	*p = (struct piece){ .job = { read_piece, drop_piece }, .fd = m->fd, .n = n };
	got = sym_read_aside(&p->job, m->pid, m->uid);
	if (got) {
		m->fd = -1;
		return got;
	}
	got = p->got;
	if (got > 0)
		memcpy(text, p->text, (size_t)got);
	free(p);
	return got;
}

/* Of half a million mappings with names of 100 bytes. */
#define MOST_TEXT (64u << 20)
#define WATCH_EVERY (64u << 10)

static _Thread_local sym_user_patience_fn watch;
static _Thread_local void *watch_ctx;

void sym_maps_watch(sym_user_patience_fn fn, void *ctx)
{
	watch = fn;
	watch_ctx = ctx;
}

static bool is_enough(struct sym_maps *m)
{
	if (!m->is_cut && watch && m->all - m->asked >= WATCH_EVERY) {
		m->asked = m->all;
		m->is_cut = !watch(watch_ctx, 0);
	}
	m->is_cut |= m->all >= MOST_TEXT;
	return m->is_cut;
}

static ssize_t read_some(struct sym_maps *m, char *text, size_t n)
{
	struct rp_wait wait;
	ssize_t got;

	if (!m->is_aside) /* it takes a while to read very many */
		m->is_aside = sym_has_to_be_aside(m->proc, m->pid, &m->uid);
	if (m->is_aside)
		return read_aside(m, text, n);
	rp_wait_begin(&wait);
	do
		got = read(m->fd, text, n);
	while (got < 0 && errno == EINTR);
	got = got < 0 ? -errno : got;
	rp_wait_end(&wait);
	return got;
}

ssize_t sym_maps_read(struct sym_maps *m, char *text, size_t n)
{
	ssize_t got;

	if (m->fd < 0)
		return -EBADF;
	got = is_enough(m) ? 0 : read_some(m, text, n);
	m->all += got > 0 ? (size_t)got : 0;
	return got;
}

void sym_maps_close(struct sym_maps *m)
{
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}
