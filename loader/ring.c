/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.c: the consumer's side of a BPF ring buffer (kernel/bpf/ringbuf.c,
 * Documentation/bpf/ringbuf.rst). */
#include "internal.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Positions count bytes since the map was made and never wrap; position & mask is the place. The
 * data are mapped twice in a row, so a record that runs over the end is whole in memory. Records
 * begin with a u32 length, whose upper two bits are flags, and a u32 for the kernel, and are padded
 * to 8 bytes.
 */
struct rp_ring {
	uint8_t *consumer_page; /* ours to write */
	uint8_t *producer_page; /* read only, and the data after it */
	const uint8_t *data;
	size_t mask, page;
	int fd;
};

int rp_ring_open(int map_fd, uint32_t bytes, struct rp_ring **out)
{
	struct rp_ring *r = calloc(1, sizeof(*r));
	int err = -ENOMEM;

	if (!r)
		return err;
	r->page = (size_t)sysconf(_SC_PAGESIZE);
	r->mask = bytes - 1;
	r->fd = map_fd;
	r->consumer_page = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (r->consumer_page == MAP_FAILED)
		goto fail;
	r->producer_page = mmap(NULL, r->page + 2 * (size_t)bytes, PROT_READ, MAP_SHARED, map_fd,
				(off_t)r->page);
	if (r->producer_page == MAP_FAILED)
		goto fail_producer;
	madvise(r->consumer_page, r->page, MADV_DONTFORK); /* it is this process that reads */
	madvise(r->producer_page, r->page + 2 * (size_t)bytes, MADV_DONTFORK);
	r->data = r->producer_page + r->page;
	*out = r;
	return 0;

fail_producer:
	err = -errno;
	munmap(r->consumer_page, r->page);
	free(r);
	return rp_fail(err, "cannot map the data of a ring buffer of %u bytes: %s", bytes,
		       strerror(-err));
fail:
	err = -errno;
	free(r);
	return rp_fail(err, "cannot map a ring buffer: %s", strerror(-err));
}

void rp_ring_close(struct rp_ring *r)
{
	if (!r)
		return;
	munmap(r->producer_page, r->page + 2 * (r->mask + 1));
	munmap(r->consumer_page, r->page);
	free(r);
}

/* What the kernel has handed out, which may include records that are still being written. */
static unsigned long producer(const struct rp_ring *r)
{
	return __atomic_load_n((const unsigned long *)(const void *)r->producer_page,
			       __ATOMIC_ACQUIRE);
}

/* We alone write it. */
static unsigned long consumer(const struct rp_ring *r)
{
	return __atomic_load_n((unsigned long *)(void *)r->consumer_page, __ATOMIC_RELAXED);
}

/* Gives the room before position back, after all reads of it. */
static void set_consumer(struct rp_ring *r, unsigned long position)
{
	__atomic_store_n((unsigned long *)(void *)r->consumer_page, position, __ATOMIC_RELEASE);
}

size_t rp_ring_pending(const struct rp_ring *r)
{
	return producer(r) - consumer(r);
}

int rp_ring_drain(struct rp_ring *r, rp_ring_fn fn, void *ctx)
{
	const unsigned long end = producer(r);
	unsigned long at = consumer(r);
	int n = 0, err = 0;

	while (at < end && err >= 0) {
		const uint8_t *record = r->data + (at & r->mask);
		/* Acquire: the program's writes to the record come before it clears the busy
		 * bit. */
		const uint32_t head =
			__atomic_load_n((const uint32_t *)(const void *)record, __ATOMIC_ACQUIRE);
		const uint32_t size = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			err = fn(ctx, record + BPF_RINGBUF_HDR_SZ, size);
			n++;
		}
		at += round_up((size_t)size + BPF_RINGBUF_HDR_SZ, 8);
		set_consumer(r, at);
	}
	return err < 0 ? err : n;
}
