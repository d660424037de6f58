/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Subordinate uids, subuid(5): a user without rights may be 65,536 users more, each with processes
 * and files. Where every user has a share of something, those of one range are one.
 *
 * Uids that are given in other ways, by a name service or systemd-nsresourced, are not known here.
 */
#ifndef BASE_SUBUID_H
#define BASE_SUBUID_H

#include <stdint.h>
#include <sys/types.h>

struct subuids {
	struct subuid_range {
		uid_t first;
		uint32_t count;
	} * range;
	uint32_t n, capacity;
};

/* Reads a file like /etc/subuid, of which 1 MB. Lines that say nothing are passed over. */
void rp_subuids_read(const char *path, struct subuids *out);
/* The first of the range that @uid is in, by the line that is first; @uid if there is none. */
uid_t rp_subuids_first(const struct subuids *all, uid_t uid);

/* The same by /etc/subuid, as it is when somebody asks for the first time. */
uid_t rp_subuid_first(uid_t uid);

#endif
