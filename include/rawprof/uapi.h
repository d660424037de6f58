/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uapi.h: the kernel's user-space ABI where installed headers may be too old for it (anything from
 * 5.10 on will do), and the only place for such things. Values and layouts are ABI:
 * include/uapi/linux/{bpf,btf,perf_event}.h of Linux 6.18.
 *
 *	union rp_attr attr = { .prog.type = BPF_PROG_TYPE_KPROBE };
 *
 * The macros stand after the includes, so where the header has an enumerator of the same name and
 * value the macro merely hides it.
 */
#ifndef RAWPROF_UAPI_H
#define RAWPROF_UAPI_H

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- instruction set (RFC 9669) */
#ifndef BPF_ATOMIC
#define BPF_ATOMIC 0xc0 /* 5.12; called BPF_XADD before */
#endif
#ifndef BPF_FETCH
#define BPF_FETCH 0x01
#define BPF_XCHG (0xe0 | BPF_FETCH)
#define BPF_CMPXCHG (0xf0 | BPF_FETCH)
#endif
#ifndef BPF_MEMSX
#define BPF_MEMSX 0x80 /* 6.6 */
#endif
#ifndef BPF_JCOND
#define BPF_JCOND 0xe0 /* 6.10 */
#endif
#ifndef BPF_LOAD_ACQ
#define BPF_LOAD_ACQ 0x100 /* 6.15 */
#define BPF_STORE_REL 0x110
#endif
#ifndef BPF_PSEUDO_KFUNC_CALL
#define BPF_PSEUDO_KFUNC_CALL 2 /* 5.13 */
#endif
#ifndef BPF_PSEUDO_FUNC
#define BPF_PSEUDO_FUNC 4 /* 5.13 */
#endif

/* ---- program, map and attach types */
#define BPF_PROG_TYPE_SYSCALL 31    /* 5.14 */
#define BPF_PERF_EVENT 41	    /* 5.15 */
#define BPF_TRACE_KPROBE_MULTI 42   /* 5.18 */
#define BPF_TRACE_UPROBE_MULTI 48   /* 6.6 */
#define BPF_TRACE_KPROBE_SESSION 56 /* 6.10 */
#define BPF_TRACE_UPROBE_SESSION 57 /* 6.13 */
#define BPF_F_KPROBE_MULTI_RETURN (1U << 0)
#define BPF_F_UPROBE_MULTI_RETURN (1U << 0)

/* ---- BTF */
#define BTF_KIND_FLOAT 16    /* 5.13 */
#define BTF_KIND_DECL_TAG 17 /* 5.16 */
#define BTF_KIND_TYPE_TAG 18 /* 5.17 */
#define BTF_KIND_ENUM64 19   /* 6.0 */

/* ---- perf */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14) /* 5.12 */
#endif

/* The bit build_id of struct perf_event_attr (5.12), which stands after text_poke in the word of
 * flags. */
static inline void rp_perf_attr_build_id(struct perf_event_attr *attr, int on)
{
	const size_t word = offsetof(struct perf_event_attr, read_format) + 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	const uint64_t bit = 1ULL << 34;
#else
	const uint64_t bit = 1ULL << (63 - 34);
#endif
	uint64_t flags;

	memcpy(&flags, (char *)attr + word, sizeof(flags));
	flags = on ? flags | bit : flags & ~bit;
	memcpy((char *)attr + word, &flags, sizeof(flags));
}

/* ---- bpf(2): one struct for each kind of command, laid over each other as in union bpf_attr */

struct rp_attr_map { /* MAP_CREATE */
	uint32_t type, key_size, value_size, max_entries, flags, inner_fd, numa_node;
	char name[16];
	uint32_t ifindex, btf_fd, btf_key_id, btf_value_id, btf_vmlinux_value_id;
	uint64_t extra;
};

struct rp_attr_elem { /* MAP_*_ELEM, MAP_GET_NEXT_KEY, MAP_FREEZE */
	uint32_t map_fd, pad;
	uint64_t key;
	uint64_t value; /* or the next key */
	uint64_t flags;
};

struct rp_attr_batch { /* MAP_*_BATCH */
	uint64_t in_batch, out_batch, keys, values;
	uint32_t count, map_fd;
	uint64_t elem_flags, flags;
};

struct rp_attr_prog { /* PROG_LOAD */
	uint32_t type, insn_cnt;
	uint64_t insns, license;
	uint32_t log_level, log_size;
	uint64_t log_buf;
	uint32_t kern_version, flags;
	char name[16];
	uint32_t ifindex, expected_attach_type, btf_fd, func_info_rec_size;
	uint64_t func_info;
	uint32_t func_info_cnt, line_info_rec_size;
	uint64_t line_info;
	uint32_t line_info_cnt, attach_btf_id, attach_btf_obj_fd, core_relo_cnt;
	uint64_t fd_array, core_relos;
	uint32_t core_relo_rec_size, log_true_size;
};

struct rp_attr_test { /* PROG_TEST_RUN */
	uint32_t prog_fd, retval, data_size_in, data_size_out;
	uint64_t data_in, data_out;
	uint32_t repeat, duration, ctx_size_in, ctx_size_out;
	uint64_t ctx_in, ctx_out;
	uint32_t flags, cpu, batch_size;
};

struct rp_attr_info { /* OBJ_GET_INFO_BY_FD */
	uint32_t fd, info_len;
	uint64_t info;
};

struct rp_attr_id { /* *_GET_NEXT_ID, *_GET_FD_BY_ID */
	uint32_t id, next_id, open_flags;
};

struct rp_attr_raw_tp { /* RAW_TRACEPOINT_OPEN */
	uint64_t name;
	uint32_t prog_fd, pad;
	uint64_t cookie; /* 6.10 */
};

struct rp_attr_btf { /* BTF_LOAD */
	uint64_t btf, log_buf;
	uint32_t size, log_size, log_level;
};

struct rp_attr_link { /* LINK_CREATE */
	uint32_t prog_fd, target_fd, attach_type, flags;
	union {
		struct {
			uint64_t cookie;
		} perf; /* 5.15 */
		struct {
			uint32_t flags, cnt;
			uint64_t syms, addrs, cookies;
		} kprobe_multi; /* 5.18 */
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t cnt, flags, pid;
		} uprobe_multi; /* 6.6 */
	};
};

struct rp_attr_iter { /* ITER_CREATE, 5.8 */
	uint32_t link_fd, flags;
};

struct rp_attr_stats { /* ENABLE_STATS */
	uint32_t type;
};

union rp_attr {
	struct rp_attr_map map;
	struct rp_attr_elem elem;
	struct rp_attr_batch batch;
	struct rp_attr_prog prog;
	struct rp_attr_test test;
	struct rp_attr_info info;
	struct rp_attr_id of_id;
	struct rp_attr_raw_tp raw_tp;
	struct rp_attr_btf btf;
	struct rp_attr_link link;
	struct rp_attr_iter iter;
	struct rp_attr_stats stats;
};

struct rp_btf_info { /* struct bpf_btf_info */
	uint64_t btf;
	uint32_t size, id;
	uint64_t name;
	uint32_t name_len, kernel_btf;
};

struct rp_prog_info { /* struct bpf_prog_info */
	uint32_t type, id;
	uint8_t tag[8];
	uint32_t jited_len, xlated_len;
	uint64_t jited, xlated;
	uint64_t load_time;
	uint32_t created_by_uid, nr_map_ids;
	uint64_t map_ids;
	char name[16];
	uint32_t ifindex, gpl_compatible;
	uint64_t netns_dev, netns_ino;
	uint32_t nr_ksyms, nr_func_lens;
	uint64_t ksyms, func_lens;
	uint32_t btf_id, func_info_rec_size;
	uint64_t func_info;
	uint32_t nr_func_info, nr_line_info;
	uint64_t line_info, jited_line_info;
	uint32_t nr_jited_line_info, line_info_rec_size, jited_line_info_rec_size, nr_tags;
	uint64_t tags;
	uint64_t run_time_ns, run_cnt;		   /* 5.1 */
	uint64_t recursion_misses;		   /* 5.12 */
	uint32_t verified_insns;		   /* 5.16 */
	uint32_t attach_btf_obj_id, attach_btf_id; /* 6.0 */
};

/* ---- helper functions, by number: CALL(ktime_get_ns) is call 5 */

/*
 * The list ended at 211 in Linux 6.2, since then the kernel offers kfuncs instead. It stands here
 * so that CALL(name) is checked by the compiler also where the installed headers are older, and so
 * that a disassembler can name what it meets.
 *
 * X(number, name without "bpf_")
 */
#define ASM_HELPERS(X)                                                                             \
	X(0, unspec)                                                                               \
	X(1, map_lookup_elem)                                                                      \
	X(2, map_update_elem)                                                                      \
	X(3, map_delete_elem)                                                                      \
	X(4, probe_read)                                                                           \
	X(5, ktime_get_ns)                                                                         \
	X(6, trace_printk)                                                                         \
	X(7, get_prandom_u32)                                                                      \
	X(8, get_smp_processor_id)                                                                 \
	X(9, skb_store_bytes)                                                                      \
	X(10, l3_csum_replace)                                                                     \
	X(11, l4_csum_replace)                                                                     \
	X(12, tail_call)                                                                           \
	X(13, clone_redirect)                                                                      \
	X(14, get_current_pid_tgid)                                                                \
	X(15, get_current_uid_gid)                                                                 \
	X(16, get_current_comm)                                                                    \
	X(17, get_cgroup_classid)                                                                  \
	X(18, skb_vlan_push)                                                                       \
	X(19, skb_vlan_pop)                                                                        \
	X(20, skb_get_tunnel_key)                                                                  \
	X(21, skb_set_tunnel_key)                                                                  \
	X(22, perf_event_read)                                                                     \
	X(23, redirect)                                                                            \
	X(24, get_route_realm)                                                                     \
	X(25, perf_event_output)                                                                   \
	X(26, skb_load_bytes)                                                                      \
	X(27, get_stackid)                                                                         \
	X(28, csum_diff)                                                                           \
	X(29, skb_get_tunnel_opt)                                                                  \
	X(30, skb_set_tunnel_opt)                                                                  \
	X(31, skb_change_proto)                                                                    \
	X(32, skb_change_type)                                                                     \
	X(33, skb_under_cgroup)                                                                    \
	X(34, get_hash_recalc)                                                                     \
	X(35, get_current_task)                                                                    \
	X(36, probe_write_user)                                                                    \
	X(37, current_task_under_cgroup)                                                           \
	X(38, skb_change_tail)                                                                     \
	X(39, skb_pull_data)                                                                       \
	X(40, csum_update)                                                                         \
	X(41, set_hash_invalid)                                                                    \
	X(42, get_numa_node_id)                                                                    \
	X(43, skb_change_head)                                                                     \
	X(44, xdp_adjust_head)                                                                     \
	X(45, probe_read_str)                                                                      \
	X(46, get_socket_cookie)                                                                   \
	X(47, get_socket_uid)                                                                      \
	X(48, set_hash)                                                                            \
	X(49, setsockopt)                                                                          \
	X(50, skb_adjust_room)                                                                     \
	X(51, redirect_map)                                                                        \
	X(52, sk_redirect_map)                                                                     \
	X(53, sock_map_update)                                                                     \
	X(54, xdp_adjust_meta)                                                                     \
	X(55, perf_event_read_value)                                                               \
	X(56, perf_prog_read_value)                                                                \
	X(57, getsockopt)                                                                          \
	X(58, override_return)                                                                     \
	X(59, sock_ops_cb_flags_set)                                                               \
	X(60, msg_redirect_map)                                                                    \
	X(61, msg_apply_bytes)                                                                     \
	X(62, msg_cork_bytes)                                                                      \
	X(63, msg_pull_data)                                                                       \
	X(64, bind)                                                                                \
	X(65, xdp_adjust_tail)                                                                     \
	X(66, skb_get_xfrm_state)                                                                  \
	X(67, get_stack)                                                                           \
	X(68, skb_load_bytes_relative)                                                             \
	X(69, fib_lookup)                                                                          \
	X(70, sock_hash_update)                                                                    \
	X(71, msg_redirect_hash)                                                                   \
	X(72, sk_redirect_hash)                                                                    \
	X(73, lwt_push_encap)                                                                      \
	X(74, lwt_seg6_store_bytes)                                                                \
	X(75, lwt_seg6_adjust_srh)                                                                 \
	X(76, lwt_seg6_action)                                                                     \
	X(77, rc_repeat)                                                                           \
	X(78, rc_keydown)                                                                          \
	X(79, skb_cgroup_id)                                                                       \
	X(80, get_current_cgroup_id)                                                               \
	X(81, get_local_storage)                                                                   \
	X(82, sk_select_reuseport)                                                                 \
	X(83, skb_ancestor_cgroup_id)                                                              \
	X(84, sk_lookup_tcp)                                                                       \
	X(85, sk_lookup_udp)                                                                       \
	X(86, sk_release)                                                                          \
	X(87, map_push_elem)                                                                       \
	X(88, map_pop_elem)                                                                        \
	X(89, map_peek_elem)                                                                       \
	X(90, msg_push_data)                                                                       \
	X(91, msg_pop_data)                                                                        \
	X(92, rc_pointer_rel)                                                                      \
	X(93, spin_lock)                                                                           \
	X(94, spin_unlock)                                                                         \
	X(95, sk_fullsock)                                                                         \
	X(96, tcp_sock)                                                                            \
	X(97, skb_ecn_set_ce)                                                                      \
	X(98, get_listener_sock)                                                                   \
	X(99, skc_lookup_tcp)                                                                      \
	X(100, tcp_check_syncookie)                                                                \
	X(101, sysctl_get_name)                                                                    \
	X(102, sysctl_get_current_value)                                                           \
	X(103, sysctl_get_new_value)                                                               \
	X(104, sysctl_set_new_value)                                                               \
	X(105, strtol)                                                                             \
	X(106, strtoul)                                                                            \
	X(107, sk_storage_get)                                                                     \
	X(108, sk_storage_delete)                                                                  \
	X(109, send_signal)                                                                        \
	X(110, tcp_gen_syncookie)                                                                  \
	X(111, skb_output)                                                                         \
	X(112, probe_read_user)                                                                    \
	X(113, probe_read_kernel)                                                                  \
	X(114, probe_read_user_str)                                                                \
	X(115, probe_read_kernel_str)                                                              \
	X(116, tcp_send_ack)                                                                       \
	X(117, send_signal_thread)                                                                 \
	X(118, jiffies64)                                                                          \
	X(119, read_branch_records)                                                                \
	X(120, get_ns_current_pid_tgid)                                                            \
	X(121, xdp_output)                                                                         \
	X(122, get_netns_cookie)                                                                   \
	X(123, get_current_ancestor_cgroup_id)                                                     \
	X(124, sk_assign)                                                                          \
	X(125, ktime_get_boot_ns)                                                                  \
	X(126, seq_printf)                                                                         \
	X(127, seq_write)                                                                          \
	X(128, sk_cgroup_id)                                                                       \
	X(129, sk_ancestor_cgroup_id)                                                              \
	X(130, ringbuf_output)                                                                     \
	X(131, ringbuf_reserve)                                                                    \
	X(132, ringbuf_submit)                                                                     \
	X(133, ringbuf_discard)                                                                    \
	X(134, ringbuf_query)                                                                      \
	X(135, csum_level)                                                                         \
	X(136, skc_to_tcp6_sock)                                                                   \
	X(137, skc_to_tcp_sock)                                                                    \
	X(138, skc_to_tcp_timewait_sock)                                                           \
	X(139, skc_to_tcp_request_sock)                                                            \
	X(140, skc_to_udp6_sock)                                                                   \
	X(141, get_task_stack)                                                                     \
	X(142, load_hdr_opt)                                                                       \
	X(143, store_hdr_opt)                                                                      \
	X(144, reserve_hdr_opt)                                                                    \
	X(145, inode_storage_get)                                                                  \
	X(146, inode_storage_delete)                                                               \
	X(147, d_path)                                                                             \
	X(148, copy_from_user)                                                                     \
	X(149, snprintf_btf)                                                                       \
	X(150, seq_printf_btf)                                                                     \
	X(151, skb_cgroup_classid)                                                                 \
	X(152, redirect_neigh)                                                                     \
	X(153, per_cpu_ptr)                                                                        \
	X(154, this_cpu_ptr)                                                                       \
	X(155, redirect_peer)                                                                      \
	X(156, task_storage_get)                                                                   \
	X(157, task_storage_delete)                                                                \
	X(158, get_current_task_btf)                                                               \
	X(159, bprm_opts_set)                                                                      \
	X(160, ktime_get_coarse_ns)                                                                \
	X(161, ima_inode_hash)                                                                     \
	X(162, sock_from_file)                                                                     \
	X(163, check_mtu)                                                                          \
	X(164, for_each_map_elem)                                                                  \
	X(165, snprintf)                                                                           \
	X(166, sys_bpf)                                                                            \
	X(167, btf_find_by_name_kind)                                                              \
	X(168, sys_close)                                                                          \
	X(169, timer_init)                                                                         \
	X(170, timer_set_callback)                                                                 \
	X(171, timer_start)                                                                        \
	X(172, timer_cancel)                                                                       \
	X(173, get_func_ip)                                                                        \
	X(174, get_attach_cookie)                                                                  \
	X(175, task_pt_regs)                                                                       \
	X(176, get_branch_snapshot)                                                                \
	X(177, trace_vprintk)                                                                      \
	X(178, skc_to_unix_sock)                                                                   \
	X(179, kallsyms_lookup_name)                                                               \
	X(180, find_vma)                                                                           \
	X(181, loop)                                                                               \
	X(182, strncmp)                                                                            \
	X(183, get_func_arg)                                                                       \
	X(184, get_func_ret)                                                                       \
	X(185, get_func_arg_cnt)                                                                   \
	X(186, get_retval)                                                                         \
	X(187, set_retval)                                                                         \
	X(188, xdp_get_buff_len)                                                                   \
	X(189, xdp_load_bytes)                                                                     \
	X(190, xdp_store_bytes)                                                                    \
	X(191, copy_from_user_task)                                                                \
	X(192, skb_set_tstamp)                                                                     \
	X(193, ima_file_hash)                                                                      \
	X(194, kptr_xchg)                                                                          \
	X(195, map_lookup_percpu_elem)                                                             \
	X(196, skc_to_mptcp_sock)                                                                  \
	X(197, dynptr_from_mem)                                                                    \
	X(198, ringbuf_reserve_dynptr)                                                             \
	X(199, ringbuf_submit_dynptr)                                                              \
	X(200, ringbuf_discard_dynptr)                                                             \
	X(201, dynptr_read)                                                                        \
	X(202, dynptr_write)                                                                       \
	X(203, dynptr_data)                                                                        \
	X(204, tcp_raw_gen_syncookie_ipv4)                                                         \
	X(205, tcp_raw_gen_syncookie_ipv6)                                                         \
	X(206, tcp_raw_check_syncookie_ipv4)                                                       \
	X(207, tcp_raw_check_syncookie_ipv6)                                                       \
	X(208, ktime_get_tai_ns)                                                                   \
	X(209, user_ringbuf_drain)                                                                 \
	X(210, cgrp_storage_get)                                                                   \
	X(211, cgrp_storage_delete)

enum asm_helper {
#define ASM_HELPER_ENUM(number, name) ASM_HELPER_##name = number,
	ASM_HELPERS(ASM_HELPER_ENUM)
#undef ASM_HELPER_ENUM
};

/* "map_lookup_elem" for 1; NULL for a number that the list does not have. */
const char *asm_helper_name(unsigned int number);

#endif
