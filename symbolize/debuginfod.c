/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The client library of debuginfod, which brings half of a web browser with it: loaded when it is
 * asked for, and not by static programs, which have nothing to load it with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/clock.h"

#include "debuginfod.h"

#pragma weak dlopen /* `make static` leaves it out */

/* Of others' files, which have what build ids they like. */
#define MOST_NS (20 * NS_PER_SECOND)

struct asker {
	uid_t uid;
	uint64_t ns;
};

static uint64_t until; /* the library may wait; it is asked for one file at a time */

/* The library asks now and then; what is not 0 ends it. */
static int is_over(void *client, long done, long all)
{
	struct rp_work work = rp_work_for(UINT64_MAX, 1);

	(void)client, (void)done, (void)all;
	return rp_monotonic_ns() >= until || !rp_work_spend(&work, 1 << 20);
}

int sym_debuginfod_open(struct sym_debuginfod **out)
{
	/* Not with file capabilities: the user would say from where root's rights read. */
	const char *urls = secure_getenv("DEBUGINFOD_URLS");
	struct sym_debuginfod *d;
	void *(*begin)(void) = NULL;
	void (*set_progress)(void *client, int (*)(void *, long, long)) = NULL;
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
		*(void **)&set_progress = dlsym(d->library, "debuginfod_set_progressfn");
	}
	if (!d->library || !begin || !d->end || !d->find || !set_progress) {
		err = -ELIBACC;
		goto out;
	}
	setenv("DEBUGINFOD_MAXSIZE", "2000000000", 0);
	d->client = begin();
	if (!d->client)
		goto out;
	set_progress(d->client, is_over);
	d->askers = HASH_MAP(struct asker, uid);
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
	rp_hash_free(&d->askers);
	free(d);
}

int sym_debuginfod_find(struct sym_debuginfod *d, const char *build_id, uid_t uid)
{
	struct asker ours = { 0 }, *a = uid ? rp_hash_add(&d->askers, &uid) : &ours;
	const uint64_t began = rp_monotonic_ns();
	uint64_t took;
	int fd = -ETIMEDOUT;

	if (!a)
		return -ENOMEM;
	until = UINT64_MAX;
	if (uid) { /* that it is late may take some more than there is */
		const uint64_t others = d->spent_ns - a->ns;
		const uint64_t left = others < MOST_NS ? (MOST_NS - others) / 2 : 0;

		until = began + (left > a->ns ? left - a->ns : 0);
	}
	if (!is_over(NULL, 0, 0))
		fd = d->find(d->client, (const unsigned char *)build_id, 0, NULL);
	took = uid ? rp_monotonic_ns() - began : 0;
	a->ns += took;
	d->spent_ns += took;
	d->stats.asked++;
	if (fd >= 0)
		d->stats.found++;
	else if (fd != -ENOENT)
		d->stats.error = fd;
	return fd;
}
