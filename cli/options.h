/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, the same for every command: rows that describe it, and what was asked for. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rawprof/record.h>

/* Exit statuses (sysexits are of no use to a shell script that looks for 0, 1, 2). */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_SIGNAL = 128 };

/*
 * Names the failure of a command where nothing else has since rp_log_errors() was @errors. err: a
 * negative errno. Returns EXIT_FAILED.
 */
int command_failed(const char *name, int err, unsigned long errors);

/* What `rawprof record` writes and `rawprof report` reads if they are not told. */
#define SAVED_PROFILE "profile.rawprof"

struct command;
struct dry_run;
struct run_windows;

/* Which of the common options a command takes; the others are not mistaken for typing errors. */
enum {
	TAKES_TARGET = 1 << 0,	 /* -p -t --cgroup --comm -- PROGRAM */
	TAKES_CPUS = 1 << 1,	 /* -C */
	TAKES_SAMPLING = 1 << 2, /* -F -c -e --sw-event -I */
	TAKES_STACKS = 1 << 3,	 /* -U -K --max-stack --call-graph --lines: which frames */
	TAKES_SAMPLES = 1 << 4,	 /* --samples -E */
	TAKES_INTERVAL = 1 << 5, /* -i */
	TAKES_ROWS = 1 << 6,	 /* -n --sort */
	TAKES_RESULT = 1 << 7,	 /* -d --format -o */
	TAKES_NAME = 1 << 8,	 /* no option: a word, what it is about */
	TAKES_FORMAT = 1 << 9,	 /* --format alone */
	TAKES_OUTPUT = 1 << 10,	 /* -o */
	TAKES_SHOWN = 1 << 11,	 /* -f --weight --title --reverse: how a profile is shown */
	TAKES_FRAMES = TAKES_STACKS | TAKES_SHOWN,
	TAKES_SECOND = 1 << 12, /* with TAKES_NAME: another word */
	TAKES_WORDS = 1 << 13,	/* no option: words, what it is about, beside the duration */
	TAKES_DURING = 1 << 14, /* --during */
	TAKES_ADVICE = 1 << 15, /* --no-advice alone */
};

/*
 * An option: how it is written, where its value goes, what help, man page and completion say of it.
 * A command's own rows come with it; the common ones are in options.c.
 */
struct option_row {
	const char *name; /* "min", as in --min; "": -- itself; NULL ends the list */
	char letter;	  /* 0: none */
	enum option_group {
		OPTION_VIEW,
		OPTION_TARGET,
		OPTION_SAMPLING,
		OPTION_OUTPUT,
		OPTION_GROUPS
	} group;
	enum option_kind {
		OPTION_SAYS,	/* the common option of this name and letter, described anew */
		OPTION_NOTHING, /* accepted, and changes nothing */
		OPTION_HELP,
		OPTION_FLAG,	/* bool */
		OPTION_MORE,	/* int: one more each time */
		OPTION_QUIET,	/* int: -1 */
		OPTION_NUMBER,	/* uint64_t */
		OPTION_UINT,	/* unsigned int */
		OPTION_DEPTH,	/* struct record_depth; 100, 100+20 */
		OPTION_SECONDS, /* double; 5, 0.5, 2m, 1h */
		OPTION_MS,	/* uint64_t, nanoseconds; 10, 0.1 */
		OPTION_BYTES,	/* uint64_t; 4096, 4K, 512KiB, 1M */
		OPTION_PERCENT, /* const char *, for option_percent(); 0 to 100, with decimals */
		OPTION_TEXT,	/* const char *, of at least so many bytes */
		OPTION_WORD,	/* const char *, one of words */
		OPTION_CHOICE,	/* an enum: least for the first of words, and so on */
		OPTION_IDS,	/* struct record_ids */
		OPTION_CPUS,	/* const char *, a list as the kernel writes them */
		OPTION_FORMAT	/* const struct report_format * */
	} kind;
	size_t offset;	      /* into struct options; of a command's own row, into its struct */
	const char *arg;      /* "LIST"; NULL: it takes no value */
	const char *help;     /* NULL: not shown */
	const char *words;    /* that the value may be, or that completion offers: "self total" */
	uint64_t least, most; /* most 0: no limit */
	const char *wrong;    /* of a bad value: "is no duration"; NULL: what it wants */
	const char *value;    /* what it stands for, of one that takes none */
	unsigned int takes;   /* of a common option: TAKES_..., 0: every command has it */
	char alias;	      /* another letter, 0: none */
};

/*
 * Rows of options whose values go to OPTION_STRUCT, which the file defines. A member of another
 * type than the kind's does not compile.
 */
#define OPTION(name, letter, group, kind, member, ...)                                             \
	{                                                                                          \
		name, letter, OPTION_##group, OPTION_##kind,                                       \
			offsetof(OPTION_STRUCT, member) *                                          \
				_Generic(((OPTION_STRUCT *)0)->member, OPTION_TYPE_##kind : 1),    \
			__VA_ARGS__                                                                \
	}
#define FLAG(name, letter, group, member, ...)                                                     \
	OPTION(name, letter, group, FLAG, member, NULL, __VA_ARGS__)
#define OPTION_TYPE_FLAG bool
#define OPTION_TYPE_MORE int
#define OPTION_TYPE_QUIET int
#define OPTION_TYPE_NUMBER uint64_t
#define OPTION_TYPE_UINT unsigned int
#define OPTION_TYPE_DEPTH struct record_depth
#define OPTION_TYPE_SECONDS double
#define OPTION_TYPE_MS uint64_t
#define OPTION_TYPE_BYTES uint64_t
#define OPTION_TYPE_PERCENT const char *
#define OPTION_TYPE_TEXT const char *
#define OPTION_TYPE_WORD const char *
#define OPTION_TYPE_CHOICE unsigned int
#define OPTION_TYPE_IDS struct record_ids
#define OPTION_TYPE_CPUS const char *
#define OPTION_TYPE_FORMAT const struct report_format *

struct options {
	const char *command;
	struct dry_run *dry_run; /* NULL: for real */
	/* It records in windows, which go elsewhere than results do; NULL: it does not. */
	const struct run_windows *windows;
	unsigned int given; /* TAKES_... of the options that were */
	void *own;	    /* the command's own; own_size bytes, 0 where nothing was given */
	const char *name;   /* with TAKES_NAME; NULL */
	const char *second; /* with TAKES_SECOND; NULL */
	const char **words; /* with TAKES_WORDS: nwords of them */
	size_t nwords, words_capacity;
	char **lists; /* that were given in parts, put together: owned */
	size_t nlists, lists_capacity;

	struct record_options record; /* what is recorded */

	/* output */
	const struct report_format *format;
	const char *output; /* NULL: standard output */
	struct report_options show;
	const char *sort;   /* a column: sort.h; NULL */
	const char *weight; /* name of a value type, NULL: the first */
	bool folded_samples;
	bool keep; /* to be saved, in no other format: rawprof record */
	bool color_off;
	bool advice_off;
	int verbosity; /* -1 with -q, 0, 1 with -v, ... */
};

/*
 * Reads the arguments after the command's name. Returns -1 to go on, else the exit status: 0 after
 * --help, 2 with a message for what makes no sense. Free with options_free() in any case.
 */
int options_parse(struct options *opt, int argc, char **argv, const struct command *command);
void options_free(struct options *opt, const struct command *command);

#endif
