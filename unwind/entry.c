/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dynamic linker, in which every program begins, has no CFI for that place: a walk that comes
 * there is whole, and nothing else says so. The System V ABI leaves the frame pointer undefined
 * there, so it says nothing either.
 */
#include "base/x86.h"
#include "entry.h"

/* Real ones have 20 to 70 bytes, and two or three calls. */
enum { ENTRY_CALLS = 4 };

struct entry {
	const uint8_t *code;
	uint32_t size;
	uint32_t called[ENTRY_CALLS], ncalled;
};

static bool is_called(const struct entry *e, uint32_t at)
{
	for (uint32_t i = 0; i < e->ncalled; i++)
		if (e->called[i] == at)
			return true;
	return false;
}

/* How many bytes of it, from its beginning, run before control leaves for good. */
static uint32_t length_of(struct entry *e)
{
	uint32_t at = 0;

	while (at < e->size && !is_called(e, at)) {
		struct x86_parts p = { .code = e->code + at, .n = e->size - at };
		enum insn_flow flow;
		bool is_call;

		if (!rp_x86_take_apart(&p))
			break;
		flow = rp_x86_flow(&p, &is_call);
		if (is_call && !p.vex && p.map == 0 && p.opcode == 0xe8 && e->ncalled < ENTRY_CALLS)
			e->called[e->ncalled++] = at + (uint32_t)rp_x86_target(&p);
		at += p.at;
		if (flow != FLOW_NEXT && flow != FLOW_BRANCH)
			break;
	}
	return at;
}

uint64_t unwind_entry_end(const struct unwind_source *s, uint64_t end)
{
	const uint64_t at = s->image.entry;
	const struct unwind_code *code = unwind_source_code(s, at);
	struct entry e = { .code = s->entry, .size = s->entry_size };

	if (s->machine != EM_X86_64 || !code || at >= end)
		return at;
	if (end > code->end)
		end = code->end;
	if (end - at < e.size)
		e.size = (uint32_t)(end - at);
	return at + length_of(&e);
}
