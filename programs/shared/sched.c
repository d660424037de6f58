/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of what the programs that watch the scheduler keep in their maps, for whoever shows it. */
#include "sched.h"

#define THREAD_FIELD(member) ASM_FIELD(struct sched_thread, member)
const struct asm_layout rp_sched_thread_layout = ASM_LAYOUT(
	struct sched_thread, THREAD_FIELD(hash), THREAD_FIELD(since), THREAD_FIELD(pid_tgid),
	THREAD_FIELD(user_end), THREAD_FIELD(phase), THREAD_FIELD(waker), THREAD_FIELD(woken),
	THREAD_FIELD(born), THREAD_FIELD(on_cpu), THREAD_FIELD(queued), THREAD_FIELD(lost),
	THREAD_FIELD(comm));
const struct asm_layout rp_sched_offcpu_layout = ASM_LAYOUT(
	struct sched_thread, THREAD_FIELD(hash), THREAD_FIELD(since), THREAD_FIELD(pid_tgid),
	THREAD_FIELD(user_end), THREAD_FIELD(phase), THREAD_FIELD(waker));
#define STATS_FIELD(member) ASM_FIELD(struct sched_stats, member)
const struct asm_layout rp_sched_stats_layout = ASM_LAYOUT(
	struct sched_stats, STATS_FIELD(common.fired), STATS_FIELD(common.idle),
	STATS_FIELD(common.filtered), STATS_FIELD(common.ring_full), STATS_FIELD(common.busy),
	STATS_FIELD(common.uncounted), STATS_FIELD(common.unfollowed), STATS_FIELD(asleep),
	STATS_FIELD(runnable), STATS_FIELD(state), STATS_FIELD(exited), STATS_FIELD(shorter),
	STATS_FIELD(longer), STATS_FIELD(threads_full), STATS_FIELD(pairs_full),
	STATS_FIELD(unseen), STATS_FIELD(backwards));
