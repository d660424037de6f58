/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of functions in every program of Go, .gopclntab, which survives strip, as Go's own
 * tracebacks need it. Go 1.16 and later (src/runtime/symtab.go, struct pcHeader, _func).
 */
#ifndef UNWIND_GO_TABLE_H
#define UNWIND_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image.h"

struct unwind_go {
	uint8_t *data; /* NULL: there is none */
	size_t size;
	uint64_t text; /* address that its offsets count from */
	/* Address that offsets of inline trees count from; 0: unknown. */
	uint64_t funcdata;
};

/* Reads it from @m. -ENODATA: it has none that is understood; -EFBIG, -ENOMEM, -EIO. */
int unwind_go_read(struct unwind_go *go, const struct unwind_image *m);
void unwind_go_free(struct unwind_go *go);

enum unwind_go_version { GO_1_16 = 0xfffffffa, GO_1_18 = 0xfffffff0, GO_1_20 = 0xfffffff1 };

/* Where things lie in it; all offsets are below the size. */
struct unwind_go_layout {
	uint32_t magic; /* enum unwind_go_version */
	uint64_t nfunc, names, units, files, pctab, functions;
	uint32_t min_insn; /* bytes of the shortest instruction */
};

/* False: it is no table of a version that is known. */
bool unwind_go_layout(const struct unwind_go *go, struct unwind_go_layout *l);

/* @len bytes at offset @at as a number; 0 beyond the end. */
uint64_t unwind_go_number(const struct unwind_go *go, uint64_t at, size_t len);

/*
 * The string at offset @at, @len bytes of the table before its NUL. False: it is empty, does not
 * end, or is so long that it is none: all functions might say that they have the same.
 */
bool unwind_go_string(const struct unwind_go *go, uint64_t at, const char **s, size_t *len);

/* A function: addresses, and the offset of what tells of it, behind its own address. */
struct unwind_go_function {
	uint64_t start, end, at;
};

/* Where the words of that lie, from .at on. */
enum {
	GO_NAME = 0,
	GO_PCSP = 12,
	GO_PCFILE = 16,
	GO_PCLN = 20,
	GO_NPCDATA = 24,
	GO_UNIT = 28,
};

/* Function @i of nfunc, in rising order. */
struct unwind_go_function unwind_go_function(const struct unwind_go *go,
					     const struct unwind_go_layout *l, uint64_t i);
/*
 * The number of the first function that reaches beyond @vaddr, or of the last. As that rises so
 * does the number, even in a table that is out of order, which may have others: who goes on from
 * there, as far as to the next @vaddr, looks at each once.
 */
uint64_t unwind_go_first(const struct unwind_go *go, const struct unwind_go_layout *l,
			 uint64_t vaddr);
/* The one at @vaddr. False: there is none. */
bool unwind_go_find(const struct unwind_go *go, const struct unwind_go_layout *l, uint64_t vaddr,
		    struct unwind_go_function *out);

/* Tells @fn of each function and its name. 0, or what @fn said. */
typedef int unwind_go_function_fn(void *ctx, const char *name, const struct unwind_go_function *f);
int unwind_go_each(const struct unwind_go *go, unwind_go_function_fn *fn, void *ctx);

/* From the first function to the end of the last one. False, and nothing set: there are none. */
bool unwind_go_range(const struct unwind_go *go, uint64_t *start, uint64_t *end);

/* Offset of the bytes at the end of the fixed part of @f: id, flag, one of padding, nfuncdata. */
uint64_t unwind_go_flags(const struct unwind_go_layout *l, const struct unwind_go_function *f);

/*
 * A number that changes within a function, told by pairs of steps: of the number, from -1 on, and
 * of the address.
 */
struct unwind_go_steps {
	uint64_t at;	    /* offset of the next pair */
	uint64_t start, pc; /* .value holds from start to pc */
	int32_t value;
};

/* Before the first pair of the table at @table of pctab, of function @f; 0: there is no table. */
struct unwind_go_steps unwind_go_steps(const struct unwind_go_layout *l,
				       const struct unwind_go_function *f, uint32_t table);
/* The next pair; false at the end. */
bool unwind_go_step(const struct unwind_go *go, const struct unwind_go_layout *l,
		    struct unwind_go_steps *s);

#endif
