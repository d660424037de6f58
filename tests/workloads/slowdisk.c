/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slowdisk DIR MIB US [EVERY LATE_US]: a file DIR/disk in memory, each read, write and fsync of
 * which is answered US microseconds after it came, every EVERY-th one after LATE_US instead; with a
 * loop device over it a disk whose latency is known, however many requests it has at once. A file
 * system of its own, by fuse(4), until it is unmounted.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "work.h"

#define FILE_ID 2
#define NAME "disk"
#define MAX_BYTES (128 << 10) /* of one read or write */
#define MAX_WAITING 1024

static struct slow {
	int fd;
	char *memory;
	uint64_t size;
	uint64_t ns, late_ns, every, asked;
	struct waiting {
		uint64_t due, unique;
		const void *data;
		uint32_t size;
		struct fuse_write_out written;
	} waiting[MAX_WAITING];
	size_t n;
} slow;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void answer(uint64_t unique, int error, const void *data, size_t size)
{
	struct fuse_out_header header = { .len = (uint32_t)(sizeof(header) + size),
					  .error = error,
					  .unique = unique };
	const struct iovec parts[] = { { &header, sizeof(header) }, { (void *)data, size } };

	if (writev(slow.fd, parts, 2) < 0 && errno != ENOENT) /* nobody waits for it any more */
		perror("slowdisk: answer");
}

/*
 * The one moment at which there may be no room is never: the kernel has been told how many it may
 * send at once.
 */
static struct waiting *wait_for(uint64_t unique, const void *data, uint32_t size)
{
	struct waiting *w = &slow.waiting[slow.n++];
	const int late = slow.every && ++slow.asked % slow.every == 0;

	*w = (struct waiting){ .due = now_ns() + (late ? slow.late_ns : slow.ns),
			       .unique = unique,
			       .data = data,
			       .size = size };
	return w;
}

/* Answers what is due. Returns when the next one is, or 0 if none waits. */
static uint64_t answer_due(void)
{
	uint64_t next = 0;

	for (size_t i = 0; i < slow.n;) {
		struct waiting *w = &slow.waiting[i];

		if (w->due <= now_ns()) {
			if (w->written.size)
				answer(w->unique, 0, &w->written, sizeof(w->written));
			else
				answer(w->unique, 0, w->data, w->size);
			*w = slow.waiting[--slow.n];
			continue;
		}
		if (!next || w->due < next)
			next = w->due;
		i++;
	}
	return next;
}

static struct fuse_attr attributes(uint64_t id)
{
	return (struct fuse_attr){ .ino = id,
				   .size = id == FILE_ID ? slow.size : 0,
				   .blocks = id == FILE_ID ? slow.size / 512 : 0,
				   .mode = id == FILE_ID ? S_IFREG | 0600 : S_IFDIR | 0700,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void start(const struct fuse_in_header *in, const struct fuse_init_in *init)
{
	const struct fuse_init_out out = { .major = FUSE_KERNEL_VERSION,
					   .minor = FUSE_KERNEL_MINOR_VERSION,
					   .max_readahead = init->max_readahead,
					   .flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES |
						    FUSE_ASYNC_DIO | FUSE_MAX_PAGES,
					   .max_background = MAX_WAITING / 2,
					   .congestion_threshold = MAX_WAITING / 2,
					   .max_write = MAX_BYTES,
					   .max_pages = MAX_BYTES / 4096,
					   .time_gran = 1 };

	answer(in->unique, 0, &out, sizeof(out));
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	const struct fuse_entry_out out = { .nodeid = FILE_ID,
					    .attr = attributes(FILE_ID),
					    .entry_valid = 3600,
					    .attr_valid = 3600 };

	if (strcmp(name, NAME))
		answer(in->unique, -ENOENT, NULL, 0);
	else
		answer(in->unique, 0, &out, sizeof(out));
}

static void attributes_of(const struct fuse_in_header *in)
{
	const struct fuse_attr_out out = { .attr_valid = 3600, .attr = attributes(in->nodeid) };

	answer(in->unique, 0, &out, sizeof(out));
}

/* True if that lies within the file. */
static int inside(uint64_t offset, uint32_t size)
{
	return offset <= slow.size && size <= slow.size - offset;
}

static void take(const struct fuse_in_header *in, const void *arg)
{
	const struct fuse_open_out opened = { 0 };
	const struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };
	const struct fuse_read_in *read = arg;
	const struct fuse_write_in *write = arg;

	switch (in->opcode) {
	case FUSE_INIT:
		start(in, arg);
		break;
	case FUSE_LOOKUP:
		look_up(in, arg);
		break;
	case FUSE_GETATTR:
		attributes_of(in);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_STATFS:
		answer(in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_READ:
		if (!inside(read->offset, read->size))
			answer(in->unique, -EIO, NULL, 0);
		else
			wait_for(in->unique, slow.memory + read->offset, read->size);
		break;
	case FUSE_WRITE:
		if (!inside(write->offset, write->size)) {
			answer(in->unique, -ENOSPC, NULL, 0);
			break;
		}
		memcpy(slow.memory + write->offset, write + 1, write->size);
		wait_for(in->unique, NULL, 0)->written.size = write->size;
		break;
	case FUSE_FSYNC:
		wait_for(in->unique, NULL, 0);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in->unique, -ENOSYS, NULL, 0);
	}
}

/* What has come. Returns 0 once it is unmounted. */
static int take_all(void)
{
	static uint64_t buffer[(MAX_BYTES + 8192) / 8];
	ssize_t n;

	while ((n = read(slow.fd, buffer, sizeof(buffer))) > 0)
		take((const void *)buffer, (const char *)buffer + sizeof(struct fuse_in_header));
	return errno == EAGAIN || errno == EINTR || errno == ENOENT;
}

static int serve(const char *dir)
{
	char options[64];

	slow.fd = open("/dev/fuse", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", slow.fd);
	if (slow.fd < 0 || mount("slowdisk", dir, "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror("slowdisk");
		return 1;
	}
	do {
		const uint64_t next = answer_due(), now = now_ns();
		const uint64_t left = next > now ? next - now : 0;
		const struct timespec timeout = { (time_t)(left / 1000000000u),
						  (long)(left % 1000000000u) };
		struct pollfd in = { .fd = slow.fd, .events = POLLIN };

		ppoll(&in, 1, next ? &timeout : NULL, NULL);
	} while (take_all());
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fputs("slowdisk DIR MIB US [EVERY LATE_US]\n", stderr);
		return 2;
	}
	slow.size = strtoull(argv[2], NULL, 10) << 20;
	slow.ns = strtoull(argv[3], NULL, 10) * 1000;
	slow.every = argc > 5 ? strtoull(argv[4], NULL, 10) : 0;
	slow.late_ns = argc > 5 ? strtoull(argv[5], NULL, 10) * 1000 : 0;
	slow.memory = mmap(NULL, slow.size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (slow.memory == MAP_FAILED) {
		perror("slowdisk");
		return 1;
	}
	/* It is to wake when something is due, whatever else this machine does. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	return serve(argv[1]);
}
