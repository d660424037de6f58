/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kmem FILES PAGES [hold]: opens /dev/null so many times, makes a pipe of so many pages, a power of
 * two, and fills it, and closes all of it again; with `hold` it waits before that, until somebody
 * ends it.
 *
 * Of the kernel's memory, open_files() takes a filp and for a moment a name for each file,
 * fill_pipe() the pages.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "work.h"

NOINLINE static int open_files(int *fds, int n)
{
	for (int i = 0; i < n; i++) {
		fds[i] = open("/dev/null", O_RDONLY);
		if (fds[i] < 0)
			return -1;
	}
	return n;
}

NOINLINE static int fill_pipe(int *ends, int pages)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *page = calloc(1, size);
	int filled = 0;

	if (!page || pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, pages * (int)size) < 0)
		return -1;
	while (filled < pages && write(ends[1], page, size) == (ssize_t)size)
		filled++;
	free(page);
	return filled;
}

int main(int argc, char **argv)
{
	int files = argc > 2 ? atoi(argv[1]) : 10000, pages = argc > 2 ? atoi(argv[2]) : 256;
	struct rlimit limit = { (rlim_t)files + 100, (rlim_t)files + 100 };
	int *fds = calloc((size_t)files, sizeof(*fds)), ends[2];

	if (!fds || setrlimit(RLIMIT_NOFILE, &limit))
		return 1;
	if (open_files(fds, files) != files || fill_pipe(ends, pages) != pages)
		return 1;
	if (argc > 3)
		pause();
	close(ends[0]);
	close(ends[1]);
	for (int i = 0; i < files; i++)
		close(fds[i]);
	free(fds);
	return 0;
}
