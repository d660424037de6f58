/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The assembler's passes and what they hand to each other.
 *
 *	splice.c	lines, parts -> one array of lines
 *	layout.c	lines -> which stay, their slots, scopes, labels, functions
 *	labels.c	labels, functions and maps by name
 *	encode.c	lines + layout -> struct bpf_insn[], every label and binding resolved
 *	source.c	instructions -> the text each came from
 *	btf.c		text, file and line -> BTF, func_info, line_info
 *	assemble.c	runs them in this order
 */
#ifndef ASM_INTERNAL_H
#define ASM_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>

#include <rawprof/asm.h>

/* ---- memory: one arena for a program, freed as a whole */

struct arena;
/* Zeroed memory, or NULL. */
void *asm_arena_alloc(struct arena **arena, size_t bytes);
char *asm_arena_printf(struct arena **arena, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
char *asm_arena_vprintf(struct arena **arena, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
void asm_arena_free(struct arena *arena);

/* ---- layout */

#define NO_SCOPE UINT32_MAX

/*
 * What is known of a line once everything has its place. slot is the first instruction it makes,
 * or, of a line that makes none, the next one. A scope is named by the line that opened it.
 */
struct placed {
	uint32_t slot;
	uint32_t nslots;
	uint32_t scope;		  /* the innermost SCOPE that holds the line, or NO_SCOPE */
	uint32_t func;		  /* index of the function that holds the line */
	bool dropped;		  /* by WHEN or UNLESS */
	int64_t param;		  /* value of the parameter it refers to */
	struct asm_access access; /* of the kernel member or tracepoint field it refers to */
};

/* A label, where it stands. */
struct label {
	const char *name;
	uint32_t line;
	uint32_t scope;
	uint32_t slot;
	uint32_t func;
	bool used;
};

struct func {
	const char *name;
	uint32_t line;
	uint32_t slot;
};

struct assembly {
	const struct asm_program *program;
	const struct asm_bindings *bindings;
	asm_diag_fn report;
	void *report_ctx;
	struct arena *arena;
	const char **file_of; /* by line */
	int error;	      /* of what was reported: a binding's errno gives way to -EINVAL */
	struct placed *placed;
	struct label *labels;
	uint32_t nlabels;
	uint32_t *label_at; /* hash table of label_room places: index into labels + 1, or 0 */
	uint32_t label_capacity;
	struct func *funcs;
	uint32_t nfuncs;
	uint32_t nslots;
};

/* Reports a fault, remembering nothing of it. Returns -EINVAL. */
int asm_refuse(struct assembly *a, const struct asm_diag *diag);
/* Reports a fault of a line and remembers err. */
void asm_fault(struct assembly *a, int err, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void asm_warning(struct assembly *a, uint32_t line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The line as the user wrote it: "MAP_ADD(counts, KEY, ONE): CALL(map_lookup_elem)". */
const char *asm_line_text(struct assembly *a, uint32_t line);

/* Says also which file each line is from. 0, -ENOMEM, or -EINVAL, reported, for a part that
 * includes itself or is NULL. */
int asm_splice(struct assembly *a);
void asm_layout(struct assembly *a);
void asm_encode(struct assembly *a, struct asm_image *image);
void asm_attach_source(struct assembly *a, struct asm_image *image);
void asm_make_btf(struct assembly *a, struct asm_image *image);

/* Makes room for the program's labels. 0 or -ENOMEM. */
int asm_make_label_room(struct assembly *a);
/* The label that a placed line is. */
void asm_add_label(struct assembly *a, uint32_t line);
/* The innermost label of that name that is seen from a line, or NULL. */
struct label *asm_find_label(struct assembly *a, uint32_t line, const char *name);
void asm_unknown_label(struct assembly *a, uint32_t line);
void asm_check_labels(struct assembly *a);
void asm_check_unused_labels(struct assembly *a);

/* The size of the next store that clears `left` bytes from `off`: aligned, and not too far. */
int asm_zero_size(int off, int left);
/* Is what a load fetches narrower than a register, and signed? */
static inline bool extends_sign(const struct asm_access *access)
{
	const struct asm_hop *last = &access->hop[access->nhops - 1];

	return last->is_signed && last->size < 8;
}

/* Is there a label or function of that name among the lines that were dropped? */
bool asm_is_dropped(struct assembly *a, enum asm_kind kind, const char *name);
const struct func *asm_find_func(struct assembly *a, const char *name);
/* Index into bindings->maps, or -1. */
int asm_find_map(struct assembly *a, const char *name);

#endif
