/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Continuous profiling: what the parts of `rawprof agent` share.
 *
 *	options.c	the command line
 *	agent.c		the supervisor: takes windows, gives them to the others
 *	recorder.c	a process for each kind of profile, which records it and nothing else
 *	store.c		the local directory: a file for each window, the oldest go
 *	labels.c	containers, pods, units, files of processes
 *	cgroup.c	  by the paths of their control groups
 *	pods.c		  names of pods
 *	metrics.c	the page for Prometheus: counters, histograms
 *	http.c		a server of one page
 *	push.h		destinations: servers of profiles
 *
 *	recorder --.rawprof--> supervisor --> store
 *	  reads what others        |
 *	  have; writes nothing     +--> /metrics
 *
 * Who reads other users' processes can neither write files nor use the network, and who does has
 * none of the rights that recording takes. A window goes from one to the other through a pipe.
 */
#ifndef CLI_AGENT_H
#define CLI_AGENT_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/options.h"

#define AGENT_MAX_LIST 6
#define AGENT_MAX_KINDS (2 * AGENT_MAX_LIST)
/* A window is no larger; nothing that one machine does in a minute comes near. */
#define AGENT_MAX_WINDOW (64u << 20)

struct agent_options {
	const char *dir;
	const char *metrics;  /* an address to listen on; NULL: none */
	const char *hists;    /* histograms: "io,runq"; NULL: these, if there are metrics */
	const char *profiles; /* "cpu,offcpu"; NULL: cpu */
	double window;	      /* seconds; 0: 10 */
	uint64_t freq;	      /* Hz; 0: 99 */
	uint64_t sample_ns;   /* offcpu: shorter waits are sampled; 0: none are */
	uint64_t keep_bytes;  /* of the directory; 0: 1 GiB */
	double keep_time;     /* seconds; 0: 7 days */
	double duration;      /* seconds; 0: until SIGTERM */
	struct record_ids pids;
	const char *cgroup;
	const char *config;  /* a file of destinations; NULL */
	const char *push;    /* destinations, with commas between them; NULL */
	const char *labels;  /* NULL: all */
	uint64_t max_series; /* combinations of labels; 0: 1000 */
};

/* ---- agent.c */

#define AGENT_DIR "/var/lib/rawprof"	  /* without --dir */
int agent_run(const struct options *opt); /* the exit status */

/* ---- recorder.c */

/* What can be recorded: a command of rawprof, with the options that it is given. */
struct agent_kind {
	const char *name;
	const struct command *command;
	const char *args[5]; /* NULL at the end */
	bool text;	     /* it prints histograms, and no windows come from it */
};
/* NULL: there is none of this name. */
const struct agent_kind *agent_kind(const char *name);
#define AGENT_KINDS 5
extern const struct agent_kind agent_kinds[AGENT_KINDS + 1]; /* ends with a NULL name */
const struct agent_kind *agent_hist(const char *name);

/* What precedes each window in the pipe. Times: ns since 1970; else ns. */
struct agent_window {
	uint32_t magic;
	uint32_t samples; /* distinct ones */
	uint64_t start_ns, duration_ns;
	uint64_t blind_ns; /* nothing was recorded for so long before it */
	uint64_t fired, kept, filtered, lost;
	uint64_t value[4]; /* totals of the value types */
	uint64_t bpf_ns, cpu_ns, peak_rss;
	uint64_t unlabelled; /* processes beyond the limit on labels, so far */
	uint64_t size;	     /* bytes of .rawprof behind this */
};
#define AGENT_WINDOW_MAGIC 0x77707261

/*
 * Starts the process that records one kind. It ends when the other end of *pipe is closed, by
 * SIGTERM, or by itself, after a message. 0 or a negative errno after a message. Should it hang, it
 * ends so many seconds after *pipe was closed, for more than the supervisor waits.
 */
extern unsigned int agent_recorder_patience;
int agent_recorder_start(const struct options *opt, const struct agent_kind *kind, int *pipe,
			 pid_t *pid);
/* In a process that was forked: what its parent has open is not its affair, but for this one. */
void agent_close_others(int socket);

/* ---- cgroup.c */

#define AGENT_LABEL_BYTES 96
/* What the path of a control group says; "" and NULL: nothing. */
struct agent_place {
	const char *runtime; /* what made the container */
	char container[AGENT_LABEL_BYTES];
	char pod[AGENT_LABEL_BYTES]; /* its UID, as Kubernetes has it */
	char unit[AGENT_LABEL_BYTES];
	char slice[AGENT_LABEL_BYTES]; /* of systemd, the innermost */
};
void agent_place_parse(const char *path, struct agent_place *out);
/* Of the contents of /proc/PID/cgroup, version 1 or 2. */
void agent_place_parse_file(const char *text, struct agent_place *out);

/* ---- pods.c */

/* What Kubernetes calls a pod; "" where nobody says. */
struct agent_pod {
	char namespace[AGENT_LABEL_BYTES], name[AGENT_LABEL_BYTES];
};
#define AGENT_POD_LOGS "/var/log/pods"
/* The pod with this UID, by the names of the directories in @logs. */
void agent_pod_find(const char *logs, const char *uid, struct agent_pod *out);

/* ---- labels.c */

enum { AGENT_LABELS = 9 }; /* REPORT_MAX_LABELS has room for them and for a command's own */
struct agent_labels;
struct report_sample;

/* What programs publish, which the recorder is asked for: */
#define AGENT_GO_LABELS "go"
#define AGENT_CONTEXT "context"
/*   these by their names alone */
#define AGENT_GOROUTINES "goroutine"
#define AGENT_TRACE_IDS "trace"
/* Whether the label is one of the list; NULL: all but these two. */
bool agent_label_wanted(const char *list, const char *key);
/* Whether they are labels that there are, or "none". */
bool agent_labels_ok(const char *list);
/*
 * These labels (NULL: all), in at most so many combinations of a user's processes, root too, and
 * twice as many of all users but root. NULL: no memory.
 */
struct agent_labels *agent_labels_new(const char *list, size_t max_sets);
void agent_labels_free(struct agent_labels *l);
/* A process is there, and executes its generation-th program. */
void agent_labels_meet(struct agent_labels *l, uint32_t pid, uint64_t generation);
/* Adds its labels, as struct recording.label. */
int agent_labels_add(struct agent_labels *l, uint32_t pid, uint64_t generation,
		     struct report_sample *sample);
/*
 * When a window has been named: how many processes had no labels so far, in each window, as there
 * would have been too many combinations. If there were such, what belongs to processes that have
 * ended is forgotten.
 */
uint64_t agent_labels_settle(struct agent_labels *l);

/* ---- metrics.c */

struct agent_metrics;

struct agent_metrics *agent_metrics_new(void); /* NULL: no memory */
void agent_metrics_free(struct agent_metrics *m);
/* Text of one recorder, of which a line may be whole only with what comes next. All 0 at first. */
struct agent_text {
	char line[1024];
	size_t have;
	bool too_long;
	size_t family; /* of the last TYPE: its number + 1; 0: there was none */
};
void agent_metrics_take(struct agent_metrics *m, struct agent_text *t, const char *text, size_t n);
/* HELP and TYPE of a metric of the agent's own. */
void agent_metrics_head(FILE *out, const char *name, const char *type, const char *help);
void agent_metrics_print(const struct agent_metrics *m, FILE *out);

/* ---- http.c */

#define AGENT_HTTP_CLIENTS 8
#define AGENT_HTTP_FDS (1 + AGENT_HTTP_CLIENTS)
struct agent_http;

/* Whether it is an address and a port, both as numbers. */
bool agent_http_address_ok(const char *text);
/* page writes what GET /metrics is answered. 0 or a negative errno after a message. */
int agent_http_open(const char *address, int (*page)(void *ctx, FILE *out), void *ctx,
		    struct agent_http **out);
void agent_http_close(struct agent_http *h);
/*
 * What to wait for, and what to do after it; NULL: nothing. The first returns how many. If its
 * fds[0].fd is -1, others have to wait, for AGENT_HTTP_GRACE_MS at most: then it is asked again.
 */
#define AGENT_HTTP_GRACE_MS 100
size_t agent_http_poll(struct agent_http *h, struct pollfd fds[AGENT_HTTP_FDS]);
void agent_http_serve(struct agent_http *h, const struct pollfd fds[AGENT_HTTP_FDS]);

/* ---- store.c */

struct agent_store;

/*
 * The directory at @path, which is made if it is not there: of the caller's own, writable by no one
 * else, and no symbolic link on the way to it. Windows that are in it already count. 0 or a
 * negative errno after a message.
 */
int agent_store_open(const char *path, uint64_t keep_bytes, double keep_time,
		     struct agent_store **out);
void agent_store_close(struct agent_store *s);
/* Writes a window, whole or not at all, and takes away what is too much or too old. */
int agent_store_put(struct agent_store *s, const char *kind, const struct agent_window *w,
		    const void *data);
/* What there is now, and what was taken away or could not be written since the beginning. */
struct agent_store_state {
	uint64_t files, bytes, removed, failed;
};
struct agent_store_state agent_store_state(const struct agent_store *s);
/* Its descriptor, and the name that a window of this kind has in it. */
int agent_store_dir(const struct agent_store *s);
#define AGENT_FILE_NAME 64
void agent_store_name(const char *kind, uint64_t start_ns, char name[AGENT_FILE_NAME]);

#endif
