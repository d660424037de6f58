/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF notes: the GNU build-id. */
#ifndef SYMBOLIZE_NOTE_H
#define SYMBOLIZE_NOTE_H

#include <stddef.h>
#include <stdint.h>

enum {
	SYM_BUILD_ID_MAX = 20, /* as in the kernel's records; longer ones are cut to this */
	SYM_BUILD_ID_TEXT = 2 * SYM_BUILD_ID_MAX + 1,
};

/* Writes the @size bytes (at most SYM_BUILD_ID_MAX) at @id as hex digits and a NUL. */
void sym_note_hex(const uint8_t *id, size_t size, char text[SYM_BUILD_ID_TEXT]);

/*
 * Finds NT_GNU_BUILD_ID among the @size bytes of notes at @data, in this machine's byte order,
 * whose parts are padded to @align (4 or 8). Returns its size, at most SYM_BUILD_ID_MAX, or 0.
 */
size_t sym_note_build_id(const void *data, size_t size, size_t align, uint8_t id[SYM_BUILD_ID_MAX]);

/* The build-id, in hex, of a file of nothing but notes, as sysfs has them. 0 or a negative errno.
 */
int sym_note_read_build_id(const char *path, char text[SYM_BUILD_ID_TEXT]);

#endif
