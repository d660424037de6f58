/* SPDX-License-Identifier: BSD-2-Clause */
/* What symbolization needs of one ELF file: where its parts lie, and a way to read them. */
#ifndef SYMBOLIZE_OBJECT_H
#define SYMBOLIZE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "note.h"

struct sym_segment { /* PT_LOAD */
	uint64_t offset, size, vaddr;
	bool exec, write;
};

struct sym_section {
	uint64_t addr, size, offset, entsize;
	bool is_plt;
};

struct sym_symbols { /* .symtab or .dynsym, and its strings; count 0: the file has none */
	uint64_t offset, count, entsize;
	uint64_t strings, strings_size;
};

struct sym_relocs { /* a relocation table of .dynsym's */
	uint64_t offset, size;
	bool is_plt; /* .rela.plt: entry n belongs to lazy PLT stub n */
};

struct sym_bytes { /* a part as it is in the file; size 0: there is none */
	uint64_t offset, size;
};

enum { SYM_SYMTAB, SYM_DYNSYM, SYM_TABLES };

/*
 * Only the headers are in memory; symbols and strings are read from the descriptor when they are
 * needed, so that a file of 100 MB costs what is asked of it. Tables that the file has compressed
 * are the exception: they lie unpacked one after the other, at "offsets" from SYM_UNPACKED on.
 */
#define SYM_UNPACKED (1ULL << 62)

struct sym_object {
	int fd;	     /* -1: the image is */
	void *image; /* the vdso, copied */
	size_t image_size;
	uint64_t size;	   /* of the file, or the image */
	uint64_t believed; /* no part of it is larger: less than .size of a file with holes */
	uid_t owner;
	uint64_t taken;	  /* of the memory of all files (base/budget.h) */
	uint16_t machine; /* EM_* */
	bool is64;
	char build_id[SYM_BUILD_ID_TEXT]; /* "" if there is none */
	struct sym_segment *segments;	  /* in the order of the program headers */
	size_t segment_count;
	struct sym_section *code; /* allocated, executable sections by address */
	size_t code_count, code_capacity;
	struct sym_symbols symbols[SYM_TABLES];
	struct sym_relocs relocs[2];
	size_t reloc_count;
	struct sym_bytes debuglink;    /* .gnu_debuglink: the name of the file that has the rest */
	struct sym_bytes debugdata;    /* .gnu_debugdata: symbols, an ELF file packed by xz */
	struct sym_bytes eh_frame_hdr; /* by its program header */
	struct sym_bytes usdt;	       /* .note.stapsdt: the USDT probes */
	uint64_t usdt_base;	       /* address of .stapsdt.base; 0: there is none */
	bool has_dwarf;		       /* .debug_info, with contents */
	char *unpacked;
	size_t unpacked_size;
};

/*
 * Reads the headers of the file open as @fd, which the object owns from then on, also on failure.
 * -ENOEXEC: not ELF, or of the other byte order; -ENOMEM. A file with broken section headers opens
 * as what can still be read of it.
 */
int sym_object_open(struct sym_object **out, int fd);

/* Opens one that is in memory; @image is copied. */
int sym_object_open_image(struct sym_object **out, const void *image, size_t size);
/* Opens @image, which the object owns from then on, and its @size bytes taken of the memory. */
int sym_object_take_image(struct sym_object **out, void *image, size_t size);

void sym_object_close(struct sym_object *o);

/* Reads at most @len bytes at @offset; returns how many there were, 0 beyond the end or on error.
 */
size_t sym_object_read(const struct sym_object *o, uint64_t offset, void *buf, size_t len);

/* The same at an address of the file's; nothing unless one segment has all of them. */
size_t sym_object_read_at(const struct sym_object *o, uint64_t vaddr, void *buf, size_t len);

/*
 * How many of the @size bytes at @offset there are; 0 if they are more than what a file with holes
 * has on the disk.
 */
uint64_t sym_object_there(const struct sym_object *o, uint64_t offset, uint64_t size);

/*
 * Whether @packed bytes may become @size, as they say themselves: these are then taken of the
 * memory of all files, and to be given back by rp_memory_give(). False if that is far more than
 * what they hold can be, or than there is.
 */
bool sym_object_may_unpack(uint64_t packed, uint64_t size);

/* The address, in the file's numbering, of the byte at @offset. -ENOENT if no segment loads it. */
int sym_object_vaddr(const struct sym_object *o, uint64_t offset, uint64_t *vaddr);

/* The executable section that contains @vaddr, or NULL. */
const struct sym_section *sym_object_code(const struct sym_object *o, uint64_t vaddr);

#endif
