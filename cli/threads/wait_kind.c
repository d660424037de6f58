/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kind of a wait: the innermost kernel function that stands for one kind alone. How the
 * scheduler was reached is common to all waits, and a read may be of a file, a pipe or a socket.
 */
#include <string.h>

#include "wait_kind.h"

/* Beginnings of names; the longest one that fits wins. */
static const struct {
	const char *beginning, *kind;
} functions[] = {
	{ "io_schedule", "disk" },
	{ "folio_wait_", "disk" },
	{ "wait_on_page_", "disk" },
	{ "bit_wait_io", "disk" },
	{ "out_of_line_wait_on_bit", "disk" },
	{ "blk_", "disk" },
	{ "bio_", "disk" },
	{ "submit_bio", "disk" },
	{ "rq_qos_wait", "disk" },
	{ "wbt_wait", "disk" },
	{ "blkdev_", "disk" },
	{ "iomap_", "disk" },
	{ "__iomap_", "disk" },
	{ "filemap_", "disk" },
	{ "__filemap_", "disk" },
	{ "jbd2_", "disk" },
	{ "ext4_", "disk" },
	{ "xfs_", "disk" },
	{ "xlog_", "disk" },
	{ "btrfs_", "disk" },
	{ "f2fs_", "disk" },
	{ "nfs_", "network" },
	{ "rpc_", "network" },
	{ "balance_dirty_pages", "disk" },
	{ "wb_wait_for_completion", "disk" },
	{ "writeback_", "disk" },
	{ "swap_", "disk" },
	{ "tcp_", "network" },
	{ "udp_", "network" },
	{ "inet_", "network" },
	{ "sk_", "network" },
	{ "sock_", "network" },
	{ "__sys_recv", "network" },
	{ "__sys_send", "network" },
	{ "skb_", "network" },
	{ "__skb_", "network" },
	{ "unix_", "network" },
	{ "netlink_", "network" },
	{ "vsock_", "network" },
	{ "pipe_", "pipe" },
	{ "anon_pipe_", "pipe" },
	{ "fifo_", "pipe" },
	{ "wait_for_partner", "pipe" },
	{ "futex_", "futex" },
	{ "__futex_", "futex" },
	{ "do_futex", "futex" },
	{ "mutex_lock", "lock" },
	{ "__mutex_lock", "lock" },
	{ "ww_mutex_lock", "lock" },
	{ "rt_mutex_", "lock" },
	{ "__rt_mutex_", "lock" },
	{ "down_", "lock" },
	{ "__down", "lock" },
	{ "rwsem_", "lock" },
	{ "percpu_rwsem_", "lock" },
	{ "__percpu_down_", "lock" },
	{ "do_poll", "poll" },
	{ "do_sys_poll", "poll" },
	{ "poll_schedule_timeout", "poll" },
	{ "do_select", "poll" },
	{ "ep_poll", "poll" },
	{ "do_epoll_wait", "poll" },
	{ "io_cqring_wait", "poll" },
	{ "hrtimer_nanosleep", "sleep" },
	{ "do_nanosleep", "sleep" },
	{ "common_nsleep", "sleep" },
	{ "alarm_timer_nsleep", "sleep" },
	{ "usleep_range", "sleep" },
	{ "msleep", "sleep" },
	{ "do_wait", "child" },
	{ "kernel_wait4", "child" },
	{ "kernel_clone", "child" },
	{ "do_sigtimedwait", "signal" },
	{ "sigsuspend", "signal" },
	{ "do_signal_stop", "signal" },
	{ "ptrace_stop", "signal" },
	{ "do_pause", "signal" },
	{ "__x64_sys_pause", "signal" },
};

static const char *kind_of(const char *name)
{
	const char *kind = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		size_t len = strlen(functions[i].beginning);

		if (len > longest && !strncmp(name, functions[i].beginning, len)) {
			kind = functions[i].kind;
			longest = len;
		}
	}
	return kind;
}

const char *wait_kind(struct recording *rec, const uint64_t *addrs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct sym_frame f;
		const char *kind;

		sym_kernel_lookup(rec->kernel, addrs[i], i > 0, &f);
		kind = f.name ? kind_of(f.name) : NULL;
		if (kind)
			return kind;
	}
	return "other";
}
