/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a verifier's log of which the walk is kept: numbers lead to what is there. */
#include <rawprof/verifier.h>

#include "fuzz.h"

static void check_state(struct asm_walk *walk, uint32_t state)
{
	for (uint32_t f = 0; f < asm_walk_frames(walk, state); f++) {
		struct asm_walk_frame frame;
		struct asm_walk_value value;

		asm_walk_frame(walk, state, f, &frame);
		fuzz_check(frame.number < walk->nframes);
		for (uint32_t i = 0; i < frame.nplaces; i++) {
			fuzz_check(frame.places[i].value < walk->nvalues);
			fuzz_check(frame.places[i].where >= -512 && frame.places[i].where <= 10);
			fuzz_check(!asm_walk_value(walk, frame.places[i].value, &value));
			fuzz_check(value.raw && value.text);
		}
	}
}

static void check_paths(const struct asm_walk *walk)
{
	for (uint32_t i = 0; i < walk->npaths; i++) {
		const struct asm_walk_path *p = &walk->paths[i];

		fuzz_check(p->first <= p->last && p->last < walk->nsteps);
		fuzz_check(p->from == ASM_WALK_NONE || p->from < p->first);
		fuzz_check(p->match == ASM_WALK_NONE || p->match < walk->nmatches);
	}
	for (uint32_t i = 0; i < walk->nmatches; i++) {
		const struct asm_walk_match *m = &walk->matches[i];

		fuzz_check(m->step == ASM_WALK_NONE ||
			   (m->step < m->safe &&
			    walk->steps[m->step].insn == walk->steps[m->safe].insn));
		fuzz_check(m->first + m->n <= walk->nverdicts);
	}
	for (uint32_t i = 0; i < walk->nchains; i++)
		fuzz_check(walk->chains[i].first + walk->chains[i].n <= walk->nmarks);
	for (uint32_t i = 0; i < walk->nmarks; i++)
		fuzz_check(walk->marks[i].step < walk->nsteps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct asm_walk walk;

	if (!text || asm_walk_read(text, &walk)) {
		free(text);
		return 0;
	}
	for (uint32_t i = 0; i < walk.nsteps; i++) {
		const uint32_t after = asm_walk_after(&walk, i);

		fuzz_check(walk.steps[i].insn < walk.log.ninsns);
		fuzz_check(walk.steps[i].state < walk.nstates);
		fuzz_check(walk.steps[i].prev == ASM_WALK_NONE || walk.steps[i].prev < i);
		fuzz_check(after == ASM_WALK_NONE || after < walk.nstates);
		check_state(&walk, walk.steps[i].state);
	}
	check_paths(&walk);
	asm_walk_free(&walk);
	free(text);
	return 0;
}
