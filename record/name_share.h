/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names that processes have sent of their own functions, and the memory that these may take. A
 * program that makes new functions all the time fills the share of the user it runs as, and what is
 * new of that user has no names.
 *
 * Names are looked up when the recording, or a window of it, is over. Those of processes that have
 * ended are forgotten between two windows, once there is much.
 */
#ifndef RECORD_NAME_SHARE_H
#define RECORD_NAME_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbolize/strings.h"
#include "uid_share.h"

struct name_share;

/* -ENOMEM. */
int record_name_share_open(struct name_share **out);
/* All processes were named by who records: they may take twelve times as much time. */
void record_name_share_named(struct name_share *s);
bool record_name_share_is_named(const struct name_share *s);
void record_name_share_close(struct name_share *s);
/*
 * Between two windows. True: there was much, and some of it was of processes that are gone, which
 * is forgotten; record_name_settle() is to be called for all accounts then.
 */
bool record_name_share_settle(struct name_share *s);

/* ---- functions of Python, PHP, Ruby and Perl */

/* Of a process, by its address and what tells it from others that are there before or after. */
struct named_code {
	uint32_t pid, check;
	uint64_t generation, address;
	const char *name, *file;
	const uint8_t *lines; /* a table; NULL: the language has none */
	uint32_t nlines, first_line, version;
	uid_t uid; /* who pays; whoever adds it does not say */
};

/* What it points to is copied: each text and table once. 0, also without room; -ENOMEM. */
int record_name_code(struct name_share *s, const struct named_code *code);
/* That with this key, up to the address; NULL: it has no names. */
const struct named_code *record_name_find(const struct name_share *s, const struct named_code *key);
/* The line of a position in one of Python, by its table. 0: it has none, or is one too many. */
uint32_t record_name_line(struct name_share *s, const struct named_code *code, uint32_t position);

/*
 * A line is about to be looked for in a table of so many bytes, which its process made. False: the
 * user has no time left for that, which is said once; then there is no line. Time is as in
 * generated_time.h, but four times as much, counted in bytes; small tables cost nothing, nor does
 * what record_name_line() still knows.
 */
bool record_name_may_scan(struct name_share *s, uid_t uid, uint32_t bytes);

/* ---- what others keep of their own, a process at a time */

/* What they keep of one process, and who pays for it: its real user. */
struct name_account {
	struct name_share *share;
	uint32_t pid;
	uid_t uid;
	uint64_t generation;
	uint64_t bytes;
};

/* Nothing is kept yet. */
struct name_account record_name_account(struct name_share *s, uint32_t pid, uint64_t generation);
/* At most @size more may come. Else that is said, once of a user. */
bool record_name_has_room(const struct name_account *a, uint64_t size);
/* So much has come. */
void record_name_add(struct name_account *a, uint64_t size);
/* The kept copy of a text, which counts if it is new; NULL: no memory. */
const char *record_name_keep(struct name_account *a, struct sym_strings *texts, const char *text);
/* After record_name_share_settle(). False: the process is gone, and what is kept has to go. */
bool record_name_settle(struct name_account *a);

#endif
