/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo [SECONDS]: something to profile, with an answer that is known. `make run` looks at it.
 *
 * A photo shop with two threads, each keeping one CPU busy (or half of one, if there is only one):
 *
 *	painter		paint_mandelbrot() calls shade_row(), which calls escape_time(): here
 *			the painter spends its time, in the one function worth making faster.
 *	archivist	pack_photos(): three fifths of its time in checksum(), one fifth in
 *			sort_names(), and one fifth in fetch_photo(), which is the kernel: it reads
 *			from /dev/urandom.
 *
 * So of all samples a profile should show about 50 % in escape_time, 30 % in checksum, 10 % in
 * sort_names, and 10 % below fetch_photo, nearly all of it in kernel frames.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * gcc leaves out the frame of a function that calls no other, even with -fno-omit-frame-pointer,
 * and then the function that called it is missing from the stacks that go by frame pointers.
 */
#define KEEP_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)))

enum { WIDTH = 320,
       HEIGHT = 200,
       PHOTO = 64 * 1024,
       NAMES = 512 };

static double stop_at;
static volatile uint64_t result; /* keeps the work from being optimized away */

static double clock_seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int done(void)
{
	return clock_seconds(CLOCK_MONOTONIC) >= stop_at;
}

/* ---- the painter */

__attribute__((noinline)) static int escape_time(double cx, double cy)
{
	double x = 0, y = 0;
	int n = 0;

	KEEP_FRAME();
	while (n < 200 && x * x + y * y < 4) {
		double next = x * x - y * y + cx;

		y = 2 * x * y + cy;
		x = next;
		n++;
	}
	return n;
}

__attribute__((noinline)) static void shade_row(int row)
{
	for (int column = 0; column < WIDTH; column++)
		result += (uint64_t)escape_time(column * 3.0 / WIDTH - 2, row * 2.0 / HEIGHT - 1);
}

__attribute__((noinline)) static void paint_mandelbrot(void)
{
	for (int row = 0; row < HEIGHT && !done(); row++)
		shade_row(row);
}

static void *painter(void *unused)
{
	pthread_setname_np(pthread_self(), "painter");
	while (!done())
		paint_mandelbrot();
	return unused;
}

/* ---- the archivist */

static unsigned char photo[PHOTO];
static uint32_t names[NAMES];

/*
 * libc's read() keeps no frame pointer, so a profiler that goes by those misses its caller.
 * That is this function, and not the one that is worth a name.
 */
__attribute__((noinline)) static void read_all(int fd, unsigned char *to, size_t size)
{
	ssize_t n;

	for (; size; to += n, size -= (size_t)n) {
		n = read(fd, to, size);
		if (n <= 0)
			exit(1);
	}
}

__attribute__((noinline)) static void fetch_photo(int fd)
{
	read_all(fd, photo, sizeof(photo));
	__asm__ volatile(""); /* no tail call: it would take this frame away */
}

__attribute__((noinline)) static void checksum(void)
{
	uint64_t sum = 14695981039346656037u;

	KEEP_FRAME();
	for (int i = 0; i < PHOTO; i++)
		sum = (sum ^ photo[i]) * 1099511628211u;
	result += sum;
}

__attribute__((noinline)) static void sort_names(void)
{
	KEEP_FRAME();
	memcpy(names, photo, sizeof(names));
	for (int i = 1; i < NAMES; i++) {
		uint32_t name = names[i];
		int j = i;

		for (; j > 0 && names[j - 1] > name; j--)
			names[j] = names[j - 1];
		names[j] = name;
	}
}

/* Works on each task until it has had its share, so that the shares hold on any machine. */
__attribute__((noinline)) static void pack_photos(int fd)
{
	double t = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	const double round = 0.01;

	while (!done()) {
		do
			fetch_photo(fd);
		while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < t + round * 0.2);
		do
			checksum();
		while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < t + round * 0.8);
		do
			sort_names();
		while (clock_seconds(CLOCK_THREAD_CPUTIME_ID) < t + round);
		t += round;
	}
}

static void *archivist(void *unused)
{
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	pthread_setname_np(pthread_self(), "archivist");
	if (fd < 0)
		exit(1);
	pack_photos(fd);
	close(fd);
	return unused;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 6;
	pthread_t threads[2];

	stop_at = clock_seconds(CLOCK_MONOTONIC) + seconds;
	if (pthread_create(&threads[0], NULL, painter, NULL) ||
	    pthread_create(&threads[1], NULL, archivist, NULL)) {
		fprintf(stderr, "demo: no threads\n");
		return 1;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
