/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Call frame instructions (DWARF 5, 6.4) of one FDE, run as far as rules need: where the CFA is,
 * the frame pointer and the return address. All other registers are passed over.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <rawprof/unwind.h>

#include "base/machine.h"
#include "frame.h"

/*
 * A value in the shape that compilers' expressions have: reg + off, or *(reg + off) + arg, or that
 * of a PLT stub.
 */
struct unwind_value {
	enum {
		VALUE_ODD, /* of another shape, or not known */
		VALUE_REG,
		VALUE_DEREF,
		VALUE_PLT, /* sp + off + ((address & 15) >= arg ? 8 : 0) */
	} kind;
	uint32_t reg;
	int64_t off, arg;
};

/* In place of a register's number: the CFA, which expressions for registers begin with. */
#define UNWIND_VALUE_CFA UINT32_MAX

/*
 * Reads the expression @b. With @on_cfa it begins with the CFA on the stack (DWARF 5, 6.4.2.3).
 * @sp is the number of the stack pointer, which PLT stubs' CFA is relative to.
 */
struct unwind_value unwind_expression(struct unwind_bytes b, bool on_cfa, uint32_t sp);

/* Where the caller's value of a register is. */
struct unwind_saved {
	enum {
		SAVED_NOT, /* it is still in the register */
		SAVED_NEVER,
		SAVED_AT, /* in memory, at reg + off; reg may be UNWIND_VALUE_CFA */
		SAVED_IN, /* in register reg */
		SAVED_ODD,
	} where;
	uint32_t reg;
	int64_t off;
};

/*
 * An expression for the CFA hides the register and offset told before, and they come back with the
 * next DW_CFA_def_cfa_register: that is what all unwinders do, and hand-written CFI relies on it.
 */
struct unwind_state {
	enum { CFA_UNKNOWN, CFA_PLAIN, CFA_EXPRESSION } cfa_is;
	uint32_t cfa_reg;
	int64_t cfa_off;
	struct unwind_value cfa_expression;
	struct unwind_saved fp, ra, rbx;
	struct unwind_value sp; /* VALUE_REG: the caller's stack pointer, which is not the CFA */
	bool is_signed;		/* arm64: the return address is */
};

/* Its DWARF number. */
enum { UNWIND_RBX = 3 };

/* For a frame that a signal interrupted: where the machine's kernel saves its registers. */
struct unwind_rule unwind_signal_rule(const struct machine *m);

/*
 * Runs the instructions of @cie, for the state in which its FDEs begin. 0 or -EBADMSG.
 */
int unwind_cfi_begin(const struct unwind_frames *f, const struct machine *m,
		     const struct unwind_cie *cie, struct unwind_state *out);

/* Takes the rule that holds from @addr on. 0, or a negative errno that ends the run. */
typedef int unwind_row_fn(void *ctx, uint64_t addr, const struct unwind_rule *rule);

/*
 * Runs those of @fde, and tells @row of each rule below @end, at rising addresses from fde->start
 * on. Returns what @row did if that is not 0; -EBADMSG if the instructions make no sense: the last
 * rule told is then UNWIND_UNSUP.
 */
int unwind_cfi_run(const struct unwind_frames *f, const struct machine *m,
		   const struct unwind_cie *cie, const struct unwind_state *initial,
		   const struct unwind_fde *fde, uint64_t end, unwind_row_fn *row, void *ctx);

/* What it says of the caller's rbx, if @rule has room for it. */
void unwind_rule_rbx(const struct unwind_state *s, struct unwind_rule *rule);
/*
 * A CFA is the caller's stack pointer, and walkers count on that. Where the two are told apart, @s
 * is made to say the same with the stack pointer as its CFA, if both are of one register.
 */
void unwind_count_from_sp(struct unwind_state *s);
/* What a walker does in state @s. */
struct unwind_rule unwind_rule_of(const struct machine *m, const struct unwind_cie *cie,
				  const struct unwind_state *s);

#endif
