/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Destinations of the agent: servers of profiles that windows are sent to.
 *
 *	config.c	which ones: lines of a file, and --push
 *	spool.c		windows that wait for a destination, on disk
 *	push.c		the supervisor's side: what goes next, when again, what is dropped
 *	sender.c	a process without rights that speaks to servers, and
 *	curl.c		  HTTP in it, by libcurl, which no other process has
 *	request.c	a window as the requests that a server takes
 *	answer.c	what it says of them, in OTLP
 *	debuginfo.c	debug data that Parca asks for: by build id, in
 *	grpc_web.c	  calls of gRPC; the file is found by
 *	debug_file.c	  the supervisor
 *	relabel.c	which services are in a window, and what they are called
 *
 *	recorder --.rawprof--> supervisor --> store, and a link to it in the spool
 *	                          |  ^
 *	             an open file |  | what became of it
 *	                          v  |
 *	                         sender --HTTP--> server
 *
 * The sender is no user that anything belongs to, has no capabilities and can write no files. It
 * parses what the recorders made of others' processes and what servers answer. All that it gets is
 * descriptors of windows, open for reading, and the contents of files that the configuration names.
 */
#ifndef CLI_AGENT_PUSH_H
#define CLI_AGENT_PUSH_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <rawprof/report.h>

/* ---- config.c */

#define PUSH_MAX_TARGETS 8
#define PUSH_WHY 256

enum push_type { PUSH_PYROSCOPE, PUSH_INGEST, PUSH_PARCA, PUSH_OTLP, PUSH_TYPES };

/* Texts of a destination, each NULL if it has none. Files are their contents here. */
enum push_text {
	PUSH_TOKEN,  /* Authorization: Bearer */
	PUSH_USER,   /* name:password, for HTTP's basic authentication */
	PUSH_CA,     /* certificates that its server may have, PEM */
	PUSH_CERT,   /* the certificate shown to it, PEM, and */
	PUSH_KEY,    /*   its key */
	PUSH_PROXY,  /* URL; "": none, whatever the environment says */
	PUSH_TENANT, /* X-Scope-OrgID */
	PUSH_TEXTS
};

struct push_target {
	enum push_type type;
	char *name;  /* as given: "pyroscope+http://127.0.0.1:4040" */
	char *url;   /* what of name is behind the first +, without a slash at its end */
	uint32_t id; /* of name: the spool knows it by this */
	char *text[PUSH_TEXTS];
	char **header; /* "Name: value" */
	size_t nheaders, headers_cap;
	bool unverified; /* any certificate will do */
	bool debuginfo;	 /* Parca: files that it asks for are sent to it */
	double timeout;	 /* seconds, of a request */
};

enum push_rule_kind { PUSH_KEEP, PUSH_DROP, PUSH_REPLACE, PUSH_REMOVE, PUSH_LABEL };

/* Of services, one after the other. */
struct push_rule {
	enum push_rule_kind kind;
	char *label; /* that is looked at, */
	char *globs; /*   fits if its text fits one of these, with commas between them; "" : none */
	char *target,
		*value; /* PUSH_REPLACE: what the label target becomes; ${label} stands for it */
};

/* Labels of processes, which tell services apart, and none of what is told apart within one. */
#define PUSH_OF_PROCESSES "container,runtime,pod,pod_name,namespace,unit,slice,exe,build_id"
#define PUSH_SERIES "container,runtime,pod,pod_name,namespace,unit,exe"
struct push_config {
	struct push_target target[PUSH_MAX_TARGETS];
	size_t ntargets;
	struct push_rule *rule;
	size_t nrules, rules_cap;
	char *series;	     /* a list of labels that tell services apart; NULL: PUSH_SERIES */
	unsigned int keep;   /* REPORT_KEEP_ bits: what is told apart within a service */
	uint64_t max_series; /* services of a window */
	uint64_t spool_bytes;
	double spool_time; /* seconds */
	/* What the above was made of: keys and values, a NUL behind each. For the sender. */
	char *pairs;
	size_t npairs, pairs_cap; /* bytes */
};

/* The defaults of all that is not said. */
void push_config_init(struct push_config *c);
void push_config_free(struct push_config *c);
/* One line of it. 0, or -EINVAL and why; -ENOMEM. */
int push_config_set(struct push_config *c, const char *key, const char *value, char why[PUSH_WHY]);
/* The contents of a file that a key names, ended by NUL, to be freed; NULL: errno says why. */
typedef char *push_reader(const char *path);
/*
 * Lines "key = value"; # begins a comment. What "key-file" names is read and taken for key. 0 or a
 * negative errno, and why: "LINE: what is wrong".
 */
int push_config_parse(struct push_config *c, const char *text, push_reader *reader,
		      char why[PUSH_WHY]);
/* A list "TYPE+URL,TYPE+URL", as --push has it. */
int push_config_list(struct push_config *c, const char *list, char why[PUSH_WHY]);
/* The configuration with these pairs. */
int push_config_unpack(struct push_config *c, const char *pairs, size_t size, char why[PUSH_WHY]);
/* A file, and a list of destinations; each may be NULL. 0 or a negative errno after a message. */
int push_config_read(struct push_config *c, const char *path, const char *list);

/* ---- spool.c */

struct push_spool;

/* A window that waits for a destination. */
struct push_item {
	uint64_t ms; /* since 1970, when it began */
	uint64_t bytes;
	uint32_t target; /* its id */
	char kind[8];
	uint32_t done;	 /* services of it that are not to be sent again */
	uint32_t deaths; /* of senders that had it */
	bool busy;	 /* the sender has it: it does not go */
};

/* In the directory @dir, which is the agent's own. 0 or a negative errno after a message. */
int push_spool_open(int dir, struct push_spool **out);
void push_spool_close(struct push_spool *s);
/*
 * The window that has this name in the agent's directory waits for this destination, too. 0 or a
 * negative errno.
 */
int push_spool_put(struct push_spool *s, const char *window, const struct push_item *item);
/*
 * The oldest that waits for a destination, or the one that is busy; NULL: there is none. Until the
 * next call that changes the spool.
 */
struct push_item *push_spool_next(struct push_spool *s, uint32_t target);
struct push_item *push_spool_busy(struct push_spool *s, uint32_t target);
/* Opens it for reading. A descriptor or a negative errno. */
int push_spool_read(const struct push_spool *s, const struct push_item *item);
/* So many of its services were answered for: kept across a restart. */
void push_spool_progress(struct push_spool *s, struct push_item *item, uint32_t done);
void push_spool_remove(struct push_spool *s, struct push_item *item);
/*
 * One that is older than @before_ms, or the oldest if all take more than @bytes; NULL: none has to
 * go.
 */
struct push_item *push_spool_excess(struct push_spool *s, uint64_t bytes, uint64_t before_ms);
struct push_spool_state {
	uint64_t windows, bytes;
};
/* Of one destination; 0: of all. */
struct push_spool_state push_spool_state(const struct push_spool *s, uint32_t target);

/* ---- sender.c */

/* What the supervisor asks, with a descriptor: of the configuration's pairs, or a window. */
struct push_order {
	uint32_t what;	 /* enum push_what */
	uint32_t target; /* its place in the configuration */
	uint32_t from;	 /* the first of its services that is to be sent */
	char kind[8];
};
enum push_what {
	PUSH_CONFIGURE,
	PUSH_SEND,
	PUSH_FILE, /* debug data that was asked for; an empty file: there is none */
};

enum push_outcome {
	PUSH_READY,   /* the sender has begun, and knows nothing yet */
	PUSH_SENT,    /* all of it is there */
	PUSH_PART,    /* done of its services are; the others are being sent */
	PUSH_LATER,   /* not now: away, busy, stalled, or no server of this kind */
	PUSH_REFUSED, /* nothing of it will ever be taken */
	PUSH_UNABLE,  /* it cannot be read, or there is no memory for it */
	PUSH_WANTS,   /* a server wants the debug data with this build id */
	PUSH_HAS,     /* and has it now */
};
#define PUSH_REASON 120
#define PUSH_BUILD_ID 64
#define PUSH_PATH 512
#define PUSH_ANSWER 4096 /* bytes of what a server answers that are looked at */
struct push_answer {
	uint32_t outcome, target;
	uint32_t done;	      /* services that were answered for, of all */
	uint32_t refused;     /* of them, those that are dropped */
	uint32_t http;	      /* status of the last answer; 0: there was none */
	uint32_t retry_after; /* seconds that the server asks for; 0: none */
	uint64_t bytes;	      /* that were sent, of the last request */
	uint64_t rejected;    /* profiles of requests that were taken, but for these */
	char reason[PUSH_REASON];
	char build_id[PUSH_BUILD_ID], path[PUSH_PATH]; /* of PUSH_WANTS */
};

/* True: this build and this machine can send. False: why not. */
bool push_can_send(const char **why);
/* Starts the sender. 0 or a negative errno after a message. */
int push_sender_start(int *socket, pid_t *pid);

/* ---- request.c */

struct push_request {
	char path[64]; /* behind the destination's URL */
	char *query;   /* NULL: none */
	char type[96]; /* Content-Type */
	bool gzip;     /* Content-Encoding */
	char *body;
	size_t size;
	/* NULL: it is in body; else it is read in pieces, 0 bytes are an end before its time */
	size_t (*read)(void *ctx, char *to, size_t room);
	bool (*rewind)(void *ctx); /* to its beginning */
	void *ctx;
	double seconds; /* that it may take; 0: as the destination says */
};
/* A request with n of a window's services; with the first one of them if it is for PUSH_INGEST. */
struct push_series;
int push_request_make(const struct push_target *t, const char *kind, const struct push_series *s,
		      size_t n, struct push_request *out);
void push_request_free(struct push_request *r);
/* The services of a window. 0; -EINVAL: it is no window; or another negative errno. */
struct push_symbols;
/* symbols: is told which files are in it; NULL: nobody is. */
int push_window_read(const struct push_config *c, const void *window, size_t size,
		     struct push_symbols *symbols, struct push_series **out, size_t *n);

/* ---- answer.c */

/* A message of protobuf, or what is left of it. */
struct push_message {
	const unsigned char *at, *end;
};
/* The next field: its number, and its value or what is in it. False: there is no whole one. */
bool push_next_field(struct push_message *m, uint64_t *number, uint64_t *value,
		     struct push_message *in);
/* Text of others, for a message: what is not printable ASCII is a space. */
void push_reason(const void *text, size_t n, char out[PUSH_REASON]);
/*
 * Whether an answer of OTLP, bytes of protobuf, says that a part was not taken: how many profiles,
 * 0 if it only warns, and why. What is no such message says nothing.
 */
bool push_partial(const void *answer, size_t size, uint64_t *rejected, char reason[PUSH_REASON]);

/* ---- relabel.c */

#define PUSH_MAX_LABELS 24
/* What a service is called: names and texts, which are its own. */
struct push_labels {
	struct report_label label[PUSH_MAX_LABELS];
	size_t n;
	char *memory[PUSH_MAX_LABELS]; /* of label[i], both in one piece */
};
const char *push_label(const struct push_labels *l, const char *name); /* NULL: it has none */
int push_label_set(struct push_labels *l, const char *name, const char *text);
void push_labels_free(struct push_labels *l);
/* False: a rule drops it. *err: 0 or -ENOMEM. */
bool push_relabel(const struct push_config *c, struct push_labels *l, int *err);

/* The services of a window, sorted by their labels, but "other"; report is a part of the window. */
struct push_series {
	struct push_labels labels;
	struct report *report;
};
int push_series_make(const struct push_config *c, const struct report *r, struct push_series **out,
		     size_t *n);
void push_series_free(struct push_series *s, size_t n);

/* ---- curl.c */

struct push_http;
/* 0; -ENOSYS: not in this build; -ELIBACC: libcurl is not installed. */
int push_http_new(struct push_http **out);
void push_http_free(struct push_http *h);
/* Begins a request of which nothing is copied but the target's texts; ctx comes back with it. */
int push_http_begin(struct push_http *h, const struct push_target *t,
		    const struct push_request *request, void *ctx);
struct push_http_result {
	void *ctx;
	long status;	      /* 0: no answer that is HTTP */
	uint32_t retry_after; /* seconds */
	bool is_page;	      /* an answer for people, which no server of profiles gives */
	char reason[PUSH_REASON];
	char answer[PUSH_ANSWER];
	size_t size; /* bytes of it */
};
/* Waits for whichever comes first: an end of a request, something to read from fd, ms. */
int push_http_wait(struct push_http *h, int fd, int ms);
bool push_http_next(struct push_http *h, struct push_http_result *result);

/* ---- grpc_web.c */

#define PUSH_FRAME_HEAD 5
void push_put_varint(FILE *f, uint64_t value);
void push_put_text(FILE *f, unsigned int field, const char *text);
void push_frame_head(char head[PUSH_FRAME_HEAD], size_t bytes);
/* The message in the body of an answer whose status is 0. False: there is none. */
bool push_call_answer(const void *answer, size_t size, struct push_message *out);

/* ---- debuginfo.c */

/* How requests begin that the sender makes: what is called with their result. */
struct push_call {
	void (*done)(void *call, const struct push_http_result *r);
};
/* Asks the supervisor for a file; NULL: it has been sent. False: it cannot be asked. */
typedef bool push_wants_fn(void *ctx, const struct push_target *t, const char *build_id,
			   const char *path);
/* Of one destination. NULL: no memory; all the others take it. */
struct push_symbols *push_symbols_new(const struct push_target *t, struct push_http *http,
				      push_wants_fn *wants, void *ctx);
void push_symbols_meet(struct push_symbols *s, const struct report *r);
void push_symbols_file(struct push_symbols *s, int fd);	  /* what was asked for; it is the s's */
uint64_t push_symbols_size(const struct push_symbols *s); /* of the last file */
void push_symbols_go(struct push_symbols *s);		  /* does what is due; at any time */

/* ---- debug_file.c */

#define PUSH_MAX_DEBUG_FILE (256ll << 20)
/*
 * The file with this build id, open for reading: its debug file, or the one at @path, if it has
 * symbols. A negative errno: there is none that may be read.
 */
int push_debug_file(const char *path, const char *build_id);

/* ---- push.c */

struct push;

/*
 * Before rights are given up; dir is the agent's directory. The configuration becomes the push's.
 * 0 or a negative errno after a message.
 */
int push_open(struct push_config *c, int dir, struct push **out);
void push_close(struct push *p); /* and says what became of all windows; NULL is fine */
/* Another configuration, which becomes p's. */
void push_configure(struct push *p, struct push_config *c);
/* A window is in the directory by this name. */
void push_window(struct push *p, const char *name, const char *kind, uint64_t start_ns,
		 uint64_t bytes);
/* What to wait for, and until when: ms from now, -1: nothing is due. */
struct pollfd push_poll(const struct push *p);
int push_due_ms(const struct push *p);
/* Does what is due; at any time. */
void push_serve(struct push *p, bool readable);
/* Before the end: each destination gets what it takes at once. True: that is not all yet. */
bool push_hurry(struct push *p);
void push_print_metrics(const struct push *p, FILE *out);

#endif
