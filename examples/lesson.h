/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lesson.h: what the main of every lesson needs and no lesson is about.
 *
 * A lesson has two lists of programs, each ended by an empty entry: lesson_good in good.c, which
 * the kernel takes, and lesson_bad in bad.c, which it refuses. Everything is printed to standard
 * output, the kernel's complaints too, in the order in which it happened.
 */
#ifndef EXAMPLES_LESSON_H
#define EXAMPLES_LESSON_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/asm.h>
#include <rawprof/loader.h>
#include "examples/table.h"

extern const struct lesson_program lesson_good[];
extern const struct lesson_program lesson_bad[];

static inline void lesson_print(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	printf("%s\n", message);
}

static inline void lesson_begin(const char *question)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	rp_log_setup(RP_WARN, lesson_print, NULL);
	if (!rp_cap_has(RP_CAP_BPF) || !rp_cap_has(RP_CAP_PERFMON)) {
		printf("skip: this lesson talks to the kernel: run it as root\n");
		exit(77);
	}
	printf("%s\n", question);
}

/* Ends the lesson if something that has to work did not; passes the result on if it did. */
static inline int must(int result, const char *what)
{
	if (result < 0) {
		printf("%s: %s\n", what, strerror(-result));
		exit(1);
	}
	return result;
}

static inline int lesson_try(const struct lesson_program *entry, const int *fds)
{
	const struct asm_bindings bind = { .maps = entry->maps,
					   .map_fds = fds,
					   .nmaps = entry->nmaps };

	return rp_program_load(entry->program, &bind);
}

/* Loads a program of lesson_good; fds are the descriptors of its maps. */
static inline int lesson_load(const struct lesson_program *entry, const int *fds)
{
	return must(lesson_try(entry, fds), entry->program->name);
}

/* Loads a program and attaches it to a tracepoint, until rp_link_close(). */
static inline struct rp_link *lesson_attach(const struct lesson_program *entry, const int *fds,
					    const char *group, const char *event)
{
	int fd = lesson_load(entry, fds);
	struct rp_link *link;

	must(rp_attach_tracepoint(fd, group, event, 0, &link), event);
	close(fd);
	return link;
}

/* Offers the kernel every program of lesson_bad. The loader prints what it says to each. */
static inline void lesson_refused(const int *fds)
{
	for (const struct lesson_program *entry = lesson_bad; entry->program; entry++) {
		int fd;

		printf("\n--- %s: %s\n", entry->program->name, entry->summary);
		fd = lesson_try(entry, fds);
		printf("==> %s\n", fd < 0 ? strerror(-fd) : "ACCEPTED");
	}
	printf("\n");
}

/* What the verifier knows at each line of a program; of its log only that. */
static inline void lesson_show(const struct lesson_program *entry, const int *fds)
{
	const struct asm_bindings bind = { .maps = entry->maps,
					   .map_fds = fds,
					   .nmaps = entry->nmaps };
	char *log = NULL, *line, *rest;
	int err = rp_program_explain(entry->program, &bind, &log);

	printf("--- %s: %s\n", entry->program->name, entry->summary);
	line = log ? strstr(log, "\n0: ") : NULL;
	for (line = strtok_r(line, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if ((*line >= '0' && *line <= '9') || *line == ';' || !strncmp(line, "from ", 5))
			printf("%s\n", line);
	printf("==> %s\n\n", err < 0 ? strerror(-err) : "ACCEPTED");
	free(log);
}

/* Runs a program once, on an empty packet: what it returned. */
static inline uint32_t lesson_run(int fd)
{
	unsigned char packet[64] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = sizeof(packet) };

	must(rp_prog_test_run(fd, &run), "test run");
	return run.retval;
}

#endif
