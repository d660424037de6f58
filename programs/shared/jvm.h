/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of Java in HotSpot (programs/shared/jvm.c): what both sides share.
 *
 * HotSpot keeps all code that it makes, and its interpreter, in the code cache: up to three heaps
 * of blocks, each of which begins with what the virtual machine knows of it, a CodeBlob. A frame is
 * as large as that says, so a walk needs no rules; where the members lie differs between versions,
 * and comes from the process itself (gHotSpotVMStructs), by record/jvm_file.c.
 */
#ifndef PROGRAMS_SHARED_JVM_H
#define PROGRAMS_SHARED_JVM_H

#include <stdint.h>

#include <rawprof/asm.h>
#include "managed.h"

#define JVM_HEAPS 3
struct jvm_heap {
	uint64_t low, bytes; /* addresses */
	uint64_t segments;   /* a byte each: how far back its block begins; 0 there, 255: free */
};

/* A process with a virtual machine: its addresses, and offsets in bytes. */
struct jvm_process {
	struct jvm_heap heap[JVM_HEAPS];
	uint64_t interpreter, interpreter_bytes;
	uint16_t segment_shift;
	uint16_t by_offset;   /* 1: blob_code and method_deopt are of offsets from the CodeBlob */
	uint16_t block_bytes; /* before a CodeBlob; of that, below JVM_BLOB_BYTES: */
	uint16_t blob_name, blob_code, blob_frame_complete, blob_frame_words;
	uint16_t method_deopt, method_orig_pc, method_id; /* of an nmethod */
	uint16_t method_const;				  /* of a Method, and */
	uint16_t const_bytes;				  /*   before the bytes of its code */
	uint64_t low, bytes;				  /* all heaps, with what is between them */
};
#define JVM_PROCESS_SHIFT 7
_Static_assert(sizeof(struct jvm_process) == 1 << JVM_PROCESS_SHIFT, "the program shifts");
#define JVM_PROCESSES 512 /* a power of two; one user has 128 at most */

/*
 * The two words of a frame (managed.h). The first: address | kind << shift
 *
 *	interpreted	a Method; the second: its ConstMethod / 8 << 16 | index of the bytecode
 *	compiled	an nmethod; the second: its number << 24 | offset of the pc; it may be a
 *			return address
 *	stub		a CodeBlob, or where the interpreter begins; the second: offset of the pc
 */
enum jvm_kind { JVM_INTERPRETED, JVM_COMPILED, JVM_STUB };
#define JVM_KIND_SHIFT 56
#define JVM_ADDRESS_MASK ((1ull << JVM_KIND_SHIFT) - 1)
#define JVM_CONST_SHIFT 16
#define JVM_CONST_MASK ((1ull << 44) - 1)
#define JVM_NO_BCI 0xffff /* not known: in a native method, or it is being entered */
#define JVM_ID_SHIFT 24
#define JVM_ID_MASK ((1u << 30) - 1)
#define JVM_OFFSET_MASK ((1u << JVM_ID_SHIFT) - 1)
#define JVM_IS_RETURN (1ull << 54)

/*
 * Of code that is first seen user space is woken to read the names: it may be gone soon. A word for
 * each that was, by its hash; what falls on the same place makes room.
 */
#define JVM_SEEN_SHIFT 13
#define JVM_MAP_PROCESSES                                                                          \
	{                                                                                          \
		"jvm_processes", BPF_MAP_TYPE_ARRAY, 4,                                            \
			JVM_PROCESSES * sizeof(struct jvm_process), 1, BPF_F_MMAPABLE              \
	}
#define JVM_MAP_SEEN                                                                               \
	{                                                                                          \
		"jvm_seen", BPF_MAP_TYPE_ARRAY, 4, 8 << JVM_SEEN_SHIFT, 1, BPF_F_MMAPABLE          \
	}

/* The part of a walk that is about them. */
#define JVM_BLOB_BYTES 320
#define JVM_BLOB_LEAST 112 /* of a stub, at the end of what is mapped */
struct jvm_walk {
	uint32_t words; /* behind the room for native frames, so far */
	uint32_t fresh; /* code is among them that was not seen before */
	uint64_t low, segments, segment;
	uint64_t blob; /* address */
	uint64_t word;
	uint64_t fp_at;
	uint64_t pc;	    /* of a stub */
	uint64_t invalid;   /* a return address without a call; or 0 */
	uint64_t top[2];    /* of the stack, */
	uint64_t code[2];   /*   and around the pc, which is at the second */
	uint64_t bytes[64]; /* of a CodeBlob, or of an interpreter's frame; offsets are masked */
};

/*
 * jvm_step(R1 = a struct unwind_state, R2 = the task, with of_task): R0 = JVM_CALLER: it is at the
 * caller of its frame now. To be INCLUDEd WHEN jvm.
 */
enum jvm_step {
	JVM_CALLER,
	JVM_ELSEWHERE, /* not in a code heap */
	JVM_BY_FP,
	JVM_IN_STUB, /* jvm_stub(state, task) goes on; calls would be too deep there */
	JVM_LOST
};
extern const struct asm_part rp_jvm_part;

#endif
