/* SPDX-License-Identifier: BSD-2-Clause */
/* Any text as a verifier log, and the explanation of the refusal that it may hold. */
#include <rawprof/asm.h>
#include <rawprof/verifier.h>

#include "fuzz.h"

static const char *line(void *ctx, uint32_t insn)
{
	(void)ctx;
	return insn % 3 ? "x.c:1: LINE" : NULL;
}

/* What every user of a log relies on. */
static void check(const struct asm_vlog *log)
{
	for (uint32_t i = 0; i < log->ninsns; i++) {
		const struct asm_vlog_insn *insn = &log->insns[i];

		for (uint32_t k = 0; k < insn->nbefore; k++)
			if (insn->before[k].where > 10 || insn->before[k].where < -512 ||
			    !insn->before[k].text)
				abort();
		for (uint32_t k = 0; k < insn->nfrom; k++)
			if (insn->from[k] >= log->ninsns ||
			    (k && insn->from[k] <= insn->from[k - 1]))
				abort();
	}
	for (size_t i = 0; i < log->npath; i++)
		if (log->path[i].insn >= log->ninsns)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bpf_insn insns[16] = { { .code = BPF_LD | BPF_IMM | BPF_DW } };
	char *text = strndup((const char *)data, size);
	const struct asm_refused refused = {
		.log = text, .insns = insns, .ninsns = 16, .line = line
	};
	struct asm_refusal refusal;
	struct asm_vlog log;

	if (!text)
		return 0;
	if (!asm_vlog_parse(text, &log)) {
		check(&log);
		asm_vlog_free(&log);
	}
	if (!asm_refusal_explain(&refused, &refusal)) {
		if (!refusal.message || !refusal.why != !refusal.advice)
			abort();
		asm_refusal_free(&refusal);
	}
	free(text);
	return 0;
}
