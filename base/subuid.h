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

struct subuid_span {
	uint32_t first, last;
};
/*
 * For who cannot look through all ranges: @most spans that these are in, in order; so narrow that
 * as few others as can be are in them too. A range of one uid is in none: that is one user anyhow,
 * and often an ordinary one, whom a container may be. Returns how many there are.
 */
uint32_t rp_subuids_spans(const struct subuids *all, struct subuid_span *out, uint32_t most);

/* The same by /etc/subuid, as it is when somebody asks for the first time. */
uid_t rp_subuid_first(uid_t uid);
uint32_t rp_subuid_spans(struct subuid_span *out, uint32_t most);

#endif
