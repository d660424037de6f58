/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose a range is does not matter: that it is one of somebody's does. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "subuid.h"

#define MOST_TEXT (1 << 20)

/* The number behind a colon. */
static bool take_number(const char **at, uint32_t *out)
{
	unsigned long long number;
	char *end;

	if (**at != ':')
		return false;
	number = strtoull(*at + 1, &end, 10);
	*out = (uint32_t)number;
	if (end == *at + 1 || number > UINT32_MAX)
		return false;
	*at = end;
	return true;
}

/* "alice:100000:65536". Root's own uid is in no range: whoever counts as root has no bounds. */
static bool parse(const char *line, struct subuid_range *out)
{
	line += strcspn(line, ":");
	return take_number(&line, &out->first) && take_number(&line, &out->count) &&
	       (!*line || *line == '\n') && out->first && out->count;
}

void rp_subuids_read(const char *path, struct subuids *out)
{
	FILE *f = fopen(path, "re");
	struct subuid_range range;
	char *line = NULL;
	size_t room = 0;
	ssize_t n, all = 0;

	*out = (struct subuids){ NULL };
	while (f && all < MOST_TEXT && (n = getline(&line, &room, f)) > 0) {
		all += n;
		if (parse(line, &range) && RP_PUSH(out->range, out->n, out->capacity, range))
			break;
	}
	free(line);
	if (f)
		fclose(f);
}

uid_t rp_subuids_first(const struct subuids *all, uid_t uid)
{
	for (uint32_t i = 0; i < all->n; i++)
		if (uid >= all->range[i].first && uid - all->range[i].first < all->range[i].count)
			return all->range[i].first;
	return uid;
}

static struct subuids machines;

static void read_machines(void)
{
	rp_subuids_read("/etc/subuid", &machines);
}

uid_t rp_subuid_first(uid_t uid)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_machines);
	return rp_subuids_first(&machines, uid);
}
