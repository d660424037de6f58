/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of CPython (programs/shared/python.c): what both sides share.
 *
 * The interpreter keeps a list of its own frames for each thread. How to find it differs between
 * versions: that is a struct python_layout, data that user space publishes
 * (record/python_layouts.c). The walk takes no lock, so a list may change under it: nothing that is
 * read is believed unless it is a code object by its type.
 */
#ifndef PROGRAMS_SHARED_PYTHON_H
#define PROGRAMS_SHARED_PYTHON_H

#include <stdint.h>

#include <rawprof/asm.h>
#include "managed.h"

/*
 * How a Python frame is told from those of the next call of the interpreter's function in C,
 * _PyEval_EvalFrameDefault, and what lies in the stack frame of that function.
 */
enum python_boundary {
	PYTHON_BY_PC,	  /* one frame each; by the function's addresses (3.8, 3.9) */
	PYTHON_BY_CFRAME, /* one frame each; struct CFrame lies there (3.10) */
	PYTHON_BY_ENTRY,  /* the last one is marked; struct _PyCFrame lies there (3.11) */
	PYTHON_BY_SHIM,	  /* a frame that is no function ends them, and lies there (3.12 on) */
};

/* Offsets in bytes: of _PyRuntime, PyThreadState, its frames, PyCodeObject, str. */
struct python_layout {
	uint16_t version;  /* 3.11 is 0x030b */
	uint16_t boundary; /* enum python_boundary */
	uint16_t tss;	   /* of _PyRuntime: autoTSSkey, an int that is 1 and the key */
	uint16_t slots;	   /* from the thread pointer to the C library's slots of keys 0 to 31, */
	uint16_t slot_blocks; /*   and to the addresses of blocks of 32, the first of which it is */
	uint16_t thread_frame;	/* of the thread state: the innermost frame, */
	uint16_t thread_cframe; /*   its CFrame; 0: there is none */
	uint16_t cframe_frame;	/* of that: the innermost frame, 1 + offset; 0: see thread_frame */
	uint16_t cframe_previous;
	uint16_t frame_code, frame_previous;
	uint16_t frame_position; /* where it is: an address or, without code_bytes, an int */
	uint16_t position_shift; /* to units of two bytes */
	uint16_t frame_mark; /* a byte, and from which value on it says that this is the boundary */
	uint16_t mark;
	uint16_t code_first_line, code_file, code_name, code_lines;
	uint16_t code_bytes;		   /* its instructions; 0: positions are numbers */
	uint16_t text_ascii, text_compact; /* str: characters of ASCII ones, of others */
	/* The interpreter lock: of _PyRuntime or, if not 0, of an interpreter its address. */
	uint16_t runtime_gil, interpreter_gil;
	uint16_t thread_id;  /* of the thread state: what the kernel calls the thread or, */
	uint16_t pthread_id; /*   if not 0, its pthread_t, of which this is that */
	/* Of _PyRuntime: the thread state that has the lock; 0: the slot of a thread is enough. */
	uint16_t runtime_current;
};
#define PYTHON_LAYOUTS 64 /* a power of two */

/* What is known of a process with an interpreter; lies in struct unwind_proc. */
struct python_process {
	uint32_t layout; /* number + 1; 0: it has none */
	uint32_t unused;
	uint64_t runtime;	   /* addresses: _PyRuntime, */
	uint64_t code_type;	   /*   PyCode_Type, */
	uint64_t eval, eval_bytes; /* _PyEval_EvalFrameDefault */
};

/* The first word of a frame (managed.h) has the code object's address, the second is */
#define PYTHON_CODE_MASK (MANAGED_PLACE - 1)
#define PYTHON_CHECK_SHIFT 24 /* | check << PYTHON_CHECK_SHIFT | position in units of two bytes */
#define PYTHON_POSITION_MAX ((1 << PYTHON_CHECK_SHIFT) - 1)
#define PYTHON_POSITION_ENTERED PYTHON_POSITION_MAX /* before its first instruction */

/*
 * A code object, as it comes through the ring when it is first seen in a process: what names it
 * after the process has ended.
 */
#define PYTHON_TEXT_BYTES 504
#define PYTHON_LINES_BYTES 16384
struct python_code {
	uint64_t tag; /* PYTHON_CODE_TAG, where a stack has its hash */
	uint64_t pid_tgid;
	uint64_t generation; /* start time + exec id, as in struct stack_record */
	uint64_t code;	     /* its address, and */
	uint32_t check;	     /*   what tells it from others that were there before or after */
	uint32_t version;
	uint32_t first_line;
	uint32_t busy;			 /* in the kernel */
	uint32_t file_state, file_bytes; /* str.state; bytes of the text */
	uint32_t name_state, name_bytes;
	uint32_t lines_bytes, unused;
	char file[PYTHON_TEXT_BYTES + 8]; /* cut */
	char name[PYTHON_TEXT_BYTES + 8];
	uint8_t lines[PYTHON_LINES_BYTES]; /* cut; only lines_bytes of it come through */
};
#define PYTHON_CODE_TAG 0x65646f636e6f6874ull

#define PYTHON_MAP_LAYOUTS                                                                         \
	{                                                                                          \
		"python_layouts", BPF_MAP_TYPE_ARRAY, 4,                                           \
			PYTHON_LAYOUTS * sizeof(struct python_layout), 1, BPF_F_MMAPABLE           \
	}
#define PYTHON_MAP_CODE                                                                            \
	{                                                                                          \
		"python_code", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct python_code), 1         \
	}

/* So many that cannot be sent end the attempts of a walk: a process may be made of them. */
#define PYTHON_UNREAD_MOST 8

/* The part of a walk that is about them. */
struct python_walk {
	uint64_t thread; /* the thread state of who is walked; 0: it has none */
	uint64_t frame;	 /* the one at hand, and what it has: */
	uint64_t frame_previous, frame_mark, frame_position, frame_code;
	uint64_t cframe, cframe_previous; /* and the one before, if that has been read */
	uint64_t boundary;		  /* what lies in the native frame that is looked for */
	uint64_t code;			  /* whose copy code_bytes is; 0: none's. */
	uint64_t seen;			  /* Its hash in managed_seen, */
	uint32_t check, sent;		  /*   and 1 once it was looked for there */
	uint32_t placing;		  /* 1: a native frame is looked for */
	uint32_t unread;		  /* code objects that could not be sent, of this walk */
	uint32_t base, native, count;	  /* kernel frames; native ones: the next, how many */
	uint32_t max;			  /* words of the record, with the kernel's */
	uint64_t words[5];
	uint64_t code_bytes[160 / 8 + 13]; /* offsets are masked: 255 + 8 at most */
};

/*
 * To be INCLUDEd WHEN managed_bytes, on a struct stack_scratch whose record has its native frames:
 *
 *	python_thread(R1 = scratch, R2 = the task, with of_task)
 *		R0 = the address of the thread state that it has; 0: none
 *	python_walk(R1 = scratch, R2 = thread state, R3 = the task, with of_task)
 *		R0 = how many words it has written behind them
 */
extern const struct asm_part rp_python_part;
/*
 * Behind that, of the current task, whose record has been taken, and sent if that is wanted:
 *
 *	python_holder(R1 = scratch, R2 = the address of a futex that it waits for, R3 = tag)
 *		R0 = 0 if it is not of the interpreter's lock, or nobody has that. Else the record
 *		is the holder's now, with that tag, and R0 bytes of frames. Its hash is the old one.
 */
extern const struct asm_part rp_python_gil_part;

#endif
