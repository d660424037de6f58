/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bpforphans: lists the BPF objects that exist although no process has a descriptor of them, one
 * line each, "program 12". Who leaves such a thing behind (by a pin, or an attachment that nobody
 * owns) has a leak; some belong to the system. A test compares the lists before and after.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_ID = 1 << 22 };

static struct kind {
	const char *name, *fdinfo; /* how fdinfo names it */
	int next;
	unsigned char *held; /* [id] */
} kinds[] = {
	{ "program", "prog_id:", BPF_PROG_GET_NEXT_ID, NULL },
	{ "map", "map_id:", BPF_MAP_GET_NEXT_ID, NULL },
	{ "link", "link_id:", BPF_LINK_GET_NEXT_ID, NULL },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void read_fdinfo(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		for (int i = 0; i < KINDS; i++) {
			size_t n = strlen(kinds[i].fdinfo);
			unsigned long id = strncmp(line, kinds[i].fdinfo, n)
						   ? MAX_ID
						   : strtoul(line + n, NULL, 10);

			if (id < MAX_ID)
				kinds[i].held[id] = 1;
		}
	}
	if (f)
		fclose(f);
}

/* Calls @each with the path of every entry of @dir whose name is a number. */
static void each_number(const char *dir, const char *suffix, void (*each)(const char *path))
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[512];

	while (d && (entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s%s", dir, entry->d_name, suffix);
		if (isdigit((unsigned char)entry->d_name[0]))
			each(path);
	}
	if (d)
		closedir(d);
}

static void read_process(const char *path)
{
	each_number(path, "", read_fdinfo);
}

int main(void)
{
	union bpf_attr attr;

	for (int i = 0; i < KINDS; i++) {
		kinds[i].held = calloc(MAX_ID, 1);
		if (!kinds[i].held)
			return 1;
	}
	each_number("/proc", "/fdinfo", read_process);
	for (int i = 0; i < KINDS; i++) {
		__u32 id = 0;

		for (;;) {
			memset(&attr, 0, sizeof(attr));
			attr.start_id = id;
			if (syscall(SYS_bpf, kinds[i].next, &attr, sizeof(attr)))
				break;
			id = attr.next_id;
			if (id >= MAX_ID || !kinds[i].held[id])
				printf("%s %u\n", kinds[i].name, id);
		}
		if (errno != ENOENT)
			printf("%s: %s\n", kinds[i].name, strerror(errno));
		free(kinds[i].held);
	}
	return 0;
}
