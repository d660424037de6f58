/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A part of a map that stays mapped for what is written next: mapping all of it costs more, and so
 * does a system call for each write.
 */
#ifndef RECORD_MAP_WINDOW_H
#define RECORD_MAP_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* All zeroes: there is none yet. */
struct map_window {
	unsigned char *at; /* NULL: none */
	uint64_t first;
};

/*
 * Writes to the map open as @fd, an array of one element that can be mapped, at @offset of it. What
 * one process has mostly lies behind what the last one has. 0, or as rp_map_write().
 */
int record_window_write(struct map_window *w, int fd, uint64_t offset, const void *data,
			size_t bytes);
void record_window_close(struct map_window *w);

#endif
