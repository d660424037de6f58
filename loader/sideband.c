/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sideband.c: what processes do while we look. A dummy event on each CPU writes exec, mmap, fork
 * and exit records to a ring of its own, and drains merge the rings by time.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A record says its size in 16 bits. */
enum { MAX_RECORD = 1 << 16 };

/* How long a record may be on its way from its time stamp to its ring. */
static const uint64_t LATENCY_NS = 1000000;

/*
 * One CPU's ring: [tail, head) are positions that never wrap, tail ours, head as the kernel had it
 * at the start of a drain. `next` is the time of the record at tail, for the merge.
 */
struct side_ring {
	int fd, cpu;
	struct perf_event_mmap_page *page;
	uint64_t tail, head, next;
	bool gone;	     /* the CPU is offline, or was: no more will come */
	uint64_t enabled_ns; /* when its CPU was last looked at */
};

struct rp_sideband {
	struct perf_event_attr attr;
	struct side_ring *rings;
	int n;
	struct side_ring **heap; /* by next, the smallest first: rings with records of this drain */
	int nheap;
	struct rp_cpus cpus;
	size_t page, bytes; /* of a system page, of a ring's data */
	int epoll;
	uint64_t lost;
	uint8_t *record; /* a record that ran over the end of its ring */
};

/* ---- opening */

static void set_attr(struct perf_event_attr *a, const struct rp_side_options *opt, size_t bytes)
{
	memset(a, 0, sizeof(*a));
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_DUMMY;
	a->sample_period = 1;
	a->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	a->sample_id_all = 1;
	a->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->mmap = 1; /* executable mappings only; mmap_data would add the others */
	a->mmap2 = 1;
	a->comm = 1;
	a->comm_exec = 1;
	a->task = 1;
	a->exclude_kernel = 1; /* the dummy counts nothing anyway, and this asks for the least */
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->watermark = 1;
	a->wakeup_watermark = (uint32_t)(bytes / 2);
	rp_perf_attr_build_id(a, opt->build_ids);
}

static int open_event(struct rp_sideband *s, int cpu)
{
	int fd = rp_sys_perf_event_open(&s->attr, -1, cpu, -1);

	if (fd == -EMFILE && rp_raise_nofile())
		fd = rp_sys_perf_event_open(&s->attr, -1, cpu, -1);
	return fd;
}

static void *map_ring(const struct rp_sideband *s, int fd)
{
	void *at = mmap(NULL, s->page + s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* The first ring decides the size for all: without CAP_IPC_LOCK they count against
 * kernel.perf_event_mlock_kb. */
static void *map_ring_shrinking(struct rp_sideband *s, int fd)
{
	void *at = map_ring(s, fd);

	while (!at && errno == EPERM && s->n == 0 && s->bytes > s->page) {
		s->bytes /= 2;
		at = map_ring(s, fd);
	}
	return at;
}

static int add_ring(struct rp_sideband *s, int cpu)
{
	struct side_ring *ring = &s->rings[s->n];
	struct epoll_event ready = { .events = EPOLLIN };
	int fd = open_event(s, cpu), err;
	char where[32];
	void *page;

	if (fd == -ENODEV || (fd == -EINVAL && s->n > 0))
		return 0; /* went offline since the list was made */
	snprintf(where, sizeof(where), "CPU %d", cpu);
	if ((fd == -EACCES || fd == -EPERM) && s->n > 0) { /* since rights were given up */
		rp_log(RP_WARN, "%s came online, but its processes may not be followed", where);
		return 0;
	}
	if (fd < 0)
		return rp_perf_open_failed(fd, &s->attr, "side-band of processes", where);
	page = map_ring_shrinking(s, fd);
	if (!page || epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ready)) {
		err = -errno;
		if (page)
			munmap(page, s->page + s->bytes);
		close(fd);
		return rp_fail(err,
			       "cannot map the side-band ring of CPU %d (%zu kB): %s; raise %s",
			       cpu, s->bytes >> 10, strerror(-err),
			       err == -ENOMEM ? "`ulimit -v`" : "kernel.perf_event_mlock_kb");
	}
	*ring = (struct side_ring){ .fd = fd, .cpu = cpu, .page = page };
	s->n++;
	return 0;
}

/* Room for as many rings as there may ever be, so that pointers to them hold. */
static int allocate(struct rp_sideband *s)
{
	const size_t most = (size_t)rp_cpus_possible() + (size_t)s->cpus.n;

	s->rings = calloc(most, sizeof(*s->rings));
	s->heap = calloc(most, sizeof(struct side_ring *));
	s->record = malloc(MAX_RECORD);
	if (!s->rings || !s->heap || !s->record)
		return rp_fail(-ENOMEM, "out of memory for the side-band of processes");
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll < 0 ? rp_fail(-errno, "epoll_create1: %s", strerror(errno)) : 0;
}

/* Shorter on machines with many CPUs, on each of which less happens. */
static size_t default_bytes(int cpus)
{
	return cpus <= 16 ? 256 << 10 : cpus <= 64 ? 128 << 10 : 64 << 10;
}

/* Build ids are asked for where the kernel knows them. */
static void try_build_ids(struct rp_sideband *s)
{
	int fd = open_event(s, s->cpus.cpu[0]);

	if (fd == -EINVAL) {
		rp_log(RP_INFO,
		       "this kernel puts no build ids into mmap records (that needs Linux 5.12)");
		rp_perf_attr_build_id(&s->attr, 0);
	}
	if (fd >= 0)
		close(fd);
}

static int open_rings(struct rp_sideband *s, const struct rp_side_options *opt)
{
	int err = 0;

	if (opt->build_ids && s->cpus.n)
		try_build_ids(s);
	for (int i = 0; i < s->cpus.n && !err; i++)
		err = add_ring(s, s->cpus.cpu[i]);
	if (!err && !s->n)
		err = rp_fail(-ENODEV, "there is no CPU whose processes can be followed");
	return err;
}

int rp_sideband_open(const struct rp_side_options *opt, struct rp_sideband **out)
{
	struct rp_sideband *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return rp_fail(-ENOMEM, "out of memory for the side-band of processes");
	s->epoll = -1;
	err = opt->pages & (opt->pages - 1) ? -EINVAL : rp_cpus_online(&s->cpus);
	if (!err)
		err = allocate(s);
	if (!err) {
		s->page = (size_t)sysconf(_SC_PAGESIZE);
		s->bytes = opt->pages ? opt->pages * s->page : default_bytes(s->cpus.n);
		if (s->bytes < s->page)
			s->bytes = s->page;
		set_attr(&s->attr, opt, s->bytes);
		err = open_rings(s, opt);
	}
	if (err)
		rp_sideband_close(s);
	else
		*out = s;
	return err;
}

static void close_ring(const struct rp_sideband *s, struct side_ring *ring)
{
	munmap(ring->page, s->page + s->bytes);
	close(ring->fd);
}

void rp_sideband_close(struct rp_sideband *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n; i++)
		close_ring(s, &s->rings[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	rp_cpus_free(&s->cpus);
	free(s->rings);
	free(s->heap);
	free(s->record);
	free(s);
}

int rp_sideband_fd(const struct rp_sideband *s)
{
	return s->epoll;
}

uint64_t rp_sideband_lost(const struct rp_sideband *s)
{
	return s->lost;
}

/* ---- reading one ring */

/* Release: the kernel may write there once it sees the new tail, after we have read. */
static void set_tail(struct side_ring *ring, uint64_t tail)
{
	ring->tail = tail;
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static const uint8_t *ring_data(const struct rp_sideband *s, const struct side_ring *ring)
{
	return (const uint8_t *)ring->page + s->page;
}

static void copy_out(const struct rp_sideband *s, const struct side_ring *ring, void *to,
		     size_t size)
{
	const size_t at = ring->tail & (s->bytes - 1);
	const size_t first = size < s->bytes - at ? size : s->bytes - at;

	memcpy(to, ring_data(s, ring) + at, first);
	memcpy((uint8_t *)to + first, ring_data(s, ring), size - first);
}

/* The record at tail, in one piece; NULL at the end. A size that cannot be means that we are lost:
 * skip all there is. */
static const void *peek(struct rp_sideband *s, struct side_ring *ring, size_t *size)
{
	const size_t at = ring->tail & (s->bytes - 1);
	struct perf_event_header h;

	if (ring->head - ring->tail < sizeof(h))
		return NULL;
	copy_out(s, ring, &h, sizeof(h));
	if (h.size < sizeof(h) || h.size > ring->head - ring->tail) {
		s->lost++;
		set_tail(ring, ring->head);
		return NULL;
	}
	*size = h.size;
	if (at + h.size <= s->bytes)
		return ring_data(s, ring) + at;
	copy_out(s, ring, s->record, h.size);
	return s->record;
}

/* ---- the merge: a binary heap of rings by the time of their next record */

static void sink(struct rp_sideband *s, int i)
{
	for (;;) {
		int least = i, child = 2 * i + 1;
		struct side_ring *ring;

		for (int c = child; c < child + 2 && c < s->nheap; c++)
			if (s->heap[c]->next < s->heap[least]->next)
				least = c;
		if (least == i)
			return;
		ring = s->heap[i];
		s->heap[i] = s->heap[least];
		s->heap[least] = ring;
		i = least;
	}
}

/* Whether there is another record of before the horizon; its time is then in next. */
static bool advance(struct rp_sideband *s, struct side_ring *ring, uint64_t horizon)
{
	size_t size;
	const void *rec = peek(s, ring, &size);

	if (!rec)
		return false;
	ring->next = rp_side_time(rec, size);
	return ring->next <= horizon;
}

static int deliver(struct rp_sideband *s, struct side_ring *ring, rp_side_fn fn, void *ctx)
{
	struct rp_side_event event;
	size_t size;
	const void *rec = peek(s, ring, &size);
	int err = 0, n = 0;

	if (!rp_side_parse(rec, size, &event)) {
		if (event.type == RP_SIDE_LOST)
			s->lost += event.lost.n;
		err = fn(ctx, &event);
		n = 1;
	}
	set_tail(ring, ring->tail + size);
	return err < 0 ? err : n;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The time is taken before the heads are read, so that every ring is known up to the horizon. */
static void fill_heap(struct rp_sideband *s, uint64_t horizon)
{
	s->nheap = 0;
	for (int i = 0; i < s->n; i++) {
		struct side_ring *ring = &s->rings[i];

		ring->tail = ring->page->data_tail;
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
		if (advance(s, ring, horizon))
			s->heap[s->nheap++] = ring;
	}
	for (int i = s->nheap / 2 - 1; i >= 0; i--)
		sink(s, i);
}

int rp_sideband_drain(struct rp_sideband *s, bool all, rp_side_fn fn, void *ctx)
{
	const uint64_t horizon = all ? UINT64_MAX : now_ns() - LATENCY_NS;
	int n = 0, err = 0;

	fill_heap(s, horizon);
	while (s->nheap && err >= 0) {
		struct side_ring *ring = s->heap[0];

		err = deliver(s, ring, fn, ctx);
		n += err > 0;
		if (!advance(s, ring, horizon))
			s->heap[0] = s->heap[--s->nheap];
		sink(s, 0);
	}
	return err < 0 ? err : n;
}

/* ---- CPUs that come and go */

static struct side_ring *ring_of(struct rp_sideband *s, int cpu)
{
	for (int i = 0; i < s->n; i++)
		if (s->rings[i].cpu == cpu)
			return &s->rings[i];
	return NULL;
}

/* A ring whose CPU went is kept until the CPU returns, for what is still in it. Then a new event
 * takes its place. */
static int join(struct rp_sideband *s, int cpu)
{
	struct side_ring *old = ring_of(s, cpu);
	int before, err;

	if (old && !old->gone)
		return 0;
	if (old) {
		close_ring(s, old);
		*old = s->rings[--s->n];
	}
	before = s->n;
	err = add_ring(s, cpu);
	if (s->n > before)
		rp_log(RP_INFO, "CPU %d came online: its processes are followed too", cpu);
	return err;
}

int rp_sideband_hotplug(struct rp_sideband *s)
{
	struct rp_cpus now;
	int err;

	err = rp_cpus_online(&now);
	if (err)
		return err;
	for (int i = 0; i < s->n; i++)
		s->rings[i].gone |= !rp_cpus_has(&now, s->rings[i].cpu) ||
				    rp_event_stands_still(s->rings[i].fd, &s->rings[i].enabled_ns);
	for (int i = 0; i < now.n && !err; i++)
		err = join(s, now.cpu[i]);
	rp_cpus_free(&s->cpus);
	s->cpus = now;
	return err;
}
