/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client library of debuginfod, which brings half of a web browser with it: loaded when it is
 * asked for, and not by static programs, which have nothing to load it with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "debuginfod.h"

#pragma weak dlopen /* `make static` leaves it out */

int sym_debuginfod_open(struct sym_debuginfod **out)
{
	/* Not with file capabilities: the user would say from where root's rights read. */
	const char *urls = secure_getenv("DEBUGINFOD_URLS");
	struct sym_debuginfod *d;
	void *(*begin)(void) = NULL;
	int err = -ENOMEM;

	if (!urls || !*urls)
		return -EDESTADDRREQ;
	if (!dlopen)
		return -ENOSYS;
	d = calloc(1, sizeof(*d));
	if (!d)
		return err;
	d->library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (d->library) {
		begin = (void *(*)(void))dlsym(d->library, "debuginfod_begin");
		d->end = (void (*)(void *))dlsym(d->library, "debuginfod_end");
		*(void **)&d->find = dlsym(d->library, "debuginfod_find_debuginfo");
	}
	if (!d->library || !begin || !d->end || !d->find) {
		err = -ELIBACC;
		goto out;
	}
	d->client = begin();
	if (!d->client)
		goto out;
	*out = d;
	return 0;
out:
	sym_debuginfod_close(d);
	return err;
}

void sym_debuginfod_close(struct sym_debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	if (d->library)
		dlclose(d->library);
	free(d);
}

int sym_debuginfod_find(struct sym_debuginfod *d, const char *build_id)
{
	int fd = d->find(d->client, (const unsigned char *)build_id, 0, NULL);

	d->stats.asked++;
	if (fd >= 0)
		d->stats.found++;
	else if (fd != -ENOENT)
		d->stats.error = fd;
	return fd;
}
