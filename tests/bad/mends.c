/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the author of each refused program would mend it: at the line that the refusal names, as its
 * advice has it. The tutorial's programs are not here, which need more than one mend; those of
 * seed_*.c show them one after the other.
 */
#include "bad.h"

#define L(...)                                    \
	(const struct asm_insn[]){ __VA_ARGS__ }, \
		sizeof((const struct asm_insn[]){ __VA_ARGS__ }) / sizeof(struct asm_insn)

/* At the line that is named, or at the one with that text, which has to be named as well. */
#define BEFORE(...) .lines = { L(__VA_ARGS__) }
#define INSTEAD(...) .removed = 1, .lines = { L(__VA_ARGS__) }
#define TAKE_OUT .removed = 1
#define AFTER(...) .skip = 1, .lines = { L(__VA_ARGS__) }
/* And in front of line `at_`, counted as in the array of the case: the advice's other half. */
#define ALSO(at_, ...) .also = { L(__VA_ARGS__) }, .also_at = (at_)

const struct bad_mend bad_mends[] = {
	/* ---- shape */
	{ "G1", AFTER(EXIT()) },
	{ "G3", .removed = 2, .advice = "Take the line out" },
	{ "G4", INSTEAD(JA(out), LABEL(out)), .advice = "Jump to a label" },
	{ "G4b", INSTEAD(JA(out), LABEL(out)), .advice = "Jump to a label" },
	{ "G5", .line = "INSN(BPF_JMP | BPF_JA, 0, 0, 1, 0)", INSTEAD(JA(next), LABEL(next)),
	  .advice = "jump to it" },
	{ "G5b", INSTEAD(MOV(R0, 0), JEQ(R1, 0, out)), ALSO(2, LABEL(out)),
	  .advice = "Jump to a label" },
	{ "G6", .line = "JA(again)", INSTEAD(JLT(R0, 64, again)), .advice = "way out" },
	{ "X3b", BEFORE(ADD(R7, 1), JGT(R7, 64, out)), ALSO(0, MOV(R7, 0)),
	  .advice = "compared with a constant" },
	{ "G6b", INSTEAD(JLT(R6, 64, again)) },
	{ "G17", INSTEAD(MOV(R0, 0)), .advice = "the DSL's own macro" },
	{ "G18", INSTEAD(MOV(R0, 0)), .advice = "RFC 9669 lists them" },
	{ "G27", INSTEAD(LD_IMM64(R1, 1), EXIT()) },
	{ "G35", AFTER(EXIT()) },
	{ "G36", INSTEAD(JA(done), LABEL(done)), .advice = "Jump to a label" },
	{ "G36b", INSTEAD(MOV(R0, 0)), .advice = "what calls itself" },

	/* ---- registers */
	{ "G2", BEFORE(MOV(R0, 0)) },
	{ "G9", INSTEAD(LDX(DW, R2, R6, 112)), ALSO(0, MOV_REG(R6, R1)) },
	{ "G9b", INSTEAD(SUB_REG(R0, R6)), ALSO(2, MOV_REG(R6, R1)) },
	{ "X4b", .line = "JEQ(R1, 0, skip)", BEFORE(MOV(R6, 0)), .advice = "on every path" },
	{ "X6b", .line = "JEQ(R2, 0, out)", BEFORE(MOV(R0, 0)) },
	{ "G10", TAKE_OUT, .advice = "the frame needs no making" },
	{ "G10b", INSTEAD(MOV_REG(R2, R1)), .advice = "Use one of R0-R9" },
	{ "G19", INSTEAD(LSH(R0, 63)), .advice = "0 to 63" },
	{ "G20", INSTEAD(MOV(R1, 0), DIV_REG(R0, R1)), .advice = "Divide by a register" },
	{ "G23", INSTEAD(LDX(W, R2, R1, 0), MUL(R2, 2)), .advice = "(LDX)" },
	{ "G25", INSTEAD(AND(R2, 8), ADD(R2, 8), NEG(R2), ADD_REG(R3, R2)) },
	{ "I3",
	  INSTEAD(FRAME_PTR(R1, -8), MOV(R2, 8), MOV_REG(R3, R6), CALL(probe_read_kernel),
		  LDX(DW, R0, R10, -8)),
	  .advice = "read through it with probe_read_kernel" },

	/* ---- the stack */
	{ "G11", INSTEAD(ST(DW, R10, -512, 0)), .advice = "take offsets from FRAME()" },
	{ "G11b", INSTEAD(ST(DW, R10, -8, 0)), .advice = "take offsets from FRAME()" },
	{ "G12", INSTEAD(ST(DW, R10, -16, 0)), .advice = "Take offsets from FRAME()" },
	{ "G13", .line = "MAP_LOOKUP(m, -8): ADD(R2, -8)", INSTEAD(ADD(R2, -16)) },
	{ "G31", .line = "MAP_LOOKUP(big, -8): LD_MAP(R1, big)",
	  INSTEAD(ZERO(-16, 16), LD_MAP(R1, m)), ALSO(5, ADD(R2, -8)),
	  .advice = "check that the size" },
	{ "G14", INSTEAD(STX(DW, R10, -8, R1)) },
	{ "G30", .line = "MOV(R2, 16)", INSTEAD(MOV(R2, 8)), .advice = "check the size" },
	{ "G30b", .line = "ST(DW, R10, -384, 0)", INSTEAD(ST(DW, R10, -64, 0)),
	  .advice = "Keep large things in a per-CPU array map" },
	{ "U1", BEFORE(ZERO(-8, 8)) },
	{ "U2b", BEFORE(ZERO(-8, 4)) },

	/* ---- maps */
	{ "G7", INSTEAD(JEQ(R0, 0, out), LDX(DW, R1, R0, 0), LABEL(out)) },
	{ "G7b", BEFORE(JEQ(R0, 0, out)) },
	{ "G8", INSTEAD(LDX(DW, R1, R0, 0)), .advice = "Check the offset" },
	{ "G8b", .line = "AND(R6, 15)", INSTEAD(AND(R6, 7)) },
	{ "G26", INSTEAD(LD_MAP(R1, m)) },
	{ "C2b", .line = "MOV(R1, 3)", INSTEAD(LD_MAP(R1, m)) },
	{ "G33", .line = "LD_MAP(R2, m)", INSTEAD(LD_MAP(R2, stack_traces)),
	  .advice = "the map that it is made for" },
	{ "G34", INSTEAD(ATOMIC_ADD(DW, R10, -8, R1)), .advice = "Use W or DW" },
	{ "G34b", INSTEAD(ZERO(-16, 16), MAP_LOOKUP(m, -16), JEQ(R0, 0, out), ST(DW, R0, 0, 0),
			  LABEL(out)) },

	/* ---- the context */
	{ "G21", INSTEAD(LD_MAP_VALUE(R3, cell, 0), ATOMIC_ADD(DW, R3, 0, R2)),
	  .advice = "Keep the counter in a map" },
	{ "G24", TAKE_OUT, .advice = "a constant offset into the load" },
	{ "G24b", .line = "ADD(R1, 8)", TAKE_OUT, .advice = "into the load or store itself" },
	{ "G28", INSTEAD(LDX(DW, R0, R1, 168)), .advice = "Read its members as they are" },
	{ "M4", INSTEAD(LDX(DW, R0, R1, 160)), .advice = "Read its members as they are" },
	{ "M4b", INSTEAD(LDX(DW, R0, R1, 112)), .advice = "Read its members as they are" },
	{ "I1", INSTEAD(LDX(DW, R0, R1, 8)), .advice = "without its first 8 bytes" },
	{ "I1g", INSTEAD(ST(DW, R10, -8, 0)), .advice = "or to the stack" },

	/* ---- calls */
	{ "G15", INSTEAD(CALL(ktime_get_ns)) },
	{ "G16", INSTEAD(MOV(R0, 0)), .advice = "bpf-helpers(7) says for which" },
	{ "G29", BEFORE(AND(R2, 7)) },
	{ "C3b", BEFORE(MOV_REG(R1, R6)), ALSO(0, MOV_REG(R6, R1)) },
	{ "M5", .license = "GPL", .advice = "\"GPL\"" },
	{ "G37", BEFORE(MOV(R0, 0)) },

	/* ---- records */
	{ "G22", .line = "JEQ(R0, 0, out)", AFTER(RING_DISCARD(R0)),
	  .advice = "RING_DISCARD" },
	{ "G22b", BEFORE(MOV(R2, 16)), ALSO(4, JEQ(R0, 0, out), RING_DISCARD(R0), LABEL(out)),
	  .advice = "MOV or LD_PARAM a number" },
	{ "G22c", .skip = -2, .removed = 3,
	  .advice = "Give each record away once" },
	{ "G22d", TAKE_OUT, ALSO(8, ST(DW, R6, 0, 1)),
	  .advice = "a record that was given away is one no longer" },
	{ "G22e", BEFORE(JEQ(R0, 0, out)), ALSO(12, LABEL(out)) },
	{ "G22f", INSTEAD(ST(DW, R0, 8, 1)), .advice = "Check the offset" },

	/* ---- as published */
	{ "X1", INSTEAD(LDX(W, R2, R1, 0)), .advice = "(offset and size)" },
	{ "X2",
	  INSTEAD(LDX(W, R3, R1, 4), MOV_REG(R4, R2), ADD(R4, 16), JGT_REG(R4, R3, out),
		  LDX(W, R1, R2, 12), LABEL(out)),
	  .advice = "Compare with the end of the packet first" },
	{ "X4", .line = "JEQ(R1, 0, skip)", BEFORE(MOV(R6, 0)), .advice = "on every path" },
	{ "X5", INSTEAD(STX(DW, R10, -8, R1)), .advice = "take offsets from FRAME()" },
	{ "X6", BEFORE(MOV(R0, 0)) },
	{ 0 },
};
