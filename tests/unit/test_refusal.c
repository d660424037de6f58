/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explained refusals. tests/data/refusals-6.18.log holds what Linux 6.18 said to small programs,
 * each under a heading "##### ID what it does".
 */
#include "test_vlog.h"

static struct asm_refusal explained(const char *log)
{
	const struct asm_refused refused = { .log = log };
	struct asm_refusal refusal;

	ck_assert_int_eq(asm_refusal_explain(&refused, &refusal), 0);
	return refusal;
}

/* ---- the gallery */

static char *section(const char *id)
{
	char *text = data_file("refusals-6.18.log"), heading[40], *begin, *end, *copy;

	snprintf(heading, sizeof(heading), "##### %s ", id);
	begin = strstr(text, heading);
	ck_assert_msg(begin, "no section %s", id);
	begin = strchr(begin, '\n') + 1;
	end = strstr(begin, "#####");
	copy = end ? strndup(begin, (size_t)(end - begin)) : strdup(begin);
	free(text);
	return copy;
}

/* What the explanation has to hold; history NULL: none at all. */
static const struct {
	const char *id;
	int64_t insn;
	const char *message, *why, *history, *advice;
} gallery[] = {
	{ "G1", -1, "last insn is not an exit or jmp", "run past its end", NULL, "EXIT()" },
	{ "G2", 0, "R0 !read_ok", "R0 is read", "nothing has written R0 on this path",
	  "MOV(R0, 0)" },
	{ "G3", 2, "unreachable insn 2", "No path leads to this", NULL, "Take the line out" },
	{ "G4", 1, "jump out of range", "leads to instruction 12,", NULL, "label" },
	{ "G5", 1, "unreachable insn 1", "No path leads to this", NULL, "Take the line out" },
	{ "G6", 3, "unreachable insn 3", "No path leads to this", NULL,
	  "a loop without a way out" },
	{ "G6b", -1, "too large", "a million steps", NULL, "bpf_loop" },
	{ "G7", 7, "R0 invalid mem access", "gives 0 when the key is not there, and R0 has not",
	  "R0 is what was returned by instruction 6: (85) call bpf_map_lookup_elem#1",
	  "JEQ(R0, 0, out)" },
	{ "G8", 8, "invalid access to map value",
	  "8 bytes at offset 8 are not all within the map's value of 8 bytes",
	  "R0 is what was returned by instruction 6", "value_size" },
	{ "G9", 1, "R1 !read_ok", "R1 is read, but holds nothing here",
	  "R1 was destroyed by instruction 0: (85) call bpf_ktime_get_ns#5\nbefore that it held "
	  "the "
	  "context",
	  "MOV_REG(R6, R1)" },
	{ "G10", 0, "frame pointer is read only", "R10", NULL, "MOV_REG(R2, R10)" },
	{ "G11", 0, "invalid write to stack", "8 bytes at offset -520 from R10 are not", NULL,
	  "FRAME()" },
	{ "G11b", 0, "invalid write to stack", "8 bytes at offset 0 from R10 are not", NULL,
	  "FRAME()" },
	{ "G12", 0, "misaligned stack access", "An access of 8 bytes has to lie at a multiple of 8",
	  NULL, "FRAME()" },
	{ "G13", 5, "invalid read from stack R2", "16 bytes at offset -8",
	  "of the 16 bytes from R10-8 on, 8 are above the frame\nR2 was changed at instruction 4",
	  "key_size" },
	{ "G14", 0, "invalid size of register spill", "A pointer takes 8 bytes",
	  "R1 has held the context", "STX(DW" },
	{ "G15", 0, "invalid func unknown#9999", "no helper number 9999", NULL, "CALL(name)" },
	{ "G16", 0, "program of this type cannot use", "bpf_redirect is not for programs", NULL,
	  "bpf-helpers(7)" },
	{ "G17", 0, "BPF_MOV uses reserved fields", "(BPF_MOV)", NULL, "INSN" },
	{ "G18", -1, "unknown opcode ff", "the opcode ff.", NULL, "RFC 9669" },
	{ "G19", 1, "invalid shift 64", "A shift by 64 ", NULL, "0 to 63" },
	{ "G20", 1, "div by zero", "the constant 0", NULL, "register" },
	{ "G21", 1, "BPF_ATOMIC stores into R1 ctx", "R1 is ctx.", "R1 has held the context",
	  "COUNT" },
	{ "G22", 7, "Unreleased reference id=2 alloc_insn=4\nBPF_EXIT instruction",
	  "still held when the program ends",
	  "it was acquired by instruction 4: (85) call bpf_ringbuf_reserve#131", "RING_SUBMIT" },
	{ "G22b", 4, "R2 is not a known constant'",
	  "bpf_ringbuf_reserve wants a constant as argument 2; R2 is any number",
	  "R2 was loaded at instruction 0", "LD_PARAM" },
	{ "G22c", 12, "R1 type=scalar expected=ringbuf_mem", "submitted or discarded before",
	  "R1 is a copy of R6, made at instruction 10: (bf) r1 = r6\nR6 is a copy of R0, made at "
	  "instruction 6: (bf) r6 = r0\nR0 is what was returned by instruction 4: (85) call "
	  "bpf_ringbuf_reserve#131\nit was given away by instruction 9: (85) call "
	  "bpf_ringbuf_submit#132",
	  "once" },
	{ "G23", 0, "R1 pointer arithmetic with *=", "R1 is a pointer (ctx)", "context", "LDX" },
	{ "G24", 1, "math between ctx pointer", "at constant offsets only",
	  "R2 was loaded at instruction 0", "LDX(DW" },
	{ "G25", 2, "math between fp pointer", "may be subtracted from a pointer into the frame",
	  "R2 was loaded at instruction 0", "NEG(" },
	{ "G26", -1, "fd 777 is not", "descriptor 777", NULL, "LD_MAP" },
	{ "G28", 0, "invalid bpf_context access", "may not read 8 bytes at offset 400", NULL,
	  "bpf_perf_event_data" },
	{ "G29", 4, "R2 min value is negative", "The size in R2 may be below 0",
	  "R2 was loaded at instruction 0", "AND(R2, mask)" },
	{ "G30", 4, "invalid write to stack R1", "16 bytes at offset -8 ",
	  "R1 was changed at instruction 3: (07) r1 += -8\nR1 is a copy of R10",
	  "ADD(reg, -size)" },
	{ "G31", 5, "invalid read from stack R2", "600 bytes at offset -8 ",
	  "of the 600 bytes from R10-8 on, 592 are above the frame", "key_size" },
	{ "G33", 3, "cannot pass map_type 1",
	  "bpf_get_stackid does not work on maps of this type (1",
	  "R2 was set at instruction 0: (18)", "another type" },
	{ "G34", 2, "invalid atomic operand size", "4 or 8 bytes", NULL, "W or DW" },
	{ "G35", -1, "last insn is not an exit or jmp", "of a function", NULL, "EXIT()" },
	{ "G36", 3, "jump out of range", "leads to instruction 2,", NULL, "label" },
	{ "U1", 5, "invalid read from stack R2 off -16+8",
	  "The byte 8 of the 16 bytes at offset -16", "R10-8 to R10-1 were never written",
	  "ZERO(" },
	{ "U2b", 7, "invalid read from stack R2 off -16+8",
	  "The byte 8 of the 16 bytes at offset -16", "R10-8 to R10-5 were never written\n",
	  "ZERO(" },
	{ "X4b", 3, "R6 !read_ok", "R6 is read, but holds nothing here",
	  "nothing has written R6 on this path since the program began", "on every path" },
};

START_TEST(of_the_gallery)
{
	char *log = section(gallery[_i].id);
	struct asm_refusal r = explained(log);

	free(log);
	ck_assert_int_eq(r.insn, gallery[_i].insn);
	ck_assert_ptr_nonnull(strstr(r.message, gallery[_i].message));
	ck_assert_ptr_nonnull(r.why);
	ck_assert_msg(strstr(r.why, gallery[_i].why), "%s", r.why);
	ck_assert_msg(strstr(r.advice, gallery[_i].advice), "%s", r.advice);
	if (gallery[_i].history)
		ck_assert_msg(r.history && strstr(r.history, gallery[_i].history), "%s", r.history);
	else
		ck_assert_ptr_null(r.history);
	asm_refusal_free(&r);
}
END_TEST

/* ---- what is true of one path only is said of that path only */

#define START "0: R1=ctx() R10=fp0\n"
#define LOADED "0: (79) r7 = *(u64 *)(r6 +0)   ; R6=map_value(map=m,ks=4,vs=64) R7=scalar()\n"
#define PATH(lines) START lines

static const struct {
	const char *log, *why, *advice;
	const char *never; /* what must not be said, here */
} of_a_path[] = {
	/* R1-R5 are said to be destroyed by calls where there was a call. */
	{ PATH("0: (bf) r0 = r2\nR2 !read_ok\n"), "R2 is read", "on every path", "call" },
	{ PATH("0: (85) call bpf_x#7   ; R0=scalar()\n1: (bf) r0 = r2\nR2 !read_ok\n"),
	  "R2 is read", "MOV_REG(R6, R2) before the call", "every path" },
	{ PATH("0: (95) exit\nR0 !read_ok\n"), "R0 is read", "this EXIT()", "R1-R5" },
	{ PATH("0: (bf) r1 = r0\nR0 !read_ok\n"), "R0 is read", "on every path", "EXIT()" },
	/* The number that is added: as much as is known of it. */
	{ PATH("0: (65) if r7 s> 0x64 goto pc+2   ; R7=scalar(smax=100)\n1: (0f) r6 += r7\nmath "
	       "between map_value pointer and register with unbounded min value is not allowed\n"),
	  "R7 (scalar s<=100), may be far below 0", "AND(", "can be anything" },
	{ PATH("0: (0f) r1 += r2\nmath between ctx pointer and register with unbounded min "
	       "value\n"),
	  "this adds R2 (not readable)", "LDX(DW", "anything" },
	/* Only what was loaded can be an address. */
	{ PATH("0: (b7) r2 = 5   ; R2=5\n1: (79) r0 = *(u64 *)(r2 +0)\nR2 invalid mem access "
	       "'scalar'\n"),
	  "(5)", "Pointers come from R10", "probe_read" },
	{ PATH(LOADED
	       "1: (bf) r1 = r7\n2: (79) r0 = *(u64 *)(r1 +0)\nR1 invalid mem access 'scalar'\n"),
	  "a number", "probe_read_kernel", "Pointers come" },
	/* A store is no read of a wrong size. */
	{ PATH("0: (63) *(u32 *)(r1 +4) = r2\ninvalid bpf_context access off=4 size=4\n"),
	  "may not write 4 bytes at offset 4", "only be read", "size)" },
	{ PATH("0: (61) r2 = *(u32 *)(r1 +4)\ninvalid bpf_context access off=4 size=4\n"),
	  "may not read 4 bytes at offset 4", "bpf_perf_event_data", "write" },
	/* A helper that would write beyond the frame, and a store. */
	{ PATH("0: (b7) r2 = 16   ; R2=16\n1: (85) call bpf_probe_read_kernel#113\ninvalid write "
	       "to stack R1 off=-8 size=16\n"),
	  "bpf_probe_read_kernel would write 16 bytes", "ADD(reg, -size)", "FRAME()" },
	{ PATH("0: (7a) *(u64 *)(r10 -520) = 0\ninvalid write to stack R10 off=-520 size=8\n"),
	  "8 bytes at offset -520 from R10 are not within", "FRAME()", "would write" },
	/* Subtracted from the frame pointer, and added to it. */
	{ PATH("0: (1f) r3 -= r2\nmath between fp pointer and register with unbounded min value "
	       "is not allowed\n"),
	  "Nothing but a constant may be subtracted", "NEG(reg)", "far below" },
	{ PATH("0: (0f) r3 += r2\nmath between fp pointer and register with unbounded min value "
	       "is not allowed\n"),
	  "far below 0", "Bound it first", "subtracted" },
	/* Beyond a map's value by a number that was added, and by the offset alone. */
	{ PATH("0: (0f) r0 += r6\n1: (71) r1 = *(u8 *)(r0 +0)\ninvalid access to map value, "
	       "value_size=8 off=15 size=1\n"),
	  "A number was added", "Bound the number", "Check the offset" },
	{ PATH("0: (07) r0 += 8\n1: (71) r1 = *(u8 *)(r0 +0)\ninvalid access to map value, "
	       "value_size=8 off=8 size=1\n"),
	  "1 bytes at offset 8", "Check the offset", "Bound" },
	/* Tail calls. This message has no end of line. */
	{ PATH("0: (85) call bpf_tail_call#12\nexpected prog array map for tail callprocessed 3 "
	       "insns "
	       "(limit 1000000) max_states_per_insn 0 total_states 0\n"),
	  "BPF_MAP_TYPE_PROG_ARRAY", "LD_MAP(R2", "processed" },
	{ PATH("0: (85) call bpf_map_lookup_elem#1\ncannot pass map_type 3 into func "
	       "bpf_map_lookup_elem#1\n"),
	  "prog array", "index", "another type" },
	{ PATH("0: (85) call bpf_tail_call#12\nUnreleased reference id=2 alloc_insn=0\ntail_call "
	       "would "
	       "lead to reference leak\n"),
	  "another takes over", "RING_DISCARD", "on every path to" },
	{ PATH("0: (85) call bpf_tail_call#12\nverifier bug: callback unexpected regs 1\n"),
	  "a tail call in it", "behind bpf_loop", "makers" },
	/* Dynptrs: the bytes are the kernel's, and there has to be one. */
	{ PATH("0: (7a) *(u64 *)(r10 -16) = 0\ncannot overwrite referenced dynptr\n"),
	  "These 16 bytes of the frame", "submit or discard", "call" },
	{ PATH("0: (85) call bpf_dynptr_write#202\nExpected an initialized dynptr as arg #0\n"),
	  "bpf_dynptr_write wants a dynptr", "ringbuf_reserve_dynptr", "16 bytes" },
	/* Kfuncs count their arguments from 0. */
	{ PATH("0: (85) call bpf_task_release#65910\nPossibly NULL pointer passed to trusted "
	       "arg0\n"),
	  "bpf_task_release gets as arg0 (arg0 is R1) may be 0", "JEQ(reg, 0, out)", "acquire" },
	{ PATH("0: (85) call bpf_task_release#65910\narg#0 pointer type STRUCT task_struct must "
	       "point to scalar, or struct with scalar\n"),
	  "bpf_task_release wants a pointer to a task_struct as arg#0", "LD_FIELD", "STRUCT" },
	{ PATH("0: (85) call bpf_x#65910\narg#1 pointer type STRUCT cred must point to void, "
	       "scalar, or struct with scalar\n"),
	  "a pointer to a cred as arg#1", "LD_FIELD", "void" },
	{ PATH("0: (07) r1 += 8   ; R1=trusted_ptr_task_struct(off=8)\n1: (85) call "
	       "bpf_task_acquire#65895\nkernel function bpf_task_acquire args#0 expected pointer "
	       "to STRUCT task_struct but R1 has a pointer to STRUCT task_struct\n"),
	  "the first byte of a task_struct in R1, which is trusted_ptr_task_struct+8",
	  "nothing added", "STRUCT" },
	{ PATH("0: (85) call bpf_task_release#65910\nrelease kernel function bpf_task_release "
	       "expects refcounted PTR_TO_BTF_ID\n"),
	  "bpf_task_release gives back what was acquired", "acquiring call", "refcounted" },
	{ PATH("0: (85) call find_task_by_vpid#80325\ncalling kernel function find_task_by_vpid is "
	       "not allowed\n"),
	  "find_task_by_vpid is no kfunc", "a kfunc that is for them", "{" },
	/* What a pointer promises. */
	{ PATH("0: (79) r1 = *(u64 *)(r6 +88)   ; R1=ptr_task_struct()\n1: (85) call "
	       "bpf_task_acquire#65895\nR1 must be a rcu pointer\n"),
	  "R1 points to (ptr_task_struct) may be gone by now, and bpf_task_acquire", "rcu_ptr_",
	  "{" },
	{ PATH("0: (79) r1 = *(u64 *)(r6 +88)   ; R1=ptr_task_struct()\n1: (85) call "
	       "bpf_x#65895\nR1 must be referenced or trusted\n"),
	  "R1 points to (ptr_task_struct) may be gone by now, and bpf_x", "Acquire it", "{" },
	{ PATH("0: (85) call bpf_task_pt_regs#175\nR1 is of type cred but task_struct is "
	       "expected\n"),
	  "wants a pointer to a task_struct as argument 1, and R1 points to a cred", "LD_FIELD",
	  "{" },
	{ "Syscall programs can only be sleepable\n", "has to say so", "BPF_F_SLEEPABLE",
	  "instruction" },
};

START_TEST(said_of_this_path)
{
	struct asm_refusal r = explained(of_a_path[_i].log);

	ck_assert_msg(r.why && strstr(r.why, of_a_path[_i].why), "%s", r.why);
	ck_assert_msg(strstr(r.advice, of_a_path[_i].advice), "%s", r.advice);
	ck_assert_msg(!strstr(r.why, of_a_path[_i].never), "%s", r.why);
	ck_assert_msg(!strstr(r.advice, of_a_path[_i].never), "%s", r.advice);
	ck_assert_ptr_null(strstr(r.message, "processed"));
	asm_refusal_free(&r);
}
END_TEST

/* Of a program that a compiler made of C, whose lines the log quotes; libbpf's own lines around it
 * are no part of it. */
START_TEST(said_in_c)
{
	struct asm_refusal r = explained(
		"libbpf: prog 'count': BPF program load failed: Permission denied\n"
		"libbpf: prog 'count': -- BEGIN PROG LOAD LOG --\n"
		"0: R1=ctx() R10=fp0\n"
		"; struct value *v = bpf_map_lookup_elem(&counts, &key); @ count.bpf.c:21\n"
		"0: (85) call bpf_map_lookup_elem#1    ; R0=map_value_or_null(id=1,map=counts,ks=4,"
		"vs=8)\n"
		"; v->hits++; @ count.bpf.c:22\n"
		"1: (79) r1 = *(u64 *)(r0 +0)\n"
		"R0 invalid mem access 'map_value_or_null'\n"
		"processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 "
		"peak_states 0 mark_read 0\n"
		"-- END PROG LOAD LOG --\n"
		"libbpf: prog 'count': failed to load: -13\n");

	ck_assert_str_eq(r.message, "R0 invalid mem access 'map_value_or_null'");
	ck_assert_str_eq(r.at, "count.bpf.c:22: v->hits++;");
	ck_assert_ptr_nonnull(strstr(r.history, "count.bpf.c:21: struct value *v = "));
	ck_assert_ptr_nonnull(strstr(r.advice, "if (!value) return 0;"));
	ck_assert_ptr_null(strstr(r.advice, "JEQ"));
	asm_refusal_free(&r);
}
END_TEST

/* What is found when all paths have been followed belongs to no instruction. */
START_TEST(said_of_the_program)
{
	struct asm_refusal r = explained(PATH(
		"0: (b7) r0 = 0   ; R0=0\n1: (95) exit\ntail_calls are not allowed when call stack "
		"of previous frames is 400 bytes. Too large\n"));

	ck_assert_int_eq(r.insn, -1);
	ck_assert_ptr_null(r.at);
	ck_assert_ptr_nonnull(strstr(r.why, "take 400 bytes"));
	asm_refusal_free(&r);
}
END_TEST

/* bpf_tail_call comes back with nothing in R0. */
START_TEST(nothing_returned)
{
	struct asm_refusal r =
		explained(PATH("0: (85) call bpf_tail_call#12\n1: (95) exit\nR0 !read_ok\n"));

	ck_assert_str_eq(r.history,
			 "R0 was destroyed by instruction 0: (85) call bpf_tail_call#12, "
			 "which returns nothing");
	asm_refusal_free(&r);
}
END_TEST

/* ---- the table */

/* A message made of a pattern. */
static void make_message(const char *pattern, char *out)
{
	for (; *pattern; pattern++) {
		if (*pattern != '%' && *pattern != '*') {
			*out++ = *pattern;
			continue;
		}
		if (*pattern == '*') {
			out += sprintf(out, "anything at all");
			continue;
		}
		pattern++;
		out += sprintf(out, *pattern == 'r'   ? "R3"
				    : *pattern == 'c' ? "R4"
				    : *pattern == 'n' ? "-8"
						      : "word");
	}
	*out = '\0';
}

/* Every message finds its explanation, and every hole in that is filled. */
START_TEST(every_message)
{
	char log[600] = "0: R3=5 R10=fp0\n0: (85) call bpf_x#7\n";
	struct asm_refusal r;
	size_t n = 0;

	for (const char *pattern; (pattern = asm_refusal_pattern(n)); n++) {
		char *message = strchr(strchr(log, '\n') + 1, '\n') + 1;

		make_message(pattern, message);
		r = explained(log);
		ck_assert_msg(r.why && r.advice, "%s", pattern);
		ck_assert_msg(!strpbrk(r.why, "{}") && !strpbrk(r.advice, "{}"), "%s: %s", pattern,
			      r.why);
		ck_assert_str_eq(r.message, message);
		asm_refusal_free(&r);
	}
	ck_assert_uint_ge(n, 60);
}
END_TEST

START_TEST(unknown_message)
{
	struct asm_refusal r = explained("0: R1=ctx() R10=fp0\n0: (95) exit\nR0 is wrong today\n"
					 "processed 1 insns (limit 1000000)\n");

	ck_assert_str_eq(r.message, "R0 is wrong today");
	ck_assert_int_eq(r.insn, 0);
	ck_assert_str_eq(r.at, "instruction 0: (95) exit");
	ck_assert_ptr_null(r.why);
	ck_assert_ptr_null(r.advice);
	ck_assert_ptr_null(r.history);
	asm_refusal_free(&r);
}
END_TEST

START_TEST(no_refusal)
{
	const struct asm_refused none = {
		.log = "0: R1=ctx() R10=fp0\n0: (b7) r0 = 0   ; R0=0\n1: (95) exit\nprocessed 2 "
		       "insns\n"
	};
	struct asm_refusal r = { .insn = 77 };

	ck_assert_int_eq(asm_refusal_explain(&none, &r), -ENOENT);
	ck_assert_int_eq(r.insn, 77);
}
END_TEST

/* Linux 7.3 and later explains by itself, and quotes the log while doing so. */
START_TEST(explained_by_the_kernel)
{
	static const char reasons[] =
		"Verification failed: Register Type Safety: R1 is not readable\n"
		"\n"
		"Reason: the call at insn 0 destroyed it\n"
		"At:\n"
		"1: (79) r2 = *(u64 *)(r1 +112)\n"
		"Suggestion: keep it in R6";
	char log[1000];
	struct asm_refusal r;

	snprintf(log, sizeof(log),
		 "0: R1=ctx() R10=fp0\n0: (85) call bpf_ktime_get_ns#5   ; R0=scalar()\n"
		 "1: (79) r2 = *(u64 *)(r1 +112)\n%s\nprocessed 2 insns (limit 1000000)\n",
		 reasons);
	r = explained(log);
	ck_assert_str_eq(r.message, reasons);
	ck_assert_int_eq(r.insn, 1);
	ck_assert_ptr_null(r.why);
	asm_refusal_free(&r);
}
END_TEST

/* ---- lines and paths */

static const char *line(void *ctx, uint32_t insn)
{
	static char text[40];

	(void)ctx;
	if (insn == 3)
		return NULL;
	snprintf(text, sizeof(text), "x.c:%u: LINE", 10 + insn);
	return text;
}

static const struct bpf_insn one_path[] = {
	{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 3, .src_reg = 1, .off = 112 },
	{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 3, .off = 1 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 6, .imm = 1 },
	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 6 },
	{ .code = BPF_JMP | BPF_EXIT },
};

/* The instructions tell where the register would have been written, and what went around it. */
START_TEST(gone_around)
{
	char *log = section("X4b");
	const struct asm_refused refused = {
		.log = log, .insns = one_path, .ninsns = COUNT_OF(one_path), .line = line
	};
	struct asm_refusal r;

	ck_assert_int_eq(asm_refusal_explain(&refused, &r), 0);
	free(log);
	/* without a text from us the log's is taken */
	ck_assert_str_eq(r.at, "sub.c:14: MOV_REG(R0, R6)");
	ck_assert_str_eq(r.history, "nothing has written R6 on this path since the program began\n"
				    "R6 is written at x.c:12: LINE\n"
				    "but this path goes around that, by x.c:11: LINE");
	asm_refusal_free(&r);
}
END_TEST

/* The other function writes the register too: that is no help here. */
START_TEST(written_in_another_function)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 0, .src_reg = 6 },
		{ .code = BPF_JMP | BPF_EXIT },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 6, .imm = 1 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct asm_refused refused = { .log = PATH("1: (bf) r0 = r6\nR6 !read_ok\n"),
					     .insns = insns,
					     .ninsns = COUNT_OF(insns),
					     .line = line };
	struct asm_refusal r;

	ck_assert_int_eq(asm_refusal_explain(&refused, &r), 0);
	ck_assert_str_eq(r.history, "nothing has written R6 on this path since the program began");
	asm_refusal_free(&r);
}
END_TEST

/* A log of another program than the instructions given. */
START_TEST(other_instructions)
{
	const struct asm_refused refused = { .log = "900000: (bf) r0 = r6\nR6 !read_ok\n",
					     .insns = one_path,
					     .ninsns = 1,
					     .line = line };
	struct asm_refusal r;

	ck_assert_int_eq(asm_refusal_explain(&refused, &r), 0);
	ck_assert_str_eq(r.at, "instruction 900000: (bf) r0 = r6");
	asm_refusal_free(&r);
}
END_TEST

/* A function has R1-R5 of its caller and nothing else. */
START_TEST(in_a_function)
{
	static const char log[] = "0: R1=ctx() R10=fp0\n"
				  "0: (bf) r6 = r1   ; R1=ctx() R6=ctx()\n"
				  "1: (85) call pc+1\n"
				  "caller:\n R6=ctx() R10=fp0\n"
				  "callee:\n frame1: R1=ctx() R10=fp0\n"
				  "3: frame1: R1=ctx() R10=fp0\n";
	char text[500];
	struct asm_refusal r;

	snprintf(text, sizeof(text), "%s3: (bf) r0 = r6\nR6 !read_ok\n", log);
	r = explained(text);
	ck_assert_str_eq(r.history, "nothing has written R6 since this function began: it does not "
				    "see its caller's R0 and R6-R9");
	asm_refusal_free(&r);
	snprintf(text, sizeof(text), "%s3: (85) call bpf_x#1\nR1 type=ctx expected=map_ptr\n", log);
	r = explained(text);
	ck_assert_str_eq(r.history, "R1 is what the caller of this function put there");
	ck_assert_str_eq(r.why, "bpf_x wants a map as argument 1, and R1 is ctx.");
	asm_refusal_free(&r);
}
END_TEST

/* Texts of any size and kind: what does not fit is cut, nothing is written beyond. */
START_TEST(monstrous)
{
	const size_t size = 100000;
	char *log = malloc(size + 100);
	struct asm_refusal r;

	strcpy(log, "0: (85) call bpf_");
	memset(log + strlen(log), 'x', size - strlen(log));
	strcpy(log + size - 1000, "#1\nR1 type=");
	memset(log + strlen(log), 'y', 900);
	strcpy(log + size, " expected=fp\n");
	r = explained(log);
	ck_assert_ptr_nonnull(r.why);
	asm_refusal_free(&r);
	free(log);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("asm: refusals");
	TCase *all = tcase_create("refusals");

	tcase_add_loop_test(all, of_the_gallery, 0, COUNT_OF(gallery));
	tcase_add_loop_test(all, said_of_this_path, 0, COUNT_OF(of_a_path));
	tcase_add_test(all, said_of_the_program);
	tcase_add_test(all, said_in_c);
	tcase_add_test(all, nothing_returned);
	tcase_add_test(all, written_in_another_function);
	tcase_add_test(all, every_message);
	tcase_add_test(all, unknown_message);
	tcase_add_test(all, no_refusal);
	tcase_add_test(all, explained_by_the_kernel);
	tcase_add_test(all, gone_around);
	tcase_add_test(all, other_instructions);
	tcase_add_test(all, in_a_function);
	tcase_add_test(all, monstrous);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
