/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings -> lines. A text of known bytes at the beginning is compared as numbers, where the record
 * has it or, copied, in the scratch memory. For other patterns the string is copied and its length
 * kept: the first run is looked for at the beginning, the last one before the end, and each between
 * them by a loop over the places where it can stand, at most 255 of them.
 */
#include <string.h>

#include "programs/shared/event_filter.h"
#include "record/filter/emit.h"

/*
 * The scratch memory: the string, room for a run that begins at any byte of it, since the verifier
 * does not know that it ends before the string does; a command name that is to be copied.
 */
enum { COMM_AT = 2 * (FILTER_STRING_MAX + 1) };
_Static_assert(EVENT_FILTER_SCRATCH >= COMM_AT + 16, "what is in the scratch memory");

/* ---- the string in the scratch memory, R0 = what the helper says of it */

/* R2 = the bytes to read, R3 = where: of a word that says both. */
static void locate(struct filter_code *c, const struct record_filter_field *field)
{
	const char *shorter = record_filter_label(c, "shorter");

	record_filter_load(c, field->offset, 4);
	EMIT(c, MOV_REG(R2, R1));
	EMIT(c, RSH(R2, 16));
	record_filter_emit_jump(c, BPF_JLE, 2, FILTER_STRING_MAX, shorter);
	record_filter_emit_alu(c, BPF_MOV, 2, FILTER_STRING_MAX);
	record_filter_emit_label(c, shorter);
	EMIT(c, ADD(R2, 1)); /* the NUL */
	EMIT(c, AND(R1, 0xffff));
	EMIT(c, MOV_REG(R3, R6));
	EMIT(c, ADD_REG(R3, R1));
	if (field->kind == RECORD_FILTER_REL_LOC)
		record_filter_emit_alu(c, BPF_ADD, 3, (int32_t)field->offset + 4);
}

/* R2 and R3 of a string within the record, which may have no NUL; of one elsewhere. */
static void point(struct filter_code *c, const struct record_filter_field *field)
{
	switch (field->kind) {
	case RECORD_FILTER_DATA_LOC:
	case RECORD_FILTER_REL_LOC:
		locate(c, field);
		return;
	case RECORD_FILTER_CHARS:
		EMIT(c, MOV_REG(R3, R6));
		record_filter_emit_alu(c, BPF_ADD, 3, (int32_t)field->offset);
		record_filter_emit_alu(c, BPF_MOV, 2,
				       field->size < FILTER_STRING_MAX ? (int32_t)field->size + 1
								       : FILTER_STRING_MAX + 1);
		return;
	case RECORD_FILTER_COMM:
		EMIT(c, MOV_REG(R1, R7));
		EMIT(c, ADD(R1, COMM_AT));
		EMIT(c, MOV(R2, 16));
		EMIT(c, CALL(get_current_comm));
		EMIT(c, MOV_REG(R3, R7));
		EMIT(c, ADD(R3, COMM_AT));
		EMIT(c, MOV(R2, 16));
		return;
	default:
		record_filter_load(c, field->offset, 8);
		EMIT(c, MOV_REG(R3, R1));
		EMIT(c, MOV(R2, FILTER_STRING_MAX + 1));
	}
}

static void copy(struct filter_code *c, const struct record_filter_field *field)
{
	point(c, field);
	EMIT(c, MOV_REG(R1, R7));
	if (field->kind == RECORD_FILTER_USER_STRING)
		EMIT(c, CALL(probe_read_user_str));
	else
		EMIT(c, CALL(probe_read_kernel_str));
}

/* R9 = its length, of R0. What could not be read is empty; the verifier wants to know that it ends
 * inside the memory. */
static void measure(struct filter_code *c)
{
	const char *read = record_filter_label(c, "read");

	record_filter_emit_jump(c, BPF_JSGT, 0, 0, read);
	EMIT(c, MOV(R0, 1));
	record_filter_emit_label(c, read);
	EMIT(c, MOV_REG(R9, R0));
	EMIT(c, SUB(R9, 1));
	EMIT(c, AND(R9, FILTER_STRING_MAX));
}

/* ---- known bytes at a known place */

/* As many bytes at a time as are aligned, the context allows no other loads. */
static void compare_bytes(struct filter_code *c, int base, uint32_t offset, const char *bytes,
			  size_t n, const char *miss)
{
	for (size_t i = 0, size; i < n; i += size) {
		union {
			uint8_t b;
			uint16_t h;
			uint32_t w;
			uint64_t dw;
		} want = { 0 };
		uint64_t bits;

		for (size = 8; (offset + i) % size || size > n - i;)
			size /= 2;
		memcpy(&want, bytes + i, size);
		bits = size == 1 ? want.b : size == 2 ? want.h : size == 4 ? want.w : want.dw;
		record_filter_emit_load(c, (unsigned int)size, 1, base, (int)(offset + i));
		if ((int64_t)bits == (int32_t)bits) {
			record_filter_emit_jump(c, BPF_JNE, 1, (int32_t)bits, miss);
		} else {
			record_filter_emit_constant(c, 2, bits);
			record_filter_emit_jump_reg(c, BPF_JNE, 1, 2, miss);
		}
	}
}

/* The string begins with n bytes, and ends there if `whole`; bytes[n] is a NUL. */
static void compare_known(struct filter_code *c, const struct record_filter_field *field,
			  const char *bytes, size_t n, bool whole, const char *miss)
{
	const bool there = field->kind == RECORD_FILTER_CHARS && field->size <= FILTER_STRING_MAX;

	if (there) {
		/* One that fills the field has no NUL there. */
		compare_bytes(c, RECORD, field->offset, bytes, n + (whole && n < field->size),
			      miss);
		return;
	}
	if (field->kind == RECORD_FILTER_COMM) {
		EMIT(c, MOV_REG(R1, R7));
		EMIT(c, MOV(R2, 16));
		EMIT(c, CALL(get_current_comm));
	} else {
		copy(c, field);
	}
	compare_bytes(c, SCRATCH, 0, bytes, n + whole, miss);
}

/* ---- patterns */

/* The only byte of a set; -1 if there are several. */
static int only_byte(const struct filter_set *set)
{
	int only = -1;

	for (int i = 1; i < 256; i++) {
		if (!filter_set_has(set, (unsigned char)i))
			continue;
		if (only >= 0)
			return -1;
		only = i;
	}
	return only;
}

static bool is_any(const struct filter_set *set)
{
	for (int i = 1; i < 256; i++)
		if (!filter_set_has(set, (unsigned char)i))
			return false;
	return true;
}

/* The bytes of a run of sets of one byte each; false if it is not one. */
static bool known_bytes(const struct filter_set *set, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		const int byte = only_byte(&set[i]);

		if (byte < 0)
			return false;
		out[i] = (char)byte;
	}
	out[n] = '\0';
	return true;
}

/* The next range of bytes in a set from `from` up; false: there is none. */
static bool next_range(const struct filter_set *set, int from, int *low, int *high)
{
	while (from < 256 && !filter_set_has(set, (unsigned char)from))
		from++;
	*low = from;
	while (from < 256 && filter_set_has(set, (unsigned char)from))
		from++;
	*high = from - 1;
	return *low < 256;
}

/* On to miss if the byte in the register is not in the set. Its ranges come in order, so what is
 * below one is in none. */
static void test_set(struct filter_code *c, const struct filter_set *set, int reg, const char *miss)
{
	const char *hit = NULL;
	int low, high, next_low, next_high;

	next_range(set, 1, &low, &high);
	while (next_range(set, high + 1, &next_low, &next_high)) {
		if (!hit)
			hit = record_filter_label(c, "hit");
		if (low > 1)
			record_filter_emit_jump(c, BPF_JLT, reg, low, miss);
		record_filter_emit_jump(c, BPF_JLE, reg, high, hit);
		low = next_low;
		high = next_high;
	}
	if (low == high) {
		record_filter_emit_jump(c, BPF_JNE, reg, low, miss);
	} else {
		if (low > 1)
			record_filter_emit_jump(c, BPF_JLT, reg, low, miss);
		if (high < 255)
			record_filter_emit_jump(c, BPF_JGT, reg, high, miss);
	}
	if (hit)
		record_filter_emit_label(c, hit);
}

/* The run stands at the address in a register. */
static void compare_run(struct filter_code *c, const struct filter_set *set, size_t n, int base,
			const char *miss)
{
	for (size_t i = 0; i < n; i++) {
		if (is_any(&set[i]))
			continue;
		record_filter_emit_load(c, 1, 4, base, (int)i);
		test_set(c, &set[i], 4, miss);
	}
}

/* R1 counts the bytes from a place to the end of the string; the AND says nothing but to the
 * verifier, which then forgets what R1 was made of. */
static void step(struct filter_code *c, size_t n)
{
	record_filter_emit_alu(c, BPF_SUB, 1, (int32_t)n);
	EMIT(c, AND(R1, FILTER_STRING_MAX));
}

/*
 * From the place that R1 says on, the first one where the run stands; R1 says what is behind it.
 * `needed` bytes are in this run and those that follow.
 *
 * The place is counted from the end, so that the verifier knows no more of it than its upper bound:
 * that is less in each round, and what follows, having been verified for the first round, is
 * verified for all of them.
 */
static void find_run(struct filter_code *c, const struct filter_set *set, size_t n, size_t needed,
		     const char *miss)
{
	const char *find = record_filter_label(c, "find"), *next = record_filter_label(c, "next"),
		   *found = record_filter_label(c, "found");

	record_filter_emit_label(c, find);
	record_filter_emit_jump(c, BPF_JLT, 1, (int32_t)needed, miss);
	EMIT(c, MOV_REG(R3, R9));
	EMIT(c, SUB_REG(R3, R1));
	EMIT(c, AND(R3, FILTER_STRING_MAX));
	EMIT(c, ADD_REG(R3, R7));
	compare_run(c, set, n, 3, next);
	step(c, n);
	record_filter_emit_goto(c, found);
	record_filter_emit_label(c, next);
	step(c, 1);
	record_filter_emit_goto(c, find);
	record_filter_emit_label(c, found);
}

/* Is every set of the run any byte? It stands wherever there is room. */
static bool is_any_run(const struct filter_set *set, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_any(&set[i]))
			return false;
	return true;
}

static void compare_glob(struct filter_code *c, const struct filter_glob *glob, const char *miss)
{
	const struct filter_set *set = glob->set;
	const size_t first = glob->run[0], last = glob->run[glob->nruns - 1];
	size_t needed = glob->nsets - first;

	if (glob->nruns == 1) {
		record_filter_emit_jump(c, BPF_JNE, 9, (int32_t)glob->nsets, miss);
		compare_run(c, set, first, SCRATCH, miss);
		return;
	}
	record_filter_emit_jump(c, BPF_JLT, 9, (int32_t)glob->nsets, miss);
	compare_run(c, set, first, SCRATCH, miss);
	if (last && !is_any_run(set + glob->nsets - last, last)) {
		EMIT(c, MOV_REG(R3, R7));
		EMIT(c, ADD_REG(R3, R9));
		record_filter_emit_alu(c, BPF_SUB, 3, (int32_t)last);
		compare_run(c, set + glob->nsets - last, last, 3, miss);
	}
	if (glob->nruns == 2)
		return;
	EMIT(c, MOV_REG(R1, R9));
	step(c, first);
	set += first;
	for (size_t i = 1; i + 1 < glob->nruns; i++) {
		const size_t n = glob->run[i];

		if (is_any_run(set, n))
			step(c, n);
		else
			find_run(c, set, n, needed, miss);
		needed -= n;
		set += n;
	}
}

/* ---- a condition */

/* On to miss unless the string is what is asked for. */
static void match(struct filter_code *c, const struct filter_node *node, const char *miss)
{
	const struct filter_glob *glob = &node->glob;
	char bytes[FILTER_STRING_MAX + 1];

	if (node->op == FILTER_SAME) {
		compare_known(c, node->field, node->text, node->length, true, miss);
		return;
	}
	if ((glob->nruns == 1 || (glob->nruns == 2 && !glob->run[1])) &&
	    known_bytes(glob->set, glob->run[0], bytes)) {
		compare_known(c, node->field, bytes, glob->run[0], glob->nruns == 1, miss);
		return;
	}
	copy(c, node->field);
	measure(c);
	compare_glob(c, glob, miss);
}

void record_filter_compile_string(struct filter_code *c, const struct filter_node *node, bool when,
				  const char *label)
{
	const char *miss = when ? record_filter_label(c, "miss") : label;

	match(c, node, miss);
	if (!when)
		return;
	record_filter_emit_goto(c, label);
	record_filter_emit_label(c, miss);
}
