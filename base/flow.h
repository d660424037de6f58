/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BASE_FLOW_H
#define BASE_FLOW_H

/* Where control goes behind an instruction. */
enum insn_flow {
	FLOW_NEXT,   /* to the next one; calls come back */
	FLOW_BRANCH, /* there, or to the target */
	FLOW_JUMP,   /* to the target */
	FLOW_TABLE,  /* to an address that is computed, in this function or another */
	FLOW_AWAY,   /* to an address in a fixed place of memory: to another function */
	FLOW_RETURN,
	FLOW_STOP, /* nowhere: it traps */
};

#endif
