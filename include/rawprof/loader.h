/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loader.h: what rawprof asks of the kernel, as thin and complete wrappers of bpf(2),
 * perf_event_open(2), tracefs and kernel BTF. It knows nothing of profiling.
 *
 *	int fd = rp_program_load(&program, NULL); // and rp_attach_tracepoint(fd, …, &link)
 *
 * Every function that can fail returns 0 (or a descriptor, or a count) or a negative errno, and
 * leaves *out untouched on failure. The reason is said once, through rp_log(), where it is known;
 * callers pass the number on and stay silent. Functions that report an expected answer (-ENOENT of
 * a map lookup) say so below and log nothing.
 *
 * Every descriptor is close-on-exec and nothing is pinned: whatever ends the process, nothing stays
 * behind in the kernel. None of it is thread-safe unless said so; one thread per map, ring or event
 * set is fine.
 */
#ifndef RAWPROF_LOADER_H
#define RAWPROF_LOADER_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct asm_access;
struct asm_bindings;
struct asm_image;
struct asm_map;
struct asm_program;
struct perf_event_attr;

/* ---- messages (loader/log.c) */

enum rp_level { RP_ERROR, RP_WARN, RP_INFO, RP_DEBUG };

/* Gets one printable message without a prefix; a verifier log has newlines within. */
typedef void (*rp_log_fn)(void *ctx, enum rp_level level, const char *message);

/* Messages above `most` (RP_WARN to begin with) are dropped. A NULL sink is standard error. */
void rp_log_setup(enum rp_level most, rp_log_fn sink, void *ctx);
unsigned long rp_log_errors(void); /* how many of RP_ERROR there have been */
bool rp_log_wants(enum rp_level level);
void rp_log(enum rp_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Log at RP_ERROR and return err: `return rp_fail(err, "what, on what: what to do")`. */
int rp_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- system calls (loader/sys.c) */

/*
 * The calls that reach the kernel. Each returns the call's result or a negative errno. Tests
 * put their own in place to answer as another kernel would. `attr` is what linux/bpf.h calls union
 * bpf_attr.
 */
struct rp_sys {
	int (*bpf)(int cmd, void *attr, uint32_t size);
	int (*perf_event_open)(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			       unsigned long flags);
	int (*ioctl)(int fd, unsigned long request, unsigned long arg);
	/* uprobe(2) of x86-64, asked for its absence alone; may be NULL, which is -ENOSYS. */
	int (*uprobe)(void);
};

/* NULL restores the kernel. Forgets what rp_has() has learnt. */
void rp_sys_replace(const struct rp_sys *sys);

/* Where /sys and /proc are looked up ("" unless a test says otherwise; the string must stay). */
void rp_root_replace(const char *root);

/* ---- capabilities (loader/caps.c) */

enum rp_cap {
	RP_CAP_BPF,
	RP_CAP_PERFMON,
	RP_CAP_SYS_ADMIN,
	RP_CAP_SYSLOG,
	RP_CAP_SYS_PTRACE,
	RP_CAP_SYS_RESOURCE
};

/* Is it in the effective set (capget(2))? CAP_SYS_ADMIN stands for BPF and PERFMON. Not the uid. */
bool rp_cap_has(enum rp_cap cap);
/* What to do about a missing one: "CAP_BPF is needed to load BPF programs: run as root, or …". */
const char *rp_cap_hint(enum rp_cap cap);
/* Whether a filter of system calls (seccomp) is why bpf(2), or perf_event_open(2), fails so. */
bool rp_filtered(int err, bool perf);

/* ---- features (loader/features.c) */

enum rp_feature {
	RP_HAS_BPF,		 /* bpf(2) answers at all and we may create a map */
	RP_HAS_KERNEL_BTF,	 /* /sys/kernel/btf/vmlinux, 5.4 and CONFIG_DEBUG_INFO_BTF */
	RP_HAS_PROG_BTF,	 /* programs may carry BTF (func_info, line_info), 5.0 */
	RP_HAS_RINGBUF,		 /* 5.8 */
	RP_HAS_BATCH,		 /* batch operations on hash maps, 5.6 */
	RP_HAS_PERF_LINK,	 /* BPF_LINK_CREATE on a perf event, and attach cookies, 5.15 */
	RP_HAS_RAW_TP,		 /* 4.17 */
	RP_HAS_TP_BTF,		 /* 5.5 */
	RP_HAS_FENTRY,		 /* loading and attaching, 5.5 (x86), 6.0 (arm64) */
	RP_HAS_KPROBE,		 /* perf PMU "kprobe" */
	RP_HAS_KPROBE_MULTI,	 /* 5.18 with CONFIG_FPROBE */
	RP_HAS_UPROBE,		 /* perf PMU "uprobe" */
	RP_HAS_UPROBE_MULTI,	 /* 6.6 */
	RP_HAS_UPROBE_MULTI_PID, /* a pid there means the process, not a thread, 6.10 */
	RP_HAS_UPROBE_NOP,	 /* a probe on a nop is a call, or emulated, 6.18 */
	RP_HAS_UPROBE_SESSION,	 /* 6.13 */
	RP_HAS_HW_EVENTS,	 /* PERF_COUNT_HW_CPU_CYCLES can be opened */
	RP_HAS_MMAP_BUILD_ID,	 /* build ids in side-band mmap2 records, 5.12 */
	RP_HAS_SYSCALL_PROG,	 /* BPF_PROG_TYPE_SYSCALL, 5.14 */
	RP_HAS_STATS,		 /* BPF_ENABLE_STATS, 5.8 */
	RP_HAS_TASK_BTF,	 /* helper bpf_get_current_task_btf, 5.11 */
	RP_HAS_TASK_REGS,	 /* helper bpf_task_pt_regs, 5.15 */
	RP_HAS_BPF_LOOP,	 /* helper bpf_loop, 5.17 */
	RP_HAS_MAY_GOTO,	 /* the instruction MAY_GOTO, 6.10 */
	RP_HAS_TASK_ITER,	 /* programs that visit every thread and read its memory, 5.18 */
	RP_FEATURES
};

/* Tried on the running kernel at the first question, then remembered. Logged at RP_DEBUG. */
bool rp_has(enum rp_feature feature);
/* Short name ("kprobe_multi") and the errno (0 or negative) of the try, for `doctor`. */
const char *rp_feature_name(enum rp_feature feature);
int rp_feature_errno(enum rp_feature feature);

/* ---- CPUs (loader/cpus.c) */

/* Ascending CPU numbers without duplicates; holes are usual. Free with rp_cpus_free. */
struct rp_cpus {
	int *cpu;
	int n;
};

/* "0-3,8,10-11\n". -EINVAL for anything else, also strides ("0-7:2/4") and numbers above 65535. */
int rp_cpus_parse(const char *text, struct rp_cpus *out);
int rp_cpus_online(struct rp_cpus *out);
bool rp_cpus_has(const struct rp_cpus *cpus, int cpu);
void rp_cpus_free(struct rp_cpus *cpus);
/* Slots of a per-CPU map value: possible CPUs, which may be more than are online. At least 1. */
int rp_cpus_possible(void);

/* ---- maps (loader/map.c, loader/map_walk.c) */

/* Create one map; its inner template too where map->inner is set. Returns a descriptor. Raises
 * RLIMIT_MEMLOCK only if the kernel refuses for want of it (before 5.11). */
int rp_map_create(const struct asm_map *map);
/* All or none. fds[i] belongs to maps[i]; close them with rp_fds_close. */
int rp_maps_create(const struct asm_map *maps, size_t n, int *fds);
void rp_fds_close(int *fds, size_t n);

/* Bytes that a lookup writes: value_size, or for per-CPU types value_size rounded up to 8 times
 * rp_cpus_possible(). */
size_t rp_map_value_bytes(const struct asm_map *map);
/* Bytes from one CPU's value to the next one's; 0 if the type is not per-CPU. */
size_t rp_map_cpu_stride(const struct asm_map *map);

/* These four log nothing: -ENOENT, -EEXIST, -E2BIG and -EBUSY are answers. */
int rp_map_lookup(int fd, const void *key, void *value);
int rp_map_update(int fd, const void *key, const void *value, uint64_t flags);
int rp_map_delete(int fd, const void *key);
/* Lookup and delete in one; where the kernel has none for this type (hash before 5.14), a lookup
 * followed by a delete, which loses what is added in between. */
int rp_map_take(int fd, const void *key, void *value);
/* The key after `key` (NULL: the first). -ENOENT at the end. */
int rp_map_next_key(int fd, const void *key, void *next);

/* No more writes from user space; with BPF_F_RDONLY_PROG the contents are constants to the verifier
 * (5.2). */
int rp_map_freeze(int fd);
/* The values of an array made with BPF_F_MMAPABLE, read-write: value_size rounded up to 8,
 * max_entries times, in *size bytes of whole pages. Unmap with munmap. */
int rp_map_mmap(int fd, const struct asm_map *map, void **out, size_t *size);
/* Writes into the values of such an array, at a byte offset, mapping only the pages that it needs
 * (they count as memory of the process). -EINVAL beyond its end, -ENOMEM; logs nothing. */
int rp_map_write(int fd, uint64_t offset, const void *data, size_t bytes);

/* One entry. `value` has rp_map_value_bytes(). A negative return ends the walk with it. */
typedef int (*rp_map_fn)(void *ctx, const void *key, const void *value);

/*
 * Walk all entries, by batches where kernel and type have them, otherwise key by key. Entries that
 * come or go meanwhile may or may not be seen; others are seen exactly once (key by key: at least
 * once if the map changes). Returns the number of entries.
 */
int rp_map_each(int fd, const struct asm_map *map, rp_map_fn fn, void *ctx);
/* rp_map_each(), and each entry is deleted as it is read. Not for arrays. */
int rp_map_drain(int fd, const struct asm_map *map, rp_map_fn fn, void *ctx);
/* Add up the i-th u64 of all CPUs' values in what rp_map_each handed out. */
uint64_t rp_map_cpu_sum(const struct asm_map *map, const void *value, unsigned i);

/* ---- programs (loader/prog.c, loader/load.c) */

/* A program as bytes. Everything after ninsns may be 0. */
struct rp_prog {
	const char *name; /* any text; cut and cleaned to the kernel's 15 characters */
	uint32_t type, attach_type, flags; /* BPF_PROG_TYPE_*, BPF_TRACE_*, BPF_F_SLEEPABLE … */
	const char *license;		   /* NULL: "GPL" */
	const char *target; /* function or tracepoint of a BTF program (tp_btf, fentry …) */
	const struct bpf_insn *insns;
	uint32_t ninsns;
	const void *btf; /* a BTF blob; left out if the kernel refuses it */
	uint32_t btf_size;
	const void *func_info, *line_info; /* struct bpf_func_info[], struct bpf_line_info[] */
	uint32_t nfunc_info, nline_info;
	/* "file.c:12: MOV(R0, 0)" of an instruction, for messages; NULL if unknown. May be NULL. */
	const char *(*line)(void *ctx, uint32_t insn);
	void *line_ctx;
};

/* BPF_PROG_LOAD. On refusal the verifier's own words with the source lines are logged, their end if
 * they are long. -EACCES or -EINVAL: refused by the verifier; -EPERM: no capability; -ENOENT: no
 * such BTF target. Returns a descriptor. */
int rp_prog_load(const struct rp_prog *prog);

/* rp_prog_load() with the verifier's log at level (1, 2, |4 statistics), whole, in *log (malloc'd,
 * on refusal too, with nothing logged; NULL if it did not come so far). */
int rp_prog_load_verbose(const struct rp_prog *prog, uint32_t level, char **log);

/*
 * Assemble and load a DSL program. `bind` gives maps, map_fds and config, or is NULL where there is
 * nothing to bind; field and tp_field are those of kernel BTF and tracefs where they are NULL.
 * Errors of assembly are logged with file:line, and where the verifier refuses a program without
 * naming a line, what the lint finds in it. -EINVAL, logged: the program uses a map, and map_fds is
 * missing. Returns a descriptor. With RAWPROF_EXPLAIN=1 in the environment the log of
 * rp_program_explain() is logged first, as if it were an error.
 */
int rp_program_load(const struct asm_program *program, const struct asm_bindings *bind);

/*
 * What the verifier knows at each line of a program, in the kernel's own words: *log is its log of
 * level 2, malloc'd, with the DSL lines in it ("; MOV(R0, 42) @ prog.c:12"), also of a program that
 * it refuses; NULL if it did not come so far. 0 if the program was accepted, else as
 * rp_program_load(). The program does not stay loaded.
 */
int rp_program_explain(const struct asm_program *program, const struct asm_bindings *bind,
		       char **log);

/* An assembled program as rp_prog_load and rp_prog_load_verbose take it; image must outlive it. */
void rp_prog_of_image(const struct asm_image *image, struct rp_prog *out);

/* The bindings by themselves; ctx is ignored. -ENOENT: no such type, member,
 * function or tracepoint;
 * -EOPNOTSUPP: a bit field, or one of the first 8 bytes of a tracepoint's record. Of a field of
 * variable length the u32 that says where it lies is meant. why as rp_btf_access. */
int rp_bind_field(void *ctx, const char *type, const char *path, struct asm_access *out, char *why);
int rp_bind_tp_field(void *ctx, const char *group, const char *event, const char *field,
		     struct asm_access *out, char *why);
int rp_bind_kfunc(void *ctx, const char *name, char *why);

/* ---- BTF (loader/btf.c, loader/btf_field.c) */

struct rp_btf;

/* The running kernel's, read at the first call and kept. -ENOENT if the kernel has none, which is
 * not logged; other errors are. */
int rp_btf_kernel(const struct rp_btf **out);
/* Let go of it (5 to 10 MB of mapped file) once everything is loaded; the next rp_btf_kernel reads
 * it again. */
void rp_btf_kernel_release(void);
/* From a blob, which is copied. -EINVAL if it is malformed; every later access is safe then. Free
 * with rp_btf_free. */
int rp_btf_parse(const void *data, size_t size, struct rp_btf **out);
void rp_btf_free(struct rp_btf *btf);

/* Type id of a name and a BTF_KIND_* (linux/btf.h), or -ENOENT. Logs nothing. */
int rp_btf_find(const struct rp_btf *btf, const char *name, uint32_t kind);

/*
 * How to read a member of a kernel type (struct asm_access). Path: members by ".", through pointers
 * and anonymous members, "comm[3]" for an element of an array. A pointer met before the last member
 * is a hop. -ENOENT, -EOPNOTSUPP for bit fields, -EINVAL for a path that makes no sense; nothing is
 * logged, the reason is written to why (ASM_WHY_SIZE bytes, or NULL).
 */
int rp_btf_access(const struct rp_btf *btf, const char *type, const char *path,
		  struct asm_access *out, char *why);
/* sizeof a struct, union, int, enum or typedef by name. -ENOENT. */
int rp_btf_size(const struct rp_btf *btf, const char *type);
/* Value of an enumerator of an enum by name (NULL: of any enum). -ENOENT, not logged. */
int rp_btf_enum(const struct rp_btf *btf, const char *type, const char *name, int64_t *out);
/* Number of parameters of a function (kind FUNC by name), or -ENOENT. */
int rp_btf_func_nargs(const struct rp_btf *btf, const char *name);
/* Is the n-th argument, from 0, of a tracepoint's BTF program a pointer to this struct, or it? 1 or
 * 0. -ENOENT: no such tracepoint, or fewer arguments. */
int rp_btf_tracepoint_takes(const struct rp_btf *btf, const char *event, unsigned int n,
			    const char *type);
/* Call fn for every function whose name matches the glob (fnmatch(3)); nargs < 0: it has arguments
 * of more than 8 bytes, or any number. Returns the number or what fn returned below 0. */
int rp_btf_each_func(const struct rp_btf *btf, const char *glob,
		     int (*fn)(void *ctx, const char *name, int nargs), void *ctx);

/* ---- tracefs (loader/tracefs.c, loader/tp_format.c) */

/* A directory descriptor of its mount point, found once (where there is none, of a detached mount
 * of this process alone), not to be closed. -EPERM, -ENODEV. */
int rp_tracefs(void);
/* Is a tracepoint there and readable? 0 or a negative errno (-ENOENT: this kernel has none of the
 * name; -EPERM, -EACCES: not for us; -ENODEV: no tracefs). Logs nothing. */
int rp_tp_try(const char *group, const char *event);

struct rp_tp_field {
	char *name, *type; /* "comm", "char[16]" */
	uint32_t offset, size;
	uint32_t count; /* elements of an array, else 1 */
	bool is_signed;
	bool data_loc, rel_loc; /* __data_loc: a u32, length << 16 | offset from the record's start
	                           (rel: from the field's end) */
	bool common; /* common_type and its like: not readable by BPF programs, which see the first
	                8 bytes as reserved */
};

struct rp_tp_format {
	char *group, *event;
	uint32_t id;
	struct rp_tp_field *fields;
	uint32_t nfields;
	char *print; /* the format's "print fmt", as it is */
};

/* -ENOENT: no such event (logged, with the nearest name). */
int rp_tp_format(const char *group, const char *event, struct rp_tp_format *out);
/* From the text of a format file. -EINVAL if it is none. */
int rp_tp_format_parse(const char *text, struct rp_tp_format *out);
const struct rp_tp_field *rp_tp_format_field(const struct rp_tp_format *format, const char *field);
void rp_tp_format_free(struct rp_tp_format *format);
/* Id for perf_event_attr.config. -ENOENT. */
int rp_tp_id(const char *group, const char *event);
/* For all events "group:event" that match the glob. Returns the number or what fn returned below
 * 0. */
int rp_tp_each(const char *glob, int (*fn)(void *ctx, const char *group, const char *event),
	       void *ctx);

/* ---- perf events: perf.h, at the end */

/* ---- attaching (loader/attach.c, loader/probe.c) */

/* An attached program. A prog_fd below 0 is returned as it is, by all that attach: why there is no
 * program has been said. Detached and freed by rp_link_close, which takes NULL. */
struct rp_link;
void rp_link_close(struct rp_link *link);
/* Waits until no program that was detached before is still running, on any CPU; some 20 ms. What
 * programs count is complete only then. Source: membarrier(2), MEMBARRIER_CMD_GLOBAL. */
void rp_quiesce(void);

/* cookie: what bpf_get_attach_cookie returns (5.15); -EOPNOTSUPP where the kernel takes none. */
int rp_attach_tracepoint(int prog_fd, const char *group, const char *event, uint64_t cookie,
			 struct rp_link **out);
/* name NULL for programs with a BTF target (tp_btf). */
int rp_attach_raw_tracepoint(int prog_fd, const char *name, struct rp_link **out);
/*
 * A descriptor by which an iterator program (BPF_TRACE_ITER, target "task") runs: read(2) visits as
 * many as write what it has room for, and is 0 at the end; -EAGAIN: it has not come so far. 5.8.
 */
int rp_iterator(int prog_fd);
/* fentry, fexit, fmod_ret: the target is in the program. -EOPNOTSUPP where the kernel cannot (its
 * errno 524), -EPERM where it may not: try kprobe_multi, then kprobe. */
int rp_attach_trace(int prog_fd, struct rp_link **out);

/* One kprobe by the perf PMU. symbol with offset, or NULL with an address. -EOPNOTSUPP: no kprobes
 * in this kernel. */
struct rp_kprobe {
	const char *symbol;
	uint64_t offset;       /* from the symbol, or the address */
	bool at_return, quiet; /* quiet: that it cannot be put there is an answer, not logged */
	uint64_t cookie;
};
int rp_attach_kprobe(int prog_fd, const struct rp_kprobe *probe, struct rp_link **out);

/* Many at once. The program must have been loaded with attach_type BPF_TRACE_KPROBE_MULTI (or
 * _SESSION). */
struct rp_kprobe_multi {
	const char *const *symbols; /* or */
	const uint64_t *addrs;
	const uint64_t *cookies; /* or NULL */
	uint32_t n;
	bool at_return, quiet;
};
int rp_attach_kprobe_multi(int prog_fd, const struct rp_kprobe_multi *probe, struct rp_link **out);

/* One uprobe by the perf PMU; offset is that in the file, not the virtual address. pid: one
 * process, -1 all. */
struct rp_uprobe {
	const char *path;
	uint64_t offset;
	pid_t pid;
	bool at_return;
	uint64_t cookie;
	uint64_t ref_ctr_offset; /* of a USDT semaphore, in the file; 0 none */
};
int rp_attach_uprobe(int prog_fd, const struct rp_uprobe *probe, struct rp_link **out);

/* Many in one file. The program must have been loaded with attach_type BPF_TRACE_UPROBE_MULTI (or
 * _SESSION). */
struct rp_uprobe_multi {
	const char *path;
	const uint64_t *offsets;
	const uint64_t *cookies;	 /* or NULL */
	const uint64_t *ref_ctr_offsets; /* or NULL */
	uint32_t n;
	pid_t pid; /* one process, -1 or 0 all */
	bool at_return;
	bool session; /* at entry, and then as the program says (uprobe.h) */
};
int rp_attach_uprobe_multi(int prog_fd, const struct rp_uprobe_multi *probe, struct rp_link **out);

/* ---- ring buffers (loader/ring.c) */

/* The consumer's side of a BPF_MAP_TYPE_RINGBUF. */
struct rp_ring;

/* One record; it is gone after the return. 0, or negative to stop after it. */
typedef int (*rp_ring_fn)(void *ctx, const void *record, size_t size);

/* bytes: the map's max_entries. The map's descriptor may be polled (EPOLLIN: there is something)
 * and must stay open. */
int rp_ring_open(int map_fd, uint32_t bytes, struct rp_ring **out);
/* Hand over what is there now, in order, and free the room as it goes. Returns the number of
 * records or what fn returned. Stops at a record that a program has reserved and not yet
 * submitted. */
int rp_ring_drain(struct rp_ring *ring, rp_ring_fn fn, void *ctx);
/* Bytes in the ring that have not been consumed, headers included. */
size_t rp_ring_pending(const struct rp_ring *ring);
void rp_ring_close(struct rp_ring *ring);

/* ---- side-band (loader/sideband.c, loader/side_record.c) */

/* What processes do while we look: perf records of exec, mmap, fork, exit of the whole machine. */
enum rp_side_type {
	RP_SIDE_MMAP,
	RP_SIDE_COMM,
	RP_SIDE_FORK,
	RP_SIDE_EXIT,
	RP_SIDE_LOST,
	RP_SIDE_THROTTLE,
	RP_SIDE_UNTHROTTLE
};

/* Strings live until the callback returns. pid is the process (tgid), tid the thread, by the pid
 * namespace of the process that opened the side-band; time is CLOCK_MONOTONIC in ns. */
struct rp_side_event {
	enum rp_side_type type;
	uint32_t pid, tid;
	uint32_t cpu;
	uint64_t time;
	union {
		struct { /* an executable mapping */
			uint64_t start, len, pgoff;
			uint32_t maj, min; /* 0 with build_id */
			uint64_t ino, ino_generation;
			uint32_t prot, flags;
			uint8_t build_id[20], build_id_size; /* size 0: none */
			/* as the mapping process sees it, or "[vdso]", "//anon" … */
			const char *path;
		} mmap;
		struct {
			const char *comm;
			bool exec; /* the mappings before are gone */
		} comm;
		struct {
			uint32_t ppid, ptid;
		} fork, exit;
		struct {
			uint64_t n;
		} lost; /* records that did not fit, on this CPU */
	};
};

typedef int (*rp_side_fn)(void *ctx, const struct rp_side_event *event);

struct rp_sideband;

/* pages: data pages per CPU, a power of two, 0 for the default (by the number of CPUs). build_ids
 * asks for build ids in place of device and inode where the kernel can (it reads the file's first
 * page at each mapping). */
struct rp_side_options {
	uint32_t pages;
	bool build_ids;
};
int rp_sideband_open(const struct rp_side_options *opt, struct rp_sideband **out);
/* An epoll descriptor: readable when a ring is half full. */
int rp_sideband_fd(const struct rp_sideband *side);
/*
 * Deliver records of all CPUs in order of time. Those of the last millisecond are held back until
 * the next call, since an older one may still be on its way on another CPU; all = true delivers
 * them too (the last call). Returns the number or what fn returned below 0.
 */
int rp_sideband_drain(struct rp_sideband *side, bool all, rp_side_fn fn, void *ctx);
int rp_sideband_hotplug(struct rp_sideband *side);
uint64_t rp_sideband_lost(const struct rp_sideband *side);
void rp_sideband_close(struct rp_sideband *side);

/* ---- running and measuring (loader/testrun.c, loader/stats.c) */

/* BPF_PROG_TEST_RUN (bpf(2), 4.12; raw tracepoints 5.10, syscalls 5.14). Unused members are 0. */
struct rp_test_run {
	const void *data_in;
	void *data_out;
	uint32_t data_size_in;
	uint32_t data_size_out; /* out: bytes written, which may be more than fit (-ENOSPC) */
	const void *ctx_in;
	void *ctx_out;
	uint32_t ctx_size_in, ctx_size_out;
	uint32_t repeat, flags, cpu;
	uint32_t retval, duration_ns; /* results; duration is the mean of the repeats */
};
int rp_prog_test_run(int prog_fd, struct rp_test_run *run);

/* From now until the descriptor returned is closed the kernel keeps run_time_ns and run_cnt (about
 * 20 ns a run). */
int rp_stats_enable(void);

struct rp_prog_stats {
	char name[16];
	uint32_t id, type;
	uint8_t tag[8];
	uint64_t run_time_ns, run_cnt, recursion_misses;
	uint32_t xlated_bytes, jited_bytes;
	uint32_t verified_insns; /* 0 before 5.16 */
};
int rp_prog_stats(int prog_fd, struct rp_prog_stats *out);
/* The program as the verifier rewrote it (*n instructions, malloc'd). -EPERM: no CAP_SYS_ADMIN. */
int rp_prog_xlated(int prog_fd, struct bpf_insn **out, uint32_t *n);
/* The machine code (*size bytes, malloc'd). -ENOENT if the program is interpreted. */
int rp_prog_jited(int prog_fd, uint8_t **out, uint32_t *size);

/* A source line of a loaded program: info as it was given to the kernel, but insn_off counts the
 * rewritten instructions. */
struct rp_prog_line {
	struct bpf_line_info info;
	uint32_t jited; /* its byte in the machine code; UINT32_MAX if that cannot be told */
};
/* In order (*n of them, malloc'd). -ENOENT if the program has none; -EPERM as above. */
int rp_prog_lines(int prog_fd, struct rp_prog_line **out, uint32_t *n);

/* The id of a loaded program that comes after @id (0: the first); 0: there is none. -EPERM. */
int rp_prog_next_id(uint32_t id, uint32_t *next);
/* A descriptor of the program with this id. -ENOENT: it is gone. */
int rp_prog_by_id(uint32_t id);

/* Where the machine code of a program lies in the kernel, and the source lines of it. */
struct rp_prog_code {
	struct rp_prog_func {
		uint64_t start;
		uint32_t size;
		uint8_t tag[8]; /* a hash of its instructions; part of its name */
	} * funcs;
	uint32_t nfuncs;
	struct rp_prog_code_line {
		uint64_t start;	  /* until the next one of the function */
		const char *file; /* "" if not known */
		const char *text; /* of the source line */
		uint32_t line;
		uint32_t insn; /* its first rewritten instruction, see rp_prog_xlated */
	} * lines;	       /* by start */
	uint32_t nlines;
	void *texts;
};
/* -EPERM: the kernel hides addresses; -ENOENT: it is not compiled. Lines may be none. */
int rp_prog_code(int prog_fd, struct rp_prog_code *out);
void rp_prog_code_free(struct rp_prog_code *code);
/* The line at this address; NULL: it is in no function, or has no lines. */
const struct rp_prog_code_line *rp_prog_code_find(const struct rp_prog_code *code, uint64_t addr);
bool rp_prog_code_has(const struct rp_prog_code *code, uint64_t addr);

/* ---- names (loader/names.c) */

/* What the kernel's numbers are called: "LRU hash", "perf event", "type 99". The text is good until
 * the next call. */
const char *rp_map_type_name(uint32_t type);
const char *rp_prog_type_name(uint32_t type);
/* Letters to change, add or drop to make one of the other; UINT_MAX / 2 for names above 63
 * letters. */
unsigned rp_name_distance(const char *a, const char *b);

#include <rawprof/perf.h>

#endif
