/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * badnames DIR [SECONDS]: a process of which every name holds bytes that no name should hold: each
 * of 1 to 255 is in the name of its file (but for '/'), in a function's name of its ELF file, in a
 * name of its perf map (but for the line break), and in the name of one of its threads. But for the
 * file's, these hold C1 controls and bidirectional overrides in UTF-8 too.
 *
 * It writes a copy of itself into DIR, with those bytes in place of the function's name, and
 * becomes it. Its threads burn CPU time in that function and in code that the perf map names,
 * and allocate; some wait for a lock, sleep, and write to a file in DIR.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

#define TEN "qqqqqqqqqq"
#define FIFTY TEN TEN TEN TEN TEN
#define NAME FIFTY FIFTY FIFTY FIFTY FIFTY "qqqqqqqqqqqqq"
/* What terminals obey as well, in UTF-8: CSI, and two overrides of the direction of writing. */
#define MORE "\xc2\x9b\xe2\x80\xae\xe2\x81\xa6"
enum {
	BYTES = 255,
	NAME_SIZE = BYTES + sizeof(MORE) - 1,
	PART = 15,
	THREADS = BYTES / PART + 1,
	DEL = 0x7f
};

uint64_t bad_name(uint64_t n) __asm__(NAME);

/* Its own name is what the copy has other bytes in. */
NOINLINE uint64_t bad_name(uint64_t n)
{
	burn_until(thread_cpu_ns() + n);
	__asm__ volatile("");
	return n;
}

/* void loop(uint64_t n): n rounds of nothing. */
#if defined(__x86_64__)
static const unsigned char loop[] = { 0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3 };
#elif defined(__aarch64__)
static const uint32_t loop[] = { 0xf1000400, 0x54ffffe1, 0xd65f03c0 };
#else
#error "no code for this architecture"
#endif
static void (*jitted)(uint64_t n);

static const char *dir;
static double seconds;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void write_map(void)
{
	char path[64];
	FILE *f;

	jitted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy((void *)jitted, loop, sizeof(loop));
	mprotect((void *)jitted, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)jitted, (char *)jitted + sizeof(loop));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "w");
	if (!f)
		exit(1);
	fprintf(f, "%lx 100 ", (unsigned long)jitted);
	for (int c = 1; c <= BYTES; c++)
		if (c != '\n')
			putc(c, f);
	fputs(MORE "\n", f);
	fclose(f);
}

static void write_file(int number)
{
	char path[4096], text[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "%s/written.%d", dir, number);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, sizeof(text)) < 0 || fsync(fd) || close(fd))
		perror("badnames: writing");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void *work(void *arg)
{
	const int part = (int)(intptr_t)arg;
	char name[PART + 1] = "";
	const struct timespec pause = { 0, 2000000 };
	const double until = now() + seconds;

	for (int i = 0; i < PART; i++)
		name[i] = part == THREADS - 1 ? (MORE MORE)[i] : (char)(part * PART + i + 1);
	prctl(PR_SET_NAME, name);
	do {
		bad_name(2000000);
		jitted(2000000);
		free(malloc(100));
		if (part == 0 || part == DEL / PART || part == THREADS - 1) {
			pthread_mutex_lock(&mutex);
			nanosleep(&pause, NULL);
			pthread_mutex_unlock(&mutex);
			write_file(part);
		}
	} while (now() < until);
	return NULL;
}

static void become_the_copy(char **argv)
{
	char path[4096], placeholder[] = NAME, *at, *bytes;
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out;
	struct stat st;
	size_t n;

	n = (size_t)snprintf(path, sizeof(path), "%s/", argv[1]);
	for (int c = 1; c <= BYTES; c++)
		if (c != '/')
			path[n++] = (char)c;
	path[n] = 0;
	if (in < 0 || fstat(in, &st) || !(bytes = malloc((size_t)st.st_size)) ||
	    read(in, bytes, (size_t)st.st_size) != st.st_size)
		exit(1);
	for (size_t left = (size_t)st.st_size;
	     (at = memmem(bytes + (st.st_size - (off_t)left), left, placeholder, NAME_SIZE));
	     left = (size_t)(bytes + st.st_size - at) - NAME_SIZE) {
		for (int c = 1; c <= BYTES; c++)
			at[c - 1] = (char)c;
		memcpy(at + BYTES, MORE, sizeof(MORE) - 1);
	}
	out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	if (out < 0 || write(out, bytes, (size_t)st.st_size) != st.st_size || close(out))
		exit(1);
	setenv("BADNAMES", "1", 1);
	execv(path, argv);
	exit(1);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	if (argc < 2)
		return 2;
	if (!getenv("BADNAMES"))
		become_the_copy(argv);
	dir = argv[1];
	seconds = seconds_arg(argc, argv, 2, 1);
	write_map();
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
