/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes of users whom we do not trust: they could keep us waiting (base/aside.h). */
#ifndef SYMBOLIZE_OTHERS_H
#define SYMBOLIZE_OTHERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/aside.h"

/*
 * Whether that user is ours: not nobody, whom a recording becomes that root began, and who may be
 * others as well.
 */
bool sym_is_ours(uid_t uid);
/*
 * Whether a process is neither root's nor ours, its user before and after a set-user-ID program
 * counted, and whose it is. False of one that has ended.
 */
bool sym_is_of_others(const char *proc, uint32_t pid, uid_t *uid);
/* That, and a user serves a FUSE file system: what it has is to be read aside. */
bool sym_has_to_be_aside(const char *proc, uint32_t pid, uid_t *uid);
/* rp_read_aside() of something of a process. */
int sym_read_aside(struct rp_aside *job, uint32_t pid, uid_t uid);

#endif
