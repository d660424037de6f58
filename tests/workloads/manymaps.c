/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manymaps MAPPINGS PROCESSES DIRECTORY SECONDS [files]: so many processes, of which the first
 * burns CPU time and the others sleep, each with so many executable mappings: of one file that is
 * made in the directory, or each of a file of its own, all of them links to a few, far down below
 * it. Prints a line once all of it is there.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

enum { DEPTH = 12, LINKS = 4000, NAME = 200 };
#define PAGE 4096

static bool make_file(const char *name)
{
	static const char page[PAGE];
	const int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0755);

	if (fd < 0)
		return false;
	return write(fd, page, PAGE) == PAGE && !close(fd);
}

static bool go_down(void)
{
	char name[NAME + 1];

	memset(name, 'd', NAME);
	name[NAME] = '\0';
	for (int i = 0; i < DEPTH; i++)
		if ((mkdir(name, 0755) && access(name, X_OK)) || chdir(name))
			return false;
	return true;
}

/* Has a file had so many links, the next ones are of another. */
static bool make_link(int number, char link_name[32])
{
	char name[32];

	snprintf(name, sizeof(name), "file%d", number / LINKS);
	snprintf(link_name, 32, "link%d", number);
	if (number % LINKS == 0 && !make_file(name))
		return false;
	return !link(name, link_name);
}

static bool map(const char *name)
{
	const int fd = open(name, O_RDONLY);
	const void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	close(fd);
	return at != MAP_FAILED;
}

int main(int argc, char **argv)
{
	const bool files = argc == 6;
	char name[32] = "file";

	if ((argc != 5 && !files) || chdir(argv[3]) || (files && !go_down()) || !make_file(name))
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++)
		if ((files && !make_link(i, name)) || !map(name))
			return 3;
	for (int i = 1; i < atoi(argv[2]); i++)
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
		}
	puts("mapped");
	fflush(stdout);
	burn_until((uint64_t)(atof(argv[4]) * 1e9));
	return 0;
}
