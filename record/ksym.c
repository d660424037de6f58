/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of kernel addresses by the kernel itself: a program that prints them, run on request. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <rawprof/loader.h>

#include "attach.h"
#include "ksym.h"

void record_ksym_init(struct ksym *k)
{
	*k = (struct ksym){ .program = -1 };
	for (int i = 0; i < KSYM_MAPS; i++)
		k->maps[i] = -1;
}

void record_ksym_close(struct ksym *k)
{
	if (k->io)
		munmap(k->io, k->io_bytes);
	rp_fds_close(k->maps, KSYM_MAPS);
	rp_fds_close(&k->program, 1);
	record_ksym_init(k);
}

static int load(struct ksym *k)
{
	const struct rp_program *ksym;
	struct asm_bindings bind = { .map_fds = k->maps };
	void *io;
	int err = record_choose(rp_ksym_programs, KSYM_NAME, &ksym);

	if (err)
		return err;
	bind.maps = ksym->maps;
	bind.nmaps = ksym->nmaps;
	err = rp_maps_create(ksym->maps, ksym->nmaps, k->maps);
	if (err >= 0)
		err = ksym->prepare(k->maps);
	if (err >= 0)
		err = rp_map_mmap(k->maps[KSYM_MAP_IO], &ksym->maps[KSYM_MAP_IO], &io,
				  &k->io_bytes);
	if (err < 0)
		return err;
	k->io = io;
	k->program = rp_program_load(&ksym->code, &bind);
	return k->program < 0 ? k->program : 0;
}

void record_ksym_prepare(struct ksym *k)
{
	if (k->program < 0 && !k->err)
		k->err = load(k);
}

static int name_batch(struct ksym *k, const uint64_t *addrs, size_t n, char *texts, size_t stride)
{
	struct rp_test_run run = { 0 };
	int err;

	memcpy(k->io->addr, addrs, n * sizeof(*addrs));
	if (n < KSYM_BATCH)
		k->io->addr[n] = 0;
	err = rp_prog_test_run(k->program, &run);
	for (size_t i = 0; !err && i < n; i++)
		snprintf(texts + i * stride, stride, "%.*s", KSYM_TEXT - 1, k->io->text[i]);
	return err;
}

static int name(void *ctx, const uint64_t *addrs, size_t n, char *texts, size_t stride)
{
	struct ksym *k = ctx;
	int err;

	record_ksym_prepare(k);
	err = k->err;
	for (size_t done = 0; !err && done < n; done += KSYM_BATCH) {
		size_t some = n - done < KSYM_BATCH ? n - done : KSYM_BATCH;

		err = name_batch(k, addrs + done, some, texts + done * stride, stride);
	}
	return err;
}

struct sym_kernel_source record_ksym_source(struct ksym *k)
{
	return (struct sym_kernel_source){ .name = name, .ctx = k };
}
