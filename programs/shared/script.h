/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of PHP, Ruby and Perl (programs/shared/script.c): what both sides share.
 *
 * Each interpreter keeps a list of its own frames, and has a loop in C that executes them, called
 * anew for a callback. One walk serves all: what a frame looks like is a function for each
 * language (script_php.c, script_ruby.c, script_perl.c), where its members lie is a row of offsets
 * by version, data that user space publishes (record/script_layouts.c). The walk takes no lock, so
 * a list may change under it, and a process may lie: what is read is never believed.
 */
#ifndef PROGRAMS_SHARED_SCRIPT_H
#define PROGRAMS_SHARED_SCRIPT_H

#include <stdint.h>

#include <rawprof/asm.h>
#include "managed.h"

enum script_language { SCRIPT_NONE, SCRIPT_PHP, SCRIPT_RUBY, SCRIPT_PERL, SCRIPT_LANGUAGES };

/* Offsets in bytes. */
enum php_offset {
	PHP_CURRENT, /* of executor_globals: the innermost frame */
	PHP_OPLINE,  /* of a frame: the instruction, */
	PHP_FUNCTION,
	PHP_INFO, /*   flags of the call */
	PHP_PREVIOUS,
	PHP_NAME, /* of a function: its name, its class, */
	PHP_SCOPE,
	PHP_OPCODES,
	PHP_FILE,	/*   and of one that is no builtin: its file */
	PHP_LINE,	/* of an instruction */
	PHP_CLASS_NAME, /* of a class */
	PHP_LENGTH,	/* of a string: bytes, */
	PHP_TEXT,	/*   and where they begin */
};
enum ruby_offset {
	RUBY_STACK, /* of an execution context: its stack, and behind that its words, its frame */
	RUBY_FRAME_BYTES, /* of a frame: how large it is, */
	RUBY_PC,	  /*   behind the instruction, */
	RUBY_ISEQ,	  /*   the code, */
	RUBY_EP,	  /*   behind two words: flags */
	RUBY_BODY,	  /* of code: what it consists of: */
	RUBY_SIZE,
	RUBY_CODE,
	RUBY_PATH,
	RUBY_LABEL,
	RUBY_FIRST_LINE,
	RUBY_LINES, /* what has the lines of instructions, */
	RUBY_LINES_COUNT,
	RUBY_LINES_INDEX, /*   and which instruction has which */
	RUBY_LINE_BYTES,
	RUBY_DEFINITION,    /* of a method */
	RUBY_CFUNC,	    /* of its definition: a function in C, */
	RUBY_ID,	    /*   the number of its name */
	RUBY_LAST_OPERATOR, /* names up to this number are their own */
};
enum perl_offset {
	PERL_BYTES, /* of an interpreter: how large it is; its operation, */
	PERL_OP,
	PERL_COP,	/*   its statement, */
	PERL_STACK,	/*   its innermost stack */
	PERL_COMPILING, /*   and the statement that is compiled, which lies in it */
	PERL_CONTEXTS,	/* of a stack: its contexts, */
	PERL_PREVIOUS,	/*   the one below, */
	PERL_INDEX,	/*   the number of its innermost context, */
	PERL_SUB_INDEX, /*   and of that of a sub or eval */
	PERL_CONTEXT_BYTES,
	PERL_OLD_COP,	/* of a context: the statement that made it, */
	PERL_RETURN,	/*   the operation behind, */
	PERL_SUB_BELOW, /*   the number of the next one of a sub or eval, */
	PERL_CV,	/*   the sub */
	PERL_LINE,	/* of a statement */
	PERL_FILE,
	PERL_SEQUENCE,
	PERL_CV_STASH, /* of a sub, behind its head: its package, */
	PERL_CV_ROOT,  /*   its first operation, which closures share, */
	PERL_CV_NAME,  /*   its glob, or its name */
	PERL_CV_FLAGS,
	PERL_GLOB_OF,	  /* of a glob's body: the glob that has its name */
	PERL_GLOB_NAME,	  /* of a glob, behind its head */
	PERL_GLOB_STASH,  /*   its package */
	PERL_STASH_NAME,  /* of a package, behind its head: its name or, */
	PERL_STASH_NAMES, /*   if this is not 0, where its names are */
	PERL_NEXTSTATE,	  /* numbers of operations: a statement, */
	PERL_SCOPE,	  /*   a block that has no context */
	PERL_SLOTS,	  /* as slots and slot_blocks of struct python_layout */
	PERL_SLOT_BLOCKS,
};
#define SCRIPT_OFFSETS 30
struct script_layout {
	uint16_t language, version; /* enum script_language; 8.2 is 0x0802 */
	uint16_t at[SCRIPT_OFFSETS];
};
#define SCRIPT_LAYOUTS 16 /* a power of two */
#define SCRIPT_LAYOUT_SHIFT 6
_Static_assert(sizeof(struct script_layout) == 1 << SCRIPT_LAYOUT_SHIFT, "the program shifts");

/* What is known of a process with an interpreter; lies in struct unwind_proc. Addresses. */
struct script_process {
	uint16_t language; /* SCRIPT_NONE: it has none */
	uint16_t layout;   /* its number */
	uint32_t loop_bytes;
	/* PHP: executor_globals, Perl: PL_thr_key, Ruby: the words that lead to ruby_current_ec */
	uint64_t root;
	uint64_t loop; /* the function that executes, */
	/* its part that the compiler has put elsewhere; Perl: perl_parse, Ruby: its caller */
	uint64_t cold;
	uint64_t cold_bytes;
	/* Perl: who calls it to go on with what another call began, docatch; Ruby: names, or 0 */
	uint64_t again;
	uint64_t again_bytes;
};

/*
 * The first word of a frame (managed.h) is the function's address, the second
 *
 *	check << SCRIPT_CHECK_SHIFT | line; 0: it has none
 */
#define SCRIPT_CHECK_SHIFT 24
#define SCRIPT_LINE_MAX ((1 << SCRIPT_CHECK_SHIFT) - 1)
#define SCRIPT_FUNCTION_MASK ((1ull << MANAGED_LANGUAGE_SHIFT) - 1)

/*
 * What names a function, as it comes through the ring when it is first seen in a process: it is
 * there after the process has ended.
 */
#define SCRIPT_TEXT_BYTES 504
enum script_text { SCRIPT_CLASS, SCRIPT_NAME, SCRIPT_FILE, SCRIPT_TEXTS };
struct script_function {
	uint64_t tag; /* SCRIPT_FUNCTION_TAG, where a stack has its hash */
	uint64_t pid_tgid;
	uint64_t generation; /* start time + exec id, as in struct stack_record */
	uint64_t function;
	uint32_t check; /* what tells it from others that were there before or after */
	uint32_t language;
	uint32_t busy; /* in the kernel */
	uint32_t kind; /* enum script_kind */
	uint32_t bytes[SCRIPT_TEXTS];
	uint32_t unused;
	char text[SCRIPT_TEXTS][SCRIPT_TEXT_BYTES + 8]; /* cut */
};
#define SCRIPT_FUNCTION_TAG 0x7470697263736e66ull
/* What has no name of its own. */
enum script_kind { SCRIPT_NAMED, SCRIPT_MAIN, SCRIPT_EVAL, SCRIPT_REQUIRE, SCRIPT_KINDS };

#define SCRIPT_MAP_LAYOUTS                                                                         \
	{                                                                                          \
		"script_layouts", BPF_MAP_TYPE_ARRAY, 4,                                           \
			SCRIPT_LAYOUTS * sizeof(struct script_layout), 1, BPF_F_MMAPABLE           \
	}
#define SCRIPT_MAP_FUNCTION                                                                        \
	{                                                                                          \
		"script_function", BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(struct script_function), 1 \
	}

/*
 * Lines of statements of Perl that were looked for: pairs of a word, and the hash of statement and
 * operation ^ that word * GOLDEN_RATIO_64. The word is hash of the file << SCRIPT_CHECK_SHIFT |
 * line.
 */
#define PERL_LINES_SHIFT 12
#define PERL_MAP_LINES                                                                             \
	{                                                                                          \
		"perl_lines", BPF_MAP_TYPE_ARRAY, 4, 16 << PERL_LINES_SHIFT, 1, BPF_F_MMAPABLE     \
	}

/* So many that cannot be sent end the attempts of a walk: a process may be made of them. */
#define SCRIPT_UNREAD_MOST 8

/* Steps through trees of operations in a walk, 50 ns each: a process may be made of such. */
#define PERL_SEARCH_MOST 4096

/* The part of it that is about Perl. */
struct perl_walk {
	uint64_t interpreter;
	uint64_t stack;		/* that follows */
	uint64_t contexts;	/* of the one at hand: its contexts, */
	int64_t index;		/*   the next one's number, */
	uint64_t has_outermost; /*   1: the outermost has not been looked at */
	uint64_t cop, op;	/* the statement and the operation of the frame that is next */
	uint64_t line_cop, line_op, line_is_next; /*   and those of the frame at hand */
	uint64_t is_next;			  /* 1: the operation is the one behind */
	uint64_t inside;			  /* 1: there was a context that has a place */
	uint32_t ended;
	uint32_t search_left;	  /* steps that this walk may still take for lines */
	uint64_t file, file_hash; /* of the statement */
	uint64_t line_key;
	uint64_t node, depth; /* where a search is */
	uint64_t found;
	uint64_t cop_bytes[128 / 8 + 1]; /* offsets are masked */
};

/* The part of a walk that is about them. */
struct script_walk {
	uint64_t frame;	   /* the one that is next; 0: there is none */
	uint64_t end;	   /* Ruby: of its stack */
	uint64_t function; /* of the frame at hand, */
	uint64_t position; /*   as the language has it, */
	uint32_t line, check, kind;
	uint32_t first;		      /* 1 until there was a frame */
	uint32_t placing;	      /* 1: a native frame is looked for */
	uint32_t unread;	      /* functions that could not be sent, of this walk */
	uint32_t base, native, count; /* kernel frames; native ones: the next, how many */
	uint32_t max;		      /* words of the record, with the kernel's */
	uint32_t open;		      /* words of the run at hand, which has no place yet */
	uint64_t seen;		      /* its hash in managed_seen */
	uint64_t words[4];
	struct perl_walk perl;
	uint64_t frame_bytes[128 / 8 + 1];    /* offsets are masked: 127 at most */
	uint64_t function_bytes[256 / 8 + 1]; /*   255 */
};

/* What the function of a language says of a frame. */
#define SCRIPT_FRAME 1 /* there is one */
#define SCRIPT_LAST 2  /* it is the last of this call of the loop */
#define SCRIPT_END 4   /* there are no more */

/*
 * script_walk(R1 = a struct stack_scratch whose record has its native frames, R2 = the task, with
 * of_task): R0 = how many words it has written behind them. To be INCLUDEd WHEN scripts.
 */
extern const struct asm_part rp_script_part;

#endif
