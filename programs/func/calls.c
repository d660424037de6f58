/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * func_calls: which calls is a thread in?
 *
 *	page of the thread	{ depth, calls 0 to 15 }
 *	its second page		{ calls 16 to 31 }, and so on, as deep as calls go
 *
 * Most threads are in few measured calls at a time and have one page: one look-up in a hash map
 * serves an entry, another one its return. The pages of a deep recursion stay until the thread
 * ends.
 */
#include "func.h"
#include "programs/shared/new_value.h"

/* Offsets in a page, and in a call. */
enum {
	THREAD = offsetof(struct func_page, thread),
	DEPTH = offsetof(struct func_page, depth),
	PAGES = offsetof(struct func_page, pages),
	PAYER = offsetof(struct func_page, payer),
	CALLS = offsetof(struct func_page, call)
};

static const struct asm_layout key_layout = ASM_LAYOUT(struct func_page_key, thread, number);
ASM_FRAME(thread_frame,
	(struct func_page_key, key, KEY, &key_layout),
	(key.thread, KEY_THREAD),
	(key.number, KEY_NUMBER)); /* and unused */
ASM_FRAME(slot_frame,
	(struct func_page_key, key, SLOT_KEY, &key_layout),
	(key.thread, SLOT_THREAD),
	(key.number, SLOT_NUMBER),
	(key.unused, SLOT_UNUSED));
ASM_FRAME(grow_frame,
	(struct func_page_key, key, GROW_KEY, &key_layout),
	(key.thread, GROW_THREAD),
	(key.number, GROW_NUMBER),
	(key.unused, GROW_UNUSED),
	(uint32_t, payer, GROW_PAYER));

/* clang-format off */
static const struct asm_insn calls_lines[] = {
	/* func_thread(thread): its first page; 0 if it has none. */
FUNC(func_thread),
	STX(DW, R10, KEY_THREAD, R1),
	ST(DW, R10, KEY_NUMBER, 0),
	MAP_LOOKUP(calls, KEY),
	EXIT(),

	/* func_slot(first page, number): that call; 0 if its page is not there. */
FUNC(func_slot),
	MOV_REG(R6, R2),
	JLT(R2, FUNC_PAGE_CALLS, here),
	RSH(R2, FUNC_PAGE_SHIFT),
	STX(W, R10, SLOT_NUMBER, R2),
	ST(W, R10, SLOT_UNUSED, 0),
	LDX(DW, R3, R1, THREAD),
	STX(DW, R10, SLOT_THREAD, R3),
	MAP_LOOKUP(calls, SLOT_KEY),
	JEQ(R0, 0, out),
	MOV_REG(R1, R0),
LABEL(here),
	AND(R6, FUNC_PAGE_CALLS - 1),
	LD_PARAM(R2, struct func_config, slot_bytes),
	MUL_REG(R6, R2),
	ADD(R6, CALLS),
	ADD_REG(R1, R6),
	MOV_REG(R0, R1),
LABEL(out),
	EXIT(),

};

static const struct asm_insn grow_lines[] = {
	/* func_page(thread, number): makes a page. 0: there is no room. */
FUNC(func_page),
	STX(DW, R10, GROW_THREAD, R1),
	STX(W, R10, GROW_NUMBER, R2),
	ST(W, R10, GROW_UNUSED, 0),
	SHARE_PAYER(),
	STX(W, R10, GROW_PAYER, R0),
	SHARE_TAKE(FUNC_SHARE_PAGES, LD_PARAM(R2, struct func_config, most_pages), out),
	MAP_PUT_NEW(calls, GROW_KEY, no_page),
	JNE(R0, 0, not_new),
	MAP_LOOKUP(calls, GROW_KEY),
	JEQ(R0, 0, out), /* never */
	LDX(DW, R1, R10, GROW_THREAD),
	STX(DW, R0, THREAD, R1),
	/* Of the first page; of others they are of no interest. */
	ST(W, R0, PAGES, 1),
	LDX(W, R1, R10, GROW_PAYER),
	STX(W, R0, PAYER, R1),
LABEL(out),
	EXIT(),
LABEL(not_new), /* it is full; or an interrupt has made the page meanwhile */
	LDX(W, R0, R10, GROW_PAYER),
	SHARE_GIVE(FUNC_SHARE_PAGES),
	MAP_LOOKUP(calls, GROW_KEY),
	EXIT(),

	/* func_next_page(first page, number of a call): makes its page, unless it is there. */
FUNC(func_next_page),
	MOV_REG(R6, R1),
	MOV_REG(R7, R2),
	RSH(R7, FUNC_PAGE_SHIFT),
	LDX(W, R1, R6, PAGES),
	MOV(R0, 0),
	JLT_REG(R7, R1, grown),
	/* The thread may have become another user's, who now pays for all. */
	SHARE_PAYER(),
	MOV_REG(R8, R0),
	LDX(W, R0, R6, PAYER),
	JEQ_REG(R0, R8, paid),
	LDX(W, R9, R6, PAGES),
	SHARE_GIVE_MANY(FUNC_SHARE_PAGES, R9),
	MOV_REG(R0, R8),
	SHARE_ADD_MANY(FUNC_SHARE_PAGES, R9),
	STX(W, R6, PAYER, R8),
LABEL(paid),
	LDX(DW, R1, R6, THREAD),
	MOV_REG(R2, R7),
	CALL_FUNC(func_page),
	JEQ(R0, 0, grown),
	ADD(R7, 1),
	STX(W, R6, PAGES, R7),
LABEL(grown),
	MOV(R0, 0),
	EXIT(),
};
/* clang-format on */
const struct asm_part rp_func_calls_part = { ASM_LINES(calls_lines),
					     ASM_FRAMES({ "func_thread", &thread_frame_layout },
							{ "func_slot", &slot_frame_layout }) };
const struct asm_part rp_func_grow_part = { ASM_LINES(grow_lines),
					    ASM_FRAMES({ "func_page", &grow_frame_layout }) };
