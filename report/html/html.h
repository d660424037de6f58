/* SPDX-License-Identifier: BSD-2-Clause */
/* The page: what of a profile it shows, numbered in an order that depends on nothing but that. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "report/json_out.h"
#include "report/write.h"

/* A frame as the page tells frames apart: not by address, but by source line. */
struct html_place {
	uint32_t name;	       /* of html.names */
	uint32_t module, file; /* strings of the report */
	uint32_t line;
};
SET_ELEMENT(struct html_place, 4 * 4);

/* A place called by its parent's; 0 is the root. A parent has a smaller number. */
struct html_node {
	uint32_t parent, place;
};
SET_ELEMENT(struct html_node, 2 * 4);

struct html_thread {
	int32_t pid, tid;
	uint32_t comm; /* a name */
};
SET_ELEMENT(struct html_thread, 3 * 4);

struct html_sample {
	uint32_t node, thread;
	uint32_t label; /* a name, or NONE */
};
SET_ELEMENT(struct html_sample, 3 * 4);

struct html {
	struct json_out json;
	const struct report *r;
	struct report_options options;
	struct frame_names names;
	uint32_t *name_number; /* of each name: its place among those that occur, by rank */
	uint32_t *name;	       /* and back */
	uint32_t nnames;
	uint32_t *string_number; /* of each string of the report, as they come; NONE: not used */
	uint32_t *string;	 /* and back */
	uint32_t nstrings;
	struct hash_map places, nodes, threads, samples;
	uint64_t *values;	       /* the report's value types for each sample */
	struct report_moment *moments; /* .sample is a sample of the page; by time */
	size_t nmoments;
	unsigned int shift[REPORT_MAX_VALUES]; /* a script's numbers have 53 bits: the page has */
					       /*   values shifted right by this */
};

/* Fills in what depends on the report and the options. 0 or -ENOMEM; to be freed in either case. */
int report_html_gather(struct html *h);
void report_html_free(struct html *h);

/* data.c: the page's data, one JSON object. */
void report_html_data(struct html *h);
/* A JSON text. What a page shows is printable: a path may be anything. */
void report_html_clean(struct html *h, const char *s);
/* code.c: its member for instructions, if there are any. */
void report_html_code(struct html *h);

static inline const struct html_place *html_place_of(const struct html *h, uint32_t i)
{
	return (const struct html_place *)h->places.items + i;
}

static inline const struct html_node *html_node_of(const struct html *h, uint32_t i)
{
	return (const struct html_node *)h->nodes.items + i;
}

static inline const struct html_thread *html_thread_of(const struct html *h, uint32_t i)
{
	return (const struct html_thread *)h->threads.items + i;
}

static inline const struct html_sample *html_sample_of(const struct html *h, uint32_t i)
{
	return (const struct html_sample *)h->samples.items + i;
}

#endif
