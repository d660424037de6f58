/* SPDX-License-Identifier: BSD-2-Clause */
/* left.c: asks the test program bpforphans, and tracefs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "left.h"

enum { LOOKS = 20 };

static char *before;

/* Lines "program 12", "probe ...", each with a newline before and behind it; to be freed. */
static char *look(void)
{
	char command[1200], *text = NULL;
	size_t size, got;
	char buffer[4096];
	FILE *out = open_memstream(&text, &size), *in;

	snprintf(command, sizeof(command),
		 "%s/workloads/bpforphans; cat /sys/kernel/tracing/uprobe_events "
		 "/sys/kernel/tracing/kprobe_events 2>/dev/null",
		 places.build);
	fputc('\n', out);
	in = popen(command, "re");
	while (in && (got = fread(buffer, 1, sizeof(buffer), in)))
		fwrite(buffer, 1, got, out);
	if (in)
		pclose(in);
	fclose(out);
	return text;
}

void left_begin(void)
{
	before = look();
}

static bool has_line(const char *text, const char *line)
{
	const size_t n = strlen(line);

	for (; (text = strstr(text, line)); text++) {
		if (text[-1] == '\n' && text[n] == '\n')
			return true;
	}
	return false;
}

/* The lines of @a that are in @b but not in the list before. */
static void keep_new(char *a, const char *b, char *out, size_t size)
{
	char *line, *rest = a;
	size_t n = 0;

	*out = 0;
	while ((line = strsep(&rest, "\n"))) {
		if (*line && has_line(b, line) && !has_line(before, line) && n + 1 < size)
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "", line);
	}
}

/* What others are about to open, or to close, is an orphan for a moment only. */
bool left_since(char *what, size_t size)
{
	char *first = look(), *copy, *now;

	for (int i = 0; i < LOOKS; i++) {
		sleep(1);
		now = look();
		copy = strdup(first);
		keep_new(copy, now, what, size);
		free(copy);
		free(now);
		if (!*what)
			break;
	}
	free(first);
	return *what;
}
