/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs on what patterns name: each call is seen once at its entry and once at its return, by
 * every way that this kernel has, and both are known to be of one call.
 */
#include "test_loader.h"

#include <linux/bpf_perf_event.h>
#include <sys/prctl.h>

#include "programs/shared/stack.h"
#include "record/probes/probes.h"
#include "record/recording.h"

/* ---- the programs */

enum { IDS = 64 };

struct seen {
	uint64_t hits[PROBE_POINTS][IDS];
	uint64_t nested[IDS]; /* stack pointers of entries, less those of returns */
	uint64_t result[IDS]; /* the last */
	uint64_t argument[IDS];
};

struct test_config {
	struct program_config common;
	struct probe_config probe;
	uint32_t tgid;
	uint32_t at_return;
};

enum { SEEN = STACK_MAPS, MAPS };
static const struct asm_map maps[MAPS] = {
	STACK_MAP_LIST(STACK_COUNTS_TABLE, struct program_stats, rp_program_stats_layout),
	[SEEN] = { "hits_of", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 1, BPF_F_MMAPABLE },
};

struct frame {
	uint64_t room;
};
enum { ROOM = FRAME(struct frame, room) };

/* clang-format off */
/* R7 = the probe, times 8. */
#define OWN_PROBE()										\
	MOV_REG(R6, R1),									\
	CALL(get_current_pid_tgid),								\
	RSH(R0, 32),										\
	JNE_PARAM(R0, struct test_config, tgid, out),						\
	LD_PROBE_ID(R7, R6, struct test_config, probe),						\
	JGE(R7, IDS, out),									\
	LSH(R7, 3)
#define ADD_AT(member, reg)									\
	LD_MAP_VALUE(R1, hits_of, offsetof(struct seen, member)),					\
	ADD_REG(R1, R7),									\
	ATOMIC_ADD(DW, R1, 0, reg)
#define SET_AT(member, reg)									\
	LD_MAP_VALUE(R1, hits_of, offsetof(struct seen, member)),					\
	ADD_REG(R1, R7),									\
	STX(DW, R1, 0, reg)
#define HIT()											\
	MOV(R2, 1),										\
	WHEN(struct test_config, at_return),							\
		ADD_AT(hits[PROBE_RETURN], R2),							\
	END,											\
	UNLESS(struct test_config, at_return),							\
		ADD_AT(hits[PROBE_ENTRY], R2),							\
	END
#define LEAVE()											\
LABEL(out),											\
	MOV(R0, 0),										\
	EXIT()

static const struct asm_insn regs_lines[] = {
	OWN_PROBE(),
	HIT(),
	MOV_REG(R9, R7),
	LD_CALL(ROOM, struct test_config, probe, out),
	MOV_REG(R7, R9),
	WHEN(struct test_config, at_return),
		NEG(R8),
		LD_RET(R2, R6),
		SET_AT(result, R2),
	END,
	UNLESS(struct test_config, at_return),
		LD_ARG(R2, R6, 1),
		SET_AT(argument, R2),
	END,
	ADD_AT(nested, R8),
	LEAVE(),
};

static const struct asm_insn fentry_lines[] = {
	OWN_PROBE(),
	HIT(),
	MOV_REG(R9, R6),
	ADD_AT(nested, R9),
	LEAVE(),
};
static const struct asm_insn fexit_lines[] = {
	OWN_PROBE(),
	HIT(),
	MOV_REG(R9, R6),
	NEG(R9),
	ADD_AT(nested, R9),
	LEAVE(),
};

/* The second word of both is wanted: the number, or the result. */
static const struct asm_insn syscall_lines[] = {
	OWN_PROBE(),
	LDX(DW, R2, R6, 8),
	UNLESS(struct test_config, at_return),
		SET_AT(argument, R2),
	END,
	WHEN(struct test_config, at_return),
		SET_AT(result, R2),
	END,
	HIT(),
	LEAVE(),
};

static const struct asm_insn record_lines[] = {
	OWN_PROBE(),
	HIT(),
	LEAVE(),
};
/* clang-format on */

#define ROW(name_, lines_, hook_)                                                                  \
	{                                                                                          \
		RP_CODE(name_, lines_), hook_, RP_MAPS(maps, MAPS),                                \
			.code.config_size = sizeof(struct test_config)                             \
	}
static const struct rp_program on_regs = ROW("test_regs", regs_lines, RP_ON_PROBE);
static const struct rp_program on_entry =
	ROW("test_fentry", fentry_lines, RP_ON_FENTRY("vfs_read"));
static const struct rp_program on_exit_ = ROW("test_fexit", fexit_lines, RP_ON_FEXIT("vfs_read"));
static const struct rp_program on_sys_enter =
	ROW("test_sys_enter", syscall_lines, RP_ON_TP_BTF("sys_enter"));
static const struct rp_program on_sys_exit =
	ROW("test_sys_exit", syscall_lines, RP_ON_TP_BTF("sys_exit"));
static const struct rp_program on_record = ROW("test_record", record_lines, RP_ON_RECORD);

static void configure(void *ctx, const struct record_probe_use *use, void *config)
{
	struct test_config *c = config;

	(void)ctx;
	c->probe = use->config;
	c->at_return = use->point == PROBE_RETURN;
}

/* ---- a recording of them */

static int attach_nothing(struct recording *rec)
{
	(void)rec;
	return 0;
}

static const struct record_profiler profiler = {
	.command = "test", .maps = maps, .nmaps = MAPS, .attach = attach_nothing
};

struct world {
	struct recording *rec;
	struct record_probes *probes;
	struct seen *seen;
	size_t size;
};

/* The error of attaching. */
static int open_world(struct world *w, const char *const *patterns, size_t n,
		      enum record_probe_way way)
{
	const uint32_t pid = (uint32_t)getpid();
	const struct record_options opt = { 0 };
	const struct record_probe_scope scope = {
		.pids = &pid, .npids = 1, .kinds = RECORD_PROBE_CALLS, .way = way
	};
	struct test_config config = { .tgid = pid };
	const struct record_probe_programs programs = {
		.at = { [PROBE_ENTRY] = { [PROBE_ON_REGS] = &on_regs,
					  [PROBE_ON_ARGS] = &on_entry,
					  [PROBE_ON_SYSCALL] = &on_sys_enter,
					  [PROBE_ON_RECORD] = &on_record },
			[PROBE_RETURN] = { [PROBE_ON_REGS] = &on_regs,
					   [PROBE_ON_ARGS] = &on_exit_,
					   [PROBE_ON_SYSCALL] = &on_sys_exit,
					   [PROBE_ON_RECORD] = &on_record } },
		.config = &config,
		.config_size = sizeof(config),
		.configure = configure,
	};
	void *map;
	int err;

	ck_assert_int_eq(record_new(&profiler, &opt, &w->rec), 0);
	config.common = w->rec->config;
	ck_assert_int_eq(
		rp_map_mmap(record_stacks_map(w->rec->stacks, SEEN), &maps[SEEN], &map, &w->size),
		0);
	w->seen = map;
	err = record_probes_open(&scope, patterns, n, &w->probes);
	if (!err)
		err = record_probes_attach(w->probes, w->rec, &programs);
	return err;
}

static void close_world(struct world *w)
{
	record_probes_close(w->probes);
	record_free(w->rec);
	munmap(w->seen, w->size);
}

static const struct record_probe *named(const struct world *w, const char *name)
{
	const struct record_probe *p = NULL;

	for (uint32_t i = 0; (p = record_probes_at(w->probes, i)); i++)
		if (!strcmp(p->name, name))
			break;
	ck_assert_msg(p != NULL, "%s is not in the list", name);
	return p;
}

#define ck_assert_calls(w, name, n)                                                                \
	do {                                                                                       \
		const uint32_t id_ = named(w, name)->id;                                           \
		ck_assert_uint_eq((w)->seen->hits[PROBE_ENTRY][id_], n);                           \
		ck_assert_uint_eq((w)->seen->hits[PROBE_RETURN][id_], n);                          \
		ck_assert_uint_eq((w)->seen->nested[id_], 0);                                      \
	} while (0)

/* ---- functions of programs */

int probe_leaf(int n);
int probe_deep(int n);
__attribute__((noinline)) int probe_leaf(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}
__attribute__((noinline)) int probe_deep(int n)
{
	int below = n ? probe_deep(n - 1) + 1 : 0;

	__asm__ volatile("" : "+r"(below)); /* else it becomes a loop */
	return below;
}

START_TEST(functions_of_programs)
{
	static const char *const patterns[] = { ":probe_*", ":getppid" };
	struct world w = { 0 };

	ck_assert_int_eq(open_world(&w, patterns, 2, RECORD_PROBE_BEST), 0);
	for (int i = 0; i < 300; i++)
		probe_leaf(i);
	ck_assert_int_eq(probe_deep(999), 999);
	for (int i = 0; i < 7; i++)
		getppid();
	record_probes_detach(w.probes);
	probe_leaf(1000);
	ck_assert_calls(&w, "probe_leaf", 300);
	ck_assert_uint_eq((uint32_t)w.seen->argument[named(&w, "probe_leaf")->id], 299);
	ck_assert_uint_eq((uint32_t)w.seen->result[named(&w, "probe_leaf")->id], 300);
	ck_assert_calls(&w, "probe_deep", 1000);
	ck_assert_calls(&w, "getppid", 7);
	ck_assert_ptr_nonnull(named(&w, "getppid")->how);
	close_world(&w);
}
END_TEST

/* ---- system calls, tracepoints */

START_TEST(system_calls)
{
	static const char *const patterns[] = { "syscall:getppid" };
	uint32_t ids[RECORD_SYSCALLS];
	struct world w = { 0 };

	if (!rp_has(RP_HAS_TP_BTF))
		return;
	ck_assert_int_eq(open_world(&w, patterns, 1, RECORD_PROBE_BEST), 0);
	ck_assert_uint_eq(record_probes_syscalls(w.probes, ids), 1);
	ck_assert_uint_eq(ids[SYS_getppid], 1);
	ck_assert_uint_eq(ids[SYS_read], 0);
	syscall(SYS_getppid);
	/* The program of this test knows no numbers: it counts all calls. */
	ck_assert_uint_ge(w.seen->hits[PROBE_ENTRY][0], 1);
	ck_assert_uint_ge(w.seen->hits[PROBE_RETURN][0], 1);
	ck_assert_str_eq(named(&w, "getppid")->how, "tp_btf");
	close_world(&w);
}
END_TEST

START_TEST(pairs_of_tracepoints)
{
	static const char *const patterns[] = {
		"syscalls:sys_enter_getppid..sys_exit_getppid",
		"syscalls:sys_enter_getpgid..syscalls:sys_exit_getpgid",
	};
	struct world w = { 0 };

	if (rp_tp_try("syscalls", "sys_enter_getppid"))
		return;
	ck_assert_int_eq(open_world(&w, patterns, 2, RECORD_PROBE_BEST), 0);
	for (int i = 0; i < 50; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 20; i++)
		syscall(SYS_getpgid, 0);
	record_probes_detach(w.probes);
	syscall(SYS_getppid);
	ck_assert_calls(&w, patterns[0], 50);
	ck_assert_calls(&w, "syscalls:sys_enter_getpgid..sys_exit_getpgid", 20);
	close_world(&w);
}
END_TEST

/* ---- functions of the kernel */

#if defined(__aarch64__)
#define SYS_PREFIX "__arm64_sys_"
#elif defined(__riscv)
#define SYS_PREFIX "__riscv_sys_"
#else
#define SYS_PREFIX "__x64_sys_"
#endif

/* By each way, the same calls; a glob takes both functions. */
START_TEST(functions_of_the_kernel)
{
	static const char *const patterns[] = { SYS_PREFIX "getp[gp]id" };
	static const enum rp_feature needs[] = { RP_HAS_BPF, RP_HAS_FENTRY, RP_HAS_KPROBE_MULTI,
						 RP_HAS_KPROBE };
	static const char *const how[] = { NULL, "fentry", "kprobe_multi", "kprobe" };
	const enum record_probe_way way = (enum record_probe_way)_i;
	struct world w = { 0 };

	if (!rp_has(needs[way]) ||
	    !(rp_has(RP_HAS_FENTRY) || rp_has(RP_HAS_KPROBE) || rp_has(RP_HAS_KPROBE_MULTI))) {
		fprintf(stderr, "skip: functions of the kernel by %s: this kernel has it not\n",
			way ? how[way] : "any way");
		return;
	}
	ck_assert_int_eq(open_world(&w, patterns, 1, way), 0);
	ck_assert_uint_eq(record_probes_count(w.probes), 2);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid);
	for (int i = 0; i < 10; i++)
		syscall(SYS_getpgid, 0);
	record_probes_detach(w.probes);
	syscall(SYS_getppid);
	ck_assert_calls(&w, SYS_PREFIX "getppid", 1000);
	ck_assert_calls(&w, SYS_PREFIX "getpgid", 10);
	if (way)
		ck_assert_str_eq(named(&w, SYS_PREFIX "getppid")->how, how[way]);
	ck_assert_int_eq(named(&w, SYS_PREFIX "getpgid")->kernel.nargs, 1);
	close_world(&w);
}
END_TEST

/* What cannot be had is said, with what was probably meant. */
START_TEST(what_the_kernel_has_not)
{
	static const char *const patterns[] = { "vfs_reed", "openat" };
	static const char *const hints[] = { "did you mean vfs_read?", "syscall:openat" };
	struct record_probes *list;

	for (int i = 0; i < 2; i++) {
		const struct record_probe_scope scope = { .kinds = RECORD_PROBE_CALLS };

		capture_log();
		ck_assert_int_eq(record_probes_open(&scope, &patterns[i], 1, &list), -ENOENT);
		ck_assert_logged(hints[i]);
	}
}
END_TEST

/* Listing needs no way to probe, and names the reason of each. */
START_TEST(listing)
{
	const struct record_probe_scope scope = { .kinds = RECORD_PROBE_CALLS, .list_only = true };
	const char *const pattern = "vfs_*";
	struct record_probes *list;

	ck_assert_int_eq(record_probes_open(&scope, &pattern, 1, &list), 0);
	ck_assert_uint_gt(record_probes_count(list), 10);
	if (!rp_has(RP_HAS_FENTRY) && !rp_has(RP_HAS_KPROBE))
		ck_assert_ptr_nonnull(record_probes_at(list, 0)->why_not);
	record_probes_close(list);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("probes by patterns");
	TCase *t = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, functions_of_programs);
	tcase_add_test(t, system_calls);
	tcase_add_test(t, pairs_of_tracepoints);
	tcase_add_loop_test(t, functions_of_the_kernel, 0, RECORD_PROBE_WAYS);
	tcase_add_test(t, what_the_kernel_has_not);
	tcase_add_test(t, listing);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
