/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Walking user stacks without frame pointers: .eh_frame, turned into tables that are small enough
 * to lie in BPF maps and simple enough to be read there; and the walk itself, in C.
 *
 * The layouts of the first part are shared by user space and the BPF program. Every function that
 * can fail returns 0 or a negative errno and leaves its outputs untouched when it fails. Distinct
 * objects may be used by distinct threads; a table, once built, by any number of them.
 *
 *	err = unwind_table_build(&table, fd);	finds the rules of the ELF file open as fd
 *
 * Sources: "Exception Frames" of the Linux Standard Base Core 5.0, section 10.6; DWARF 5, sections
 * 6.4 and 7.24; the psABIs of x86-64, AArch64 and RISC-V.
 */
#ifndef RAWPROF_UNWIND_H
#define RAWPROF_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- tables: what user space writes and the BPF program reads */

/*
 * Addresses are those of the ELF file (p_vaddr). A table has one or more *parts*, each of which
 * describes a range of addresses and becomes one segment of every process that maps the file.
 *
 *	part	start, npages: it describes [start, start + npages * UNWIND_PAGE)
 *	index	npages + 1 numbers. index[p] is the first row that begins on page p, so the rows of
 *		page p are [index[p], index[p + 1]); that range is empty if none begins there.
 *	rows	in order of address. Row 0 begins on no page: it is a guard of UNWIND_NO_ROW.
 *		So index[0] is 1, and "the row before the first of a page" always exists: it is
 *		the one that spills over from the pages before.
 *	rules	shared by all parts of a table; rule 0 is all zero, UNWIND_NO_ROW.
 *
 * To find the rule of an address:
 *
 *	at = address - start; page = at / UNWIND_PAGE		(page >= npages: UNWIND_NO_ROW)
 *	row = index[page] - 1, n = index[page + 1] - row	(n is 1 to 1 << UNWIND_SEARCH_STEPS)
 *	the last row of [row, row + n) whose pc_low <= at % UNWIND_PAGE; if there is none, row
 *	rules[rows[..].rule]
 *
 * The pc_low of the row that spills over is of another page and must not be compared. The halving
 *	h = n / 2; if (rows[row + h].pc_low <= at % UNWIND_PAGE) row += h; n -= h;
 * done UNWIND_SEARCH_STEPS times never looks at it (h is 0 as soon as n is 1).
 *
 * Row numbers count within their part: a copy of several parts in one array adds where the
 * part begins to its index. The same goes for rule numbers.
 */
enum {
	UNWIND_PAGE_SHIFT = 10,
	UNWIND_PAGE = 1 << UNWIND_PAGE_SHIFT, /* bytes of text */
	UNWIND_SEARCH_STEPS = 9,	      /* halvings: a page has fewer than 1 << 9 rows */
	UNWIND_PART_ROWS = 1 << 20,	      /* most rows of one part, the guard included */
};

struct unwind_row {
	uint16_t pc_low; /* where on its page it begins: address % UNWIND_PAGE */
	uint16_t rule;
};

/*
 * How the caller's frame is found. CFA, "the canonical frame address", is the caller's stack
 * pointer; "sp", "fp" and "reg" are registers of the frame at hand. FP is rbp, x29 or s0.
 */
enum unwind_kind {
	/*
	 * Nothing is known of this address: go on by the frame pointer. With UNWIND_COMPUTED
	 * nothing is to be computed either: such code has no rules, but may have one of its own.
	 */
	UNWIND_NO_ROW,
	UNWIND_SP,	 /* CFA = sp + cfa_off */
	UNWIND_FP,	 /* CFA = fp + cfa_off */
	UNWIND_PLT,	 /* CFA = sp + cfa_off + ((address & 15) >= arg ? 8 : 0) */
	UNWIND_SIGNAL,	 /* a signal trampoline: see below */
	UNWIND_STOP,	 /* the outermost frame: its return address is undefined */
	UNWIND_DEREF_SP, /* CFA = *(u64 *)(sp + cfa_off) + arg */
	UNWIND_DEREF_FP, /* CFA = *(u64 *)(fp + cfa_off) + arg */
	/*
	 * CFA = reg[arg] + cfa_off. Known in the innermost frame; rbx in others too; and, with
	 * UNWIND_COMPUTED, in the second one: what it has called leaves the register alone.
	 */
	UNWIND_REG,
	/* { caller's fp, return address } at fp, on another stack, wherever that is */
	UNWIND_OTHER_STACK,
	UNWIND_UNSUP, /* described, but in a way that no rule here expresses */
	UNWIND_KINDS,
};

/*
 * The return address is at CFA + ra_off, which is -8 on x86-64 throughout.
 * The caller's fp is that of the frame at hand unless a flag says otherwise.
 *
 * UNWIND_SIGNAL: sp points at what the kernel saved of the interrupted frame, whose pc, sp and fp
 * are at sp + ra_off, sp + cfa_off and sp + fp_off (168, 160 and 120 on x86-64). That pc is where
 * the frame was interrupted and no return address. Where calls leave the return address in a
 * register, that one is at sp + arg: it is as good as in the innermost frame (UNWIND_RA_REG).
 */
enum unwind_flags {
	UNWIND_FP_AT_CFA = 1, /* the caller's fp is at CFA + fp_off */
	UNWIND_FP_AT_FP = 2,  /* the caller's fp is at fp + fp_off */
	UNWIND_FP_LOST = 4,   /* the caller's fp is not to be had: count it as 0 from here on */
	/*
	 * The return address is in reg[ra_off]; not in a frame left by a call, but, with
	 * UNWIND_COMPUTED and another register than calls write, in the second one: see UNWIND_REG.
	 */
	UNWIND_RA_REG = 8,
	UNWIND_RA_SIGNED = 16, /* arm64: it is signed (PAC); clearing the upper bits is enough */
	/*
	 * No file says so: it was computed from the code (unwind/code.h). The return address has to
	 * follow a call, or point to a signal trampoline; else go on by the frame pointer.
	 */
	UNWIND_COMPUTED = 32,
	/*
	 * In tables with rules that count from rbx (UNWIND_REG), which a frame that was left by a
	 * call has as well if its callee saved it: it did, at CFA + arg; or it left it alone.
	 * Neither: what is in rbx is not known any more.
	 */
	UNWIND_RBX_AT_CFA = 64,
	UNWIND_RBX_KEPT = 128,
};

/* Kinds STOP, OTHER_STACK and UNSUP have all other members 0, so that each is one rule. */
struct unwind_rule {
	int32_t cfa_off;
	int16_t fp_off;
	int16_t ra_off; /* or a register, with UNWIND_RA_REG */
	/* PLT: first offset in a stub after its push; DEREF: added; REG: DWARF number; or rbx */
	int16_t arg;
	uint8_t kind;  /* enum unwind_kind */
	uint8_t flags; /* enum unwind_flags */
};

_Static_assert(sizeof(struct unwind_row) == 4, "rows are copied into BPF maps");
_Static_assert(sizeof(struct unwind_rule) == 12, "rules are copied into BPF maps");

/* What lies in one range of a process's addresses. */
enum unwind_mapping_kind {
	UNWIND_BY_TABLE,
	UNWIND_BY_FP,	  /* no table, but frame pointers: JIT code, files without .eh_frame */
	UNWIND_URETPROBE, /* the kernel's "[uprobes]" page: the true return address is elsewhere */
};

/* Why a walk ended. */
enum unwind_stop {
	UNWIND_COMPLETE,   /* at a rule UNWIND_STOP: the whole stack was seen */
	UNWIND_RA_ZERO,	   /* the return address was 0, as a thread's first function may have it */
	UNWIND_FP_ZERO,	   /* no rule, and the frame pointer is 0, as the ABI has it at the end */
	UNWIND_DEEP,	   /* no room for more frames */
	UNWIND_ELIDED,	   /* between the innermost and the outermost frames some are left out */
	UNWIND_NO_MAPPING, /* the address is in no segment that is known */
	UNWIND_FP_BAD,	   /* no rule, and the frame pointer does not point up the stack */
	UNWIND_NOT_UP,	   /* the caller's frame would not be above this one */
	UNWIND_READ,	   /* the stack could not be read */
	UNWIND_NOT_LEAF,   /* the rule needs a register that only the innermost frame has */
	UNWIND_NO_RULE,	   /* rule UNWIND_UNSUP */
	UNWIND_AT_URETPROBE, /* returns into the kernel's trampoline */
	UNWIND_GONE, /* not begun: there is no stack, the process is ending or has none ever */
	UNWIND_OTHER_CODE, /* not begun: 32-bit code, for which there are no tables */
	UNWIND_IN_KERNEL, /* not begun: the registers cannot be had while the kernel works for it */
	UNWIND_STOPS,
};

/*
 * Set in an address of a walk that is no return address although it is not the innermost: a signal
 * interrupted the program there. No user address has this bit.
 */
#define UNWIND_PC_EXACT (1ULL << 63)

/* ---- building */

struct unwind_part {
	uint64_t start; /* address in the file, a multiple of UNWIND_PAGE */
	uint32_t npages;
	uint32_t nrows;
	const uint32_t *index; /* npages + 1 */
	const struct unwind_row *rows;
};

/* What was seen while building; for tests and for the curious. */
struct unwind_stats {
	uint64_t fdes;		/* those that describe code of this file */
	uint64_t raw_rows;	/* before equal neighbours were merged */
	uint64_t unsup;		/* rows that became UNWIND_UNSUP */
	uint64_t bad_fdes;	/* those that make no sense, or their CIE: left out, or cut short */
	uint64_t eh_frame_size; /* bytes, or of .debug_frame */
};

struct unwind_table {
	uint16_t machine; /* EM_X86_64, EM_AARCH64 or EM_RISCV */
	uint32_t nparts;  /* ordered by start; they do not overlap */
	uint32_t nrules;  /* at most 65536 */
	uint32_t nfdes;
	const struct unwind_part *parts;
	const struct unwind_rule *rules;
	/* Where each FDE, a function mostly, begins: address - parts[0].start; ascending. */
	const uint32_t *fdes;
	/* Code without an FDE, looked at for rules: its start and end, from that of all code. */
	uint32_t ngaps; /* how many numbers */
	const uint32_t *gaps;
	/*
	 * Of code without an FDE that a function of the file jumps to, as its own says (GHC's
	 * StgRun()): of kind UNWIND_SP, and right where the return address, at CFA - 8, follows a
	 * call; else the CFA may be arg higher, up to ra_off times. UNWIND_NO_ROW: there is none.
	 */
	struct unwind_rule jumped_to;
	struct unwind_stats stats;
};

/*
 * Digests the .eh_frame of the ELF file open as @fd (which stays the caller's, its file position
 * too), or of one in memory such as the vdso: read as a file is, at p_offset. A file without it:
 * its .debug_frame, or that of its separate debug file, which is found by build-id or debug link.
 * Signal trampolines that nothing describes are known by their code.
 *
 * -ENOEXEC: not ELF, or not of 64 bits and little-endian, or of another machine; -ENODATA: none of
 * these, or no code described in it; -EFBIG: more than 64 MB of it, code more than 4 GB apart, or
 * much more work than real tables of that size are, or the person wants to stop (base/budget.h);
 * -ENOMEM; -EIO. A file that is damaged in parts gives the table of the other parts, and
 * stats.bad_fdes.
 */
int unwind_table_build(struct unwind_table **out, int fd);
int unwind_table_build_image(struct unwind_table **out, const void *image, size_t size);
/*
 * A table of rules that are computed of @size bytes of code in memory, which no file describes, of
 * @machine; its addresses count from there. What has no rule is UNWIND_NO_ROW, up to the last page
 * that has one with UNWIND_COMPUTED. -ENODATA: nothing has, or it is not known how to, for that
 * machine. -EFBIG, -ENOMEM.
 */
int unwind_table_build_code(struct unwind_table **out, uint16_t machine, const void *code,
			    size_t size);
void unwind_table_free(struct unwind_table *t);

/* Bytes of index, rows, rules and FDEs. */
size_t unwind_table_size(const struct unwind_table *t);

/* The part that contains @vaddr, or NULL. */
const struct unwind_part *unwind_table_part(const struct unwind_table *t, uint64_t vaddr);

/* The rule for @vaddr; the one of kind UNWIND_NO_ROW for addresses of no part. Never NULL. */
const struct unwind_rule *unwind_table_rule(const struct unwind_table *t, uint64_t vaddr);

/* The start of the FDE, that is mostly of the function, that describes @vaddr. -ENOENT: none. */
int unwind_table_fde_start(const struct unwind_table *t, uint64_t vaddr, uint64_t *start);

/* ---- keeping tables on disk */

struct unwind_cache;

/*
 * Opens the directory @dir for tables, NULL: $XDG_CACHE_HOME/rawprof/unwind, or for root
 * /var/cache/rawprof/unwind, or ~/.cache/rawprof/unwind; makes it if need be. -EPERM if it, or a
 * directory of ours above it, is another user's or writable by others; -ENOENT if there is no home;
 * -ENOMEM; or what open(2) said. @max_bytes: what it may grow to, in pages of 4 KB, 0: 1 GB; and it
 * has 65,536 entries at most, one or two for a file. Those that were used least recently go first.
 */
int unwind_cache_open(struct unwind_cache **out, const char *dir, uint64_t max_bytes);
void unwind_cache_close(struct unwind_cache *c);

/*
 * unwind_table_build(), or the table that an earlier one left. Entries are found by the contents of
 * what they were made of (.eh_frame and where it and the code lie), as a build-id does not change
 * when tools rewrite a file; of a file that did not change since nothing is read.
 * A damaged entry is made anew; one that cannot be written is no error.
 * Rules for code without an FDE are in it if @is_computed, or if they were computed earlier: that
 * takes longer than all else.
 * @c may be NULL, or be used by several threads. @was_cached, unless NULL, says which it was.
 */
int unwind_cache_table(struct unwind_cache *c, struct unwind_table **out, int fd, bool is_computed,
		       bool *was_cached);
/*
 * The table that can be there in a few milliseconds. To see that computed rules in the cache are of
 * the same code takes as long as reading all of that: if there is much they are not in it, but
 * *@has_more says that unwind_cache_table() has them. It is set whatever is returned.
 */
int unwind_cache_first(struct unwind_cache *c, struct unwind_table **out, int fd, bool *has_more);

/* ---- walking */

/*
 * The walk of the BPF program, in C, over whatever @read reads: a running process, or registers
 * and stack that were recorded.
 */

/* One range of addresses: [start, end) of the process; of the file: address - bias. */
struct unwind_space_mapping {
	uint64_t start, end, bias;
	const struct unwind_table *table; /* UNWIND_BY_TABLE only */
	enum unwind_mapping_kind kind;
};

struct unwind_space {
	const struct unwind_space_mapping *segments; /* in order of start; they do not overlap */
	size_t count;
	/* In their place, unless it is NULL: what lies at an address; NULL: nothing is known. */
	const struct unwind_space_mapping *(*find)(void *ctx, uint64_t addr);
	void *ctx;
	uint64_t ra_mask; /* and-ed to return addresses, which PAC bits are cleared by; 0: none */
	/* Where the caller's fp and then the return address lie, from fp: 0, on riscv64 -16. */
	int32_t fp_record;
};

struct unwind_regs {
	uint64_t pc, sp, fp;
	/*
	 * By DWARF number (x86-64: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8...; arm64: x0...x30;
	 * riscv64: x0...x31), for the rules that need more of the innermost frame.
	 */
	uint64_t reg[32];
	/* The pc was left by a call, or a system call, and is the address after it. */
	bool pc_is_return;
};

struct unwind_result {
	enum unwind_stop end;
	uint32_t fp_steps; /* frames left by their frame pointer, because no rule said better */
	uint32_t signals;  /* signal trampolines passed */
	uint64_t sp;	   /* of the outermost frame */
};

/* Reads @size bytes of the process at @addr. 0, or a negative errno if not all are there. */
typedef int unwind_read_fn(void *ctx, uint64_t addr, void *buf, size_t size);

/*
 * Writes the addresses of the stack, innermost first, to @pcs, at most @max; returns how many.
 * @result is filled in, always. Return addresses are written as they are (one past the call).
 */
unsigned int unwind_walk(const struct unwind_space *space, const struct unwind_regs *regs,
			 unwind_read_fn *read, void *ctx, uint64_t *pcs, unsigned int max,
			 struct unwind_result *result);

/* A word or three for a person: "complete", "no mapping", "stack unreadable". Never NULL. */
const char *unwind_stop_text(enum unwind_stop end);

#endif
