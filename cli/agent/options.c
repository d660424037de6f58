/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line of the agent. */
#include <string.h>

#include "agent.h"
#include "cli/commands.h"

/* Words that find() knows, each once. */
static bool is_list(const char *list, const struct agent_kind *(*find)(const char *name))
{
	const struct agent_kind *had[AGENT_MAX_LIST];
	char copy[128], *rest = copy, *word;
	size_t n = 0;

	if (strlen(list) >= sizeof(copy))
		return false;
	strcpy(copy, list);
	while ((word = strsep(&rest, ","))) {
		const struct agent_kind *kind = find(word);

		for (size_t i = 0; i < n; i++)
			if (had[i] == kind)
				return false;
		if (!kind || n == AGENT_MAX_LIST)
			return false;
		had[n++] = kind;
	}
	return true;
}

static const char *check(const struct options *opt)
{
	const struct agent_options *own = opt->own;

	if (own->pids.n && own->cgroup)
		return "either --pid or --cgroup";
	if (own->window && (own->window < 1 || own->window > 600))
		return "--window is 1 to 600 seconds";
	if (own->profiles && !is_list(own->profiles, agent_kind))
		return "--profile is a list of cpu, offcpu, lock, mem, io, each once";
	if (own->hists && !own->metrics)
		return "--hist is for --metrics";
	if (own->hists && !is_list(own->hists, agent_hist))
		return "--hist is a list of io, runq, lock, each once";
	if (own->labels && !agent_labels_ok(own->labels))
		return "--labels is a list of container, runtime, pod, pod_name, namespace, unit, "
		       "slice, exe, build_id, go, context, goroutine, trace; or none";
	if (own->metrics && !agent_http_address_ok(own->metrics))
		return "--metrics is an address and a port, as numbers: 127.0.0.1:9499";
	return NULL;
}

#define OPTION_STRUCT struct agent_options
static const struct option_row own_rows[] = {
	OPTION("profile", 0, VIEW, TEXT, profiles, "LIST",
	       "what is recorded (cpu); mem: page faults", .words = "cpu offcpu lock mem io"),
	OPTION("window", 0, VIEW, SECONDS, window, "SECONDS", "how long each window is (10)",
	       .wrong = "is no duration"),
	OPTION("pid", 'p', TARGET, IDS, pids, "LIST",
	       "these processes alone: numbers with commas between them",
	       .wrong = "is no list of process ids"),
	OPTION("cgroup", 0, TARGET, TEXT, cgroup, "PATH",
	       "processes of this version 2 control group and of those below it"),
	OPTION("freq", 'F', SAMPLING, NUMBER, freq, "HZ",
	       "samples of cpu a second on each CPU (99); 19 is enough for most", .least = 1,
	       .most = 999),
	OPTION("sample", 0, SAMPLING, MS, sample_ns, "MS",
	       "of offcpu: of waits shorter than so many milliseconds take some, and count each as "
	       "what it stands for, as rawprof offcpu --sample does; 1 where threads switch 10,000 "
	       "times a second and more"),
	OPTION("duration", 'd', SAMPLING, SECONDS, duration, "SECONDS",
	       "how long (also 2m, 1h); default: until SIGTERM or Ctrl-C",
	       .wrong = "is no duration"),
	OPTION("dir", 0, OUTPUT, TEXT, dir, "DIR",
	       "where windows are written, a .rawprof file each (" AGENT_DIR
	       "): a directory of the caller's own, made if it is not there",
	       .least = 1, .wrong = "is no directory"),
	OPTION("push", 0, OUTPUT, TEXT, push, "LIST",
	       "send windows there, too: pyroscope+URL, pyroscope-ingest+URL, parca+URL, otlp+URL, "
	       "with commas between them",
	       .least = 1),
	OPTION("config", 0, OUTPUT, TEXT, config, "FILE",
	       "more of destinations: tokens, TLS, labels, limits (rawprof(1)); read again on "
	       "SIGHUP",
	       .least = 1),
	OPTION("labels", 0, OUTPUT, TEXT, labels, "LIST",
	       "labels of samples (all): container, runtime, pod, unit and slice by the control "
	       "group, pod_name and namespace by " AGENT_POD_LOGS ", exe and build_id by the file, "
	       "go: those that programs of Go give their goroutines, context: what programs "
	       "publish of their threads and of themselves (rawprof cpu --thread-context); and, "
	       "which are not among all, goroutine: the number of each, trace: trace_id and "
	       "span_id of threads; or none",
	       .least = 1,
	       .words = "container runtime pod pod_name namespace unit slice exe build_id go "
			"context goroutine trace none"),
	OPTION("max-series", 0, OUTPUT, NUMBER, max_series, "N",
	       "combinations of labels of a user at a time (1000); processes beyond have none",
	       .least = 1, .most = 100000),
	OPTION("metrics", 0, OUTPUT, TEXT, metrics, "ADDRESS",
	       "serve a page of metrics for Prometheus there: 127.0.0.1:9499", .least = 1,
	       .wrong = "is no address"),
	OPTION("hist", 0, OUTPUT, TEXT, hists, "LIST",
	       "which histograms it has (io,runq): latency of disks, waits for a CPU, for locks",
	       .words = "io runq lock"),
	OPTION("keep", 0, OUTPUT, BYTES, keep_bytes, "BYTES",
	       "the oldest windows, and before them very large ones, go when all have more (1G)",
	       .least = 1),
	OPTION("keep-time", 0, OUTPUT, SECONDS, keep_time, "SECONDS",
	       "and those that are older than this (also 12h; 7 days)", .wrong = "is no duration"),
	{ 0 },
};

const struct command agent_command = {
	.name = "agent",
	.summary = "continuous profiling, meant to stay on",
	.about =
		"Records the whole machine for good, in windows of some seconds, and keeps each as "
		"a file that rawprof report and rawprof diff read. A process of its own records "
		"each kind of profile and can write no files; the one that writes them has no "
		"rights but to write there.",
	.examples = "  rawprof agent --dir /var/lib/rawprof       CPU time, windows of 10 seconds\n"
		    "  rawprof agent --profile cpu,offcpu -F 19 --keep 200M --dir DIR\n"
		    "  rawprof report DIR/cpu-1764000000123.rawprof\n",
	.own = own_rows,
	.own_size = sizeof(struct agent_options),
	.check = check,
	.run = agent_run,
};
