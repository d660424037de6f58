/* SPDX-License-Identifier: BSD-2-Clause */
/* CIEs and FDEs, the records of .eh_frame and .debug_frame: LSB Core 5.0, 10.6.1; DWARF 5, 6.4. */
#ifndef UNWIND_FRAME_H
#define UNWIND_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/budget.h"
#include "bytes.h"

struct unwind_frames {
	const uint8_t *data;
	size_t size;
	uint64_t addr;	     /* of data[0] */
	bool is_debug_frame; /* else .eh_frame */
	/* What reading it may cost yet; NULL: anything. Used up: there are no more records. */
	struct rp_work *work;
	bool follows_rbx; /* rules say where it is: UNWIND_RBX_KEPT */
};

/* So many times the bytes that there are: the work for real files is a third of that, at most. */
enum { UNWIND_WORK_TIMES = 16 };

struct unwind_record {
	size_t offset; /* of its length */
	size_t cie;    /* an FDE's: offset of its CIE */
	bool is_cie;
	struct unwind_bytes body; /* what comes after the CIE's id, or the pointer to the CIE */
};

struct unwind_cie {
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_reg;
	uint8_t pointers;  /* DW_EH_PE_* of the FDEs' addresses */
	bool is_augmented; /* 'z': FDEs say how long their augmentation is */
	bool is_signal;	   /* 'S' */
	struct unwind_bytes insns;
};

struct unwind_fde {
	uint64_t start, end; /* start < end */
	struct unwind_bytes insns;
};

/*
 * Reads the record at *@offset and moves *@offset to the next. False at the end: no bytes left, an
 * empty record, or a length beyond what there is, after which nothing can be trusted; or the work
 * that it may cost is used up.
 */
bool unwind_frames_next(const struct unwind_frames *f, size_t *offset, struct unwind_record *out);

/* Parses the CIE at @offset, which may be any number. 0, or -EBADMSG. */
int unwind_cie_parse(const struct unwind_frames *f, size_t offset, struct unwind_cie *out);

/* 0, or -EBADMSG, also if it describes nothing. */
int unwind_fde_parse(const struct unwind_frames *f, const struct unwind_record *r,
		     const struct unwind_cie *cie, struct unwind_fde *out);

/*
 * Reads a pointer encoded as DW_EH_PE @encoding; @base is what DW_EH_PE_datarel counts from. Sets
 * b->bad for encodings that mean nothing here.
 */
uint64_t unwind_pointer(const struct unwind_frames *f, struct unwind_bytes *b, uint8_t encoding,
			uint64_t base);

#endif
