/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rawprof lock`, in parts:
 *
 *	options.c	the options
 *	lock.c		the recording
 *	waits.c	waits, by the stacks of waiter and releaser
 *	names.c	in words: the lock, its type, waiter and releaser
 *	view.c	tables and sentences
 *	hist.c	histograms
 *	stacks.c	stacks
 *	hold.c	probes for --hold
 */
#ifndef CLI_LOCK_H
#define CLI_LOCK_H

#include "base/hash.h"
#include "programs/lock/lock.h"

#include "cli/run.h"

struct lock_options {
	uint64_t min_ns;
	const char *by;	   /* what a row of the table is; NULL: a lock */
	const char *types; /* only these, separated by commas; NULL: all */
	const char *hist;  /* "type" or "lock"; NULL: no histograms */
	bool hold;	   /* how long mutexes are held, in place of waits */
	bool stacks;	   /* stacks, where the format could do with rows */
};
int lock_run(const struct options *opt);	   /* the command */
extern const struct record_profiler lock_profiler; /* without maps; its context: a struct lock */
void lock_maps(struct asm_map maps[LOCK_MAPS]);	   /* fills them in, as large as they have to be */

/* What can be said of a wait; also what rows can be by. */
enum lock_word {
	LOCK_WORD_TYPE,	    /* "mutex", "rwsem:W", "condvar" */
	LOCK_WORD_LOCK,	    /* "mmap_lock", "0xffff888003e0a5f8" */
	LOCK_WORD_CALLER,   /* the function that wants it */
	LOCK_WORD_COMMAND,  /* of the thread that waits */
	LOCK_WORD_THREAD,   /* its number */
	LOCK_WORD_RELEASER, /* command of the thread that let go; "" if none */
	LOCK_WORD_RELEASED, /* the function in which it did */
	LOCK_WORD_OUTCOME,  /* "got", "timed out" */
	LOCK_WORDS
};

/* All waits of one stack that ended in the same way, by the same releaser. */
struct lock_item {
	const struct stack *waiter, *releaser; /* releaser NULL: none */
	uint32_t how;			       /* enum lock_how */
	uint32_t outcome;		       /* enum lock_outcome */
	uint64_t count, ns, max_ns;
	const char *word[LOCK_WORDS]; /* live as long as the list */
};

struct lock_list {
	struct lock_item *item;
	size_t n, capacity;
	char **text; /* words that were made */
	size_t ntexts, texts_capacity;
};
void lock_list_free(struct lock_list *list);

/* Sums as they were at the last report: what the maps hold only grows. */
struct lock_earlier {
	struct lock_pair pair;
	struct lock_sum sum;
};
struct lock_hist_seen {
	struct lock_hist_key key;
	uint64_t sum, slots[LOCK_HIST_SLOTS];
};

struct lock_probes;

struct lock {
	const struct lock_options *options;
	struct lock_probes *probes; /* of --hold */
	bool of_users, of_kernel;   /* which locks */
	struct lock_config config;
	uint64_t end_ns;  /* CLOCK_MONOTONIC, when counting ended */
	uint64_t shorter; /* of waits that were cut off by the end */
	uint64_t missed;  /* by programs that were at work already */
	uint64_t kept, other_types;
	/* in windows: of those before this one; what goes on since then; what was found */
	uint64_t missed_before, carried_in, carried;
	struct lock_list list;
	/* --interval: what the last report had, and when */
	struct hash_map earlier, hists_seen;
	uint64_t earlier_ns;
};

/*
 * The waits to be shown, with their words. earlier: only what is new since the last such call.
 * Counts what was left out. 0 or a negative errno.
 */
int lock_waits(struct recording *rec, bool earlier, struct lock_list *out);
/* In windows: the list of the one that has ended; what goes on counts from here on, in the next. */
int lock_find(struct recording *rec);
int lock_carry_over(struct recording *rec);
/* Gives the stacks their weights. 0 or a negative errno. */
int lock_weigh(struct recording *rec);
/* Whether the type was asked for. */
bool lock_wanted(const struct lock *l, const char *type);

/* ---- words */

/* "mutex", "spinlock": of the kernel's flags. */
const char *lock_kernel_type(uint32_t how);
/* Whether each word, separated by commas, is a type of lock, or what is before the ':' of one. */
bool lock_types_known(const char *list);
/* Whether the first len characters of word stand for that type. */
bool lock_type_matches(const char *type, const char *word, size_t len);
const char *lock_outcome_name(uint32_t outcome);
/* Fills in the words of the item; those that are no constants become texts of the list. -ENOMEM. */
int lock_describe(struct recording *rec, struct lock_list *list, struct lock_item *item);

/* The innermost frame of a managed language; false: the record has none. */
bool lock_managed_leaf(struct recording *rec, const struct stack_record *r,
		       struct report_frame *out);
/* "json/decoder.py:353 raw_decode". The caller frees it; NULL: no memory. */
char *lock_managed_place(const struct report_frame *f);
/* Whether the file is an interpreter, whose functions call nobody on their own account. */
bool lock_is_interpreter(const char *module);

/* ---- --hold */

/* Loads the programs, and probes the processes that were asked for. */
int lock_probes_open(struct recording *rec, const struct lock_config *config,
		     struct lock_probes **out);
/* The files of a process; those that it has mapped since. */
int lock_probes_process(struct lock_probes *l, uint32_t pid);
int lock_probes_mapped(struct lock_probes *l, const struct rp_side_event *e);
void lock_probes_detach(struct lock_probes *l);
void lock_probes_close(struct lock_probes *l);

/* Ways out, as struct record_profiler has them. */
int lock_empty_grid(struct recording *rec, struct report_grid **out);
int lock_report_grid(struct recording *rec);
int lock_report_interval(struct recording *rec);
int lock_report_hists(struct recording *rec);
int lock_report_hists_interval(struct recording *rec);
int lock_samples(struct recording *rec, struct report *report, struct names *names);

/* The key columns of --by; NULL: no such word. */
struct lock_by {
	const char *name;
	enum lock_word key[4];
	size_t nkeys;
	enum lock_word also[3]; /* of the heaviest waits in the row */
	size_t nalso;
	const char *rows; /* "locks" */
};
const struct lock_by *lock_by_name(const char *name);

#endif
