/* SPDX-License-Identifier: BSD-2-Clause */
/* States of threads from options, and from where this kernel keeps them. */
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "sched.h"

/* Letters as ps(1) has them. */
static const struct {
	char letter;
	uint32_t state;
	const char *name;
} states[] = {
	{ 'S', THREAD_SLEEPING, "sleeping" }, { 'D', THREAD_BLOCKED, "uninterruptible" },
	{ 'T', THREAD_STOPPED, "stopped" },   { 't', THREAD_TRACED, "traced" },
	{ 'P', THREAD_PARKED, "parked" },     { 'I', THREAD_IDLE, "idle" },
	{ 'R', THREAD_RUNNABLE, "runnable" }, { 'o', THREAD_OTHER, "other" },
};
#define STATES (sizeof(states) / sizeof(states[0]))

static uint32_t state_by_name(const char *word, size_t len)
{
	for (size_t i = 0; i < STATES; i++)
		if (strlen(states[i].name) == len && !strncmp(states[i].name, word, len))
			return states[i].state;
	return 0;
}

/* Each letter a state; 0 if one of them is none. */
static uint32_t states_by_letters(const char *word, size_t len)
{
	uint32_t found = 0;

	for (size_t at = 0; at < len; at++) {
		size_t i = 0;

		while (i < STATES && states[i].letter != word[at])
			i++;
		if (i == STATES)
			return 0;
		found |= states[i].state;
	}
	return found;
}

/* The kernel's own bits: 0 is runnable, 0x402 idle. */
static bool states_by_bits(const char *text, uint32_t *out)
{
	char *end;
	unsigned long bits = strtoul(text, &end, 0);

	if (*end || bits > UINT32_MAX)
		return false;
	*out = !bits ? THREAD_RUNNABLE : (uint32_t)bits & THREAD_WAITING & 0xff;
	return *out;
}

bool sched_states_parse(const char *text, uint32_t *out)
{
	uint32_t found = 0;

	if (*text >= '0' && *text <= '9')
		return states_by_bits(text, out);
	while (*text) {
		size_t len = strcspn(text, ",");
		uint32_t some = state_by_name(text, len);

		if (!some)
			some = states_by_letters(text, len);
		if (!some)
			return false;
		found |= some;
		text += len + (text[len] == ',');
	}
	*out = found;
	return found;
}

void sched_find_state(struct sched_config *c)
{
	const struct rp_btf *btf;
	struct asm_access access;

	if (rp_btf_kernel(&btf))
		return;
	c->state_argument = rp_btf_tracepoint_takes(btf, "sched_switch", 3, "") >= 0;
	c->state_renamed = !rp_btf_access(btf, "task_struct", "__state", &access, NULL);
}

int sched_gate(struct recording *rec, uint64_t time)
{
	return record_stacks_gate(rec->stacks, SCHED_MAP_GATE, time);
}

void sched_tell(const struct sched_stats *stats)
{
	if (stats->unseen)
		rp_log(RP_INFO, "%llu times a thread was back without a sched_switch that said so",
		       (unsigned long long)stats->unseen);
	if (stats->backwards)
		rp_log(RP_INFO,
		       "%llu times a thread was back before it had left, by the clock: 0 ns",
		       (unsigned long long)stats->backwards);
}
