/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The supervisor's side of debug data that a server asks for: the file with that build id. The
 * sender names it, as windows do, and is not believed: what it gets is the program, or its debug
 * file, that has this build id and has symbols, as the supervisor reads it, without any right.
 *
 * A server gives what it has got to all who have that build id, and anyone can write one into a
 * file. So it is a file of root or of the agent's own user.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "push.h"
#include "symbolize/object.h"
#include "symbolize/proc.h"

#define DEBUG_DIR "/usr/lib/debug/.build-id"

static bool is_build_id(const char *id)
{
	const size_t n = strspn(id, "0123456789abcdef");

	return !id[n] && n >= 8 && n < SYM_BUILD_ID_TEXT;
}

/* The object closes its descriptor. */
static bool has_symbols(int fd, const char *build_id)
{
	struct sym_object *o;
	bool has;

	if (fd < 0 || sym_object_open(&o, fd))
		return false;
	has = !strcmp(o->build_id, build_id) && (o->symbols[SYM_SYMTAB].count || o->has_dwarf);
	sym_object_close(o);
	return has;
}

static bool is_trusted(uid_t owner)
{
	return !owner || owner == geteuid();
}

static int open_one(const char *path, const char *build_id)
{
	/*
	 * Of another root, it may be that of a device here, which does something once opened, or
	 * lead to where a user answers who keeps us waiting.
	 */
	const int fd = sym_proc_follow_here(path);
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && is_trusted(st.st_uid) && st.st_size > 0 &&
	    st.st_size <= PUSH_MAX_DEBUG_FILE && has_symbols(dup(fd), build_id))
		return fd;
	close(fd);
	return -ENOENT;
}

int push_debug_file(const char *path, const char *build_id)
{
	char debug[sizeof(DEBUG_DIR) + SYM_BUILD_ID_TEXT + sizeof("//.debug")];
	int fd;

	if (!is_build_id(build_id) || *path != '/')
		return -EINVAL;
	snprintf(debug, sizeof(debug), DEBUG_DIR "/%.2s/%s.debug", build_id, build_id + 2);
	fd = open_one(debug, build_id);
	return fd < 0 ? open_one(path, build_id) : fd;
}
