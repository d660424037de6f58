/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_exact [TIMES [FIFO]]: what an allocator's functions mean, each in a function of its own,
 * so many times each; prints for each "NAME allocated bytes kept bytes", as it must be by what the
 * functions have returned. What only the C library knows is printed as "-". FIFO: to wait before,
 * until nobody has that open for writing, with as many blocks in hand that are freed then.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static long times;

/* Out of the compiler's sight: it knows malloc, and leaves out what it thinks is of no use. */
static void *volatile hidden;
static void *hide(void *p)
{
	hidden = p;
	return hidden;
}
static size_t hide_size(size_t n)
{
	volatile size_t v = n;

	return v;
}

static void expect(const char *name, long allocated, long bytes, long kept, long kept_bytes)
{
	printf("%s ", name);
	allocated < 0 ? printf("- ") : printf("%ld ", allocated);
	bytes < 0 ? printf("-") : printf("%ld", bytes);
	printf(" %ld ", kept);
	kept_bytes < 0 ? printf("-\n") : printf("%ld\n", kept_bytes);
}

static NOINLINE void case_plain(void)
{
	for (long i = 0; i < times; i++) {
		hide(malloc(24));
		free(hide(malloc(8)));
	}
	expect(__func__, 2 * times, 32 * times, times, 24 * times);
}

static NOINLINE void case_calloc(void)
{
	for (long i = 0; i < times; i++)
		hide(calloc(hide_size(7), 11));
	expect(__func__, times, 77 * times, times, 77 * times);
}

static NOINLINE void case_aligned(void)
{
	for (long i = 0; i < times; i++) {
		void *p = NULL;

		hide(aligned_alloc(64, hide_size(128)));
		hide(memalign(32, hide_size(96)));
		if (!posix_memalign(&p, 128, hide_size(256)))
			hide(p);
	}
	expect(__func__, 3 * times, 480 * times, 3 * times, 480 * times);
}

static NOINLINE void case_failed_realloc(void)
{
	for (long i = 0; i < times; i++) {
		void *p = hide(malloc(100));

		if (realloc(p, hide_size((size_t)1 << 62)))
			puts("case_failed_realloc did not fail");
	}
	expect(__func__, times, 100 * times, times, 100 * times);
}

static NOINLINE void case_realloc_zero(void)
{
	long given = 0;

	for (long i = 0; i < times; i++)
		given += hide(realloc(hide(malloc(50)), hide_size(0))) != NULL;
	expect(__func__, times + given, 50 * times, given, 0);
}

static NOINLINE void case_realloc_shrinks(void)
{
	for (long i = 0; i < times; i++)
		hide(realloc(hide(malloc(1000)), hide_size(500)));
	expect(__func__, 2 * times, 1500 * times, times, 500 * times);
}

static NOINLINE void case_realloc_grows(void)
{
	for (long i = 0; i < times; i++) {
		void *p = hide(malloc(16)), *fence = hide(malloc(16));

		free(hide(realloc(p, hide_size(50000))));
		free(fence);
	}
	expect(__func__, 3 * times, 50032 * times, 0, 0);
}

static NOINLINE void case_realloc_null(void)
{
	for (long i = 0; i < times; i++)
		hide(realloc(hide(NULL), hide_size(33)));
	expect(__func__, times, 33 * times, times, 33 * times);
}

static NOINLINE void case_reallocarray(void)
{
	for (long i = 0; i < times; i++)
		hide(reallocarray(hide(malloc(5)), hide_size(10), 20));
	expect(__func__, 2 * times, 205 * times, times, 200 * times);
}

static NOINLINE void case_failed_memalign(void)
{
	void *p = &p;

	for (long i = 0; i < times; i++)
		if (!posix_memalign(&p, hide_size(3), 10) || p != &p)
			puts("case_failed_memalign did not fail");
	expect(__func__, 0, 0, 0, 0);
}

static NOINLINE void case_calloc_overflow(void)
{
	for (long i = 0; i < times; i++)
		if (hide(calloc(hide_size(SIZE_MAX / 2), 3)))
			puts("case_calloc_overflow did not fail");
	expect(__func__, 0, 0, 0, 0);
}

static NOINLINE void case_malloc_zero(void)
{
	for (long i = 0; i < times; i++)
		hide(malloc(hide_size(0)));
	expect(__func__, times, 0, times, 0);
}

static NOINLINE void case_free_null(void)
{
	for (long i = 0; i < times; i++)
		free(hide(NULL));
	expect(__func__, 0, 0, 0, 0);
}

static NOINLINE void case_strdup(void)
{
	for (long i = 0; i < times; i++)
		hide(strdup("seven b"));
	expect(__func__, times, 8 * times, times, 8 * times);
}

static FILE *one_line;

static NOINLINE void case_getline(void)
{
	for (long i = 0; i < times; i++) {
		char *line = NULL;
		size_t size = 0;

		rewind(one_line);
		if (getline(&line, &size, one_line) < 0)
			puts("case_getline failed");
		hide(line);
	}
	expect(__func__, -1, -1, times, -1);
}

/* ---- more than one thread or process */

static void **blocks;

static sem_t ready, done;

static void free_all(void)
{
	for (long i = 0; i < times; i++)
		free(blocks[i]);
}

static void *other_thread(void *unused)
{
	sem_wait(&ready);
	free_all();
	sem_post(&done);
	return unused;
}

static NOINLINE void case_freed_elsewhere(void)
{
	for (long i = 0; i < times; i++)
		blocks[i] = hide(malloc(64));
	sem_post(&ready);
	sem_wait(&done);
	expect(__func__, times, 64 * times, 0, 0);
}

static NOINLINE void case_forked(void)
{
	pid_t child;

	for (long i = 0; i < times; i++)
		blocks[i] = hide(malloc(40));
	fflush(stdout);
	child = fork();
	if (!child) {
		free_all(); /* its copies */
		_exit(0);
	}
	waitpid(child, NULL, 0);
	expect(__func__, times, 40 * times, times, 40 * times);
}

/* Until nobody has that FIFO open for writing. */
static void wait_at(const char *fifo)
{
	int fd = open(fifo, O_RDONLY);
	char none;

	while (fd >= 0 && read(fd, &none, 1) > 0)
		;
	close(fd);
}

int main(int argc, char **argv)
{
	static void (*const cases[])(void) = {
		case_plain,	   case_calloc,		 case_aligned,	       case_failed_realloc,
		case_realloc_zero, case_realloc_shrinks, case_realloc_grows,   case_realloc_null,
		case_reallocarray, case_failed_memalign, case_calloc_overflow, case_malloc_zero,
		case_free_null,	   case_strdup,		 case_getline,	       case_freed_elsewhere,
		case_forked,
	};

	static char out[BUFSIZ];
	pthread_t thread;

	times = argc > 1 ? atol(argv[1]) : 100;
	/* What these need is allocated here, and is no case's. */
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	one_line = tmpfile();
	if (!one_line || setvbuf(one_line, NULL, _IONBF, 0) || fputs("a line\n", one_line) < 0 ||
	    sem_init(&ready, 0, 0) || sem_init(&done, 0, 0) ||
	    pthread_create(&thread, NULL, other_thread, NULL))
		return 1;
	blocks = calloc((size_t)times, sizeof(*blocks));
	for (long i = 0; argc > 2 && i < times; i++)
		blocks[i] = hide(malloc(20));
	if (argc > 2) {
		wait_at(argv[2]);
		free_all();
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cases[i]();
	return pthread_join(thread, NULL) || fclose(one_line);
}
