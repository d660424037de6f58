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
	struct rp_attr_raw_tp raw_tp;
	struct rp_attr_btf btf;
	struct rp_attr_link link;
	struct rp_attr_iter iter;
	struct rp_attr_stats stats;
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

#endif
