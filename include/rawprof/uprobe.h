/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes on functions of programs, as cheap as the kernel lets them be: which instruction
 * to put one on (rp_code_*), and how to put a program on many of them (rp_uprobes_*). The functions
 * themselves are found by sym_functions_find() of symbolize.h. Errors and messages as in loader.h.
 *
 *	way = rp_uprobe_way(pid, false);
 *	load the program with attach_type rp_uprobe_attach_type(way)
 *	rp_code_open(fd, machine, text_offset, text_size, &code);
 *	rp_code_entry(code, &function, &place);		for each function
 *	rp_attach_uprobes(&set, &probes);		offsets: function.offset + place.offset
 *
 * Probes that were compiled into a program (USDT) have a place already, sym_usdt_read() finds it;
 * here is how a program reads their arguments (rp_usdt_*).
 */
#ifndef RAWPROF_UPROBE_H
#define RAWPROF_UPROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- where (code.c, body.c, place.c, insn_*.c in loader/uprobe/) */

/* What the kernel does with the instruction under a probe, cheapest first. */
enum rp_step {
	RP_STEP_CALL,	  /* a nop of 5 bytes, which becomes a call: no exception at all; 6.18 */
	RP_STEP_EMULATED, /* one exception, then the kernel does the instruction's work */
	RP_STEP_SINGLE,	  /* runs a copy with the trap flag set: two more exceptions */
	RP_STEP_UNKNOWN,  /* not decoded; the kernel may refuse a probe here (-EOPNOTSUPP) */
};

enum { RP_PLACE_WHY = 160 };

/* Where to probe the entry of a function. */
struct rp_place {
	uint32_t offset; /* bytes from the entry; 0 unless something later is cheaper and as good */
	uint32_t sp_delta; /* bytes that the stack has grown by there: on x86-64 the return address
			      is at sp + sp_delta, stack arguments 8 bytes above it; on arm64 the
			      return address is in lr still, stack arguments at sp + sp_delta */
	enum rp_step step;
	char why[RP_PLACE_WHY]; /* for -v: "+3 je, emulated, instead of +0 test" */
};

/* A jump out of a function: a tail call, or the way to a part of it that lies elsewhere. */
struct rp_jump_out {
	uint32_t at;	/* bytes from the entry */
	int64_t target; /* bytes from the entry; 0: where to is in memory */
	bool is_conditional;
};

/* The instructions by which a function returns. */
struct rp_returns {
	uint32_t *offsets; /* bytes from the entry, ascending */
	uint32_t n;
	struct rp_jump_out *jumps; /* by which it leaves beside them; ascending */
	uint32_t njumps;
	bool only_jumps; /* complete, but for the jumps */
	/* Every return to the caller passes one of them. False if the function may also leave by a
	 * jump (a tail call, a cold part elsewhere, a table of addresses) or holds what could not
	 * be decoded: then only a uretprobe sees all. */
	bool complete;
	/* It has a call of its own entry: of calls inside of calls the kernel lets uretprobes see
	 * 64 (MAX_URETPROBE_DEPTH), and loses those beyond. */
	bool calls_itself;
	enum rp_step step; /* of the dearest of them */
	char why[RP_PLACE_WHY];
};

/* Which function, and what is asked of its place. */
struct rp_function {
	uint64_t offset; /* of its entry, in the file */
	uint64_t size;	 /* 0 (not known): the probe stays at the entry */
	uint64_t alone;	 /* bytes from its entry in which no other function begins; 0: size */
	/* Integer arguments that the program reads from registers, which must be as the caller left
	 * them; 0 stands for all that the ABI has. Those beyond may be overwritten. */
	uint8_t nargs;
	/* A return probe or a session goes there as well: the kernel takes the return address from
	 * where the entry has it, so sp_delta must be 0. */
	bool with_return;
	bool is_go;   /* no data among the instructions; it may begin several times in one call */
	bool catches; /* exceptions may lead to code of it that no jump leads to, as in C++ */
};

/*
 * The code of a file: an executable segment, in which jumps from elsewhere into a function are
 * looked for, once. Bytes are read from the file when they are needed; a bit is kept for each of
 * them. Serves any number of functions.
 *
 * fd: the file, duplicated. machine: EM_X86_64 or EM_AARCH64 (elf.h), of the file; with any other
 * the probes stay at the entry. offset, size: the segment in the file (struct sym_functions has
 * them). -EINVAL if it is above 4 GiB, -ENOMEM, or what dup and pread said.
 */
struct rp_code;
int rp_code_open(int fd, uint16_t machine, uint64_t offset, uint64_t size, struct rp_code **out);
void rp_code_close(struct rp_code *code);

/*
 * The cheapest place at which a probe sees what one at the entry would: the same calls (each path
 * from the entry passes it, no jump leads between the two), argument registers and memory as they
 * were. In Go it is behind the check of the stack, which leads to the entry once more. -EINVAL if
 * the function lies outside the segment; -EOPNOTSUPP if it begins with an instruction that the
 * kernel mistakes for another, so that a probe would break the program (x86-64: those of AVX);
 * -ENOMEM; -EIO. Logs nothing.
 */
int rp_code_entry(struct rp_code *code, const struct rp_function *f, struct rp_place *out);

/*
 * Its return instructions. Probes there, in place of a uretprobe, see the stack as at the entry and
 * the result in its register, and leave return addresses alone; they are worth it where the kernel
 * emulates a return (arm64; on x86-64 it steps). Errors as above. Free with rp_returns_free.
 */
int rp_code_returns(struct rp_code *code, const struct rp_function *f, struct rp_returns *out);
void rp_returns_free(struct rp_returns *returns);

/* ---- how (loader/uprobe/set.c) */

/* Ways to put a program on places of a file, best last. */
enum rp_uprobe_way {
	RP_UPROBE_NONE,	     /* this kernel, or these capabilities, have no uprobes */
	RP_UPROBE_PERF,	     /* a perf event each; no cookies: one program for each */
	RP_UPROBE_PERF_LINK, /* a perf event each, with a cookie: 5.15 */
	RP_UPROBE_MULTI,     /* one link for all, with cookies: 6.6 */
	/* One link for all, both at entry and at return. The program runs at the entry; returning 1
	 * there has this call return unseen and at no cost, 0 has the program run again then. In it
	 * bpf_get_func_ip(ctx) is the place of the probe both times, and the ip of the registers is
	 * that only at the entry. 6.13 */
	RP_UPROBE_SESSION,
};

/*
 * The best that this kernel has. pid: the process to be probed, -1 all (the first kernels with
 * uprobe_multi confused processes with threads, and are not trusted with a pid). Never
 * RP_UPROBE_SESSION unless it is asked for; then what comes if there is none is another way, and
 * entry and return are two sets.
 */
enum rp_uprobe_way rp_uprobe_way(pid_t pid, bool session);
/* What a program must be loaded with to go that way (rp_prog.attach_type); its type is KPROBE. */
uint32_t rp_uprobe_attach_type(enum rp_uprobe_way way);
/* For -v and doctor: "uprobe_multi link". */
const char *rp_uprobe_way_name(enum rp_uprobe_way way);

/* One file's places. */
struct rp_uprobe_set {
	enum rp_uprobe_way way;	 /* the one that the programs were loaded for */
	const char *path;	 /* or NULL, and */
	int fd;			 /* the open file, be it deleted or in another mount namespace */
	const uint64_t *offsets; /* n of them, in the file */
	const uint64_t *cookies; /* what bpf_get_attach_cookie returns; NULL: 0 for all */
	/* Of USDT semaphores, in the file, which the kernel counts up while the probe is there;
	 * 0: it has none; NULL: none has. */
	const uint64_t *semaphores;
	uint32_t n;
	pid_t pid;	/* one process with all of its threads, -1 all */
	bool at_return; /* uretprobes; ignored by RP_UPROBE_SESSION */
	const int *prog_fds;
	uint32_t nprogs; /* 1: for all places; n: one for each */
};

struct rp_uprobes;

/*
 * All or none. The descriptors of the programs may be closed afterwards. Nothing outlives the
 * process, however it ends: the kernel puts the instructions back. -EOPNOTSUPP if the way takes no
 * cookies and there are some but not a program for each, or an instruction cannot be probed;
 * -EINVAL for no places, or offsets that are outside the file or hold no instruction; -ENOENT,
 * -ESRCH, -EMFILE (after the soft limit was raised), -ENOMEM.
 */
int rp_attach_uprobes(const struct rp_uprobe_set *set, struct rp_uprobes **out);
/* Detaches. NULL is fine. */
void rp_uprobes_close(struct rp_uprobes *probes);

/* ---- arguments of USDT probes (loader/usdt/) */

enum { RP_USDT_ARGS = 12 }; /* as many as sys/sdt.h has macros for */

enum rp_usdt_kind {
	RP_USDT_UNKNOWN,  /* it cannot be read: why */
	RP_USDT_CONSTANT, /* value */
	RP_USDT_REGISTER, /* the size bytes at shift bits of base */
	RP_USDT_MEMORY,	  /* the size bytes at value + base + (index << scale) */
};

/* One argument, as the note describes it. Registers are bytes from the start of pt_regs. */
struct rp_usdt_arg {
	enum rp_usdt_kind kind;
	uint8_t size; /* 1, 2, 4 or 8 bytes */
	bool is_signed, is_float;
	bool from_ip;	      /* add to value the address of the probe, which pt_regs has */
	int16_t base, index;  /* -1: none */
	uint8_t shift;	      /* 8 for ah, bh, ch and dh of x86, else 0 */
	uint8_t scale;	      /* bits */
	uint8_t index_bits;   /* 64, or 32: the upper half of it does not count, */
	bool index_signed;    /*   and is its sign */
	uint8_t address_bits; /* 64, or 32: addresses wrap there */
	int64_t value;	      /* of a constant: as its type is, widened */
	const char *why;      /* of RP_USDT_UNKNOWN: "it is in a vector register" */
	const char *text;     /* "-4@%eax": length bytes of the string that was parsed */
	uint32_t length;
};

/* The arguments of one place. n may be more than there is room for: the rest is not read. */
struct rp_usdt_args {
	uint32_t n;
	struct rp_usdt_arg arg[RP_USDT_ARGS];
};

/* A place, as sym_usdt_site has it, and how variables are found that its arguments name. */
struct rp_usdt_place {
	uint16_t machine; /* EM_X86_64, EM_386 or EM_AARCH64; of others nothing is known */
	uint64_t vaddr;
	const char *args;
	/* 0 and the address in the file's own numbering, or a negative errno. NULL: none is. */
	int (*variable)(void *ctx, const char *name, uint64_t *vaddr);
	void *ctx;
};
/* Fills @out, always; what is not understood is RP_USDT_UNKNOWN. */
void rp_usdt_parse(const struct rp_usdt_place *place, struct rp_usdt_args *out);
/* Whether both are read by the same instructions. */
bool rp_usdt_same(const struct rp_usdt_args *a, const struct rp_usdt_args *b);

/* What a program wants of the arguments. */
struct rp_usdt_reader {
	/* Those of different places of one probe, n of them; the program is told which in R0 if
	 * there are several. Those beyond are taken for the last. */
	const struct rp_usdt_args *places;
	uint32_t n;
	uint32_t nargs;	  /* how many are wanted; those that a place lacks are 0, and failed */
	int ctx;	  /* R6 to R9 (asm.h): pt_regs */
	int to;		  /* R6 to R10: what is written lies at, in bytes from it, */
	int16_t values;	  /*   uint64_t[nargs]: widened to 64 bits as its type is; a float's bits */
	int16_t failed;	  /*   uint32_t: bit i: argument i could not be read, and is 0; */
	int16_t texts;	  /*   char[][text_size], a NUL at each end, for those that are */
	uint32_t strings; /*   bit i: the address of a string; bit 16 + i of failed: that cannot be
				read, and is empty */
	uint16_t text_size;
	bool texts_only; /* values and failed are there already */
};

/*
 * Makes lines of it, which a program INCLUDEs; they destroy R0 to R5. -EINVAL: a register is none
 * of those above; -E2BIG: of so many places with arguments in different places that no jump reaches
 * over them; -ENOMEM. Free with rp_usdt_code_free() when the program is loaded.
 */
struct rp_usdt_code;
struct asm_part;
int rp_usdt_compile(const struct rp_usdt_reader *reader, struct rp_usdt_code **out);
const struct asm_part *rp_usdt_part(const struct rp_usdt_code *code);
void rp_usdt_code_free(struct rp_usdt_code *code);

#endif
