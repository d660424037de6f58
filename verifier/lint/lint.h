/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lint's parts and what they hand to each other.
 *
 *	encoding.c	each instruction by itself: does it exist, are its fields in order
 *	graph.c		where instructions lead: unreachable ones, jumps to nowhere, missing EXIT
 *	arc.c		sets of numbers, and arithmetic on them
 *	state.c		registers, stack and references at one point of one path
 *	access.c	may a register or memory be read, an address be followed
 *	memory.c	loads, stores, atomics: one step of a path
 *	alu.c		arithmetic
 *	branch.c	conditional jumps: which ways are open
 *	helpers.c	what the helpers take and give
 *	args.c		are a call's arguments that
 *	call.c		calls and EXIT
 *	path.c		follows the paths
 *	lint.c		runs them, collects and reports
 *
 * A path is followed with *less* knowledge than the verifier has, never with other: where a number
 * is not known, the lint keeps some values that it can have, all of which the verifier has to
 * consider, too, because nothing on the path excludes them. A way that one of these values takes is
 * a way that the verifier follows. Where no such value is known, the path ends. So whatever is
 * found on a path, the verifier finds there.
 */
#ifndef ASM_LINT_H
#define ASM_LINT_H

#include <stdbool.h>

#include <rawprof/asm.h>
#include <rawprof/verifier.h>

#define NO_SLOT UINT32_MAX
#define NO_MAP UINT32_MAX
/* BPF_MAX_VAR_OFF: the verifier follows no address that may be as far away. */
#define MAX_OFFSET (INT64_C(1) << 29)

/* ---- sets of numbers */

/*
 * The numbers from lo up to hi, both included, upwards and round through 2^64 - 1 to 0 if hi is
 * below lo. Never empty. -4..3 signed and 5..9 unsigned are both arcs; all numbers are 0..2^64-1.
 */
struct arc {
	uint64_t lo, hi;
};
#define ALL_NUMBERS ((struct arc){ 0, UINT64_MAX })

bool asm_arc_has(struct arc a, uint64_t number);
/* The wider of the (at most two) arcs that are in both; false if none is. */
bool asm_arc_intersect(struct arc a, struct arc b, struct arc *out);
/* Some results of `a op b` for numbers of a and b, op an opcode's BPF_OP() and is_signed the
 * signed form of DIV and MOD. same: b is the same number as a. */
struct arc asm_arc_alu(uint8_t op, bool is_signed, bool wide, struct arc a, struct arc b,
		       bool same);
/* The low `bits` bits of a, sign-extended to 64 bits or cut to 32. */
struct arc asm_arc_sign_extend(struct arc a, unsigned int bits, bool wide);
/* What is left of a on one way of a jump that compares with a number; false: nothing is. */
bool asm_arc_branch(uint8_t op, bool wide, bool taken, struct arc a, uint64_t with,
		    struct arc *out);

/* ---- one point of one path */

enum kind {
	UNWRITTEN, /* and never was */
	DESTROYED, /* by the call at slot `where` */
	NOTHING,   /* R0 after the call at `where`, which returns none */
	NUMBER, /* known: all of `can` are possible; exact: there is one, and the verifier knows */
	RELEASED, /* the address of a ring record that the call at `where` gave back */
	STACK,	  /* R10 + offset */
	CONTEXT,
	FUNCTION, /* the subprogram at slot `offset` */
	MAP,	  /* number `map` of the bindings, or NO_MAP */
	VALUE,	  /* offset into a value of the map */
	VALUE_OR_NULL,
	RECORD, /* offset into the `size` bytes that the call at `where` reserved in a ring */
	RECORD_OR_NULL,
	OTHER, /* anything but an address in this frame's stack that the path knows */
};

/*
 * A register, or what was spilled to the stack. Copies share an id that is not 0: what is learnt of
 * one is learnt of all. Of addresses, known says that the offset is.
 */
struct reg {
	uint8_t kind;
	bool known, exact;
	bool trusted; /* VALUE without a look at NULL, which only newer kernels allow */
	uint32_t map;
	uint32_t id;
	uint32_t where; /* see kind; of VALUE the look-up */
	uint32_t size;
	union {
		struct arc can;
		int64_t offset;
	};
};

#define MAX_REFS 8
#define MAX_SPILLS (ASM_STACK_SIZE / 4)
enum frame { MAIN, SUBPROGRAM, CALLBACK };

struct state {
	uint32_t at;
	uint32_t jump; /* the last conditional jump, or NO_SLOT */
	bool taken;
	uint8_t frame; /* enum frame */
	uint16_t nrefs, nspills;
	uint32_t ids;
	struct ref { /* a record that has to be given back */
		uint32_t id, where;
	} refs[MAX_REFS];
	struct reg regs[11];
	/* A bit for each byte of the frame, the lowest address first: something was written there;
	 * and it was a helper, so that it can be anything. */
	uint64_t written[ASM_STACK_SIZE / 64], random[ASM_STACK_SIZE / 64];
	/* Registers as they were stored, 4 or 8 bytes. The last member: copies end with the last
	 * spill there is. */
	struct spill {
		int16_t offset;
		uint16_t size;
		struct reg reg;
	} spills[MAX_SPILLS];
};

struct lint;

void asm_state_start(struct state *s, uint32_t at, enum frame frame);
size_t asm_state_size(const struct state *s);
void asm_state_copy(struct state *to, const struct state *from);
/* The record with this id was given back, or never was. False if it is not one that has to be. */
bool asm_state_release(struct state *s, uint32_t id);
/* Of what matters to the rules, and of the numbers. */
struct state_hash {
	uint64_t shape, numbers;
};
struct state_hash asm_state_hash(const struct state *s);
uint32_t asm_state_new_id(struct state *s);
/* Calls fn for every register and spill with this id. */
void asm_state_each_copy(struct state *s, uint32_t id, void (*fn)(struct reg *reg, void *ctx),
			 void *ctx);
bool asm_state_is_shared(const struct state *s, uint32_t id);

struct reg asm_number_unknown(void);
struct reg asm_number_exact(uint64_t value);
/* Any number of so many bytes, and the verifier knows no more. */
struct reg asm_number_any(unsigned int bytes, bool is_signed);
struct reg asm_lint_other(void);
bool asm_is_pointer(const struct reg *reg);

/* Bytes of the stack; offset from R10, inside the frame. */
bool asm_stack_inside(int64_t offset, uint64_t size);
void asm_stack_write(struct state *s, int offset, unsigned int size, bool random);
void asm_stack_spill(struct state *s, int offset, unsigned int size, const struct reg *reg);
const struct reg *asm_stack_filled(const struct state *s, int offset, unsigned int size);
/* All of these bytes are anything? */
bool asm_stack_is_random(const struct state *s, int offset, unsigned int size);
/* The first byte that was not written, and how many follow it; false if all are. */
bool asm_stack_unwritten(const struct state *s, int offset, unsigned int size, int *first, int *n);
/* Somebody may have written anywhere. */
void asm_stack_forget(struct state *s);

/* ---- the whole */

enum rule {
	RULE_ENCODING,
	RULE_UNREACHABLE,
	RULE_FLOW,
	RULE_REGISTER, /* + register number: one of each may be reported of an instruction */
	RULE_STACK = RULE_REGISTER + 16,
	RULE_BOUNDS,
	RULE_ALIGNMENT,
	RULE_NULL,
	RULE_ADDRESS,
	RULE_ARGUMENT,
	RULE_SIZE = RULE_ARGUMENT + 8,
	RULE_REFERENCE,
	RULE_RESULT,
};

struct finding {
	uint32_t slot;
	uint32_t rule;
	enum asm_severity severity;
	char *message;
};

/* What graph.c finds out about a slot. */
enum {
	SLOT_SECOND = 1,
	SLOT_ENTRY = 2,
	SLOT_REACHED = 4,
	SLOT_JOIN = 8,
	/* Of the first slot of a function: its calls are being followed, and have been. */
	SLOT_OPEN = 16,
	SLOT_DONE = 32,
};

struct lint {
	const struct asm_image *image;
	const struct asm_bindings *bindings;
	const struct bpf_insn *insns;
	uint32_t n;
	uint8_t *slots;
	struct finding *findings; /* room for ASM_LINT_MAX */
	size_t nfindings;
	bool more; /* than there is room for */
	bool nomem;
	struct paths *paths;
};

void asm_lint_finding(struct lint *l, uint32_t slot, uint32_t rule, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void asm_lint_caution(struct lint *l, uint32_t slot, uint32_t rule, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* The DSL line of a slot: its number, and its text as written. */
uint32_t asm_lint_line_at(const struct lint *l, uint32_t slot);
const char *asm_lint_text_at(const struct lint *l, uint32_t slot);
const struct asm_map *asm_lint_map_of(const struct lint *l, const struct reg *reg);

bool asm_lint_encoding(struct lint *l);
bool asm_lint_graph(struct lint *l);
void asm_lint_paths(struct lint *l);

/* The slot that a jump leads to; NO_SLOT if the instruction is none. */
uint32_t asm_jump_target(const struct bpf_insn *insn, uint32_t at);
bool asm_is_imm64(const struct bpf_insn *insn);
unsigned int asm_access_bytes(const struct bpf_insn *insn);

/* Does the register hold anything? Says so if not, and takes it for something from then on. */
bool asm_read_reg(struct lint *l, struct state *s, unsigned int number);

/* One step each. They change the state; a branch and a call may open further paths. */
void asm_step_alu(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_imm64(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_load(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_store(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_packet(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_call(struct lint *l, struct state *s, const struct bpf_insn *insn);
void asm_step_exit(struct lint *l, struct state *s);
/* false: the path ends here. */
bool asm_step_branch(struct lint *l, struct state *s, const struct bpf_insn *insn);
/* Follow this state, too, later on. */
void asm_open_path(struct lint *l, const struct state *s);
/* Follow a function from its beginning, unless it was. */
void asm_open_function(struct lint *l, const struct state *entry);

/* " (on the way where the jump at line 12 is taken)", on a path that began with one. */
#define WAY_SIZE 80
const char *asm_lint_way_text(const struct lint *l, const struct state *s, char text[WAY_SIZE]);
/* Programs whose context holds numbers only. */
bool asm_has_plain_context(const struct lint *l);
/* These three and asm_check_written() say what is wrong; false: do not go on with the access. */
bool asm_check_context(struct lint *l, struct state *s, const struct reg *base, int64_t offset,
		       unsigned int bytes, bool writes);
/* The verifier asks this of the stack on every machine. */
bool asm_check_aligned(struct lint *l, struct state *s, int64_t offset, unsigned int bytes);
/* Is every byte where it may be? what: "a load", "the key of 'counts'". */
bool asm_check_access(struct lint *l, struct state *s, const struct reg *base, unsigned int number,
		      int64_t offset, uint64_t bytes, const char *what);
/* Of the stack, inside the frame; what: "what is read". Taken for written from then on. */
void asm_check_written(struct lint *l, struct state *s, int offset, unsigned int bytes,
		       const char *what);

/* ---- helpers */

enum arg {
	ARG_NONE,    /* not looked at by the verifier */
	ARG_ANY,     /* has to hold something */
	ARG_CTX,     /* the context */
	ARG_MAP,     /* a map */
	ARG_KEY,     /* address of a key of that map */
	ARG_VALUE,   /* address of a value of that map */
	ARG_VALUE_0, /* the same, or 0 */
	ARG_PLACE,   /* address of room for a value of that map */
	ARG_IN,	     /* address of bytes; the next argument says how many */
	ARG_IN_0,    /* the same, or 0 */
	ARG_OUT,     /* address of room for bytes; the next argument says how many */
	ARG_OUT_8,   /* address of room for 8 bytes */
	ARG_SIZE,
	ARG_CONST,  /* a number that the verifier has to know */
	ARG_RECORD, /* a ring record, which the call gives back */
	ARG_FUNC,   /* a subprogram to be called */
};
enum ret {
	RET_UNKNOWN,
	RET_NUMBER, /* any */
	RET_LENGTH, /* 0 to something, or a negative errno */
	RET_SMALL,  /* 0 to something */
	RET_NOTHING,
	RET_VALUE,
	RET_RECORD,
	RET_OTHER,
};
struct helper {
	uint8_t args[5];
	uint8_t ret;
	uint8_t map_type; /* of its map; 0: any */
	const char *map_type_name;
};
/* NULL for helpers that are not in the table. */
const struct helper *asm_helper_of(int32_t number);

/* A call of a helper that is in the table. */
struct call {
	struct lint *l;
	struct state *s;
	const struct helper *helper;
	const struct asm_map *map; /* among the arguments, or NULL */
	uint32_t map_number;
};
void asm_lint_find_map_argument(struct call *c);
/* False if a register that the call reads holds nothing. */
bool asm_read_arguments(struct call *c);
void asm_check_argument(struct call *c, unsigned int number, enum arg arg);

#endif
