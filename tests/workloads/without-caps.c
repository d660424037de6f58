/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * without-caps LIST PROGRAM ARGS...: runs it without these capabilities, or with "!LIST" without
 * all others. What is gone from the bounding set is not given to root at exec either
 * (capabilities(7)).
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
	const char *name;
	int number; /* linux/capability.h */
} caps[] = {
	{ "sys_ptrace", 19 }, { "sys_admin", 21 }, { "sys_resource", 24 },
	{ "syslog", 34 },     { "perfmon", 38 },   { "bpf", 39 },
};

/* Bits of the comma list, 0 for a name that is not known. */
static unsigned long long parse(char *list)
{
	unsigned long long bits = 0;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		unsigned long long bit = 0;

		for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
			if (!strcmp(caps[i].name, name))
				bit = 1ull << caps[i].number;
		if (!bit)
			return 0;
		bits |= bit;
	}
	return bits;
}

int main(int argc, char **argv)
{
	const bool all_others = argc > 2 && *argv[1] == '!';
	unsigned long long bits = argc > 2 ? parse(argv[1] + all_others) : 0;

	if (!bits) {
		fprintf(stderr, "usage: without-caps [!]sys_admin,... PROGRAM ARGS...\n");
		return 2;
	}
	if (all_others)
		bits = ~bits;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (bits >> cap & 1 && prctl(PR_CAPBSET_DROP, cap)) {
			perror("prctl(PR_CAPBSET_DROP)");
			return 126;
		}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
