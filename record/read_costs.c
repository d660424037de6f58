/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"

#include "read_costs.h"

enum {
	READ_NS = 1000,	 /* one read, */
	BYTES_OF_NS = 8, /*   and as many bytes more in a ns: twice what it takes, mostly */
	WAITS = 8,	 /* waiting for pages is so much cheaper than computing */
	PART = 2,	 /* of what generated_time.h lets users owe: they have 4 % of the time */
};

struct read_costs record_read_costs(const char *what)
{
	return (struct read_costs){ .late = RECORD_SHARE(0, what) };
}

bool record_costs_begin(struct read_costs *c, uid_t uid, uint64_t *began)
{
	*began = rp_monotonic_ns();
	c->ns = 0;
	if (record_generated_has_time(&c->owed, uid, *began))
		return true;
	record_share_say(&c->late, uid);
	return false;
}

void record_costs_end(struct read_costs *c, uid_t uid, uint64_t began)
{
	const uint64_t waited = (rp_monotonic_ns() - began) / WAITS;
	const uint64_t spent = c->ns > waited ? c->ns : waited;

	record_generated_spent(&c->owed, uid, began, spent / PART);
}

void record_costs_add(struct read_costs *c, size_t n)
{
	c->ns += READ_NS + n / BYTES_OF_NS;
}
