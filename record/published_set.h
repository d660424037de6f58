/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of labels that have come: what published.c keeps, and context_labels.c makes of contexts. */
#ifndef RECORD_PUBLISHED_SET_H
#define RECORD_PUBLISHED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/report.h>
#include "programs/shared/published.h"

struct record_context;

/*
 * Labels as they came. texts is "key\0text\0" one after the other; of a context, whose keys may
 * have names only later, the trace and the span as text, each with its 0, and then the number of a
 * key, the text and a 0 of each attribute.
 */
struct label_set {
	uint64_t hash;
	uint64_t goid;
	uint64_t start_time; /* of the process, as a stack has it; */
	uint32_t process;    /*   0: it is no context */
	uint32_t n;
	char *texts;
};

/* No label of these n has the key, nor has it another meaning for every sample. */
bool record_label_is_free(const struct report_label *labels, size_t n, const char *key);

/* *most: the highest number of a key that it has. 0, -ENOMEM, -EBADMSG. */
int record_context_keep(const struct published_context *from, struct label_set *set,
			uint32_t *most);
/* Adds its labels to the n that there are, as far as names are known; how many there are then. */
size_t record_context_add(const struct record_context *c, const struct label_set *set,
			  struct report_label *labels, size_t n);

#endif
