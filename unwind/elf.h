/* SPDX-License-Identifier: BSD-2-Clause */
/* What unwind tables are made of: an ELF file's code, .eh_frame and signal trampolines. */
#ifndef UNWIND_ELF_H
#define UNWIND_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "go.h"
#include "image.h"
#include "keyed.h"
#include "plt.h"

/* The largest .eh_frame of real files is some 20 MB. */
#define UNWIND_FRAMES_MAX (64ULL << 20)

struct unwind_code {
	uint64_t start, end;
};

enum {
	UNWIND_TRAMPOLINES = 8,	    /* more in one file are no trampolines */
	UNWIND_TRAMPOLINE_SIZE = 8, /* bytes of code, at least */
	UNWIND_HOOKS = 2,
	UNWIND_HOOK_SIZE = 64, /* bytes of code, at most */
	UNWIND_ENTRY_SIZE = 128,
};

/*
 * What the dynamic linker calls first and last of a file, DT_INIT and DT_FINI: crti.o and crtn.o
 * have no FDEs. A file's first page of code is met there.
 */
struct unwind_hook {
	uint64_t addr;
	uint32_t size;
	uint8_t code[UNWIND_HOOK_SIZE];
};

/*
 * Of the code that rules are computed of, as it is when they are: the file is its owner's, and may
 * be another each time that it is read.
 */
struct unwind_made {
	const struct unwind_secret *secret;
	struct unwind_key key;
	bool is_known; /* all of it was there */
};

struct unwind_source {
	uint16_t machine;
	struct unwind_code *code; /* executable segments: ascending, disjoint, not empty */
	size_t ncode;
	bool is_debug_frame; /* no .eh_frame, but this, in the file or its debug file */
	bool is_elsewhere;   /* that was looked for in a debug file, which may come and go */
	uint64_t addr;	     /* of .eh_frame */
	uint8_t *data;	     /* its bytes, taken from the memory that files may have */
	size_t size;
	/* Ascending. Looked for only where .eh_frame lacks them: without it, and in a vdso. */
	uint64_t trampolines[UNWIND_TRAMPOLINES];
	size_t ntrampolines;
	struct unwind_hook hooks[UNWIND_HOOKS]; /* ascending; x86-64 only */
	size_t nhooks;
	struct unwind_plt plts[UNWIND_PLTS]; /* for stubs that no FDE describes */
	size_t nplts;
	uint8_t entry[UNWIND_ENTRY_SIZE]; /* the code at image.entry; x86-64 only */
	uint32_t entry_size;
	bool is_computed;    /* what no FDE describes gets rules by its instructions */
	bool is_memory;	     /* the code is of no file: what has no rule is not asked for again */
	struct unwind_go go; /* for code that no .eh_frame describes */
	struct unwind_image image; /* where the code is read; all zeroes: it cannot be */
	struct unwind_made *made;  /* NULL: nobody wants it */
};

/*
 * Reads them from the file open as @fd, or, if @fd is negative, from the @size bytes at @image.
 * Errors as of unwind_table_build().
 */
int unwind_source_read(struct unwind_source *s, int fd, const void *image, size_t size);
/*
 * Where in @code, which is @size bytes at @addr, the next signal trampoline begins: two
 * instructions, the call rt_sigreturn. From *@at on, which is then behind it. False: there is none.
 */
bool unwind_trampoline_next(uint16_t machine, const uint8_t *code, size_t size, size_t *at,
			    size_t *start);

/* There is something in it to make a table of, even if nothing is to be computed. */
bool unwind_source_tells(const struct unwind_source *s);

/* The segment that @addr is in, or NULL. */
const struct unwind_code *unwind_source_code(const struct unwind_source *s, uint64_t addr);

/* Reads @size bytes of code at the address @addr. How many there were; 0 without an image. */
size_t unwind_source_text(const struct unwind_source *s, uint64_t addr, void *buf, size_t size);

/* Gives it @size bytes of data to be filled in. -EFBIG, -ENOMEM. */
int unwind_source_data(struct unwind_source *s, uint64_t size);

/*
 * Reads .debug_frame of the file @m, or, unless it is an image in memory, of its separate debug
 * file. -ENODATA, -EFBIG, -ENOMEM.
 */
int unwind_debug_frame_read(struct unwind_source *s, const struct unwind_image *m);

void unwind_source_free(struct unwind_source *s);

#endif
