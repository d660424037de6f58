/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a process gives up that reads lines of another user's file: libdw may be made to run what
 * that user wrote.
 */
#ifndef SYMBOLIZE_LINES_CONFINE_H
#define SYMBOLIZE_LINES_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that the process may take besides those of its file, and those of the file. */
uint64_t sym_lines_memory(void);
/*
 * All descriptors but the @n of @keep, all rights, and CPU time after @seconds of it. False: it
 * could not, and must read nothing.
 */
bool sym_lines_confine(const int *keep, size_t n, uint64_t seconds);
/*
 * Once the file is in memory, for good: memory, and all system calls but those to be asked, to
 * answer, and for memory: no file is opened, no signal sent. What the kernel does not have is left
 * out.
 */
bool sym_lines_confine_calls(void);

#endif
