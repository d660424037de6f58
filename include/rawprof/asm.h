/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The instruction DSL: BPF programs written by hand, as C arrays.
 *
 *	static const struct asm_insn hello[] = {
 *		CALL(get_current_pid_tgid),
 *		RSH(R0, 32),
 *		JNE(R0, 1, out),
 *		...
 *	LABEL(out),
 *		MOV(R0, 0),
 *		EXIT(),
 *	};
 *
 * One line is one instruction, a label, or a composed macro (macros.h). Every line carries its own
 * text and number, and ASM_LINES() the file, so that what refuses it (the C compiler, the
 * assembler, the kernel's verifier) can quote it.
 *
 * Mnemonics, sizes and semantics are those of RFC 9669 (BPF Instruction Set Architecture). What the
 * compiler can know it checks: a helper's name, an immediate that does not fit, a write to R10, an
 * access outside the 512-byte stack frame. The rest is checked by asm_assemble(), and then by the
 * verifier.
 */
#ifndef RAWPROF_ASM_H
#define RAWPROF_ASM_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

#define RAWPROF_VERSION "0.1.0"

#include <rawprof/uapi.h>
#include <rawprof/uapi.h>

/*
 * Registers. R0: return value of calls and of the program. R1-R5: arguments, every call destroys
 * them. R6-R9: survive calls. R10: the frame pointer, read only; the 512 bytes below it are the
 * stack frame.
 *
 * What they are as numbers is nothing that a program computes with, so the compiler can tell a
 * register from an immediate. In C, as an index or in a struct bpf_insn, write ASM_REG_NUMBER(R6)
 * or BPF_REG_6. As immediates the 8,192 numbers around R0, and those below 0, are taken by this
 * (0x1b8de000 to 0x1b8dffff, no text in either byte order): where one is meant, write INSN().
 */
enum asm_reg { R0 = 0x1b8df000, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };
#define ASM_REG_NUMBER(reg) ((int)(reg)&15)

#define ASM_STACK_SIZE 512

/* What one line of a program is. */
enum asm_kind {
	ASM_INSN,	  /* an instruction, complete */
	ASM_JUMP,	  /* to the label sym */
	ASM_CALL_FUNC,	  /* to the subprogram sym */
	ASM_CALL_KFUNC,	  /* to the kernel function sym */
	ASM_LD_FUNC,	  /* two slots: the address of subprogram sym, for a callback */
	ASM_LD_IMM64,	  /* two slots: value */
	ASM_LD_MAP,	  /* two slots: the map sym */
	ASM_LD_MAP_VALUE, /* two slots: the address of byte insn.imm of the only element of the
			     array map sym */
	ASM_LD_PARAM,	  /* one or two slots: a member of the configuration, as an immediate */
	ASM_JUMP_PARAM,	  /* a jump that compares with a member of the configuration */
	ASM_LD_FIELD,	  /* loads along struct asm_access: of a kernel type, sym "type\0member" */
	ASM_FIELD_OFFSET, /* an ALU operation with that member's offset as its immediate */
	ASM_FIELD_SIZE,	  /* an ALU operation with that member's size as its immediate */
	ASM_LD_TP,	  /* a load: of a tracepoint, sym "group\0event\0field" */
	ASM_LD_REG,	  /* one load: machine register value (enum asm_machine_reg) of a pt_regs */
	ASM_ZERO,	  /* as few stores as it takes to clear value bytes at insn.off from R10 */
	ASM_LABEL,	  /* the label sym */
	ASM_FUNC,	  /* opens the subprogram sym */
	ASM_SCOPE,	  /* opens a scope of labels; text is what the user wrote */
	ASM_WHEN,	  /* opens lines that are dropped when a member of the configuration is 0 */
	ASM_UNLESS,	  /* opens lines that are dropped when it is not 0 */
	ASM_END,	  /* closes the innermost SCOPE, WHEN or UNLESS */
	ASM_INCLUDE,	  /* the lines of part stand here */
};

struct asm_part;

/*
 * One line. The kind says which of sym, value and part there is, and what it means: see above;
 * where sym is two or three names, each but the last ends with a NUL. Profilers are thousands of
 * lines, so a line is no longer than it must be. One that refers to the load-time configuration
 * says where in it: param_offset, param_size (bytes; signed if param_signed), and config_size,
 * which must be the size of the configuration that the program is assembled with.
 */
struct asm_insn {
	union {
		/* The first, so that what is no line at all (a macro's name misspelt) spoils this
		 * element of an array and not those behind it. */
		int no_line;
		struct {
			struct bpf_insn insn;
			uint32_t line : 22; /* more the kernel's line_info does not hold either */
			uint32_t kind : 5;  /* enum asm_kind */
			uint32_t param_size : 4;
			uint32_t param_signed : 1;
			uint16_t param_offset;
			uint16_t config_size;
			const char *text;
			union {
				const char *sym;
				uint64_t value;
				const struct asm_part *part;
			};
		};
	};
};

/* Lines that several programs have in common, by INCLUDE(&part). */
struct asm_layout;
struct asm_part {
	const struct asm_insn *lines;
	size_t nlines;
	const char *file; /* that they are written in */
	/* What its functions call the bytes below R10, for what shows memory. */
	const struct asm_func_frame {
		const char *func;
		const struct asm_layout *layout;
	} * frames;
	size_t nframes;
};

/* Machine registers in a pt_regs: arguments 1 to 6 by the function-call ABI, and what every
 * profiler reads. */
enum asm_machine_reg {
	ASM_REG_ARG1,
	ASM_REG_ARG2,
	ASM_REG_ARG3,
	ASM_REG_ARG4,
	ASM_REG_ARG5,
	ASM_REG_ARG6,
	ASM_REG_RET,
	ASM_REG_IP,
	ASM_REG_SP,
	ASM_REG_FP,
	ASM_REG_COUNT
};

/* ---- maps and programs as the assembler sees them */

/* A C struct for what shows memory: its members by name, in bytes. ASM_LAYOUT() makes one. */
struct asm_field {
	const char *name;
	uint32_t offset, size;
	const struct asm_layout *layout; /* of a struct that is shown by its members; or NULL */
};
struct asm_layout {
	const char *name; /* "struct cpu_key" */
	uint32_t size;
	const struct asm_field *fields; /* by offset; what lies between them is padding */
	uint32_t nfields;
};

/* A map's shape; sizes in bytes, type one of enum bpf_map_type, flags of BPF_MAP_CREATE. */
struct asm_map {
	const char *name; /* at most 15 of [A-Za-z0-9_.]: the kernel keeps no more */
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags;
	const struct asm_map *inner;	      /* of a map of maps: the shape of what it holds */
	const struct asm_layout *key, *value; /* NULL: a number, or not known */
};

/* A program: what the kernel has to know of it, and its lines. */
struct asm_program {
	const char *name;     /* as for maps */
	uint32_t type;	      /* enum bpf_prog_type */
	uint32_t attach_type; /* enum bpf_attach_type, 0 when the type needs none */
	uint32_t flags;	      /* of BPF_PROG_LOAD: BPF_F_SLEEPABLE */
	const char *license;  /* "Dual BSD/GPL" where it calls GPL-only helpers */
	const char *target;   /* of a BTF program: "sched_switch"; NULL for other types */
	const struct asm_insn *lines;
	size_t nlines;
	const char *file;		/* that they are written in; NULL: name stands for it */
	uint32_t config_size;		/* of its load-time parameters; 0 when it has none */
	const struct asm_layout *frame; /* what it calls the bytes below R10; NULL: nothing */
};
/* The lines of a program or a part; stands in the file that they are written in. */
#define ASM_LINES(array)                                                                           \
	.lines = (array), .nlines = sizeof(array) / sizeof((array)[0]), .file = __FILE__

/*
 * How to reach a member: nhops loads one after the other, each `size` bytes (1, 2, 4, 8) at
 * `offset`; all but the last fetch a pointer. A member that is no scalar (an array, a struct) has
 * its whole size in the last hop, and can be addressed but not loaded. One that is signed and
 * narrower than a register is sign-extended, by two more instructions.
 */
#define ASM_MAX_HOPS 8
struct asm_access {
	uint32_t nhops;
	struct asm_hop {
		uint32_t offset;
		uint32_t size;
		int is_signed;
	} hop[ASM_MAX_HOPS];
};

/* Where a machine's registers lie in the pt_regs that BPF programs see, in bytes; -1: has none. */
struct asm_arch {
	const char *name;
	int16_t reg[ASM_REG_COUNT];
	int16_t dwarf[32]; /* by the number that the psABI gives them in .eh_frame */
};
extern const struct asm_arch asm_arch_x86_64, asm_arch_arm64, asm_arch_riscv64;
/* The one this file was compiled for; NULL on others. */
const struct asm_arch *asm_arch_host(void);

/*
 * What the assembler has to know of the world. maps and map_fds run in parallel, no two maps have
 * one name; without map_fds a map's index stands for its descriptor, so that programs can be
 * assembled, shown and checked with no kernel at hand; rp_program_load() refuses that. field and
 * tp_field return 0, kfunc an id, or a negative errno and, on failure, may write why to `why`.
 */
#define ASM_WHY_SIZE 160
struct asm_bindings {
	const struct asm_map *maps;
	const int *map_fds;
	size_t nmaps;
	const void *config;
	size_t config_size;
	const struct asm_arch *arch; /* NULL: the host's */
	void *ctx;		     /* handed to the calls below */
	int (*field)(void *ctx, const char *type, const char *path, struct asm_access *out,
		     char *why);
	int (*tp_field)(void *ctx, const char *group, const char *event, const char *field,
			struct asm_access *out, char *why);
	/* The id in the kernel's BTF of a function that it offers to programs. */
	int (*kfunc)(void *ctx, const char *name, char *why);
};

/*
 * What is wrong, or worth a word, with one line. text is the line as written, composed macro
 * included. text and message are gone after the call.
 */
enum asm_severity { ASM_ERROR, ASM_WARNING };
struct asm_diag {
	enum asm_severity severity;
	const char *file;
	uint32_t line;
	const char *text;
	const char *message;
};
typedef void (*asm_diag_fn)(void *ctx, const struct asm_diag *diag);
/* Prints "file:line: error: message" and the line's text to the FILE * ctx (NULL: stderr). */
void asm_diag_print(void *ctx, const struct asm_diag *diag);

/* A label or a function, and the instruction that it names. */
struct asm_symbol {
	const char *name;
	uint32_t insn;
};

/*
 * A program assembled. Instructions are counted in slots of 8 bytes, as the kernel does: 64-bit
 * constants take two. line_of[slot] is the index of the DSL line in program->lines, file_of[slot]
 * the file that it is written in, text_of[slot] its text with the composed macro it came from
 * ("MAP_ADD(counts, KEY, ONE): LD_MAP(R1, counts)"), or NULL for a second slot. btf, func_info and
 * line_info are what BPF_BTF_LOAD and BPF_PROG_LOAD take.
 */
struct asm_image {
	const struct asm_program *program;
	struct bpf_insn *insns;
	uint32_t ninsns;
	uint32_t *line_of;
	const char **file_of;
	const char **text_of;
	struct asm_symbol *labels;
	uint32_t nlabels;
	struct asm_symbol *funcs; /* the program itself first */
	uint32_t nfuncs;
	void *btf;
	uint32_t btf_size;
	struct bpf_func_info *func_info;
	uint32_t nfunc_info;
	struct bpf_line_info *line_info;
	uint32_t nline_info;
	void *arena; /* holds all of the above */
};

/*
 * Assembles a program; bindings may be NULL where there is nothing to bind. Every fault is
 * reported (report may be NULL), then -EINVAL is returned and *out left as it was. If nothing is
 * wrong but that a kernel type, member, function or tracepoint is not there, which another program
 * may do without, the errno of bindings->field, kfunc or tp_field (-ENOENT, -EOPNOTSUPP for bit
 * fields).
 * -ENOMEM. On success free with asm_image_free().
 */
int asm_assemble(const struct asm_program *program, const struct asm_bindings *bindings,
		 struct asm_image *out, asm_diag_fn report, void *ctx);
void asm_image_free(struct asm_image *image);

/* ---- disassembler (asm/disasm.c) */

/*
 * Where the two tools differ: calls (the log names helpers by number, xlated code by address), maps
 * and callbacks (xlated code has ids and distances where the log has addresses).
 */
enum asm_dialect {
	ASM_DIALECT_LOG,    /* the verifier's log: "(85) call bpf_ktime_get_ns#5" */
	ASM_DIALECT_XLATED, /* bpftool prog dump xlated: "(18) r1 = map[id:45]" */
};

/*
 * Names are added where a callback has one; without any the text is the tool's own. Every callback
 * may be NULL, and may return NULL. A name must live until asm_disasm() returns.
 */
struct asm_disasm_options {
	enum asm_dialect dialect;
	void *ctx;
	/* Of the slot that a jump leads to: "goto pc+3 <out>". */
	const char *(*label)(void *ctx, uint32_t slot);
	/* Of the subprogram that begins at the slot: "call pc+7 <step>". */
	const char *(*func)(void *ctx, uint32_t slot);
	/* Of the map that the 64-bit constant at the slot stands for: "map[name:counts]". */
	const char *(*map)(void *ctx, uint32_t slot);
	/*
	 * Of what the instruction at the slot calls, where its number does not say: the kernel
	 * function at __bpf_call_base + imm, a subprogram's symbol or a kfunc.
	 */
	const char *(*call)(void *ctx, uint32_t slot);
};

/* Room for every instruction whose names are not longer than 64 bytes. */
#define ASM_DISASM_SIZE 160

/*
 * Writes the instruction at slot `at` of n slots, always ending with a NUL. options may be NULL.
 * Whatever the bytes are there is a text; of those that are no instruction it is the tools' own
 * word: "unknown opcode ff", "invalid bpf_ld_imm64 insn", "BUG_c3" for an atomic operation that
 * does not exist. Returns how many slots it took, 1 or 2; -EINVAL when `at` is not below n;
 * -ENOSPC when the text was cut to fit size.
 */
int asm_disasm(const struct asm_disasm_options *options, const struct bpf_insn *insns, uint32_t n,
	       uint32_t at, char *out, size_t size);

/* The log's dialect with the labels, functions and maps of an image, which has to outlive it. */
struct asm_disasm_options asm_disasm_options(const struct asm_image *image);

/* ---- lists of macro arguments, for macros.h */

/* ASM_EACH(f, x, a, b, ...) is f(x, a) f(x, b) ..., for at most 24. */
#define ASM_EACH(f, x, ...) ASM_JOIN(ASM_EACH_, ASM_COUNT(__VA_ARGS__))(f, x, __VA_ARGS__)
#define ASM_EACH_1(f, x, a) f(x, a)
#define ASM_EACH_2(f, x, a, ...) f(x, a) ASM_EACH_1(f, x, __VA_ARGS__)
#define ASM_EACH_3(f, x, a, ...) f(x, a) ASM_EACH_2(f, x, __VA_ARGS__)
#define ASM_EACH_4(f, x, a, ...) f(x, a) ASM_EACH_3(f, x, __VA_ARGS__)
#define ASM_EACH_5(f, x, a, ...) f(x, a) ASM_EACH_4(f, x, __VA_ARGS__)
#define ASM_EACH_6(f, x, a, ...) f(x, a) ASM_EACH_5(f, x, __VA_ARGS__)
#define ASM_EACH_7(f, x, a, ...) f(x, a) ASM_EACH_6(f, x, __VA_ARGS__)
#define ASM_EACH_8(f, x, a, ...) f(x, a) ASM_EACH_7(f, x, __VA_ARGS__)
#define ASM_EACH_9(f, x, a, ...) f(x, a) ASM_EACH_8(f, x, __VA_ARGS__)
#define ASM_EACH_10(f, x, a, ...) f(x, a) ASM_EACH_9(f, x, __VA_ARGS__)
#define ASM_EACH_11(f, x, a, ...) f(x, a) ASM_EACH_10(f, x, __VA_ARGS__)
#define ASM_EACH_12(f, x, a, ...) f(x, a) ASM_EACH_11(f, x, __VA_ARGS__)
#define ASM_EACH_13(f, x, a, ...) f(x, a) ASM_EACH_12(f, x, __VA_ARGS__)
#define ASM_EACH_14(f, x, a, ...) f(x, a) ASM_EACH_13(f, x, __VA_ARGS__)
#define ASM_EACH_15(f, x, a, ...) f(x, a) ASM_EACH_14(f, x, __VA_ARGS__)
#define ASM_EACH_16(f, x, a, ...) f(x, a) ASM_EACH_15(f, x, __VA_ARGS__)
#define ASM_EACH_17(f, x, a, ...) f(x, a) ASM_EACH_16(f, x, __VA_ARGS__)
#define ASM_EACH_18(f, x, a, ...) f(x, a) ASM_EACH_17(f, x, __VA_ARGS__)
#define ASM_EACH_19(f, x, a, ...) f(x, a) ASM_EACH_18(f, x, __VA_ARGS__)
#define ASM_EACH_20(f, x, a, ...) f(x, a) ASM_EACH_19(f, x, __VA_ARGS__)
#define ASM_EACH_21(f, x, a, ...) f(x, a) ASM_EACH_20(f, x, __VA_ARGS__)
#define ASM_EACH_22(f, x, a, ...) f(x, a) ASM_EACH_21(f, x, __VA_ARGS__)
#define ASM_EACH_23(f, x, a, ...) f(x, a) ASM_EACH_22(f, x, __VA_ARGS__)
#define ASM_EACH_24(f, x, a, ...) f(x, a) ASM_EACH_23(f, x, __VA_ARGS__)
#define ASM_COUNT(...)                                                                             \
	ASM_25TH(__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
		 6, 5, 4, 3, 2, 1, ~)
#define ASM_25TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, ...) y
#define ASM_IS_LIST(entry) ASM_CALL(ASM_SECOND, ASM_LIST_PROBE entry, 0, ~)
#define ASM_LIST_PROBE(...) ~, 1
#define ASM_SECOND(a, b, ...) b
#define ASM_WORDS(...) __VA_ARGS__
#define ASM_CALL(f, ...) f(__VA_ARGS__)
#define ASM_JOIN(a, b) ASM_JOIN_(a, b)
#define ASM_JOIN_(a, b) a##b

#include <rawprof/isa.h>
#include <rawprof/macros.h>

#endif
