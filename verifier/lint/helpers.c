/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What helpers take and give, as bpf-helpers(7) and the verifier's messages tell. Of helpers that
 * are not here only what holds of all is known.
 */
#include "lint.h"

#define HELPER(name, ret_, ...) [ASM_HELPER_##name] = { .ret = RET_##ret_, .args = { __VA_ARGS__ } }
/* Of helpers that take maps of one type only. */
#define HELPER_OF(type, name, ret_, ...)                                                           \
	[ASM_HELPER_##name] = {                                                                    \
		.ret = RET_##ret_,                                                                 \
		.map_type = BPF_MAP_TYPE_##type,                                                   \
		.map_type_name = "BPF_MAP_TYPE_" #type,                                            \
		.args = { __VA_ARGS__ },                                                           \
	}

/* clang-format off */
static const struct helper helpers[] = {
	HELPER(map_lookup_elem, VALUE, ARG_MAP, ARG_KEY),
	HELPER(map_update_elem, NUMBER, ARG_MAP, ARG_KEY, ARG_VALUE, ARG_ANY),
	HELPER(map_delete_elem, NUMBER, ARG_MAP, ARG_KEY),
	HELPER(map_lookup_percpu_elem, VALUE, ARG_MAP, ARG_KEY, ARG_ANY),
	HELPER(map_push_elem, NUMBER, ARG_MAP, ARG_VALUE, ARG_ANY),
	HELPER(map_pop_elem, NUMBER, ARG_MAP, ARG_PLACE),
	HELPER(map_peek_elem, NUMBER, ARG_MAP, ARG_PLACE),
	HELPER(for_each_map_elem, NUMBER, ARG_MAP, ARG_FUNC, ARG_ANY, ARG_ANY),
	HELPER(loop, NUMBER, ARG_ANY, ARG_FUNC, ARG_ANY, ARG_ANY),

	HELPER(probe_read, NUMBER, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_read_kernel, NUMBER, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_read_user, NUMBER, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_read_str, LENGTH, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_read_kernel_str, LENGTH, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_read_user_str, LENGTH, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(copy_from_user, NUMBER, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(probe_write_user, NUMBER, ARG_ANY, ARG_IN, ARG_SIZE),
	HELPER(get_current_comm, NUMBER, ARG_OUT, ARG_SIZE),

	HELPER_OF(STACK_TRACE, get_stackid, NUMBER, ARG_CTX, ARG_MAP, ARG_ANY),
	HELPER(get_stack, LENGTH, ARG_CTX, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(get_task_stack, LENGTH, ARG_ANY, ARG_OUT, ARG_SIZE, ARG_ANY),
	HELPER(read_branch_records, NUMBER, ARG_CTX, ARG_ANY, ARG_ANY, ARG_ANY),
	HELPER(perf_prog_read_value, NUMBER, ARG_CTX, ARG_OUT, ARG_SIZE),
	HELPER_OF(PERF_EVENT_ARRAY, perf_event_read, NUMBER, ARG_MAP, ARG_ANY),
	HELPER_OF(PERF_EVENT_ARRAY, perf_event_read_value, NUMBER, ARG_MAP, ARG_ANY, ARG_OUT,
		  ARG_SIZE),
	HELPER_OF(PERF_EVENT_ARRAY, perf_event_output, NUMBER, ARG_CTX, ARG_MAP, ARG_ANY, ARG_IN,
		  ARG_SIZE),

	HELPER_OF(RINGBUF, ringbuf_output, NUMBER, ARG_MAP, ARG_IN, ARG_SIZE, ARG_ANY),
	HELPER_OF(RINGBUF, ringbuf_reserve, RECORD, ARG_MAP, ARG_CONST, ARG_ANY),
	HELPER(ringbuf_submit, NOTHING, ARG_RECORD, ARG_ANY),
	HELPER(ringbuf_discard, NOTHING, ARG_RECORD, ARG_ANY),
	HELPER_OF(RINGBUF, ringbuf_query, NUMBER, ARG_MAP, ARG_ANY),

	HELPER(trace_printk, NUMBER, ARG_IN, ARG_SIZE),
	HELPER(snprintf, NUMBER, ARG_OUT, ARG_SIZE, ARG_ANY, ARG_IN_0, ARG_SIZE),
	HELPER(strncmp, NUMBER, ARG_IN, ARG_SIZE, ARG_ANY),

	HELPER(ktime_get_ns, NUMBER),
	HELPER(ktime_get_boot_ns, NUMBER),
	HELPER(ktime_get_coarse_ns, NUMBER),
	HELPER(ktime_get_tai_ns, NUMBER),
	HELPER(jiffies64, NUMBER),
	HELPER(get_prandom_u32, NUMBER),
	HELPER(get_smp_processor_id, SMALL),
	HELPER(get_numa_node_id, SMALL),
	HELPER(get_current_pid_tgid, NUMBER),
	HELPER(get_current_uid_gid, NUMBER),
	HELPER(get_current_task, NUMBER),
	HELPER(get_current_task_btf, OTHER),
	HELPER(get_current_cgroup_id, NUMBER),
	HELPER(get_current_ancestor_cgroup_id, NUMBER, ARG_ANY),
	HELPER(get_ns_current_pid_tgid, NUMBER, ARG_ANY, ARG_ANY, ARG_OUT, ARG_SIZE),
	HELPER_OF(CGROUP_ARRAY, current_task_under_cgroup, NUMBER, ARG_MAP, ARG_ANY),
	HELPER(get_attach_cookie, NUMBER, ARG_CTX),
	HELPER(get_func_ip, NUMBER, ARG_CTX),
	HELPER(get_func_arg, NUMBER, ARG_CTX, ARG_ANY, ARG_OUT_8),
	HELPER(get_func_ret, NUMBER, ARG_CTX, ARG_OUT_8),
	HELPER(get_func_arg_cnt, NUMBER, ARG_CTX),
	HELPER_OF(TASK_STORAGE, task_storage_get, VALUE, ARG_MAP, ARG_ANY, ARG_VALUE_0, ARG_ANY),
	HELPER_OF(TASK_STORAGE, task_storage_delete, NUMBER, ARG_MAP, ARG_ANY),
	HELPER(send_signal, NUMBER, ARG_ANY),
	HELPER(send_signal_thread, NUMBER, ARG_ANY),
	HELPER(override_return, NUMBER, ARG_CTX, ARG_ANY),
	HELPER_OF(PROG_ARRAY, tail_call, NOTHING, ARG_CTX, ARG_MAP, ARG_ANY),
};
/* clang-format on */

const struct helper *asm_helper_of(int32_t number)
{
	if (number <= 0 || (size_t)number >= sizeof(helpers) / sizeof(helpers[0]))
		return NULL;
	return helpers[number].ret == RET_UNKNOWN ? NULL : &helpers[number];
}
