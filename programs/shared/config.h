/* SPDX-License-Identifier: BSD-2-Clause */
/* What all profilers of tasks are configured with, and what they all count. */
#ifndef PROGRAMS_CONFIG_H
#define PROGRAMS_CONFIG_H

#include <rawprof/asm.h>
#include "base/subuid.h"
#include "programs/registry.h"

enum { SHARE_SPANS = 2 };

/* Load-time parameters; 0 is off. */
struct program_config {
	/* stacks, see stack_take */
	uint32_t user_bytes;  /* room for the user stack: 8 times the most frames wanted */
	uint32_t fp_bytes;    /* of which the kernel's frame-pointer walk can use so much */
	uint32_t user_frames; /* user_bytes / 8 */
	uint32_t outermost;   /* so many of these are for the outermost frames of deeper stacks */
	/* Room for frames of user stacks beside the record: stack_deep.h; needs eh, bpf_loop */
	uint32_t deep_bytes;
	uint32_t deep_last;   /* more than so many are the last that there is room for, */
	uint32_t deep_blocks; /*   and so many blocks are hashed; */
	uint32_t deep_mask;   /*   elements of the map, less 1 */
	/* Elements of the map copies: stack_copy.h; needs vma, identity, table; 0: none is made */
	uint32_t copies;
	uint32_t kernel_bytes;	/* room for the kernel stack */
	uint32_t both_bytes;	/* user_bytes + kernel_bytes */
	uint32_t managed_bytes; /* room behind them for what managed.h says, and */
	uint32_t all_bytes;	/*   both_bytes + managed_bytes; needs eh, identity, bpf_loop */
	uint32_t jvm;		/* walks frames of Java; needs managed_bytes */
	uint32_t scripts;	/*   of any of these: */
	uint32_t php, ruby, perl;
	uint32_t published; /* labels that programs give; needs eh, identity, bpf_loop */
	uint32_t context;   /*   those of threads, too (published_context.c) */
	uint32_t eh; /* user stacks by unwind tables; by frame pointers where there are none */
	uint32_t may_goto; /* Linux 6.10: loops that the verifier walks until nothing is new */
	/* Before Linux 5.17: no bpf_loop, and at most UNWIND_BOUNDED_FRAMES by tables */
	uint32_t bounded;
	uint32_t own_regs; /* before 5.15: registers from the context, which is a perf event's */
	/* Of a sleeping task, which takes the place of the context; needs eh, identity */
	uint32_t of_task;
	/* The kernel is asked about mappings that user space did not tell yet; Linux 6.1 */
	uint32_t vma;
	uint32_t inode_changed;	   /* with it: where in struct inode the second of st_ctime is */
	uint32_t some_kernel_only; /* tags with STACK_KERNEL_ONLY in them are in use */
	/* The context is a perf event's; if it hit user code there is no kernel stack. */
	uint32_t user_code;
	uint32_t probe; /* the context is the registers of user code at a probe */
	uint32_t each;	/* every record goes through the ring, nothing is counted in the kernel */
	/* Return probes are on the stacks: what they return to is where the kernel keeps it */
	uint32_t return_probes;
	uint32_t identity; /* the kernel has BTF: tell apart who had the same pid before */
	uint32_t stream;   /* what is counted is sent as well, with its time: stream.h */
	/* Places in each CPU's row of the map times, less 1, for stack_value; 0: by the ring */
	uint32_t times_mask;
	/* With it: the event is cpu-clock, whose timer the program may ask when it was due */
	uint32_t timer;
	/* Only threads inside of a call, which are in the map during: during.h */
	uint32_t during;
	uint32_t table;	    /* the map counts is a table of struct stack_count */
	uint32_t kept_bare; /* an event whose stack is lost is kept, and counted by the program */
	uint32_t ring_mark; /* bytes waiting in the ring that are worth waking user space */
	/* the target, see target_ids */
	uint32_t filtering; /* any of these is set */
	uint32_t by_pid;    /* only processes in the map pids */
	uint32_t by_tid;    /* only threads in the map tids */
	uint32_t cgroup_level;
	/* The hash of a stack begins with it: none can be made that another process's has */
	uint64_t hash_secret;
	uint64_t ns_device, ns_inode; /* of the pid namespace to count in; 0: the machine's own */
	uint64_t cgroup_id;
	struct asm_comm_filter comm;
	/* Of subordinate uids, see share.h; those from one on whose last is 0 are none */
	struct subuid_span subuids[SHARE_SPANS];
};

/* What became of the events, for the ledger; how the only element of the map stats begins. */
struct program_stats {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t ring_full; /* lost: no room in the ring */
	uint64_t busy;	    /* lost: this CPU was at work on too many stacks at once */
	/* Kept, but the map counts had no room: their records go through the ring each time */
	uint64_t uncounted;
	uint64_t unfollowed; /* children that found no room in the map pids */
	uint64_t outside;    /* filtered: inside of no call, with --during */
	uint64_t untimed;    /* counted, but there was no room in the ring to say when */
};

/* 2^64 divided by the golden ratio, made odd: multiplying by it spreads every bit upwards. */
#define GOLDEN_RATIO_64 0x9e3779b97f4a7c15

/* Nearly the configuration of a profiler without options; to show programs with. */
#define PROGRAM_USUAL_CONFIG PROGRAM_CONFIG_WITH(0)
#define PROGRAM_TABLE_CONFIG PROGRAM_CONFIG_WITH(1) /* and with STACK_COUNTS_TABLE */
#define PROGRAM_CONFIG_WITH(table_)                                                                \
	{                                                                                          \
		.user_bytes = 127 * 8, .fp_bytes = 127 * 8, .user_frames = 127,                    \
		.kernel_bytes = 127 * 8, .both_bytes = 2 * 127 * 8, .eh = 1, .identity = 1,        \
		.table = (table_), .ring_mark = 1 << 18                                            \
	}

#endif
