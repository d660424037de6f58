/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter of events where there is none. */
#include "programs/shared/event_filter.h"

/* clang-format off */
static const struct asm_insn keep_lines[] = {
	/* event_filter(record, scratch, ids): every event is kept. */
FUNC(event_filter),
	MOV(R0, 1),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_event_filter_part = { ASM_LINES(keep_lines) };
