/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory of processes with a virtual machine, and what reading it may cost: whoever says where
 * something is says how much there is to be read.
 */
#include "base/clock.h"

#include "jvm.h"
#include "remote.h"

enum {
	READ_NS = 1000,	 /* one read, */
	BYTES_OF_NS = 8, /*   and as many bytes more in a ns: twice what it takes, mostly */
	WAITS = 8,	 /* waiting for pages is so much cheaper than computing */
	PART = 2,	 /* of what generated_time.h lets users owe: they have 4 % of the time */
};

void record_jvm_no_costs(struct jvm_costs *c)
{
	*c = (struct jvm_costs){ .late = RECORD_SHARE(0, "time for names of Java") };
}

size_t record_jvm_read(const struct jvm_memory *m, uint64_t address, void *out, size_t n)
{
	m->costs->ns += READ_NS + n / BYTES_OF_NS;
	return record_remote_read_some(m->remote, address, out, n);
}

bool record_jvm_read_all(const struct jvm_memory *m, uint64_t address, void *out, size_t n)
{
	return record_jvm_read(m, address, out, n) == n;
}

void record_jvm_read_text(const struct jvm_memory *m, uint64_t address, char *out, size_t n)
{
	out[record_jvm_read(m, address, out, n - 1)] = '\0';
}

bool record_jvm_may_read(const struct jvm_memory *m, uint64_t *began)
{
	*began = rp_monotonic_ns();
	m->costs->ns = 0;
	if (record_generated_has_time(&m->costs->owed, m->uid, *began))
		return true;
	record_share_say(&m->costs->late, m->uid);
	return false;
}

void record_jvm_has_read(const struct jvm_memory *m, uint64_t began)
{
	const uint64_t waited = (rp_monotonic_ns() - began) / WAITS;
	const uint64_t spent = m->costs->ns > waited ? m->costs->ns : waited;

	record_generated_spent(&m->costs->owed, m->uid, began, spent / PART);
}
