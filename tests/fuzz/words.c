/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words of a command line and of small files: lists of CPUs, names of events, of control groups, of
 * maps for the kernel. Each line of the input is one.
 */
#include <ctype.h>
#include <rawprof/loader.h>

#include "loader/internal.h"
#include "record/system.h"
#include "fuzz.h"

static void quiet(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

/* Ascending, each once; written down as a list again it is the same. */
static void check_cpus(const char *text)
{
	struct rp_cpus cpus, again;
	char *list = NULL;
	size_t size;
	FILE *f;

	if (rp_cpus_parse(text, &cpus))
		return;
	f = open_memstream(&list, &size);
	for (int i = 0; i < cpus.n; i++) {
		fuzz_check(cpus.cpu[i] >= 0 && (!i || cpus.cpu[i] > cpus.cpu[i - 1]));
		fuzz_check(rp_cpus_has(&cpus, cpus.cpu[i]));
		if (i && cpus.cpu[i] == cpus.cpu[i - 1] + 1)
			continue;
		if (i)
			fprintf(f, "-%d,", cpus.cpu[i - 1]);
		fprintf(f, "%d", cpus.cpu[i]);
	}
	fprintf(f, "-%d", cpus.cpu[cpus.n - 1]);
	fclose(f);
	fuzz_check(cpus.n && !rp_cpus_parse(list, &again) && again.n == cpus.n);
	fuzz_check(!memcmp(again.cpu, cpus.cpu, (size_t)cpus.n * sizeof(int)));
	rp_cpus_free(&cpus);
	rp_cpus_free(&again);
	free(list);
}

static void check_kernel_name(const char *text)
{
	char name[16];

	rp_kernel_name(name, text);
	fuzz_check(memchr(name, 0, sizeof(name)));
	for (const char *c = name; *c; c++)
		fuzz_check(isalnum((unsigned char)*c) || *c == '_' || *c == '.');
}

static void check_event(const char *text)
{
	struct rp_event e, *list;
	size_t n;

	if (strchr(text, ':')) /* is a path in tracefs, which is not fuzzed */
		return;
	if (!rp_event_parse(text, &e))
		fuzz_check(memchr(e.name, 0, sizeof(e.name)) && (e.type < 16 || *e.pmu));
	if (rp_events_parse(text, &list, &n))
		return;
	fuzz_check(n && n <= strlen(text));
	for (size_t i = 0; i < n; i++)
		fuzz_check(memchr(list[i].name, 0, sizeof(list[i].name)));
	free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	char *before = strdup("");

	rp_log_setup(RP_ERROR, quiet, NULL);
	while (in.at < in.end) {
		char *word = fuzz_text(&in);
		uint64_t id;
		uint32_t level;

		check_cpus(word);
		check_kernel_name(word);
		check_event(word);
		fuzz_check(!rp_name_distance(word, word) || strlen(word) > 63);
		fuzz_check(rp_name_distance(word, before) == rp_name_distance(before, word));
		record_cgroup_find(word, &id, &level);
		free(before);
		before = word;
	}
	free(before);
	return 0;
}
