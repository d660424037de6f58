/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols and debug data that are not in the file they belong to. */
#ifndef SYMBOLIZE_DEBUG_H
#define SYMBOLIZE_DEBUG_H

#include "debuginfod.h"
#include "object.h"

/* Where files are looked for: below the root of the process that mapped it, then below ours. */
struct sym_debug_place {
	const char *proc; /* where procfs is mounted */
	uint32_t pid;
	const char *path; /* of the object, as the process saw it */
};

/*
 * Finds the separate file of @object: by its build-id in /usr/lib/debug/.build-id, else by its
 * .gnu_debuglink in the object's directory, in .debug there, and below /usr/lib/debug ("Debugging
 * Information in Separate Files" in the manual of GDB). It must have the same build-id; or, where
 * one of the two has none, the checksum of the link; and symbols or debug data. -ENOENT.
 */
int sym_debug_open(struct sym_object **out, const struct sym_object *object,
		   const struct sym_debug_place *place);

/*
 * Asks a server for it, for @uid (sym_debuginfod_find()). It must have the same build-id, and
 * symbols or debug data. -ENOENT.
 */
int sym_debug_fetch(struct sym_object **out, const struct sym_object *object,
		    struct sym_debuginfod *server, uid_t uid);

/* Unpacks the .gnu_debugdata of @object. -ENOENT: it has none; -EBADMSG; -ENOMEM; -EFBIG. */
int sym_debug_unpack(struct sym_object **out, const struct sym_object *object);

#endif
