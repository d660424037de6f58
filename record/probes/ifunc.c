/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of which a library has several, for different CPUs (memcpy, strlen): the dynamic linker
 * chooses one by what the CPU can, so what it chose for this process it chooses for all others.
 * That holds for the libraries that this process has itself, the C library above all.
 */
#include <dlfcn.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "list.h"
#include "symbolize/proc.h"

/* Not in programs that can load no libraries. NOLINTNEXTLINE(readability-redundant-declaration) */
extern __typeof__(dlsym) dlsym __attribute__((weak));

struct where {
	uint64_t addr, dev, inode;
	uint64_t offset; /* in the file */
};

static int find(void *ctx, const struct sym_proc_map *m)
{
	struct where *w = ctx;

	if (w->addr < m->start || w->addr >= m->end)
		return 0;
	if (makedev(m->dev_major, m->dev_minor) != w->dev || m->inode != w->inode)
		return -1;
	w->offset = w->addr - m->start + m->offset;
	return 1;
}

bool record_probes_chosen(uint64_t dev, uint64_t inode, const char *name, uint64_t *offset)
{
	struct where w = { .dev = dev, .inode = inode };

	if (!dlsym)
		return false;
	w.addr = (uintptr_t)dlsym(RTLD_DEFAULT, name);
	if (!w.addr || sym_proc_maps("/proc", (uint32_t)getpid(), find, &w) != 1)
		return false;
	*offset = w.offset;
	return true;
}
