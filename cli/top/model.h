/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `rawprof top` knows: tables of what happened in each of the last 60 intervals. Sources fill
 * a window, the drawing and the lines of JSON read it; neither knows the other.
 *
 *	model.c		windows and their tables
 *	query.c		rows of a table as they are shown: chosen, added up, sorted
 */
#ifndef CLI_TOP_MODEL_H
#define CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "record/whose.h"

#define TOP_WINDOWS 60
#define TOP_COLUMNS 11

enum top_panel {
	TOP_PROCESSES,
	TOP_THREADS,
	TOP_FUNCTIONS,
	TOP_WAITS,
	TOP_DISKS,
	TOP_LOCKS,
	TOP_MEMORY,
	TOP_SYSCALLS,
	TOP_BPF,
	TOP_OWN, /* what top itself runs */
	TOP_PANELS
};

enum top_unit {
	TOP_TEXT, /* ours, or the kernel's */
	TOP_COMM, /* short, and chosen by others: of a thread, of a BPF program */
	TOP_NAME, /* of a process: of its functions, files, locks */
	TOP_ID,
	TOP_COUNT, /* shown by the second */
	TOP_TOTAL, /* shown as it is */
	TOP_CPU,   /* ns of CPU time; shown as a part of one CPU */
	TOP_NS,
	TOP_BYTES, /* shown by the second */
	TOP_MEAN,  /* ns: the column sum by the column count; holds nothing itself */
};

struct top_column {
	const char *title, *key; /* for a person; in JSON */
	enum top_unit unit;
	unsigned char width;	  /* of texts at least; they take what is left */
	unsigned char order;	  /* columns with a greater one go first where there is no room */
	bool greatest;		  /* rows are added up by the greatest, not by the sum */
	unsigned char sum, count; /* of TOP_MEAN */
};

struct top_table_spec {
	const char *title, *key;
	unsigned int nkeys, ncolumns; /* a row is known by the first nkeys columns */
	unsigned int sort;	      /* at first */
	/* Bits of the key columns by which rows are told apart, of the machine and of a process. */
	unsigned int by, by_in_process;
	int pid; /* the column of the process, -1: none */
	struct top_column column[TOP_COLUMNS];
};
extern const struct top_table_spec top_tables[TOP_PANELS];

/* A text is one of its window's, so that equal texts are the same pointer. */
union top_value {
	const char *text;
	uint64_t number;
};
struct top_row {
	union top_value cell[TOP_COLUMNS];
};

/* What one number says of the machine, in the order of top_machine[]. */
enum top_figure {
	TOP_CPU_USER, /* ns of all CPUs */
	TOP_CPU_SYSTEM,
	TOP_CPU_IDLE,
	TOP_CPU_IOWAIT,
	TOP_CPU_STOLEN,
	TOP_SWITCHES,
	TOP_FORKS,
	TOP_RUNNING, /* threads, now */
	TOP_BLOCKED,
	TOP_LOAD, /* in hundredths */
	TOP_QUEUED,
	TOP_QUEUE_P50, /* ns that threads waited for a CPU */
	TOP_QUEUE_P90,
	TOP_QUEUE_P99,
	TOP_QUEUE_MAX,
	TOP_MEM_TOTAL, /* bytes */
	TOP_MEM_AVAILABLE,
	TOP_MEM_ALLOCATED, /* by the kernel's page allocator, for whomever */
	TOP_FAULTS,
	TOP_MAJOR_FAULTS,
	TOP_SWAPPED_IN,
	TOP_SWAPPED_OUT,
	TOP_OWN_CPU, /* ns of this process, */
	TOP_OWN_BPF, /*   and of the programs that it loaded */
	TOP_OWN_BYTES,
	TOP_FIRED, /* events, of all sources, and what became of them */
	TOP_LOST,
	TOP_FIGURES
};
extern const char *const top_figure_keys[TOP_FIGURES];

/* A disk's histogram for a person: requests by powers of two of microseconds. */
#define TOP_HIST_SLOTS 24
struct top_hist {
	const char *disk;
	uint64_t slot[TOP_HIST_SLOTS];
};
#define TOP_HISTS 16

/* A sample of the CPU, for a flame graph of the last seconds. */
struct top_frame {
	const char *name, *module; /* NULL: not known */
	uint64_t kind;		   /* enum report_frame_kind */
};
struct top_sample {
	const char *comm;
	uint32_t pid, tid;
	uint32_t first, n; /* frames, leaf first, in the window's stacks */
};

struct top_window {
	uint64_t wall_ns; /* its end, since 1970 */
	uint64_t ns;	  /* how long it is */
	uint64_t figure[TOP_FIGURES];
	unsigned int cpus;
	struct hash_map rows[TOP_PANELS];     /* of struct top_row */
	uint64_t full[TOP_PANELS];	      /* rows for which there was no room */
	struct record_room room[TOP_PANELS];  /* rows that users have, */
	uint32_t rests[TOP_PANELS];	      /*   and of what they have besides */
	bool running[TOP_PANELS + 1];	      /* what fills the table runs; the last: the figures */
	uint64_t measured_ns[TOP_PANELS + 1]; /* of the window, so much; what the table has stands
						 for all of it */
	const char *state[TOP_PANELS + 1]; /* of what fills it, for a person; NULL: nothing does */
	struct top_hist hist[TOP_HISTS];
	size_t nhists;

	struct hash_map frames; /* of struct top_frame, all of which is the key */
	uint32_t *stacks;	/* numbers of frames */
	size_t nstacks, stacks_capacity;
	struct top_sample *samples;
	size_t nsamples, samples_capacity;
	uint64_t sample_ns; /* that a sample stands for */

	/* texts */
	struct top_block *blocks;
	const char **texts;
	size_t ntexts, texts_capacity, text_bytes[TOP_NAME + 1];
	struct hash_index index;
	struct record_room names;   /* bytes that users have */
	struct record_whose *whose; /* who pays; NULL: nobody does */
};

struct top_model {
	struct top_window *ring[TOP_WINDOWS];
	size_t n, last; /* windows; where the newest is */
	uint64_t seen;	/* windows so far */
};

/* An empty one; NULL: out of memory. */
struct top_window *top_window_new(void);
void top_window_free(struct top_window *w);
/* The newest from now on; the oldest of sixty is freed. */
void top_model_push(struct top_model *m, struct top_window *w);
/* The newest is 0; NULL: there are not so many. */
const struct top_window *top_model_at(const struct top_model *m, size_t back);
void top_model_free(struct top_model *m);

/*
 * The window's copy of a text, of its first TOP_TEXT_MOST bytes, or what stands for all for which
 * there is no room. NULL: out of memory.
 *
 * Texts of ours, what threads are called, and names have room of their own. Of that for names a
 * user has at most half of what others have left. pid 0: a name of the kernel's.
 */
#define TOP_TEXT_MOST 1024
const char *top_text_of(struct top_window *w, enum top_unit whose, uint32_t pid, const char *text);
static inline const char *top_text(struct top_window *w, const char *text)
{
	return top_text_of(w, TOP_TEXT, 0, text);
}
static inline const char *top_comm(struct top_window *w, const char *comm)
{
	return top_text_of(w, TOP_COMM, 0, comm);
}
static inline const char *top_name(struct top_window *w, uint32_t pid, const char *name)
{
	return top_text_of(w, TOP_NAME, pid, name);
}
static inline bool top_is_text(enum top_unit unit)
{
	return unit <= TOP_NAME;
}
/*
 * The row with these keys, of so many that the table has, made if it is new. Where processes make
 * as many as they like, a user has at most half of what others have left; TOP_NO_ROOM in place of
 * names is the row that has all others. NULL: out of memory, or the table is full, which is
 * counted.
 */
#define TOP_NO_ROOM "[rows without room]"
struct top_row *top_row(struct top_window *w, enum top_panel panel, const union top_value *keys);
/* As report_frame: texts are those of the window. 0 or a negative errno. */
int top_window_sample(struct top_window *w, const struct top_sample *sample,
		      const struct top_frame *frames);

/* ---- query.c */

struct top_query {
	enum top_panel panel;
	uint32_t pid;	     /* only its rows; 0: all */
	const char *filter;  /* a part of any of the texts, or a pid; NULL or "": all */
	unsigned int hidden; /* bits of columns that do not tell rows apart: there is no room */
	unsigned int sort;   /* a column */
	bool reverse;
};
struct top_rows {
	struct top_row *row;
	size_t n;
	struct hash_map map; /* holds them */
};
/* 0 or -ENOMEM; *out is to be freed. */
int top_query(const struct top_window *w, const struct top_query *q, struct top_rows *out);
void top_rows_free(struct top_rows *rows);
/* Whether rows of the table are shown with this column. */
bool top_column_shown(const struct top_query *q, unsigned int column);
/* Adds what @from has to @to, whose keys are the same. */
void top_row_add(const struct top_table_spec *spec, struct top_row *to, const struct top_row *from);
/* The value by which a row is sorted and shown: of TOP_MEAN the mean. */
uint64_t top_value(enum top_panel panel, const struct top_row *row, unsigned int column);

#endif
