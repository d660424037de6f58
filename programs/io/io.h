/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to block devices: what `io` loads, and what both sides share.
 *
 *	programs/io/io.c		a request from its start to its end
 *	programs/io/count.c	what becomes of one that has ended: histograms, sums, a record
 *	programs/io/hooks.c	the tracepoints that tell of it, with kernel BTF
 *	programs/io/classic.c	the same without
 *	programs/io/bio.c	disks that have no requests
 *	programs/io/calls.c	system calls on files, and the flushes behind fsync
 *
 * The kernel takes requests from pools and uses them again and again, so their addresses are few.
 * Each has an entry in the map requests that stays when the request ends: what it costs to follow
 * one is a look-up at each event.
 *
 *	block_io_start	      queue	until the next:
 *	block_rq_insert	      scheduler
 *	block_rq_issue	      requeue	if it is given back (block_rq_requeue) and issued again
 *	block_rq_issue	      device
 *	block_io_done
 */
#ifndef RAWPROF_IO_H
#define RAWPROF_IO_H

#include "programs/shared/share.h"
#include "programs/shared/stack.h"

/* The phases of a request, from its start to its end without a gap. */
enum io_phase {
	IO_TOTAL,     /* all of them */
	IO_QUEUE,     /* from the start to the scheduler, or to the device where there is none */
	IO_SCHEDULER, /* until it is issued for the first time */
	/* Until it is issued for the last time, if the device did not take it at once. */
	IO_REQUEUE,
	IO_DEVICE,	/* until the device is done with its data */
	IO_FLUSH,	/* until its end: the device empties its cache */
	IO_FLUSH_ALONE, /* all of one that has no data and waits for that alone */
	IO_PHASES
};

/* REQ_OP_* of include/linux/blk_types.h are the low byte of flags; the last two are our own. */
#define IO_OP_MASK 0xff
#define IO_OP_WRITE 1
#define IO_OP_FLUSH 2	       /* the device's cache, counted by the block layer itself */
#define IO_OP_EMPTY_FLUSH 0xff /* a write without data, which waits for such a flush: fsync(2) */
#define IO_OP_OTHER 0xfe       /* what a classic tracepoint has no letter for */

/* What the running kernel calls things; 0 or 1 unless said otherwise. Part of the configuration. */
struct io_kernel {
	uint32_t has_start;	  /* it has block_io_start and block_io_done, 6.4 */
	uint32_t queue_argument;  /* the queue is the first argument, before 5.11 */
	uint32_t disk_in_request; /* request.rq_disk, before 5.17; later request.q->disk */
	uint32_t flush_seq;	  /* the bit RQF_FLUSH_SEQ */
	uint32_t has_merge;	  /* it has block_rq_merge, 5.11 */
};

struct io_config {
	struct program_config common;
	struct io_kernel kernel;
	/* which requests */
	uint64_t min_ns;  /* at least so long */
	uint32_t by_disk; /* only of the device disk: major << 20 | minor */
	uint32_t disk;
	/* what to know of each */
	uint32_t owner;	    /* who started it */
	uint32_t cgroup;    /* in which control group */
	uint32_t timeline;  /* when it was issued */
	uint32_t noted;	    /* on which disk, as it starts */
	uint32_t extent;    /* where it begins, how large it is; with timeline */
	uint32_t pattern;   /* whether it begins where the last one ended */
	uint32_t stacks;    /* where it was started: weights of that stack */
	uint32_t only_time; /* the kernel's own note of the start is good enough */
	/* what is counted when it ends */
	uint32_t hists;	  /* histograms: */
	uint32_t latency; /*   of the whole time, */
	uint32_t phases;  /*   of all phases, */
	uint32_t sizes;	  /*   of bytes */
	uint32_t totals;  /* sums */
	uint32_t records; /* each goes through the ring */
	uint32_t flushes; /* calls are joined with the flushes of their disks */
	/* where classic tracepoints have the letters of the operation */
	uint32_t rwbs_issue, rwbs_complete;
	/* by what; flags of the request that are part of the key */
	uint32_t key_disk, key_flags, key_process, key_comm, key_group;
	uint32_t calls; /* it is about system calls, not requests */
	/* Places of the map hists or totals that a bank has; 0: nobody makes up its keys. */
	uint32_t most;
};

/* What became of the requests. */
struct io_stats {
	struct program_stats common;
	uint64_t other_disk;	/* filtered */
	uint64_t shorter;	/* filtered: less than min_ns */
	uint64_t no_data;	/* filtered: with pattern no read or write; with stacks flushes */
	uint64_t unknown;	/* lost: its start was not seen */
	uint64_t not_seen;	/* lost: its issue was not seen */
	uint64_t no_end;	/* lost: its end was not, and another request has taken its place */
	uint64_t map_full;	/* lost: no room in the map totals */
	uint64_t requests_full; /* starts that found no room in requests: unknown when they end */
	uint64_t phases_lost;	/* of requests that were kept: the ring was full */
	uint64_t backwards;	/* kept as 0 ns: the clock of that CPU was behind */
};

/*
 * Value of the map requests, by the address of the request. Times are of CLOCK_MONOTONIC, ns; 0:
 * not yet. What times of phases need comes first: an entry has mostly left the processor's cache
 * when its request goes on, and behind the head that the map gives it, this is the fewest lines of
 * it.
 */
struct io_request {
	uint64_t start;	 /* 0: it is not under way; -1: it is lost, and has been counted as such */
	uint64_t insert; /* into the scheduler */
	uint64_t issue, last_issue;
	uint64_t data_done; /* of one that a flush follows */
	uint32_t flags;	    /* as it started: op and REQ_* */
	uint32_t disk;
	uint32_t issues; /* how many */
	uint32_t len;	 /* bytes, at the last of them */
	uint64_t sector;
	uint64_t pid_tgid; /* process << 32 | thread; -1: not asked for */
	uint64_t cgroup;
	uint64_t hash;	/* of its stack */
	uint32_t done;	/* bytes before the last issue */
	uint32_t jump;	/* it does not begin where the last one ended */
	uint32_t payer; /* whose share of hists or totals it takes a place of, if config->most */
	uint32_t unused;
	char comm[16];
};

/* Key of histograms and sums. What is not asked for is 0; the map's keys may end before group. */
struct io_key {
	uint32_t disk;
	uint32_t flags;
	uint8_t phase; /* enum io_phase */
	uint8_t bank;
	uint16_t unused;
	uint32_t process;
	uint64_t group; /* control group; of calls the type of the file system */
	char comm[16];
};
#define IO_SHORT_KEY offsetof(struct io_key, group)

/*
 * Of the map hists, per CPU: a struct asm_hist. With config->phases there are IO_COMMON_PHASES of
 * them: under the key of IO_TOTAL those that most requests have, IO_QUEUE, IO_SCHEDULER and
 * IO_DEVICE, which costs one look-up; under the key of a phase by itself the first is its own.
 */
#define IO_COMMON_PHASES 3
#define IO_HIST_BITS 5
#define IO_HIST_SLOTS 1088 /* up to 2^38: 4 minutes, 256 GiB */
#define IO_HIST_BYTES (sizeof(struct asm_hist) + 8 * IO_HIST_SLOTS)
/* Of the map totals, per CPU. */
struct io_total {
	uint64_t count, bytes, ns, device_ns, max_ns;
	uint64_t sequential; /* begin where the last one of disk and process ended */
};
/* Key of the map ends, whose value is the sector behind the last request. */
struct io_end_key {
	uint32_t disk, process;
};

/* What comes through the ring requests: a value of a histogram for which the map had no room, */
struct io_sample {
	struct io_key key;
	uint64_t value;
};
/* or, with config->records, each request. */
struct io_record {
	struct io_request request;
	uint64_t end;
	uint32_t disk;
	uint32_t unused;
};

enum {
	IO_MAP_REQUESTS = STACK_MAPS,
	IO_MAP_HISTS,
	IO_MAP_TOTALS,
	IO_MAP_ENDS,
	IO_MAP_ZERO, /* a histogram with nothing in it */
	/* The bank in use, 0 or 1, a uint64_t: the other one may be read and emptied */
	IO_MAP_BANK,
	IO_MAP_RING,
	IO_MAP_CALLS,	/* enum io_call_kind by the number of the system call, or 0 */
	IO_MAP_THREADS, /* struct io_call by thread: what it is in */
	IO_MAP_TYPES,	/* names of types of file systems, by their address */
	IO_MAP_FLUSHES, /* struct io_flushes by disk */
	IO_MAP_SHARES,	/* of hists or totals, of each bank */
	IO_MAPS
};
extern const struct asm_map rp_io_maps[IO_MAPS];
extern const struct asm_layout rp_io_key_layout;

enum { IO_WEIGHT_COUNT, IO_WEIGHT_NS, IO_WEIGHT_BYTES, IO_WEIGHTS };

/* The tag of a stack says what was asked of which disk: disk << 32 | op. */

/*
 * The functions, to be INCLUDEd behind a program that has the maps above. The key is the address of
 * the request.
 *
 *	io_begin(R1 = context, R2 = key, R3 = disk, R4 = flags, R5 = when it started, 0 for now)
 *		the current task starts a request; R0 = its entry in the map requests, or 0
 *	io_issued(R1 = its entry, R2 = sector, R3 = bytes)
 *	io_finish(R1 = key, R2 = disk, R3 = flags,
 *		R4 = when it started by the kernel's own note, 0 for none)
 *	io_count(R1 = its entry or 0, R2 = disk, R3 = when it ended, R4 = for how long, R5 = flags)
 *		what io_finish does with one that was asked for
 */
extern const struct asm_part rp_io_begin_part, rp_io_issued_part, rp_io_finish_part,
	rp_io_count_part;

/* Offset of a member in an entry of the map requests. */
#define REQUEST(member) offsetof(struct io_request, member)

/*
 * R0 = the entry under the key at a frame offset; one of zeros, at frame offset none, if it has not
 * been met before; 0 if there is no room.
 */
#define REQUEST_ENTRY(key, none)                                                                   \
	SCOPE("REQUEST_ENTRY(" #key ", " #none ")"), MAP_LOOKUP(requests, key),                    \
		JNE(R0, 0, .known), ZERO(none, sizeof(struct io_request)),                         \
		MAP_UPDATE(requests, key, none, BPF_NOEXIST), MAP_LOOKUP(requests, key),           \
		LABEL(.known), END

/* Nothing has happened yet to the request whose entry is in a register. */
#define CLEAR_TIMELINE(entry)                                                                      \
	SCOPE("CLEAR_TIMELINE(" #entry ")"), ST(DW, entry, REQUEST(insert), 0),                    \
		ST(DW, entry, REQUEST(issue), 0), ST(DW, entry, REQUEST(last_issue), 0),           \
		ST(DW, entry, REQUEST(data_done), 0), ST(W, entry, REQUEST(issues), 0),            \
		WHEN(struct io_config, extent), ST(DW, entry, REQUEST(sector), 0),                 \
		ST(W, entry, REQUEST(len), 0), ST(W, entry, REQUEST(done), 0),                     \
		ST(W, entry, REQUEST(jump), 0), END, END

/* What a request meets, in this order. */
enum io_role {
	IO_STARTS = 1 << 0,  /* since Linux 6.4 */
	IO_INSERTS = 1 << 1, /* into the scheduler */
	IO_ISSUES = 1 << 2,
	IO_REQUEUES = 1 << 3,
	IO_MERGES = 1 << 4, /* into another one; since Linux 5.11 */
	IO_ENDS = 1 << 5,
};
/*
 * The lists: io for kernels with BTF (programs/io/hooks.c); io_classic for those without, which see
 * requests issued and ended; io_bio for disks without requests, which have starts and ends, since
 * Linux 5.12. To show them with:
 */
extern const struct io_config rp_io_usual_config;

/*
 * io_hist(R1 = address of a struct io_key, R2 = value, R3 = entry of its request, if it is not of
 * calls): counts it in the histogram, or sends it through the ring.
 */
extern const struct asm_part rp_io_hist_part;

/* ---- system calls (programs/io/calls.c) */

enum io_call_kind {
	IO_CALL_NONE,
	IO_CALL_READ,
	IO_CALL_WRITE,
	IO_CALL_PREAD,
	IO_CALL_PWRITE,
	IO_CALL_READV,
	IO_CALL_WRITEV,
	IO_CALL_PREADV,
	IO_CALL_PWRITEV,
	IO_CALL_FSYNC,
	IO_CALL_FDATASYNC,
	IO_CALL_OPEN,
	IO_CALL_KINDS
};
/* System calls have numbers below that. */
#define IO_CALL_NUMBERS 512

/* What a thread is in. */
struct io_call {
	uint64_t start;
	uint64_t flushes, flush_ns; /* of its disk, when it began */
	uint32_t kind;
	int32_t fd;
	uint32_t disk; /* 0: there is not one */
	uint32_t unused;
};
struct io_flushes {
	uint64_t count, ns;
};

enum io_call_role {
	IO_CALL_BEGINS = 1 << 0,
	IO_FLUSHES = 1 << 1, /* requests that empty the cache of a disk have ended */
	IO_CALL_ENDS = 1 << 2,
};

#endif
