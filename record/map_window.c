/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the last write went the next one goes, mostly. */
#include <string.h>
#include <sys/mman.h>

#include <rawprof/loader.h>

#include "map_window.h"

#define WINDOW (1u << 16)

int record_window_write(struct map_window *w, int fd, uint64_t offset, const void *data,
			size_t bytes)
{
	if (w->at && offset >= w->first && offset + bytes <= w->first + WINDOW) {
		memcpy(w->at + (offset - w->first), data, bytes);
		return 0;
	}
	record_window_close(w);
	w->first = offset / WINDOW * WINDOW;
	w->at = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)w->first);
	if (w->at == MAP_FAILED)
		w->at = NULL; /* it is the last, which is shorter */
	else
		madvise(w->at, WINDOW, MADV_DONTFORK);
	return rp_map_write(fd, offset, data, bytes);
}

void record_window_close(struct map_window *w)
{
	if (w->at)
		munmap(w->at, WINDOW);
	w->at = NULL;
}
