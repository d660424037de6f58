/* SPDX-License-Identifier: BSD-2-Clause */
/* A look costs a read of /proc/PID/maps, in which a name is searched. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "symbolize/maps.h"

#include "context_wait.h"

#define FIRST_NS (NS_PER_SECOND / 10)
enum {
	LOOKS = 5,
	FACTOR = 5,
	MOST = 4096, /* processes at a time; others are looked at when they map something */
	MOST_TEXT = 1 << 22,
	AT_ONCE = 1 << 14,
};

void record_context_wait_free(struct context_wait *w)
{
	free(w->one);
	*w = (struct context_wait){ 0 };
}

static struct context_waiting *find(const struct context_wait *w, uint32_t pid)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->one[i].pid == pid)
			return &w->one[i];
	return NULL;
}

static void look_after(struct context_wait *w, struct context_waiting *one, uint64_t now)
{
	uint64_t ns = FIRST_NS;

	for (uint32_t i = 0; i < one->looks; i++)
		ns *= FACTOR;
	one->at_ns = one->looks < LOOKS ? now + ns : UINT64_MAX;
	if (one->at_ns < w->first_ns)
		w->first_ns = one->at_ns;
}

void record_context_wait_begin(struct context_wait *w, uint32_t pid)
{
	struct context_waiting one = { .pid = pid };

	if (w->n >= MOST || find(w, pid) || RP_GROW(w->one, w->n, w->capacity))
		return;
	if (!w->n)
		w->first_ns = UINT64_MAX;
	look_after(w, &one, rp_monotonic_ns());
	w->one[w->n++] = one;
}

void record_context_wait_end(struct context_wait *w, uint32_t pid)
{
	struct context_waiting *one = find(w, pid);

	if (one)
		*one = w->one[--w->n];
}

/* A name that falls between two reads is found by what is kept of the first. */
static bool has_context(uint32_t pid)
{
	static const char name[] = "OTEL_CTX";
	const size_t kept = sizeof(name) - 2;
	char text[AT_ONCE];
	struct sym_maps maps;
	size_t have = 0, all = 0;
	bool found = false;
	ssize_t n;

	if (sym_maps_open(&maps, "/proc", pid))
		return false;
	while (!found && all < MOST_TEXT &&
	       (n = sym_maps_read(&maps, text + have, sizeof(text) - have)) > 0) {
		have += (size_t)n;
		all += (size_t)n;
		found = memmem(text, have, name, sizeof(name) - 1) != NULL;
		if (have > kept) {
			memmove(text, text + have - kept, kept);
			have = kept;
		}
	}
	sym_maps_close(&maps);
	return found;
}

/* False as well if its user has no time left; then it is looked at when that is due again. */
static bool look(uint32_t pid, struct record_looks *looks)
{
	bool found;

	if (looks && !record_look_begin(looks, pid))
		return false;
	found = has_context(pid);
	if (looks)
		record_look_end(looks);
	return found;
}

void record_context_wait_due(struct context_wait *w, struct record_looks *looks,
			     struct id_set *changed)
{
	const uint64_t now = rp_monotonic_ns();

	if (!w->n || now < w->first_ns)
		return;
	w->first_ns = UINT64_MAX;
	for (uint32_t i = 0; i < w->n; i++) {
		struct context_waiting *one = &w->one[i];

		if (one->at_ns <= now) {
			one->looks++;
			if (look(one->pid, looks))
				rp_id_set_add(changed, one->pid);
			look_after(w, one, now);
		} else if (one->at_ns < w->first_ns) {
			w->first_ns = one->at_ns;
		}
	}
}

uint64_t record_context_wait_urgent(const struct context_wait *w)
{
	const uint64_t now = rp_monotonic_ns();

	if (!w->n || w->first_ns == UINT64_MAX)
		return UINT64_MAX;
	return w->first_ns > now ? w->first_ns - now : 1;
}
