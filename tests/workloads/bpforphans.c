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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A machine that is up for a day has had millions; the kernel begins anew behind INT_MAX. */
enum { HELD_BYTES = 1 << 28 };

static struct kind {
	const char *name, *fdinfo; /* how fdinfo names it */
	int next;
	unsigned char *held; /* a bit of each id; pages appear as they are used */
} kinds[] = {
	{ "program", "prog_id:", BPF_PROG_GET_NEXT_ID, NULL },
	{ "map", "map_id:", BPF_MAP_GET_NEXT_ID, NULL },
	{ "link", "link_id:", BPF_LINK_GET_NEXT_ID, NULL },
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void hold(struct kind *k, unsigned long id)
{
	if (id / 8 < HELD_BYTES)
		k->held[id / 8] |= (unsigned char)(1U << id % 8);
}

static int is_held(const struct kind *k, unsigned int id)
{
	return id / 8 < HELD_BYTES && k->held[id / 8] >> id % 8 & 1;
}

static void read_fdinfo(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		for (int i = 0; i < KINDS; i++) {
			size_t n = strlen(kinds[i].fdinfo);

			if (!strncmp(line, kinds[i].fdinfo, n))
				hold(&kinds[i], strtoul(line + n, NULL, 10));
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
		kinds[i].held = mmap(NULL, HELD_BYTES, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (kinds[i].held == MAP_FAILED)
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
			if (!is_held(&kinds[i], id))
				printf("%s %u\n", kinds[i].name, id);
		}
		if (errno != ENOENT)
			printf("%s: %s\n", kinds[i].name, strerror(errno));
	}
	return 0;
}
