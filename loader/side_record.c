/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * side_record.c: one perf record of a side-band ring, taken apart (man perf_event_open(2), section
 * MMAP layout). They are made with sample_id_all and TID | TIME | CPU, so each ends with { u32 pid,
 * tid; u64 time; u32 cpu, res; }.
 */
#include "internal.h"

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, res;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		};
		struct { /* with PERF_RECORD_MISC_MMAP_BUILD_ID */
			uint8_t build_id_size, res[3];
			uint8_t build_id[20];
		};
	};
	uint32_t prot, flags;
	/* the path follows, with NULs to a multiple of 8 */
};

struct task_record { /* fork and exit */
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

_Static_assert(sizeof(struct trailer) == 24, "three words");
_Static_assert(sizeof(struct mmap2_record) == 72, "as the kernel lays it out");

static void read_trailer(const void *rec, size_t size, struct trailer *t)
{
	memcpy(t, (const uint8_t *)rec + size - sizeof(*t), sizeof(*t));
}

uint64_t rp_side_time(const void *rec, size_t size)
{
	struct trailer t;

	if (size < sizeof(struct perf_event_header) + sizeof(t))
		return 0;
	read_trailer(rec, size, &t);
	return t.time;
}

/* The string between the fixed part and the trailer; NULL if it does not end there. */
static const char *string_at(const void *rec, size_t from, size_t size)
{
	const char *text = (const char *)rec + from;
	const size_t capacity = size - from - sizeof(struct trailer);

	return memchr(text, '\0', capacity) ? text : NULL;
}

static int parse_mmap(const void *rec, size_t size, uint16_t misc, struct rp_side_event *e)
{
	struct mmap2_record m;

	memcpy(&m, rec, sizeof(m));
	e->type = RP_SIDE_MMAP;
	e->pid = m.pid;
	e->tid = m.tid;
	e->mmap.start = m.start;
	e->mmap.len = m.len;
	e->mmap.pgoff = m.pgoff;
	e->mmap.prot = m.prot;
	e->mmap.flags = m.flags;
	e->mmap.path = string_at(rec, sizeof(m), size);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (m.build_id_size > sizeof(m.build_id))
			return -EINVAL;
		e->mmap.build_id_size = m.build_id_size;
		memcpy(e->mmap.build_id, m.build_id, m.build_id_size);
	} else {
		e->mmap.maj = m.maj;
		e->mmap.min = m.min;
		e->mmap.ino = m.ino;
		e->mmap.ino_generation = m.ino_generation;
	}
	return e->mmap.path ? 0 : -EINVAL;
}

static int parse_comm(const void *rec, size_t size, uint16_t misc, struct rp_side_event *e)
{
	struct comm_record c;

	memcpy(&c, rec, sizeof(c));
	e->type = RP_SIDE_COMM;
	e->pid = c.pid;
	e->tid = c.tid;
	e->comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
	e->comm.comm = string_at(rec, sizeof(c), size);
	return e->comm.comm ? 0 : -EINVAL;
}

static int parse_task(const void *rec, enum rp_side_type type, struct rp_side_event *e)
{
	struct task_record t;

	memcpy(&t, rec, sizeof(t));
	e->type = type;
	e->pid = t.pid;
	e->tid = t.tid;
	e->fork.ppid = t.ppid;
	e->fork.ptid = t.ptid;
	return 0;
}

static int parse_lost(const void *rec, struct rp_side_event *e)
{
	struct lost_record l;

	memcpy(&l, rec, sizeof(l));
	e->type = RP_SIDE_LOST;
	e->lost.n = l.lost;
	return 0;
}

static size_t fixed_size(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP2:
		return sizeof(struct mmap2_record);
	case PERF_RECORD_COMM:
		return sizeof(struct comm_record);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return sizeof(struct task_record);
	case PERF_RECORD_LOST:
		return sizeof(struct lost_record);
	}
	return sizeof(struct perf_event_header);
}

int rp_side_parse(const void *rec, size_t size, struct rp_side_event *out)
{
	struct rp_side_event e = { 0 };
	struct perf_event_header h;
	struct trailer t;
	int err = 0;

	if (size < sizeof(h))
		return -EINVAL;
	memcpy(&h, rec, sizeof(h));
	if (h.size != size || size < fixed_size(h.type) + sizeof(t))
		return -EINVAL;
	read_trailer(rec, size, &t);
	e.pid = t.pid;
	e.tid = t.tid;
	e.time = t.time;
	e.cpu = t.cpu;
	switch (h.type) {
	case PERF_RECORD_MMAP2:
		err = parse_mmap(rec, size, h.misc, &e);
		break;
	case PERF_RECORD_COMM:
		err = parse_comm(rec, size, h.misc, &e);
		break;
	case PERF_RECORD_FORK:
		err = parse_task(rec, RP_SIDE_FORK, &e);
		break;
	case PERF_RECORD_EXIT:
		err = parse_task(rec, RP_SIDE_EXIT, &e);
		break;
	case PERF_RECORD_LOST:
		err = parse_lost(rec, &e);
		break;
	case PERF_RECORD_THROTTLE:
		e.type = RP_SIDE_THROTTLE;
		break;
	case PERF_RECORD_UNTHROTTLE:
		e.type = RP_SIDE_UNTHROTTLE;
		break;
	default:
		err = -ENOMSG;
	}
	if (!err)
		*out = e;
	return err;
}
