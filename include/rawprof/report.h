/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A profile in memory, and every shape it leaves in.
 *
 * A profile is a set of samples: weights on named stacks. In the order of use:
 *
 *	report_new()		says what the weights are,
 *	report_frame_add()	interns each distinct frame once and keeps its id,
 *	report_add()		adds weights to a (comm, pid, tid, labels, stack),
 *	report_add_moment()	says when some of them were, for the formats that show time,
 *	report_set_info()	says what was profiled, when, how,
 *	report_set_ledger()	and report_set_cost() close the ledger,
 *	report_format_by_name("svg")->write(report, stdout, NULL)	writes it in a shape.
 *
 * Nothing here knows of BPF, of perf events or of symbol tables. Writers take a const report, so
 * one profile can leave in many formats. Equal profiles give byte-identical output, whatever the
 * order in which frames and samples were added.
 *
 * Every function that can fail returns 0 or a negative errno; -ENOMEM always may be one.
 * On failure the report is as it was before the call. All strings passed in are copied; any byte is
 * allowed in them, and each format escapes what it cannot hold.
 */
#ifndef RAWPROF_REPORT_H
#define RAWPROF_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define REPORT_MAX_VALUES 4
#define REPORT_MAX_LABELS 25  /* a command's, 9 of rawprof agent, 10 of a thread, 3 of processes */
#define REPORT_MAX_STACK 8192 /* frames of one stack, inlined ones included */

/* What one weight of a sample counts, in the vocabulary of pprof: { "cpu", "nanoseconds" }. */
struct report_value_type {
	const char *type;
	const char *unit;
};

enum report_frame_kind {
	REPORT_USER,
	REPORT_KERNEL,
	REPORT_JIT,	/* named by a JIT's perf map */
	REPORT_INLINED, /* has no stack frame of its own, see struct report_frame */
	REPORT_MARK,	/* not code: "[waker]", "[missed user stack]" and the like */
	REPORT_PYTHON,	/* a function of Python, as its interpreter runs it */
	REPORT_JS,	/* of JavaScript, and */
	REPORT_JVM,	/*   of Java: interpreted, compiled or inlined */
	REPORT_PHP,
	REPORT_RUBY,
	REPORT_PERL,
	REPORT_FRAME_KINDS,
};

/*
 * One frame. Two frames are the same one if all members are equal, so the same function at two
 * addresses is two frames; formats that show functions merge them by name, module and kind.
 *
 * A frame of kind REPORT_INLINED stands, in a stack, on the leaf side of the frame it was inlined
 * into, innermost first, and has the same address as that one.
 */
struct report_frame {
	const char *name;   /* demangled function; NULL if unknown */
	const char *module; /* path of the file it is mapped from, kernel module; NULL if unknown */
	const char *build_id;	/* of the module, in hexadecimal; NULL if unknown */
	uint64_t address;	/* as sampled, in the address space of the process */
	uint64_t symbol_offset; /* from the start of the function to address */
	uint64_t map_start;	/* the mapping that holds address: */
	uint64_t map_end;	/*   [map_start, map_end), */
	uint64_t map_offset;	/*   and where in the file it begins; all 0 if unknown */
	uint64_t module_addr;	/* address as the module's own symbol table counts */
	const char *file;	/* source file and */
	uint32_t line;		/*   line, NULL and 0 if unknown */
	enum report_frame_kind kind;
	bool is_return; /* address is a return address: the call is in front of it */
};

/* An extra dimension, as pprof has it. A key occurs once; "comm", "pid" and "tid" are taken. */
struct report_label {
	const char *key;
	const char *str;  /* the value if it is a text, else NULL */
	int64_t num;	  /* the value if it is a number */
	const char *unit; /* of the number; may be NULL */
};

struct report_sample {
	const char *comm;
	int32_t pid, tid; /* tid 0: not told apart by thread */
	const struct report_label *labels;
	size_t nlabels;
	const uint32_t *frames; /* of report_frame_add(), leaf first, kernel frames leafmost */
	size_t nframes;		/* 0 is a stack too: "[unknown]" */
	const uint64_t *values; /* one for each value type */
};

/*
 * The stream: when samples were, in the order of time, beside the sums. A moment adds nothing to
 * the sums; who has both adds to both. What the kernel counted before it was asked for times, and
 * what did not fit, is in the sums alone: so a stream's sum is at most that of the samples.
 */
enum report_moment_kind {
	REPORT_AT,    /* a point of time: a sample, an allocation */
	REPORT_UNTIL, /* an interval of weight nanoseconds that ended then: a wait, a request */
	REPORT_WOKEN, /* the thread of the sample was woken, on that CPU, by the thread weight */
};

struct report_moment {
	/* Since info.start_ns; what was before is at 0, what is later than 78 hours at the last. */
	uint64_t time_ns : 48;
	uint64_t cpu : 12; /* REPORT_NO_CPU: not known, or none of the first 4095 */
	uint64_t kind : 4; /* enum report_moment_kind */
	uint64_t weight;   /* of the value type that report_set_stream() named */
	uint32_t sample;   /* as report_add_id() numbered it */
	uint32_t count;	   /* of the first value type; 0 of REPORT_WOKEN */
};
#define REPORT_NO_CPU 0xfff
#define REPORT_MOMENT_LAST ((1ull << 48) - 1)

/* What was profiled, when and how. Everything is optional: NULL or 0 is "not known", and is left
 * out. */
struct report_info {
	const char *command;	     /* the view: "cpu", "offcpu" */
	const char *target;	     /* "whole machine", "pid 1234", "./prog --fast" */
	const char *event;	     /* what made the samples: "cycles", "cpu-clock" */
	const char *main_module;     /* path of the profiled program, pprof's first mapping */
	const char *kernel_build_id; /* in hexadecimal */
	const char *host;	     /* host name and */
	const char *kernel;	     /* kernel release that it was recorded on */
	const char *note;	     /* one line for a person, of how well the recording went */
	/* What a head says in place of the number of events: "5 of 90 blocks left"; or NULL. */
	const char *counted;
	struct report_value_type period_type; /* with period: one sample stands for period units */
	uint64_t period;
	uint64_t start_ns;    /* wall-clock time, ns since 1970-01-01 UTC */
	uint64_t duration_ns; /* of the recording */
	double rate_asked;    /* samples per second and CPU that were asked for */
	double rate_achieved; /* and that came while a CPU was busy */
	unsigned int cpus;    /* CPUs that were watched */
	bool has_events; /* a table's head says this number of them instead of the sum of counts, */
	uint64_t events; /* which has more than them, or has them several times */
};

/*
 * The ledger of a recording. They close if
 *
 *	fired == kept + (sum of all lines)
 *
 * A filtered event was not asked for; a lost one was, and is missing from the report.
 */
enum report_fate { REPORT_FILTERED, REPORT_LOST };

struct report_ledger_line {
	const char *name; /* the cause: "other process", "ring full" */
	uint64_t count;
	enum report_fate fate;
};

struct report_ledger {
	uint64_t fired;
	uint64_t kept;
	const struct report_ledger_line *lines;
	size_t nlines;
	const char *events; /* what fires, "calls"; NULL: what the first value type counts */
};

/* What the recording itself cost. Members that are not known are 0; bpf_runs == 0: not measured. */
struct report_cost {
	uint64_t bpf_ns, bpf_runs; /* run time of the BPF programs, in so many runs */
	uint64_t user_cpu_ns;	   /* CPU time of this process, */
	uint64_t system_cpu_ns;
	uint64_t peak_rss_bytes; /* and its peak memory */
	bool bpf_estimated;	 /* by the first of the runs: the others were not measured */
};

struct report;

/*
 * Makes an empty profile whose samples have ntypes values each (1 to REPORT_MAX_VALUES). The first
 * type should be the count. -EINVAL: ntypes out of range or a type without name or unit.
 */
int report_new(const struct report_value_type *types, size_t ntypes, struct report **out);
void report_free(struct report *r); /* NULL is fine */
/* Gives back what finds equal stacks, as much memory as they take. Adding more builds it again. */
void report_settle(struct report *r);

/* Equal frames have one id, counted from 0. -EINVAL: no such kind. -EOVERFLOW: full (2^32). */
int report_frame_add(struct report *r, const struct report_frame *frame, uint32_t *id);

/*
 * Adds the values of a sample to those of the same comm, pid, tid, labels and stack. Sums saturate
 * at UINT64_MAX. -EINVAL: an unknown frame id, or a label without key, with a taken key, or with a
 * key that occurs twice. -E2BIG: more than REPORT_MAX_STACK frames or REPORT_MAX_LABELS labels.
 */
int report_add(struct report *r, const struct report_sample *sample);
/* The same, and *id tells the sample from all others, for report_add_moment(). */
int report_add_id(struct report *r, const struct report_sample *sample, uint32_t *id);

/*
 * The report has a stream, whose weights are of this value type; missed: that it has no room for.
 * May be called again, as missed grows. -EINVAL: there is no such type.
 */
int report_set_stream(struct report *r, unsigned int value, uint64_t missed);
/* -EINVAL: no such sample or kind. */
int report_add_moment(struct report *r, const struct report_moment *moment);
/* The moments in the order of time; NULL: it has none. They stay the report's. */
const struct report_moment *report_moments(const struct report *r, size_t *n);

/* Each may be called again; the last call counts. */
int report_set_info(struct report *r, const struct report_info *info);
int report_set_ledger(struct report *r, const struct report_ledger *ledger);
void report_set_cost(struct report *r, const struct report_cost *cost);

const struct report_info *report_get_info(const struct report *r);
const struct report_ledger *report_get_ledger(const struct report *r); /* NULL: it has none */

size_t report_samples(const struct report *r); /* distinct (comm, pid, tid, labels, stack) */
size_t report_stacks(const struct report *r);  /* distinct stacks of frames, addresses told apart */
uint64_t report_total(const struct report *r, unsigned int value); /* sum over all samples */

/* True if the ledger closes. *gap, if wanted, is fired - kept - lines: positive if events vanished,
 * negative if some were counted twice; saturates. */
bool report_ledger_closes(const struct report_ledger *ledger, int64_t *gap);

/* One or two lines for a person; `events` names what is counted ("samples"). 0 or -errno of the
 * stream. */
int report_print_ledger(FILE *out, const struct report_ledger *ledger, const char *events);
/* One line for a person. */
int report_print_cost(FILE *out, const struct report_cost *cost);

/* The value type of this name, for report_options.weight; -ENOENT. */
int report_value_by_name(const struct report *r, const char *type);
size_t report_value_types(const struct report *r); /* how many there are */
struct report_value_type report_value_type(const struct report *r, size_t i);

enum report_sort { REPORT_BY_SELF, REPORT_BY_TOTAL };

/* How a profile is shown. All-zero is the default of everything, and so is a NULL pointer to it. */
struct report_options {
	unsigned int weight; /* which value type the formats with one weight show */
	uint64_t divisor;    /* weights are divided by this when shown (folded, svg); 0 is 1 */
	const char *unit;    /* name of the result, "us"; NULL: the value type's own unit */

	/*
	 * Key of a label ("state") that tells what a stack's weight was, or NULL. In folded, svg
	 * and html each stack then ends with a frame of the label's value, "[blocked]", leafmost,
	 * and a frame all of whose weight is of one value has the colour of that value; the table
	 * shows the sum of each value.
	 */
	const char *color_by_label;
	const char *const *label_order; /* values, NULL at the end, that come first, in this order,
					   and have the first colours; NULL: none do */

	/* table; of these, histograms and grids know width, utf8, color, part */
	bool part;		    /* one of a series: without a ledger, and with a short head */
	unsigned int top_functions; /* rows; 0: 20 */
	unsigned int top_stacks;    /* 0: 5 */
	enum report_sort sort;
	unsigned int width; /* of the terminal; 0: there is none, so 100 columns and no bars */
	bool utf8;	    /* the terminal can show bars */
	bool color;

	/* names of frames in folded and svg */
	bool annotate;	/* append _[k] to kernel, _[j] to JIT, _[i] to inlined frames */
	bool delimiter; /* a frame "-" between user and kernel frames */
	/* A person wants to see lines: saved profiles keep it for report_lines_in_names(). */
	bool lines;
	bool addresses; /* unnamed frames carry the address: [libfoo.so+0x1234] */

	/* svg and html */
	const char *title;	  /* NULL: made from the report's info */
	const char *subtitle;	  /* NULL: made from the report's info */
	unsigned int image_width; /* pixels; 0: 1200, and as wide as the window in a browser */
	double min_width;	  /* frames narrower than this many pixels are left out; 0: 0.1 */
	bool reverse;		  /* merge from the leaf: who calls this? */
	bool inverted;		  /* root at the top, an icicle */
	/* html: instructions of functions, which are shown beside their callers; the caller's */
	const struct report_code *code;
	size_t ncode;
	uint64_t most_bytes; /* perf: then it is -EFBIG; 0: any number. report_read() sets it */
};

/*
 * The writers. Each writes one whole document and flushes the stream. 0, or the negative errno of
 * the first write that failed (-ENOSPC, -EPIPE with SIGPIPE ignored, …), -EINVAL if options->weight
 * is no value type. No writer closes the stream.
 */
typedef int report_writer(const struct report *r, FILE *out, const struct report_options *options);

report_writer report_write_table;
report_writer report_write_folded;
report_writer report_write_pprof; /* gzip; proto/profile.proto of github.com/google/pprof */
report_writer report_write_perf;  /* text of `perf script`; the weight is the period */
report_writer report_write_json;  /* everything, as one document; its shape is in report/json.c */
report_writer report_write_speedscope; /* a "sampled" profile of speedscope's file format */
report_writer report_write_firefox;    /* processed profile of Firefox Profiler, version 66 */
report_writer report_write_perfetto;   /* a trace of Perfetto, protobuf */
report_writer report_write_chrome;     /* Chrome's Trace Event Format, JSON */
report_writer report_write_otlp;       /* OpenTelemetry's profiles, v1development, protobuf */
report_writer report_write_svg;	       /* an interactive flame graph in one file */
report_writer report_write_html;  /* a page: flame graph, functions, heat map, threads; one file */
report_writer report_write_saved; /* all of it, for report_read() */
report_writer report_write_tree;  /* text: who calls what, or, reverse, is called by what */

struct report_hists;
struct report_grid;
typedef int report_hists_writer(const struct report_hists *set, FILE *out,
				const struct report_options *options);
typedef int report_grid_writer(const struct report_grid *g, FILE *out,
			       const struct report_options *options);
report_hists_writer report_hists_write_saved;
report_grid_writer report_grid_write_saved;

/* A shape need not be fit for everything: a writer may be NULL. */
struct report_format {
	const char *name;	/* as in --format */
	const char *endings[3]; /* of file names, unused ones NULL */
	report_writer *write;	/* of a profile */
	report_hists_writer *write_hists;
	report_grid_writer *write_grid;
	bool binary;	 /* not for a terminal */
	bool for_people; /* text that sentences may follow */
	bool json;	 /* a document of JSON, to which lines of JSON are akin */
	bool by_name;	 /* frames of one name are one, so a line number belongs to the name */
	bool has_ledger; /* the ledger is in the document: it need not be printed beside it */
	bool saved;	 /* it is read again, and what of it is shown is chosen then */
	bool timed;	 /* it shows when: the report should have a stream */
};

extern const struct report_format report_formats[];		     /* ends with a NULL name */
const struct report_format *report_format_by_name(const char *name); /* NULL: none */
/* By the longest ending that fits; NULL: none. */
const struct report_format *report_format_by_path(const char *path);

/*
 * A result that was kept in a file, and how its maker shows it. Histograms and grids can be kept,
 * too; of a series each part is followed by the next.
 */
#define REPORT_WHY 256
struct report_file {
	struct report *report; /* one of these three, the others are NULL */
	struct report_hists *hists;
	struct report_grid *grid;
	struct report_options show; /* all 0 but for what the file says; texts are the file's */
	struct report_file *next;   /* of a series, the part behind it; NULL: the last */
	char why[REPORT_WHY];	    /* after an error: what is wrong with it, printable */
	void *texts;		    /* those of show; the file's own */
};

/*
 * Reads a file's contents, which may be anything: a profile that rawprof saved, or what other
 * readers take (report/file.c). Every count, size and number in it is checked, and what it says
 * beside is bounded by its size. 0; -EINVAL: it is not of such a form, or damaged, and why says
 * how; -EFBIG: it is too large. After an error nothing is to be freed.
 */
int report_read(const void *data, size_t size, struct report_file *out);
/* Reads a file; also what open(2) and read(2) return. path may be a pipe. */
int report_open(const char *path, struct report_file *out);
/* What stands beside the figures, of whichever of the three it is; NULL: the file has none. */
const struct report_info *report_file_info(const struct report_file *file);
const struct report_ledger *report_file_ledger(const struct report_file *file);
const struct report_cost *report_file_cost(const struct report_file *file);
void report_file_free(struct report_file *file); /* all parts; not file itself */

/* Profiles made of others, which stay as they are: 0 and a new one, or a negative errno. */

/* An address of a function, and what of a value was there. Texts are the report's. */
struct report_place {
	const char *name;
	const char *module, *build_id; /* NULL if unknown */
	enum report_frame_kind kind;
	uint64_t start;	  /* of the function, and */
	uint64_t address; /*   the place: as the module counts; of calls in the call */
	uint64_t self;	  /* what ran there, */
	uint64_t total;	  /*   or in what was called there */
};
/*
 * The places in this function (globs, as in expressions) or in what it is inlined in, sorted by
 * module and address; to be freed. One that calls itself counts where it is innermost. -EINVAL:
 * there is none.
 */
int report_places(const struct report *r, const char *function, unsigned int weight,
		  struct report_place **out, size_t *n, char why[REPORT_WHY]);
/* A function taken apart: instructions or source lines, and what of a value was at each. */
struct report_code {
	const char *name, *module;
	uint64_t self, total;
	struct report_code_line {
		char *text;
		uint64_t self, total; /* 0, 0: nothing was there */
	} * lines;
	size_t n, capacity;
};

/* Calls change() with each frame, which may change it, and put up to REPORT_INLINES behind it that
 * are inlined in it, outermost first; it returns how many, or a negative errno. Texts are copied
 * before the next call. Samples that become equal are added up. */
enum { REPORT_INLINES = 64 };
int report_change_frames(const struct report *r, int (*change)(void *ctx, struct report_frame *f),
			 void *ctx, struct report **out);
/* The samples for which an expression holds, "comm=nginx and not symbol~^malloc":
 *
 *	KEY=GLOB,GLOB  KEY!=GLOB  KEY~REGEX  KEY!~REGEX  and  or  not  ( )
 *
 * of the keys comm, pid, tid, symbol and dso (of any frame), leaf (the innermost function), and
 * labels. Values may be in quotes. What is left out is filtered in the ledger. -EINVAL: why says
 * what is wrong with the expression. */
int report_select(const struct report *r, const char *expression, struct report **out,
		  char why[REPORT_WHY]);
/* As report_write_saved(), to the caller's memory. If that is more than @most bytes it is made anew
 * until it fits, without frames of processes that may have no more of @of bytes, half of @most or
 * less: asked with 0 bytes before each sample, and told with what it took. */
typedef bool report_take_fn(void *ctx, uint64_t of, int32_t pid, uint64_t bytes);
int report_write_within(const struct report *r, uint64_t most, report_take_fn *take, void *ctx,
			const struct report_options *show, char **data, size_t *size);
uint64_t report_memory(const struct report *r); /* bytes that it takes, about */
/* What was in [from_ns, to_ns) since the beginning, summed up from the stream: the first value, and
 * the one that it has weights of. Intervals count where they end, and weigh what of them is within.
 * -EINVAL: it has no stream. */
int report_between(const struct report *r, uint64_t from_ns, uint64_t to_ns, struct report **out,
		   char why[REPORT_WHY]);
/* What of the first value the stream lacks. */
uint64_t report_without_time(const struct report *r);
/* The stacks with a function (globs, as in expressions): callers: those that end in it; else what
 * begins with it. One that calls itself is taken where it is innermost, and else outermost.
 * -EINVAL: there is none. */
int report_around(const struct report *r, const char *function, bool callers, struct report **out,
		  char why[REPORT_WHY]);
/* Sums by these keys, with commas between them: comm, pid, tid, symbol and dso (of the innermost
 * function), labels, and cpu if it has a stream; with the share in this value, the largest first;
 * top as report_grid_sort(). -EINVAL: why says which key there is not. */
int report_group(const struct report *r, const char *keys, unsigned int weight, unsigned int top,
		 struct report_grid **out, char why[REPORT_WHY]);
/* Names with source lines, "function file.c:12", as formats that merge frames by name want them. */
int report_lines_in_names(const struct report *r, struct report **out);

/* One sample as it comes, for --samples. Nothing is interned: frames are whole, leaf first, kernel
 * frames leafmost.
 */
struct report_event {
	uint64_t wall_ns; /* ns since 1970-01-01 UTC, for people */
	uint64_t mono_ns; /* ns of CLOCK_MONOTONIC, for perf's text form */
	const char *comm;
	const char *event; /* "cpu-clock"; NULL: "samples" */
	int32_t pid, tid;
	int32_t cpu;	/* -1: not known */
	uint64_t value; /* the weight: 1, or the period; 0 is shown as 1 */
	const struct report_frame *frames;
	size_t nframes;
};

/*
 * These print one event and do not flush, so that a stream of them is cheap; flush when there is
 * nothing to read. 0 or the negative errno of a write that failed now or earlier on this stream.
 */

/* Some lines for a person; the timestamp is local time. */
int report_write_event(FILE *out, const struct report_event *event,
		       const struct report_options *options);

/* One line, "timestamp comm pid tid cpu frame;frame count", root first. */
int report_write_event_folded(FILE *out, const struct report_event *event,
			      const struct report_options *options);

/* As `perf script` prints it. */
int report_write_perf_sample(FILE *out, const struct report_event *event);

/*
 * "14:03:05.123456": the time of day in local time, of @wall_ns since 1970; in UTC where the C
 * library knows of no time zones, as in a static file.
 */
#define REPORT_CLOCK_TEXT 32
void report_clock(uint64_t wall_ns, char text[REPORT_CLOCK_TEXT]);

/* ---- two profiles beside each other */

/*
 * By how much the weights of B are divided to be compared with those of A.
 *
 * The function that became slower takes a larger share, and so all others take smaller ones: of
 * shares alone, everything has changed. STABLE is the factor by which most functions have not.
 */
enum report_diff_scale {
	REPORT_DIFF_STABLE,
	REPORT_DIFF_TOTAL, /* both are 100 % */
	REPORT_DIFF_TIME,  /* by how long they were recorded */
	REPORT_DIFF_NONE,  /* as they are: the same work was done */
};

struct report_diff_options {
	const char *name_a, *name_b;	 /* of the profiles, for people: their paths */
	unsigned int weight_a, weight_b; /* which value types are compared */
	enum report_diff_scale scale;
	/* These are parts of the profiles of that one, whose scale and points are kept; or NULL. */
	const struct report_diff *part_of;
	double noise; /* how much a weight differs from run to run, relative to it, besides chance;
			 0: 0.02; beside what several runs show by themselves: 0.005 */
	double min;   /* changes of less than so many percent points are not shown */
	bool all;     /* what did not change beyond chance is shown too */
	struct report_options show;
};

struct report_runs {
	const struct report *const *runs; /* of a program, with the same value types */
	size_t n;			  /* at least one */
};
/*
 * What became of each function and each stack. A function is a name; its weight is tested as a
 * count of events (samples, by the value type that counts), and all functions together are wrong
 * with a probability of 0.2 %: report/diff/stats.c. Of several runs the sums are compared; what
 * runs of a side differ by is chance too: runs.c. To be freed before the profiles are.
 * -EINVAL: no such value type; -ENODATA: a profile has no weight; -ENOENT: it does not say how
 * long it was recorded, for REPORT_DIFF_TIME.
 */
int report_diff_new(const struct report_runs *a, const struct report_runs *b,
		    const struct report_diff_options *options, struct report_diff **out);
void report_diff_free(struct report_diff *d);

typedef int report_diff_writer(const struct report_diff *d, FILE *out);
report_diff_writer report_diff_write_table;
report_diff_writer report_diff_write_folded; /* "stack a b", as difffolded.pl writes it */
report_diff_writer report_diff_write_json;
report_diff_writer report_diff_write_svg; /* as wide as the larger of both; red grew, blue shrank */
report_diff_writer report_diff_write_html;

struct report_diff_growth {
	const char *name;
	double points;	 /* of A's total, in percent */
	double relative; /* B's weight divided by A's; 0: A has none */
	double p;	 /* that chance alone does this to any function */
	bool with_calls; /* not its own weight, but that with what it calls */
};
/* The function that grew the most beyond chance, and by more than so many percent points. False:
 * none did. The name is the difference's. */
bool report_diff_worst(const struct report_diff *d, double above,
		       struct report_diff_growth *growth);

/* ---- for servers of profiles */

/*
 * A profile as several. Samples have sets of labels, numbered from 0; part_of says which part each
 * set belongs to (from n on: none), keep what a part tells; of labels all but the list @except.
 */
enum { REPORT_KEEP_COMM = 1, REPORT_KEEP_PID = 2, REPORT_KEEP_TID = 4, REPORT_KEEP_LABELS = 8 };
size_t report_label_sets(const struct report *r);
void report_label_set_totals(const struct report *r, uint64_t *first); /* UINT64_MAX: none */
/* NULL: the set has no such label, or it is a number. */
const char *report_label_text(const struct report *r, size_t set, const char *key);
int report_split(const struct report *r, const uint32_t *part_of, size_t n, unsigned int keep,
		 const char *except, struct report **parts);
/* The next file with code that has a build id, from *at = 0 on. False: there are no more. */
bool report_next_module(const struct report *r, size_t *at, const char **path, const char **id);

struct report_part {
	const struct report *report;
	const struct report_label *labels; /* what a server is to know it by: texts alone */
	size_t nlabels;
};
/*
 * What servers take, all parts in one document, for the first two as pprof:
 *
 *	pyroscope	push.v1.PushRequest, protobuf, of grafana/pyroscope
 *	parca		WriteRawRequest, JSON; profilestore/v1alpha1 of parca-dev/parca
 *	otlp		ExportProfilesServiceRequest, protobuf; opentelemetry-proto 1.10
 */
typedef int report_parts_writer(const struct report_part *parts, size_t n, FILE *out);
report_parts_writer report_parts_write_pyroscope;
report_parts_writer report_parts_write_parca;
report_parts_writer report_parts_write_otlp;
/* One profile as pprof, gzipped, in memory that is to be freed. */
int report_pprof_bytes(const struct report *r, char **bytes, size_t *size);

/* ---- advice */

/* What a result suggests, in a few sentences that name its figures; nothing without evidence. */
#define REPORT_ADVICE_MOST 5
struct report_advice {
	bool asked_debuginfod; /* the caller's: --debuginfod is no advice, as it was given */
	char *text[REPORT_ADVICE_MOST];	      /* printable, one line each */
	const char *rule[REPORT_ADVICE_MOST]; /* the name of the rule that says so */
	size_t n;
};

/* The package that has the symbols of a file, in text; false: not known. NULL: nobody is asked. */
#define REPORT_PACKAGE 128
typedef bool report_package(const char *path, char text[REPORT_PACKAGE]);

/* Adds to advice, which begins as all 0, as long as there is room; the rules are rows of
 * report/advice/. 0 or -ENOMEM. */
int report_advise(const struct report *r, const struct report_options *options,
		  report_package *package, struct report_advice *advice);
int report_advise_hists(const struct report_hists *set, struct report_advice *advice);
int report_advise_grid(const struct report_grid *g, struct report_advice *advice);
void report_advice_free(struct report_advice *advice);

/* A page of how the verifier went through a program (report/html/walk.c): json is what `rawprof
 * explain --step --format json` prints, without a '<' in it. 0, or the stream's error. */
int report_write_walk(FILE *file, const char *title, const char *json);

#endif
