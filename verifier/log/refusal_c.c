/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Advice for programs that a compiler made of C: the log quotes their lines, and nobody wrote the
 * registers. What is not here is said in the words of the table.
 */
#include <ctype.h>
#include <string.h>

#include "refusal.h"

static const struct {
	const char *pattern, *advice;
} in_c[] = {
	{ "%r invalid mem access 'map_value_or_null'",
	  "if (!value) return 0; between the look-up and this line, of the variable itself: a copy "
	  "that was made before is not checked with it." },
	{ "%r invalid mem access '%w_or_null'",
	  "if (!pointer) return 0; between the call and this line." },
	{ "%r pointer arithmetic on %w prohibited, null-check it first",
	  "if (!pointer) return 0; before anything is added to it." },
	{ "%r type=%w_or_null expected=%*", "if (!pointer) return 0; before the call." },
	{ "%r invalid mem access 'scalar'",
	  "Read through it with bpf_probe_read_kernel() or bpf_probe_read_user(), or "
	  "BPF_CORE_READ(); a cast to a pointer does not make it one." },
	{ "%r invalid mem access 'inv'",
	  "Read through it with bpf_probe_read_kernel() or bpf_probe_read_user(), or "
	  "BPF_CORE_READ(); a cast to a pointer does not make it one." },
	{ "invalid read from stack %r off %n+%n size %n",
	  "Clear the variable, padding between members too: struct key k; __builtin_memset(&k, 0, "
	  "sizeof(k));" },
	{ "invalid indirect read from stack %r off %n+%n size %n",
	  "Clear the variable, padding between members too: struct key k; __builtin_memset(&k, 0, "
	  "sizeof(k));" },
	{ "invalid access to map value, value_size=%n off=%n size=%n",
	  "if (index >= sizeof(value->array)) return 0; or index &= SIZE - 1; with an unsigned "
	  "index. The compiler may check a copy: barrier_var(index) behind it keeps the two "
	  "together." },
	{ "%r unbounded memory access, *",
	  "if (n > sizeof(buffer)) return 0; with n unsigned, or n &= SIZE - 1; right before." },
	{ "%r min value is negative, *",
	  "Make the variable unsigned, or if (n < 0) return 0; before it is used." },
	{ "invalid access to packet, off=%n size=%n, %r(*)",
	  "if ((void *)(header + 1) > (void *)(long)ctx->data_end) return XDP_PASS; before it is "
	  "read." },
	{ "invalid bpf_context access off=%n size=%n",
	  "Take the context's type from the program's section, and read its members as they are; "
	  "tracepoints: struct trace_event_raw_NAME of vmlinux.h." },
	{ "Unreleased reference id=%n alloc_insn=%n",
	  "Give it back on every path: bpf_ringbuf_submit() or bpf_ringbuf_discard(), "
	  "bpf_sk_release() and the like, also before an early return." },
	{ "BPF program is too large. Processed %n insn",
	  "Bound the loop by a constant, use bpf_loop() or bpf_for(), or move a part into a global "
	  "function (__noinline, not static), which is verified once." },
	{ "infinite loop detected at insn %n",
	  "for (int i = 0; i < LIMIT && more; i++) with a constant LIMIT, or bpf_loop()." },
	{ "invalid stack off=%n size=%n",
	  "512 bytes are the most: keep large variables in a per-CPU array map." },
	{ "cannot call GPL-restricted function from non-GPL compatible program",
	  "char LICENSE[] SEC(\"license\") = \"GPL\"; or \"Dual BSD/GPL\"." },
	{ "unreachable insn %n",
	  "A loop without a way out stands before it, or a function that does not return." },
};

/* "if (!v) return 0;", not "JEQ(R0, 0, out)": what begins with a macro in capitals is ours. */
static bool is_c(const char *source)
{
	size_t capitals = 0;

	if (!source)
		return false;
	while (isupper((unsigned char)source[capitals]) || source[capitals] == '_' ||
	       isdigit((unsigned char)source[capitals]))
		capitals++;
	return !capitals || source[capitals] != '(' || strchr(source, ';');
}

const char *asm_refusal_in_c(const struct explaining *e, const char *pattern, int64_t insn)
{
	const struct asm_vlog *log = e->log;

	if (e->refused->line || insn < 0 || insn >= log->ninsns || !is_c(log->insns[insn].source))
		return NULL;
	for (size_t i = 0; i < sizeof(in_c) / sizeof(in_c[0]); i++) {
		const size_t same = strcspn(in_c[i].pattern, "*");

		if (!strncmp(in_c[i].pattern, pattern, same) &&
		    (in_c[i].pattern[same] || !pattern[same]))
			return in_c[i].advice;
	}
	return NULL;
}
