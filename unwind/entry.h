/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a program begins: code that nobody called, the outermost frame of its first thread. */
#ifndef UNWIND_ENTRY_H
#define UNWIND_ENTRY_H

#include "elf.h"

/*
 * Behind the code that begins at s->image.entry, up to its first jump away or what it has called,
 * and not beyond @end. The entry itself: nothing of it can be told, or it is not before @end.
 */
uint64_t unwind_entry_end(const struct unwind_source *s, uint64_t end);

#endif
