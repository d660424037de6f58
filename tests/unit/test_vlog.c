/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of verifier logs: logs of this and of other kernels, values, joins, garbage. */
#include "test_vlog.h"

static struct asm_vlog parsed(const char *text)
{
	struct asm_vlog log;

	ck_assert_int_eq(asm_vlog_parse(text, &log), 0);
	return log;
}

static uint64_t steps(const struct asm_vlog *log)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < log->ninsns; i++)
		n += log->insns[i].visits + log->insns[i].pruned;
	return n;
}

/* ---- whole logs */

START_TEST(accepted)
{
	char *text = data_file("follow_fork-6.18.log");
	struct asm_vlog log = parsed(text);
	const struct asm_vlog_insn *insn = &log.insns[4];

	free(text);
	ck_assert_uint_eq(log.ninsns, 32);
	ck_assert_uint_eq(log.processed, 33);
	ck_assert_uint_eq(steps(&log), log.processed);
	ck_assert_uint_eq(log.total_states, 2);
	ck_assert_uint_eq(log.peak_states, 2);
	ck_assert_uint_eq(log.max_states_per_insn, 0);
	ck_assert_uint_eq(log.usec, 232);
	ck_assert_str_eq(log.stack_depth, "16");
	ck_assert_ptr_null(log.message);
	ck_assert_uint_eq(log.speculative, 0);

	ck_assert_str_eq(insn->text, "(63) *(u32 *)(r10 -16) = r3");
	ck_assert_str_eq(insn->source, "STX(W, R10, PARENT, R3)");
	ck_assert_str_eq(insn->file, "follow.c");
	ck_assert_uint_eq(insn->line, 27);
	ck_assert_str_eq(insn->live, ".1.3......");
	ck_assert_uint_eq(insn->visits, 1);
	ck_assert_str_eq(BEFORE(&log, 4),
			 "R1=ctx R2=trusted_ptr_task_struct R3=-2^31..2^31-1 R10=fp0");
	ck_assert_str_eq(AFTER(&log, 4), "R3=-2^31..2^31-1 R10=fp0 fp-16=???\?-2^31..2^31-1");

	/* what came on a line of its own, and what a call takes away */
	ck_assert_str_eq(AFTER(&log, 0), "R2=trusted_ptr_task_struct");
	ck_assert_str_eq(BEFORE(&log, 15), "R0=map_value_or_null(pids) R10=fp0 fp-16=mmmmmmmm");
	ck_assert_str_eq(AFTER(&log, 26), "R1=map_value(stats+40)");
	ck_assert_str_eq(log.insns[26].source,
			 "COUNT(stats, struct cpu_stats, unfollowed): LD_MAP_VALUE(R1, stats, "
			 "offsetof(struct cpu_stats, unfollowed))");

	/* three ways to the end: R0 holds something else on each, the slot below -8 is not always
	   written */
	ck_assert_uint_eq(log.insns[30].visits, 3);
	ck_assert_str_eq(from_text(&log.insns[30]), "15 25 29");
	ck_assert_str_eq(BEFORE(&log, 30), "R0=scalar R10=fp0 fp-16=mmmmmmmm");
	ck_assert_str_eq(BEFORE(&log, 31), "R0=0 R10=fp0 fp-16=mmmmmmmm");
	ck_assert_uint_eq(log.insns[11].visits, 0);
	for (int i = 0; i < 512; i++)
		ck_assert_int_eq(log.written[i], i < 16);
	ck_assert_uint_eq(log.npath, 17);
	asm_vlog_free(&log);
}
END_TEST

/* A function, and a callback that is called again and again. */
START_TEST(frames)
{
	char *text = data_file("subprog-6.18.log");
	struct asm_vlog log = parsed(text);

	free(text);
	ck_assert_uint_eq(steps(&log), log.processed);
	ck_assert_uint_eq(log.processed, 107);
	ck_assert_str_eq(BEFORE(&log, 15), "R1=3 R2=4 R10=fp0");
	ck_assert_str_eq(AFTER(&log, 16), "R0=7 R2=4");
	ck_assert_str_eq(BEFORE(&log, 4), "R0=7 R6=ctx R10=fp0");
	ck_assert_str_eq(from_text(&log.insns[4]), "17");
	ck_assert_uint_eq(log.insns[18].visits, 10);
	ck_assert_str_eq(BEFORE(&log, 19), "R1=scalar R2=fp[0]-8 R3=0..9 R10=fp0");
	ck_assert_str_eq(from_text(&log.insns[18]), "12");
	ck_assert_str_eq(BEFORE(&log, 13), "R0=scalar R6=ctx R7=7 R10=fp0 fp-8=0..10");
	ck_assert_str_eq(from_text(&log.insns[12]), "11 23");
	ck_assert_ptr_null(log.message);
	asm_vlog_free(&log);
}
END_TEST

/* The kernel prints the register that is compared; the others with the same id follow. */
START_TEST(equals)
{
	char *text = data_file("nullcheck-6.18.log");
	struct asm_vlog log = parsed(text);

	free(text);
	ck_assert_str_eq(BEFORE(&log, 9), "R0=map_value_or_null(counts) R6=ctx "
					  "R7=map_value_or_null(counts) R10=fp0 fp-8=scalar");
	ck_assert_str_eq(BEFORE(&log, 10),
			 "R0=map_value(counts) R6=ctx R7=map_value(counts) R10=fp0 fp-8=scalar");
	ck_assert_str_eq(BEFORE(&log, 14), "R0=map_value(counts) R1=3 R2=3 R6=ctx "
					   "R7=map_value(counts) R10=fp0 fp-8=scalar");
	ck_assert_str_eq(AFTER(&log, 14), "R1=3 R2=6");
	ck_assert_uint_eq(log.insns[16].visits, 1);
	ck_assert_uint_eq(log.insns[16].pruned, 3);
	ck_assert_str_eq(from_text(&log.insns[16]), "9 11 13 15");
	ck_assert_uint_eq(steps(&log), log.processed);
	asm_vlog_free(&log);
}
END_TEST

/* ---- other kernels */

/* Linux 6.1: marks of liveness, imm=, no source file. */
START_TEST(linux_6_1)
{
	struct asm_vlog log = parsed(
		"func#0 @0\n"
		"0: R1=ctx(off=0,imm=0) R10=fp0\n"
		"; MOV_REG(R6, R1)\n"
		"0: (bf) r6 = r1                       ; R1=ctx(off=0,imm=0) "
		"R6_w=ctx(off=0,imm=0)\n"
		"1: (85) call bpf_get_prandom_u32#7    ; R0=scalar()\n"
		"2: (57) r0 &= 7                       ; R0_w=scalar(umax=7,var_off=(0x0; 0x7))\n"
		"3: (63) *(u32 *)(r10 -4) = r0         ; R0_w=scalar(umax=7,var_off=(0x0; 0x7)) "
		"R10=fp0 "
		"fp-8=mmmm????\n"
		"4: (18) r1 = 0xffff888103c49400       ; R1_w=map_ptr(off=0,ks=4,vs=8,imm=0)\n"
		"6: (bf) r2 = r10                      ; R2_w=fp0 R10=fp0\n"
		"7: (07) r2 += -4                      ; R2_w=fp-4\n"
		"8: (85) call bpf_map_lookup_elem#1    ; "
		"R0_w=map_value_or_null(id=1,off=0,ks=4,vs=8,imm=0)\n"
		"9: (15) if r0 == 0x0 goto pc+1        ; R0_w=map_value(off=0,ks=4,vs=8,imm=0)\n"
		"10: (b7) r0 = 0                       ; R0_w=0\n"
		"11: (95) exit\n"
		"\n"
		"from 9 to 11: R0_w=0 R6=ctx(off=0,imm=0) R10=fp0 fp-8=mmmm????\n"
		"11: R0_w=0 R6=ctx(off=0,imm=0) R10=fp0 fp-8=mmmm????\n"
		"11: (95) exit\n"
		"verification time 76 usec\n"
		"stack depth 4\n"
		"processed 12 insns (limit 1000000) max_states_per_insn 0 total_states 0 "
		"peak_states 0 "
		"mark_read 0\n");

	ck_assert_uint_eq(steps(&log), 12);
	ck_assert_str_eq(log.insns[0].source, "MOV_REG(R6, R1)");
	ck_assert_ptr_null(log.insns[0].file);
	ck_assert_str_eq(BEFORE(&log, 3), "R0=0..7 R6=ctx R10=fp0");
	ck_assert_str_eq(AFTER(&log, 4), "R1=map_ptr(ks=4,vs=8)");
	ck_assert_str_eq(BEFORE(&log, 9),
			 "R0=map_value_or_null(ks=4,vs=8) R6=ctx R10=fp0 fp-8=mmmm????");
	ck_assert_str_eq(BEFORE(&log, 11), "R0=0 R6=ctx R10=fp0 fp-8=mmmm????");
	/* 'm' stands for the highest addresses */
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(log.written[i], i < 4);
	asm_vlog_free(&log);
}
END_TEST

/* "if w7 > 10": of the whole number little is known, of its lower half all. */
START_TEST(lower_half)
{
	struct asm_vlog log = parsed(
		"0: "
		"R7=scalar(smax=0x7fffffff0000000a,umax=0xffffffff0000000a,smin32=0,"
		"smax32=umax32=10,var_off=(0x0; 0xffffffff0000000f)) R8=scalar(smin32=-5,smax32=3) "
		"R9=scalar(umax=7) R10=fp0\n"
		"0: (b7) r0 = 0   ; R0=0\n"
		"1: R1=inv(id=0,s32_min_value=0,u32_max_value=9) "
		"R2=scalar(umin=1,umax=0x1ffffffff) R10=fp0\n"
		"1: (95) exit\n"
		"from 0 to 1: R1=inv(id=0,u32_min_value=20,u32_max_value=30) R2=6 R10=fp0\n"
		"1: (95) exit\n");

	ck_assert_str_eq(BEFORE(&log, 0), "R7=scalar s<=0x7fffffff0000000a low32 0..10 "
					  "R8=scalar low32 -5..3 R9=0..7 R10=fp0");
	ck_assert_str_eq(BEFORE(&log, 1), "R1=scalar low32 0..30 R2=1..2^33-1 R10=fp0");
	asm_vlog_free(&log);
}
END_TEST

/* What the kernel does not look at again is joined to what it did: R0 of the loop, at its end. */
START_TEST(behind_pruning)
{
	struct asm_vlog log = parsed("0: R0=0 R1=scalar() R2=1 R10=fp0\n"
				     "0: (b5) if r1 <= 0x1 goto pc+2   ; R1=scalar(umin=2)\n"
				     "1: (b7) r0 = 62   ; R0=62\n"
				     "2: (05) goto pc-3\n"
				     "0: (b5) if r1 <= 0x1 goto pc+2   ; R1=scalar(umin=2)\n"
				     "1: (b7) r0 = 63   ; R0=63\n"
				     "2: (07) r0 += 0   ; R0=63\n"
				     "3: (95) exit\n"
				     "\n"
				     "from 0 to 3: safe\n"
				     "\n"
				     "from 0 to 3: safe\n");

	ck_assert_str_eq(BEFORE(&log, 3), "R0=63 or 0 or 62 R1=scalar R2=1 R10=fp0");
	ck_assert_str_eq(from_text(&log.insns[3]), "0 2");
	ck_assert_uint_eq(log.insns[3].pruned, 2);
	asm_vlog_free(&log);
	/* Falling into it: the state is the one that stands there. */
	log = parsed("0: R0=0 R1=scalar() R10=fp0\n"
		     "0: (15) if r1 == 0x1 goto pc+1   ; R1=scalar()\n"
		     "1: (b7) r0 = 5   ; R0=5\n"
		     "2: (95) exit\n"
		     "from 0 to 1: R0=0 R1=1 R10=fp0\n"
		     "1: (b7) r0 = 7   ; R0=7\n"
		     "2: safe\n");
	ck_assert_str_eq(BEFORE(&log, 2), "R0=5 or 7 R1=scalar R10=fp0");
	asm_vlog_free(&log);
}
END_TEST

/* Linux 5.15 and before: the whole frame before each instruction, numbers are "inv". */
START_TEST(linux_5_15)
{
	struct asm_vlog log =
		parsed("0: R1=ctx(id=0,off=0,imm=0) R10=fp0\n"
		       "0: (b7) r6 = 0\n"
		       "1: R1=ctx(id=0,off=0,imm=0) R6_w=inv0 R10=fp0\n"
		       "1: (85) call bpf_ktime_get_ns#5\n"
		       "2: R0_w=inv(id=0) R6_w=invP0 R10=fp0\n"
		       "2: (77) r0 >>= 56\n"
		       "3: R0_w=inv(id=0,umax_value=255,var_off=(0x0; 0xff)) R6_w=inv0 R10=fp0\n"
		       "3: (15) if r0 == 0x3 goto pc+1\n"
		       " R0_w=inv(id=0,umax_value=255,var_off=(0x0; 0xff)) R6_w=inv0 R10=fp0\n"
		       "4: R0_w=inv(id=0,umax_value=255,var_off=(0x0; 0xff)) R6_w=inv0 R10=fp0\n"
		       "4: (b7) r0 = 0\n"
		       "5: R0_w=inv0 R6_w=inv0 R10=fp0\n"
		       "5: (95) exit\n"
		       "\n"
		       "from 3 to 5: R0_w=inv3 R6_w=inv0 R10=fp0\n"
		       "5: R0_w=inv3 R6_w=inv0 R10=fp0\n"
		       "5: (95) exit\n"
		       "processed 7 insns (limit 1000000) max_states_per_insn 0 total_states 0 "
		       "peak_states 0\n");

	ck_assert_uint_eq(steps(&log), 7);
	ck_assert_str_eq(BEFORE(&log, 1), "R1=ctx R6=0 R10=fp0");
	ck_assert_str_eq(BEFORE(&log, 2), "R0=scalar R6=0 R10=fp0");
	ck_assert_str_eq(AFTER(&log, 2), "R0=0..255");
	ck_assert_str_eq(BEFORE(&log, 5), "R0=0 or 3 R6=0 R10=fp0");
	ck_assert_str_eq(from_text(&log.insns[5]), "3 4");
	asm_vlog_free(&log);
}
END_TEST

/* Unprivileged: paths that only speculation takes. */
START_TEST(speculation)
{
	struct asm_vlog log =
		parsed("0: R1=ctx() R10=fp0\n"
		       "0: (79) r2 = *(u64 *)(r1 +0)   ; R1=ctx() R2=scalar()\n"
		       "1: (15) if r2 == 0x0 goto pc+1   ; R2=scalar(umin=1)\n"
		       "2: (b7) r0 = 0   ; R0=0\n"
		       "3: (95) exit\n"
		       "\n"
		       "from 1 to 3 (speculative execution): R0=7 R1=ctx() R2=5 R10=fp0 fp-8=0\n"
		       "3: (95) exit\n"
		       "\n"
		       "from 1 to 3: R0=0 R1=ctx() R2=0 R10=fp0\n"
		       "3: (95) exit\n");

	ck_assert_uint_eq(log.speculative, 1);
	ck_assert_uint_eq(log.insns[3].visits, 2);
	ck_assert_str_eq(BEFORE(&log, 3), "R0=0 R1=ctx R2=scalar R10=fp0");
	ck_assert_int_eq(log.written[0], 0);
	asm_vlog_free(&log);
}
END_TEST

/* ---- paths */

static const char *path_text(const struct asm_vlog *log)
{
	static char text[400];
	size_t used = 0;

	for (size_t i = 0; i < log->npath && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", i ? " " : "",
					 log->path[i].insn);
	return text;
}

#define LOOP                                                                                       \
	"0: R1=ctx() R10=fp0\n"                                                                    \
	"0: (b7) r6 = 0   ; R6=0\n"                                                                \
	"1: (15) if r1 == 0x0 goto pc+3   ; R1=ctx()\n"                                            \
	"2: (07) r6 += 1   ; R6=1\n"                                                               \
	"3: (05) goto pc-3\n"                                                                      \
	"1: (15) if r1 == 0x0 goto pc+3   ; R1=ctx()\n"                                            \
	"2: (07) r6 += 1   ; R6=2\n"                                                               \
	"3: (05) goto pc-3\n"                                                                      \
	"1: safe\n"

/* Branches come up again last in, first out. */
START_TEST(path_of_branches)
{
	struct asm_vlog log =
		parsed(LOOP "\nfrom 1 to 5: R6=1 R10=fp0\n5: (95) exit\n"
			    "\nfrom 1 to 5: R6=0 R10=fp0\n5: (95) exit\nR0 !read_ok\n");

	ck_assert_str_eq(path_text(&log), "0 1 5");
	ck_assert_str_eq(log.message, "R0 !read_ok");
	ck_assert_str_eq(values_text(log.last, log.nlast), "R6=0 R10=fp0");
	ck_assert_str_eq(BEFORE(&log, 5), "R6=1 or 0 R10=fp0");
	asm_vlog_free(&log);

	log = parsed(LOOP "\nfrom 1 to 5: R6=1 R10=fp0\n5: (95) exit\nR0 !read_ok\n");
	ck_assert_str_eq(path_text(&log), "0 1 2 3 1 5");
	asm_vlog_free(&log);
}
END_TEST

/* Level 1 cuts out what a branch that was found good has printed. */
START_TEST(path_of_level_1)
{
	struct asm_vlog log = parsed("0: R1=ctx() R10=fp0\n"
				     "0: (79) r3 = *(u64 *)(r1 +112)   ; R1=ctx() R3=scalar()\n"
				     "1: (15) if r3 == 0x0 goto pc+1 3: R1=ctx() R3=0 R10=fp0\n"
				     "; MOV_REG(R0, R6) @ x.c:9\n"
				     "3: (bf) r0 = r6\n"
				     "R6 !read_ok\n"
				     "processed 6 insns (limit 1000000)\n");

	ck_assert_str_eq(path_text(&log), "0 1 3");
	ck_assert_str_eq(log.insns[1].text, "(15) if r3 == 0x0 goto pc+1");
	ck_assert_str_eq(values_text(log.last, log.nlast), "R1=ctx R3=0 R10=fp0");
	ck_assert_str_eq(from_text(&log.insns[3]), "1");
	ck_assert_uint_eq(log.insns[3].line, 9);
	ck_assert_str_eq(log.message, "R6 !read_ok");
	asm_vlog_free(&log);

	/* the other branch on a line of its own */
	log = parsed("0: R1=ctx() R6=1 R10=fp0\n"
		     "0: (15) if r1 == 0x0 goto pc+1\n"
		     "2: R1=0 R10=fp0\n"
		     "2: (bf) r0 = r6\nR6 !read_ok\n");
	ck_assert_str_eq(BEFORE(&log, 2), "R1=0 R10=fp0");
	asm_vlog_free(&log);
}
END_TEST

/* A record that is given away, and its copies with it. */
START_TEST(release)
{
	struct asm_vlog log = parsed(
		"0: R6=ringbuf_mem(ref_obj_id=2,sz=16) R7=ringbuf_mem(ref_obj_id=4,sz=16) R10=fp0\n"
		"0: (bf) r1 = r6   ; R1=ringbuf_mem(ref_obj_id=2,sz=16)\n"
		"1: (85) call bpf_ringbuf_submit#132   ;\n"
		"2: (b7) r0 = 0    ; R0=0\n"
		"3: (95) exit\n");

	ck_assert_str_eq(BEFORE(&log, 2), "R6=scalar R7=ringbuf_mem(ref_obj_id=4,sz=16) R10=fp0");
	asm_vlog_free(&log);
}
END_TEST

/* ---- values */

static const struct {
	const char *kernel, *ours;
} values[] = {
	{ "0", "0" },
	{ "P5", "5" },
	{ "inv7", "7" },
	{ "invP-7", "-7" },
	{ "-17", "-17" },
	{ "65536", "2^16" },
	{ "0xffffffff", "2^32-1" },
	{ "0x9e3779b97f4a7c15", "0x9e3779b97f4a7c15" },
	{ "scalar()", "scalar" },
	{ "scalar", "scalar" },
	{ "Pscalar(id=7)", "scalar" },
	{ "inv(id=0)", "scalar" },
	{ "invP(id=0,umax_value=9,var_off=(0x0; 0xf))", "0..9" },
	{ "scalar(umin=1)", "scalar>=1" },
	{ "scalar(smin=1,umin=1)", "1..2^63-1" },
	{ "scalar(smin=smin32=-4095,smax=smax32=1016)", "-4095..1016" },
	{ "scalar(smin=0xffffffff80000000,smax=0x7fffffff)", "-2^31..2^31-1" },
	{ "scalar(smax=10)", "scalar s<=10" },
	{ "scalar(smin=-10)", "scalar s>=-10" },
	{ "scalar(smin=smin32=0,smax=umax=smax32=umax32=1016,var_off=(0x0; 0x3f8))",
	  "0..1016 step 8" },
	{ "scalar(id=3+8,umax=4,var_off=(0x0; 0x7))", "0..4" },
	{ "scalar(umax=7,new_in_9_9=12,var_off=(0x0; 0x7))", "0..7" },
	{ "ctx()", "ctx" },
	{ "ctx(off=8)", "ctx+8" },
	{ "fp0", "fp0" },
	{ "fp-16", "fp-16" },
	{ "fp[1]-8", "fp[1]-8" },
	{ "map_ptr(map=counts,ks=12,vs=8)", "map_ptr(counts)" },
	{ "map_value(map=scratch,ks=4,vs=4176,off=64)", "map_value(scratch+64)" },
	{ "map_value(map=s,ks=4,vs=41,off=80,smin=smin32=0,smax=umax=smax32=umax32=1016,"
	  "var_off=(0x0; 0x3ff))",
	  "map_value(s+80..1096)" },
	{ "map_value(map=s,ks=4,vs=41,umax=0xffffffffff,var_off=(0x0; 0xffffffffff))",
	  "map_value(s+?)" },
	{ "map_value_or_null(id=1,map=counts,ks=12,vs=8)", "map_value_or_null(counts)" },
	{ "ringbuf_mem_or_null(id=2,ref_obj_id=2,sz=16)",
	  "ringbuf_mem_or_null(ref_obj_id=2,sz=16)" },
	{ "trusted_ptr_task_struct()", "trusted_ptr_task_struct" },
	{ "pkt(r=14)", "pkt(r=14)" },
	{ "ptr_", "ptr_" },
	{ "(", "scalar" },
	{ "map_value(", "map_value" },
	{ "map_value(off=", "map_value" },
	{ "x(=,=,,)", "x(=,=)" },
};

START_TEST(value)
{
	char text[300];
	struct asm_vlog log;

	snprintf(text, sizeof(text), "0: R1=%s R10=fp0\n0: (95) exit\n", values[_i].kernel);
	log = parsed(text);
	ck_assert_uint_ge(log.insns[0].nbefore, 1);
	ck_assert_int_eq(log.insns[0].before[0].where, 1);
	ck_assert_str_eq(log.insns[0].before[0].text, values[_i].ours);
	asm_vlog_free(&log);
}
END_TEST

static const struct {
	const char *seen[6], *joined;
} joins[] = {
	{ { "R1=5", "R1=5" }, "R1=5" },
	{ { "R1=5", "R1=P5", "R1=scalar(smin=5,smax=5,umin=5,umax=5,var_off=(0x5; 0x0))" },
	  "R1=5" },
	{ { "R1=0", "R1=7", "R1=0", "R1=-1" }, "R1=0 or 7 or -1" },
	{ { "R1=0", "R1=1", "R1=2", "R1=3" }, "R1=0..3" },
	{ { "R1=8", "R1=16", "R1=24", "R1=40" }, "R1=8..40 step 8" },
	{ { "R1=-3", "R1=scalar(umax=9,var_off=(0x0; 0xf))" }, "R1=-3..9" },
	{ { "R1=scalar(id=1)", "R1=scalar(id=2)" }, "R1=scalar" },
	{ { "R1=0", "R1=ctx()" }, "R1=0 or ctx" },
	{ { "R1=0", "R1=map_value(map=a,ks=4,vs=8)", "R1=map_value(map=b,ks=4,vs=8)" },
	  "R1=0 or map_value(a) or map_value(b)" },
	{ { "R1=map_value(map=a,ks=4,vs=8)", "R1=map_value(map=a,ks=4,vs=8,off=4)",
	    "R1=map_value(map=a,ks=4,vs=8,off=5)", "R1=map_value(map=a,ks=4,vs=8,off=6)" },
	  "R1=map_value(a+0..6)" },
	{ { "R1=a()", "R1=b()", "R1=c()", "R1=d()", "R1=a()", "R1=b()" },
	  "R1=a or b or c or more" },
	/* what one path does not have cannot be read behind it */
	{ { "R1=5 R2=1", "R1=5" }, "R1=5" },
	{ { "fp-8=mmmm????", "fp-8=mm0m??0m" }, "fp-8=mmmm????" },
	{ { "fp-8=00000000", "fp-8=mmmm0000" }, "fp-8=mmmm0000" },
	{ { "fp-8=????5", "fp-8=????7" }, "fp-8=????5 or ????7" },
	{ { "fp-8=0", "fp-8=1", "fp-8=2", "fp-8=3" }, "fp-8=0..3" },
};

START_TEST(join)
{
	char text[1000] = "0: R10=fp0\n";
	struct asm_vlog log;

	for (size_t i = 0; i < COUNT_OF(joins[_i].seen) && joins[_i].seen[i]; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "from 3 to 0: %s\n0: (95) exit\n", joins[_i].seen[i]);
	log = parsed(text);
	ck_assert_str_eq(BEFORE(&log, 0), joins[_i].joined);
	asm_vlog_free(&log);
}
END_TEST

/* ---- what is no log */

static const char *const oddities[] = {
	"",
	"\n\n\n",
	":",
	"0:",
	"0: (",
	"0: (bf)",
	"0: (bf) \n0: R",
	"0: R1",
	"0: R1=\n0: (95) exit",
	"0: R99=5 R1=5 fp-3=1 fp-520=1 fp-=1 frame99: R1=ctx()\n0: (95) exit",
	"99999999999999999999: (95) exit",
	"4294967295: (95) exit\n4294967295: R1=5\n4294967295: safe",
	"from 4294967295 to 4294967295: R1=5",
	"from 1 to 2",
	"frame15: R1=ctx()\n frame15: R1=ctx()\n",
	"callee:\n frame15: R1=ctx()\n0: (95) exit\nreturning from callee:\nto caller at 7:\n",
	"; \n; @ \n;  @ :\n0: (95) exit\n",
	"      0: .......... (95) exit\n      1: 0123456789 (\n      2: .1",
	"processed \nprocessed 99999999999999999999 insns\nstack depth \nverification time usec",
	"0: R1=scalar(var_off=(((((((( R2=5\n0: (95) exit",
	"0: R1=))))) R2=5\n0: (95) exit",
	"0: (85) call bpf_x#99999999999\n1: (85) call #\n2: (85) call",
	"1: (15) if r1 == 0x0 goto pc+2 : R1=5\n",
	"0: safe\n0: safe\n",
	"from 900 to 1: safe\n",
	"from 999999999 to 1: safe\n1: (b7) r0 = 0\n",
};

START_TEST(odd)
{
	struct asm_vlog log = parsed(oddities[_i]);

	asm_vlog_free(&log);
}
END_TEST

/*
 * Cut at every byte, and with every byte changed: always an answer, and no touch beyond the text.
 */
START_TEST(mutilated)
{
	char *text = data_file("nullcheck-6.18.log");
	const size_t size = strlen(text);
	struct asm_vlog log;

	for (size_t i = 0; i < size; i++) {
		char *cut = strndup(text, i);

		log = parsed(cut);
		asm_vlog_free(&log);
		free(cut);
	}
	for (size_t i = 0; i < size; i++) {
		const char was = text[i];
		static const char others[] = "\n (:=0R-\xff";

		text[i] = others[i % (sizeof(others) - 1)];
		log = parsed(text);
		asm_vlog_free(&log);
		text[i] = was;
	}
	free(text);
}
END_TEST

/* One instruction a thousand times over is still one, and costs no more than its path. */
START_TEST(long_log)
{
	char *text = malloc(40 * 20000), *at = text;
	struct asm_vlog log;

	at += sprintf(at, "0: R10=fp0\n");
	for (int i = 0; i < 20000; i++)
		at += sprintf(at, "0: (07) r1 += 1   ; R1=%d\n", i);
	log = parsed(text);
	free(text);
	ck_assert_uint_eq(log.ninsns, 1);
	ck_assert_uint_eq(log.insns[0].visits, 20000);
	ck_assert_uint_eq(log.npath, 20000);
	ck_assert_str_eq(AFTER(&log, 0), "R1=0..19999");
	asm_vlog_free(&log);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: the verifier's log");
	TCase *logs = tcase_create("logs"), *texts = tcase_create("values"),
	      *garbage = tcase_create("garbage");

	tcase_add_test(logs, accepted);
	tcase_add_test(logs, frames);
	tcase_add_test(logs, equals);
	tcase_add_test(logs, linux_6_1);
	tcase_add_test(logs, lower_half);
	tcase_add_test(logs, behind_pruning);
	tcase_add_test(logs, linux_5_15);
	tcase_add_test(logs, speculation);
	tcase_add_test(logs, path_of_branches);
	tcase_add_test(logs, path_of_level_1);
	tcase_add_test(logs, release);
	tcase_add_loop_test(texts, value, 0, COUNT_OF(values));
	tcase_add_loop_test(texts, join, 0, COUNT_OF(joins));
	tcase_add_loop_test(garbage, odd, 0, COUNT_OF(oddities));
	tcase_add_test(garbage, mutilated);
	tcase_add_test(garbage, long_log);
	tcase_set_timeout(garbage, 60);
	suite_add_tcase(suite, logs);
	suite_add_tcase(suite, texts);
	suite_add_tcase(suite, garbage);
	return run_suite(suite);
}
