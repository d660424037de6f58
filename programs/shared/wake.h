/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring of events that user space drains ten times a second, and sooner when it fills: waking it
 * for each event would cost more than the event did.
 */
#ifndef PROGRAMS_SHARED_WAKE_H
#define PROGRAMS_SHARED_WAKE_H

/* Of so many events one asks how full the ring is: to ask costs about as much as to send. */
#define RING_ASK_MASK (31 << 6)

/* clang-format off */
/*
 * The register flags = what ringbuf_submit or ringbuf_output is to be given: BPF_RB_FORCE_WAKEUP
 * if more bytes than config->mark wait in the ring, else BPF_RB_NO_WAKEUP. The register time has
 * a time in ns, whose middle bits choose who asks; it and R0 to R5 are lost.
 */
#define RING_WAKE(flags, time, ring, config, mark)                                                 \
	SCOPE("RING_WAKE(" #flags ", " #time ", " #ring ", " #config ", " #mark ")"),              \
		AND(time, RING_ASK_MASK),                                                          \
		JNE(time, 0, .no_hurry),                                                           \
		LD_MAP(R1, ring),                                                                  \
		MOV(R2, BPF_RB_AVAIL_DATA),                                                        \
		CALL(ringbuf_query),                                                               \
		LD_PARAM(R1, config, mark),                                                        \
		JLT_REG(R0, R1, .no_hurry),                                                        \
		MOV(flags, BPF_RB_FORCE_WAKEUP),                                                   \
		JA(.known),                                                                        \
		LABEL(.no_hurry),                                                                  \
		MOV(flags, BPF_RB_NO_WAKEUP),                                                      \
		LABEL(.known),                                                                     \
	END
/* clang-format on */

#endif
