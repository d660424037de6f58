/* SPDX-License-Identifier: BSD-2-Clause */
/* What doctor.c shows and tries.c finds out, by trying. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include <rawprof/loader.h>

struct finding {
	const char *name;
	const char *since; /* the Linux that brought it, "" */
	int err;	   /* 0: it is there; else a negative errno */
	char text[512];	   /* there: what it is good for; else why not, or what is needed */
};

/* Capabilities of this process. */
enum { DOCTOR_RIGHTS = RP_CAP_SYS_RESOURCE + 1 };
void doctor_rights(struct finding out[DOCTOR_RIGHTS]);

/* All of the loader's features, and four that are tried with more than the loader. */
enum { DOCTOR_MECHANISMS = RP_FEATURES + 4 };
void doctor_mechanisms(struct finding out[DOCTOR_MECHANISMS]);

/*
 * What there are several ways to do. The text says which way is taken and why not a better one; err
 * is that of the last way if there is none.
 */
enum { DOCTOR_WAYS = 7 };
void doctor_ways(const struct finding mechanisms[DOCTOR_MECHANISMS],
		 struct finding out[DOCTOR_WAYS]);

/*
 * The commands that record, and what of them records otherwise. Each is set up whole and taken down
 * again; the text says by which mechanisms it would run.
 */
enum { DOCTOR_COMMANDS = 17 };
/* Is it a command as it is called without options? */
bool doctor_is_main(int command);
void doctor_commands(struct finding out[DOCTOR_COMMANDS]);

#endif
