/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What kernels are called: a runtime that is given the address of a function of the program has
 * that function's name; a handle has the name that it was asked for by (clCreateKernel).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "record/remote.h"

#define MAX_NAME 256
#define NAME_BLOCK 64 /* so many bytes of one are in one page */

#define OPEN_BYTES (64 << 10) /* to open a process's memory costs as much as to read so many */

/* NULL and *err 0: its user has no room for more, and it has no name. */
static struct gpu_kernel *kernel_of(struct recording *rec, uint64_t ids, uint64_t kernel, int *err)
{
	struct gpu *g = rec->ctx;
	const struct gpu_name_key key = { ids >> 32, kernel };
	struct gpu_kernel *k = rp_hash_find(&g->kernels, &key);

	*err = 0;
	if (k || !record_share_take(&g->kernel_share,
				    record_whose(&rec->whose, (uint32_t)(ids >> 32)), 1))
		return k;
	k = rp_hash_add(&g->kernels, &key);
	*err = k ? 0 : -ENOMEM;
	return k;
}

/* Mostly a text of the program itself, which is there as long as it runs. */
static bool read_text(struct read_costs *costs, uint32_t pid, uint64_t address, char text[MAX_NAME])
{
	struct record_remote r = { .pid = (pid_t)pid };
	size_t n = 0, block;

	record_costs_add(costs, OPEN_BYTES);
	for (; n < MAX_NAME - 1 && strnlen(text, n) == n; n += block) {
		block = NAME_BLOCK - (address + n) % NAME_BLOCK;
		if (block > MAX_NAME - 1 - n)
			block = MAX_NAME - 1 - n;
		record_costs_add(costs, block);
		if (!record_remote_read(&r, address + n, text + n, block))
			break;
	}
	record_remote_close(&r);
	text[n] = '\0';
	return *text;
}

int gpu_name_handle(struct recording *rec, const struct func_event *e, uint64_t name)
{
	const uint32_t pid = (uint32_t)(e->ids >> 32);
	struct gpu *g = rec->ctx;
	char text[MAX_NAME];
	uint64_t began;
	bool is_read;
	uid_t uid;
	int err;
	struct gpu_kernel *k = kernel_of(rec, e->ids, e->value, &err);

	if (!k)
		return err;
	free(k->name); /* a handle that was given back comes again */
	k->name = NULL;
	uid = record_whose(&rec->whose, pid);
	if (!record_costs_begin(&g->costs, uid, &began))
		return 0;
	is_read = read_text(&g->costs, pid, name, text);
	record_costs_end(&g->costs, uid, began);
	if (!is_read)
		return 0;
	k->name = strdup(text);
	return k->name ? 0 : -ENOMEM;
}

int gpu_see_kernel(struct recording *rec, const struct func_event *e, uint64_t kernel,
		   bool is_address)
{
	int err;
	struct gpu_kernel *k = kernel_of(rec, e->ids, kernel, &err);

	if (!k)
		return err;
	if (!k->time && is_address)
		record_saw(rec, (uint32_t)(e->ids >> 32), 0);
	k->is_address = is_address;
	k->time = e->time;
	return 0;
}

void gpu_kernel_name(struct recording *rec, uint32_t pid, uint64_t kernel, char *text, size_t size)
{
	const struct gpu *g = rec->ctx;
	const struct gpu_name_key key = { pid, kernel };
	const struct gpu_kernel *k = rp_hash_find(&g->kernels, &key);
	struct sym_frame frame;

	snprintf(text, size, "kernel 0x%" PRIx64, kernel);
	if (k && k->name) {
		snprintf(text, size, "%s", k->name);
	} else if (k && k->is_address) {
		sym_user_lookup(rec->user, pid, k->time, kernel, false, &frame);
		if (frame.name && *frame.name)
			snprintf(text, size, "%s", sym_demangle(rec->demangler, frame.name));
	}
}

void gpu_names_free(struct gpu *g)
{
	for (uint32_t i = 0; i < g->kernels.count; i++)
		free(((struct gpu_kernel *)g->kernels.items)[i].name);
	rp_hash_free(&g->kernels);
	record_share_free(&g->kernel_share);
	record_share_free(&g->costs.late);
}
