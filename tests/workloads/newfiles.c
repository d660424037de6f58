/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * newfiles NUMBER: maps code of so many files, one after the other, each under a long name that
 * there was never before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NAME = 240 };

static void map_one(long number)
{
	char name[NAME + 1];
	int fd;
	void *at;

	snprintf(name, sizeof(name), "%0*ld", NAME, number);
	fd = memfd_create(name, MFD_CLOEXEC);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (at != MAP_FAILED)
		munmap(at, 4096);
	close(fd);
}

int main(int argc, char **argv)
{
	const long number = argc > 1 ? atol(argv[1]) : 0;

	for (long i = 0; i < number; i++)
		map_one(i);
	return 0;
}
