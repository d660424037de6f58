/* SPDX-License-Identifier: BSD-2-Clause */
/* What frames and processes are called in the formats that merge them by name. */
#ifndef REPORT_NAMES_H
#define REPORT_NAMES_H

#include "report.h"
#include "text.h"

/* Beside enum report_frame_kind. */
#define KIND_COMM REPORT_FRAME_KINDS
#define KIND_LABEL (REPORT_FRAME_KINDS + 1)
#define KINDS (REPORT_FRAME_KINDS + 2)

/* The frames of one name and kind are one name. */
struct name {
	uint32_t text; /* in names.strings */
	uint32_t kind;
};
SET_ELEMENT(struct name, 2 * 4);

struct frame_names {
	struct strings strings;
	struct hash_map pool; /* of struct name */
	uint32_t *of_frame;   /* frame -> name */
	uint32_t *of_comm;    /* string of a sample's comm -> name; others are NONE */
	uint32_t *of_labels;  /* set of labels -> name of options->color_by_label's value, or NONE;
				 NULL if none is asked for */
	uint32_t *rank;	      /* name -> its place, by text and then kind */
	uint32_t delimiter;   /* the name "-", or NONE if none is wanted */
	uint32_t empty_stack; /* the name of a stack without frames */
};

/* In `folded` names neither the separator ';' nor a comm with spaces occurs. 0 or -ENOMEM; to be
 * freed if 0. */
int report_names_make(const struct report *r, const struct report_options *options, bool folded,
		      struct frame_names *names);
void report_names_free(struct frame_names *names);

static inline const struct name *name_get(const struct frame_names *n, uint32_t name)
{
	return (const struct name *)n->pool.items + name;
}

static inline const char *name_text(const struct frame_names *n, uint32_t name)
{
	return strings_get(&n->strings, name_get(n, name)->text);
}

/* Appends one frame's name; of the frame only name, module, module_addr, address and kind count. */
void report_name_frame(struct buf *b, const struct report_frame *frame,
		       const struct report_options *options, bool folded);
void report_name_comm(struct buf *b, const char *comm, bool folded);

/* Appends a text or a number; `from`, if not 0, becomes ':'. */
void report_add_label_value(struct buf *b, const struct report *r, const struct label *label,
			    char from);

/* The frame as it was given to report_frame_add(). */
struct report_frame report_frame_public(const struct report *r, uint32_t frame);

#endif
