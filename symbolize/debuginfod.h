/* SPDX-License-Identifier: BSD-2-Clause */
/* Debug files from servers that have them by build-id (debuginfod(8)). */
#ifndef SYMBOLIZE_DEBUGINFOD_H
#define SYMBOLIZE_DEBUGINFOD_H

#include <rawprof/symbolize.h>

struct sym_debuginfod {
	void *library, *client;
	int (*find)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
	struct sym_debuginfod_stats stats;
};

/* Errors of sym_user_use_debuginfod(). */
int sym_debuginfod_open(struct sym_debuginfod **out);
void sym_debuginfod_close(struct sym_debuginfod *d);

/* A descriptor of the debug file of what has @build_id, in hex digits, or a negative errno. */
int sym_debuginfod_find(struct sym_debuginfod *d, const char *build_id);

#endif
