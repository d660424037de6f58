/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * features.c: what this kernel, with these capabilities, can do. Each is tried once, with the
 * smallest thing that shows it; nothing is concluded from version numbers, which distributions'
 * kernels belie. The tries go past the rest of the loader, so that a no is not logged as an error.
 */
#include "internal.h"

#include <fcntl.h>
#include <unistd.h>

#define INSN(op, d, s, o, i)                                                                       \
	{                                                                                          \
		.code = (op), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i)               \
	}

/* Returns 0. */
static const struct bpf_insn nothing[] = {
	INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
	INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
};

/* Functions that some kernel without the others has, to put a probe on for a moment. The first is
 * never called. */
static const char *const functions[] = { "bpf_fentry_test1", "do_exit", "vfs_read" };

static int try_prog(uint32_t type, uint32_t attach_type, uint32_t flags, uint32_t btf_id)
{
	union rp_attr attr = { 0 };

	attr.prog.type = type;
	attr.prog.expected_attach_type = attach_type;
	attr.prog.flags = flags;
	attr.prog.attach_btf_id = btf_id;
	attr.prog.insns = ptr64(nothing);
	attr.prog.insn_cnt = ARRAY_SIZE(nothing);
	attr.prog.license = ptr64("GPL");
	return rp_sys_bpf(BPF_PROG_LOAD, &attr);
}

static int try_insns(uint32_t type, const struct bpf_insn *insns, uint32_t n)
{
	union rp_attr attr = { 0 };

	attr.prog.type = type;
	attr.prog.insns = ptr64(insns);
	attr.prog.insn_cnt = n;
	attr.prog.license = ptr64("GPL");
	return rp_sys_bpf(BPF_PROG_LOAD, &attr);
}

static int try_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries)
{
	union rp_attr attr = { 0 };

	attr.map.type = type;
	attr.map.key_size = key;
	attr.map.value_size = value;
	attr.map.max_entries = entries;
	return rp_sys_bpf(BPF_MAP_CREATE, &attr);
}

static int close_result(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- one function each: 0 or the kernel's errno */

static int try_bpf(void)
{
	return close_result(try_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1));
}

static int try_kernel_btf(void)
{
	return close_result(rp_root_open("/sys/kernel/btf/vmlinux", O_RDONLY));
}

static int try_prog_btf(void)
{
	/* int f(void): an int, a prototype and the function, which came with func_info. */
	static const struct {
		struct btf_header header;
		uint32_t words[10];
		char strings[8];
	} blob = {
		.header = { .magic = BTF_MAGIC,
			    .version = BTF_VERSION,
			    .hdr_len = sizeof(struct btf_header),
			    .type_len = 40,
			    .str_off = 40,
			    .str_len = 8 },
		.words = { 1, BTF_KIND_INT << 24, 4, BTF_INT_SIGNED << 24 | 32, 0,
			   BTF_KIND_FUNC_PROTO << 24, 1, 5, BTF_KIND_FUNC << 24, 2 },
		.strings = "\0int\0f\0",
	};
	union rp_attr attr = { 0 };

	attr.btf.btf = ptr64(&blob);
	attr.btf.size = sizeof(blob);
	return close_result(rp_sys_bpf(BPF_BTF_LOAD, &attr));
}

static int try_ringbuf(void)
{
	return close_result(try_map(BPF_MAP_TYPE_RINGBUF, 0, 0, (uint32_t)sysconf(_SC_PAGESIZE)));
}

static int try_batch(void)
{
	union rp_attr attr = { 0 };
	const int fd = try_map(BPF_MAP_TYPE_HASH, 4, 8, 1);
	int err;

	if (fd < 0)
		return fd;
	attr.batch.map_fd = (uint32_t)fd;
	err = rp_sys_bpf(BPF_MAP_LOOKUP_BATCH, &attr); /* of nothing */
	close(fd);
	return err;
}

static int try_perf(uint32_t type, uint64_t config, bool build_id)
{
	struct perf_event_attr attr = { .type = type,
					.config = config,
					.disabled = 1,
					.sample_period = 1000000,
					.exclude_kernel = 1 };

	attr.mmap = attr.mmap2 = build_id;
	rp_perf_attr_build_id(&attr, build_id);
	return rp_sys_perf_event_open(&attr, 0, -1, -1);
}

static int try_perf_link(void)
{
	union rp_attr attr = { 0 };
	const int event = try_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false);
	const int prog = try_prog(BPF_PROG_TYPE_PERF_EVENT, 0, 0, 0);
	int err;

	attr.link.prog_fd = (uint32_t)prog;
	attr.link.target_fd = (uint32_t)event;
	attr.link.attach_type = BPF_PERF_EVENT;
	err = event < 0	 ? event
	      : prog < 0 ? prog
			 : close_result(rp_sys_bpf(BPF_LINK_CREATE, &attr));
	if (event >= 0)
		close(event);
	if (prog >= 0)
		close(prog);
	return err;
}

/* Closes the program. */
static int try_raw_attach(int prog, const char *name)
{
	union rp_attr attr = { 0 };
	int err;

	if (prog < 0)
		return prog;
	attr.raw_tp.prog_fd = (uint32_t)prog;
	attr.raw_tp.name = ptr64(name);
	err = close_result(rp_sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr));
	close(prog);
	return err;
}

static int try_raw_tp(void)
{
	return try_raw_attach(try_prog(BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, 0),
			      "sched_process_exit");
}

static int try_tp_btf(void)
{
	const struct rp_btf *btf;
	int id = rp_btf_kernel(&btf);

	if (!id)
		id = rp_btf_find(btf, "btf_trace_sched_process_exit", BTF_KIND_TYPEDEF);
	if (id < 0)
		return id;
	/*
	 * A kernel that loads it can attach it, both came with Linux 5.5; and to take the only
	 * program from a tracepoint again costs 6 ms.
	 */
	return close_result(try_prog(BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0, (uint32_t)id));
}

static int try_fentry(void)
{
	const struct rp_btf *btf;
	int id = rp_btf_kernel(&btf);

	if (id)
		return id;
	id = -ENOENT;
	for (size_t i = 0; id < 0 && i < ARRAY_SIZE(functions); i++)
		id = rp_btf_find(btf, functions[i], BTF_KIND_FUNC);
	if (id < 0)
		return id;
	return try_raw_attach(try_prog(BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0, (uint32_t)id),
			      NULL);
}

static int try_probe(const char *type_path, const char *where)
{
	struct perf_event_attr attr = { .sample_period = 1, .config1 = ptr64(where) };
	long long type;
	int err = rp_read_number(type_path, &type);

	if (err)
		return err;
	attr.type = (uint32_t)type;
	return close_result(rp_sys_perf_event_open(&attr, -1, rp_first_online_cpu(), -1));
}

static int try_kprobe(void)
{
	int err = -ENOENT;

	for (size_t i = 0; err == -ENOENT && i < ARRAY_SIZE(functions); i++)
		err = try_probe("/sys/bus/event_source/devices/kprobe/type", functions[i]);
	return err;
}

/* The first byte of a program is no code, and nothing is put there. */
static int try_uprobe(void)
{
	return try_probe("/sys/bus/event_source/devices/uprobe/type", "/proc/self/exe");
}

static int try_kprobe_multi(void)
{
	const int prog = try_prog(BPF_PROG_TYPE_KPROBE, BPF_TRACE_KPROBE_MULTI, 0, 0);
	int err = -ENOENT;

	if (prog < 0)
		return prog;
	for (size_t i = 0; (err == -ENOENT || err == -ESRCH) && i < ARRAY_SIZE(functions); i++) {
		union rp_attr attr = { 0 };

		attr.link.prog_fd = (uint32_t)prog;
		attr.link.attach_type = BPF_TRACE_KPROBE_MULTI;
		attr.link.kprobe_multi.syms = ptr64(&functions[i]);
		attr.link.kprobe_multi.cnt = 1;
		err = close_result(rp_sys_bpf(BPF_LINK_CREATE, &attr));
	}
	close(prog);
	return err;
}

/* A directory cannot carry probes: a kernel that gets so far as to see that (EBADF) knows the
 * command. */
static int try_uprobe_link(uint32_t attach_type, pid_t pid)
{
	const int prog = try_prog(BPF_PROG_TYPE_KPROBE, attach_type, 0, 0);
	const uint64_t offset = 0;
	union rp_attr attr = { 0 };
	int err;

	if (prog < 0)
		return prog;
	attr.link.prog_fd = (uint32_t)prog;
	attr.link.attach_type = attach_type;
	attr.link.uprobe_multi.pid = (uint32_t)pid;
	attr.link.uprobe_multi.path = ptr64("/");
	attr.link.uprobe_multi.offsets = ptr64(&offset);
	attr.link.uprobe_multi.cnt = 1;
	err = close_result(rp_sys_bpf(BPF_LINK_CREATE, &attr));
	close(prog);
	return err == -EBADF ? 0 : err;
}

static int try_uprobe_multi(void)
{
	return try_uprobe_link(BPF_TRACE_UPROBE_MULTI, 0);
}

/* The kernels that came to take a pid for that of a process also came to refuse one below 0. */
static int try_uprobe_multi_pid(void)
{
	const int err = try_uprobe_multi();

	if (err)
		return err;
	return try_uprobe_link(BPF_TRACE_UPROBE_MULTI, -1) == -EINVAL ? 0 : -EINVAL;
}

/* Such a call leads to a system call of its own, which refuses every other caller. */
static int try_uprobe_nop(void)
{
	const int err = rp_sys_uprobe();

	/* EINVAL is what a kernel says of all else that it is too old for. */
	return err == -ENXIO ? 0 : err == -ENOSYS ? -EINVAL : -EOPNOTSUPP;
}

static int try_uprobe_session(void)
{
	return try_uprobe_link(BPF_TRACE_UPROBE_SESSION, 0);
}

static int try_hw_events(void)
{
	return close_result(try_perf(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false));
}

static int try_mmap_build_id(void)
{
	return close_result(try_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, true));
}

static int try_syscall_prog(void)
{
	return close_result(try_prog(BPF_PROG_TYPE_SYSCALL, 0, BPF_F_SLEEPABLE, 0));
}

static int try_stats(void)
{
	return close_result(rp_stats_enable());
}

/* A call without arguments is refused in any case; the verifier's words tell whether for its name
 * or for them. */
static int try_helper(int number)
{
	const struct bpf_insn call[] = {
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, number),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	union rp_attr attr = { 0 };
	char log[4096] = "";
	int fd;

	attr.prog.type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.prog.insns = ptr64(call);
	attr.prog.insn_cnt = ARRAY_SIZE(call);
	attr.prog.license = ptr64("GPL");
	attr.prog.log_level = 1;
	attr.prog.log_size = sizeof(log);
	attr.prog.log_buf = ptr64(log);
	fd = rp_sys_bpf(BPF_PROG_LOAD, &attr);
	if (fd != -EINVAL && fd != -EACCES)
		return close_result(fd);
	return strstr(log, "invalid func ") || strstr(log, "unknown func ") ? -EINVAL : 0;
}

static int try_may_goto(void)
{
	const struct bpf_insn insns[] = {
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_JCOND, 0, 0, 1, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return close_result(try_insns(BPF_PROG_TYPE_RAW_TRACEPOINT, insns, ARRAY_SIZE(insns)));
}

/* Years older than may_goto: who has that is not asked for each of them, which would be three
 * programs more at every start. */
static int try_older_helper(int number)
{
	return rp_has(RP_HAS_MAY_GOTO) ? 0 : try_helper(number);
}

static int try_bpf_loop(void)
{
	return try_older_helper(181);
}

static int try_task_regs(void)
{
	return try_older_helper(175);
}

static int try_task_btf(void)
{
	return try_older_helper(158);
}

static int try_task_iter(void)
{
	/* copy_from_user_task(fp - 8, 8, 0, ctx->task, 0) */
	const struct bpf_insn visit[] = {
		INSN(BPF_LDX | BPF_MEM | BPF_DW, 4, 1, 8, 0),
		INSN(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 6, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, 8),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 0),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, 191),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};
	const struct rp_btf *btf;
	union rp_attr attr = { 0 };
	int id = rp_btf_kernel(&btf);

	if (!id)
		id = rp_btf_find(btf, "bpf_iter_task", BTF_KIND_FUNC);
	if (id < 0)
		return id;
	attr.prog.type = BPF_PROG_TYPE_TRACING;
	attr.prog.expected_attach_type = BPF_TRACE_ITER;
	attr.prog.flags = BPF_F_SLEEPABLE;
	attr.prog.attach_btf_id = (uint32_t)id;
	attr.prog.insns = ptr64(visit);
	attr.prog.insn_cnt = ARRAY_SIZE(visit);
	attr.prog.license = ptr64("GPL");
	return close_result(rp_sys_bpf(BPF_PROG_LOAD, &attr));
}

static const struct {
	const char *name;
	int (*try)(void);
} features[RP_FEATURES] = {
	[RP_HAS_BPF] = { "bpf", try_bpf },
	[RP_HAS_KERNEL_BTF] = { "kernel BTF", try_kernel_btf },
	[RP_HAS_PROG_BTF] = { "program BTF", try_prog_btf },
	[RP_HAS_RINGBUF] = { "ring buffer", try_ringbuf },
	[RP_HAS_BATCH] = { "map batches", try_batch },
	[RP_HAS_PERF_LINK] = { "perf link", try_perf_link },
	[RP_HAS_RAW_TP] = { "raw tracepoint", try_raw_tp },
	[RP_HAS_TP_BTF] = { "tp_btf", try_tp_btf },
	[RP_HAS_FENTRY] = { "fentry", try_fentry },
	[RP_HAS_KPROBE] = { "kprobe", try_kprobe },
	[RP_HAS_KPROBE_MULTI] = { "kprobe_multi", try_kprobe_multi },
	[RP_HAS_UPROBE] = { "uprobe", try_uprobe },
	[RP_HAS_UPROBE_MULTI] = { "uprobe_multi", try_uprobe_multi },
	[RP_HAS_UPROBE_MULTI_PID] = { "uprobe_multi by process", try_uprobe_multi_pid },
	[RP_HAS_UPROBE_NOP] = { "uprobe on nop by call", try_uprobe_nop },
	[RP_HAS_UPROBE_SESSION] = { "uprobe session", try_uprobe_session },
	[RP_HAS_HW_EVENTS] = { "hardware events", try_hw_events },
	[RP_HAS_MMAP_BUILD_ID] = { "build ids in mmap records", try_mmap_build_id },
	[RP_HAS_SYSCALL_PROG] = { "syscall program", try_syscall_prog },
	[RP_HAS_STATS] = { "run statistics", try_stats },
	[RP_HAS_BPF_LOOP] = { "bpf_loop", try_bpf_loop },
	[RP_HAS_MAY_GOTO] = { "may_goto", try_may_goto },
	[RP_HAS_TASK_ITER] = { "task iterator", try_task_iter },
	[RP_HAS_TASK_REGS] = { "task_pt_regs", try_task_regs },
	[RP_HAS_TASK_BTF] = { "task_btf", try_task_btf },
};

static struct {
	bool known;
	int err;
} learnt[RP_FEATURES];

void rp_features_forget(void)
{
	memset(learnt, 0, sizeof(learnt));
}

int rp_feature_errno(enum rp_feature f)
{
	if (!learnt[f].known) {
		learnt[f].err = features[f].try();
		learnt[f].known = true;
		rp_log(RP_DEBUG, "%s: %s", features[f].name,
		       learnt[f].err ? strerror(-learnt[f].err) : "yes");
	}
	return learnt[f].err;
}

bool rp_has(enum rp_feature f)
{
	return rp_feature_errno(f) == 0;
}

const char *rp_feature_name(enum rp_feature f)
{
	return features[f].name;
}
