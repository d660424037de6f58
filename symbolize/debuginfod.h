/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from servers that have them by build-id (debuginfod(8)). */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <sys/types.h>

#include <rawprof/symbolize.h>

#include "base/hash.h"

struct sym_debuginfod {
	void *library, *client;
	int (*find)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
	struct hash_map askers; /* users, for whose files it was waited, */
	uint64_t spent_ns;	/*   and how long */
	struct sym_debuginfod_stats stats;
};

/* Errors of sym_user_use_debuginfod(). */
int sym_debuginfod_open(struct sym_debuginfod **out);
void sym_debuginfod_close(struct sym_debuginfod *d);

/*
 * A descriptor of the debug file of what has @build_id, in hex digits, or a negative errno. It is
 * waited for as long as the server likes if @uid, whose file it is, is 0, unless the person wants
 * to stop. For all others together 20 s at most, half of what is left for one: else -ETIMEDOUT.
 */
int sym_debuginfod_find(struct sym_debuginfod *d, const char *build_id, uid_t uid);

#endif
