/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts of what the programs that watch the scheduler keep in their maps. */
#include "sched.h"

const struct asm_layout rp_sched_thread_layout =
	ASM_LAYOUT(struct sched_thread, hash, since, pid_tgid, user_end, phase, waker, woken, born,
		   on_cpu, queued, lost, comm);
const struct asm_layout rp_sched_offcpu_layout =
	ASM_LAYOUT(struct sched_thread, hash, since, pid_tgid, user_end, phase, waker);
const struct asm_layout rp_sched_stats_layout = ASM_LAYOUT(
	struct sched_stats, (common, &rp_program_stats_layout), asleep, runnable, state, exited,
	shorter, longer, threads_full, pairs_full, unseen, backwards, not_drawn, drawn_for);
