/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walks of languages, which a recording of the whole machine begins without: they take the verifier
 * longer than all the rest, and are loaded once there is a process that has such frames. With them
 * comes what very deep stacks need, which a stack that was cut asks for too.
 */
#ifndef RECORD_LANGUAGES_H
#define RECORD_LANGUAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <rawprof/loader.h>

struct recording;

/* By its name the file is an interpreter, or a library that is one: "libpython3.11.so.1.0". */
bool record_language_file(const char *path);

/*
 * How loud a file is told of whose version is not known: the first ones as warnings, no more, since
 * whoever makes such files makes any number of them.
 */
enum rp_level record_unknown_level(void);

/*
 * A process is there whose program's file is one of these; also in a container, whose files are not
 * those of this machine.
 */
bool record_program_runs(bool (*is_one)(const void *ctx, const char *exe), const void *ctx);

/* The recording can begin without: @rec's configuration is known. */
bool record_languages_may_wait(const struct recording *rec);
/* Events are on, all rights are still there: loads them if an interpreter runs. */
int record_languages_begin(struct recording *rec);
/* A stack has come: it may ask for them. */
struct stack_record;
void record_languages_saw(struct recording *rec, const struct stack_record *record);
/* A process maps the code of that file. */
void record_languages_mapped(struct recording *rec, const char *path);
/*
 * In how many ns to drain, whatever wakes us by then: a program maps its interpreter soon after its
 * first sample has woken us. UINT64_MAX: nobody has mapped anything lately.
 */
uint64_t record_languages_urgent(const struct recording *rec);
/* After a drain: loads them if one has been met. 0 or a negative errno after a message. */
int record_languages_look(struct recording *rec);
/* Loads them if that has not been done. */
int record_languages_load(struct recording *rec);

#endif
