/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_mmap [TIMES [SECONDS]]: what mmap, munmap, mremap and brk mean, each in a function of its
 * own, so many times each; prints for each "NAME allocated bytes kept bytes" as they must be.
 * SECONDS: to wait before, with a block of TIMES pages in hand that is unmapped after it. With an
 * argument "exec" it does nothing but unmap, at the address that follows, what its predecessor had
 * mapped there. With "huge" alone it maps huge pages.
 *
 * -DRAW makes the system calls in the functions themselves: not every C library is built so that
 * its callers are to be seen, and musl's sbrk does nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MAP_HUGETLB
#define MAP_HUGETLB 0x40000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static long times;
static size_t page;

#ifdef RAW
static inline __attribute__((always_inline)) long call6(long nr, long a, long b, long c, long d,
							long e, long f)
{
#if defined(__x86_64__)
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c, x3 __asm__("x3") = d, x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
#else
	return syscall(nr, a, b, c, d, e, f);
#endif
}
#define call_mmap(a, n, prot, flags, fd)                                                           \
	((char *)call6(SYS_mmap, (long)(a), (long)(n), prot, flags, fd, 0))
#define call_munmap(a, n) call6(SYS_munmap, (long)(a), (long)(n), 0, 0, 0, 0)
#define call_mremap(a, n, m, flags, to)                                                            \
	((char *)call6(SYS_mremap, (long)(a), (long)(n), (long)(m), flags, (long)(to), 0))
static char *heap_end;
#define ask_heap() (heap_end = NULL) /* the C library may have moved it */
static inline __attribute__((always_inline)) void call_sbrk(long by)
{
	if (!heap_end)
		heap_end = (char *)call6(SYS_brk, 0, 0, 0, 0, 0, 0);
	heap_end = (char *)call6(SYS_brk, (long)(heap_end + by), 0, 0, 0, 0, 0);
}
#else
#define call_mmap(a, n, prot, flags, fd) ((char *)mmap(a, n, prot, flags, fd, 0))
#define call_munmap(a, n) munmap(a, n)
#define call_mremap(a, n, m, flags, to) ((char *)mremap(a, n, m, flags, to))
#define call_sbrk(by) sbrk(by)
#define ask_heap()
#endif

#define RW (PROT_READ | PROT_WRITE)
#define OURS (MAP_PRIVATE | MAP_ANONYMOUS)
#define MAP(pages) call_mmap(NULL, (pages)*page, RW, OURS, -1)
#define UNMAP(p, pages) call_munmap(p, (pages)*page)

static void expect(const char *name, long allocated, long pages, long kept, long kept_pages)
{
	printf("%s %ld %ld %ld %ld\n", name, allocated * times, pages * times * (long)page,
	       kept * times, kept_pages * times * (long)page);
}
static void must(bool held, const char *what)
{
	if (!held)
		printf("%s: not as expected\n", what);
}
static bool is_error(const void *p)
{
	return (unsigned long)p > -4096ul;
}

static NOINLINE void case_map(void)
{
	for (long i = 0; i < times; i++) {
		MAP(3);
		UNMAP(MAP(5), 5);
	}
	expect(__func__, 2, 8, 1, 3);
}

static NOINLINE void case_rounded(void)
{
	for (long i = 0; i < times; i++)
		call_munmap(call_mmap(NULL, 2 * page + 1, RW, OURS, -1), page + 1);
	expect(__func__, 1, 3, 1, 1);
}

static NOINLINE void case_shared(void)
{
	for (long i = 0; i < times; i++)
		call_mmap(NULL, 2 * page, RW, MAP_SHARED | MAP_ANONYMOUS, -1);
	expect(__func__, 1, 2, 1, 2);
}

/* A part at the end, at the beginning, in the middle: one block stays one. */
static NOINLINE void case_parts(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(10);

		UNMAP(p + 8 * page, 2);
		UNMAP(p, 1);
		UNMAP(p + 4 * page, 2);
	}
	expect(__func__, 1, 10, 1, 5);
}

/* Parts until nothing is left, some of it twice, and what lies between as well. */
static NOINLINE void case_all_parts(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(10);

		UNMAP(p + 3 * page, 4);
		UNMAP(p + 2 * page, 6);
		UNMAP(p, 10);
	}
	expect(__func__, 1, 10, 0, 0);
}

/* One call takes away one block, and half of the next. */
static NOINLINE void case_two_at_once(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(8);

		UNMAP(p, 8);
		call_mmap(p, 4 * page, RW, OURS | MAP_FIXED, -1);
		call_mmap(p + 4 * page, 4 * page, PROT_READ, OURS | MAP_FIXED, -1);
		UNMAP(p, 6);
	}
	expect(__func__, 3, 16, 1, 2);
}

static NOINLINE void case_fixed(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(6);

		call_mmap(p + page, 2 * page, PROT_READ, OURS | MAP_FIXED, -1);
		must(is_error(call_mmap(p, page, RW, OURS | MAP_FIXED_NOREPLACE, -1)), __func__);
	}
	expect(__func__, 2, 8, 2, 6);
}

static NOINLINE void case_failed(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(4);

		must(is_error(call_mmap(NULL, SIZE_MAX / 2, RW, OURS, -1)), __func__);
		must(is_error(call_mmap(p, page, RW, MAP_PRIVATE | MAP_FIXED, -1)), __func__);
		must(call_munmap(p + 1, page) != 0, __func__);
		must(is_error(call_mremap(p, 4 * page, SIZE_MAX / 2, MREMAP_MAYMOVE, NULL)),
		     __func__);
		must(is_error(call_mremap(p, 4 * page, 8 * page, 99, NULL)), __func__);
	}
	expect(__func__, 1, 4, 1, 4);
}

static NOINLINE void case_grown(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(20);

		UNMAP(p + 2 * page, 18);
		must(call_mremap(p, 2 * page, 3 * page, 0, NULL) == p, __func__);
	}
	expect(__func__, 2, 23, 1, 3);
}

static NOINLINE void case_shrunk(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(9);

		must(call_mremap(p, 9 * page, 4 * page, 0, NULL) == p, __func__);
	}
	expect(__func__, 2, 13, 1, 4);
}

static NOINLINE void case_moved(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(3), *to = MAP(8);

		must(call_mremap(p, 3 * page, 5 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to,
		     __func__);
		UNMAP(p, 3); /* nothing is there */
	}
	expect(__func__, 3, 16, 2, 8);
}

/* The part in the middle goes elsewhere. */
static NOINLINE void case_part_moved(void)
{
	for (long i = 0; i < times; i++) {
		char *p = MAP(6), *to = MAP(2);

		call_mremap(p + 2 * page, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	}
	expect(__func__, 3, 10, 2, 6);
}

/* The old addresses stay; shared memory may be mapped once more. */
static NOINLINE void case_kept(void)
{
	for (long i = 0; i < times; i++) {
		char *shared = call_mmap(NULL, page, RW, MAP_SHARED | MAP_ANONYMOUS, -1);

		call_mremap(MAP(2), 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
		call_mremap(shared, 0, page, MREMAP_MAYMOVE, NULL);
	}
	expect(__func__, 4, 6, 4, 6);
}

static NOINLINE void case_heap(void)
{
	ask_heap();
	for (long i = 0; i < times; i++) {
		call_sbrk((long)(4 * page));
		call_sbrk(-(long)page);
	}
	expect(__func__, 1, 4, 1, 3);
}

static NOINLINE void case_heap_all(void)
{
	ask_heap();
	for (long i = 0; i < times; i++) {
		call_sbrk((long)page);
		call_sbrk((long)page);
		call_sbrk(-(long)(2 * page));
	}
	expect(__func__, 2, 2, 0, 0);
}

/* Memory of files is theirs, also after it was moved. */
static NOINLINE void case_files(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (long i = 0; i < times; i++) {
		char *p = call_mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, fd), *to = MAP(2);

		call_mmap(to, page, PROT_READ, MAP_PRIVATE | MAP_FIXED,
			  fd); /* over half of a block */
		UNMAP(call_mremap(p, 2 * page, page, 0, NULL), 1);
	}
	close(fd);
	expect(__func__, 1, 2, 1, 1);
}

/* What the allocator maps for itself is not the program's. */
static NOINLINE void case_allocator(void)
{
	for (long i = 0; i < times; i++) {
		void *volatile kept = malloc(1 << 20), *volatile freed = malloc(1 << 20);

		must(kept && freed, __func__);
		freed = realloc(freed, 3 << 20);
		free(freed);
	}
	printf("%s %ld %ld %ld %ld\n", __func__, 3 * times, times * (5 << 20), times,
	       times * (1 << 20));
}

/* ---- more than one thread or process */

static char *block;

static void *unmap_half(void *offset)
{
	UNMAP(block + (size_t)offset, 50);
	return NULL;
}

static NOINLINE void case_unmapped_elsewhere(void)
{
	block = MAP(100);
}

/* The threads have stacks, which are mapped too, and are not the case's. */
static NOINLINE void elsewhere(void)
{
	for (long i = 0; i < times; i++) {
		pthread_t thread[2];

		case_unmapped_elsewhere();
		for (size_t j = 0; j < 2; j++)
			if (pthread_create(&thread[j], NULL, unmap_half, (void *)(50 * j * page)))
				exit(1);
		for (size_t j = 0; j < 2; j++)
			pthread_join(thread[j], NULL);
	}
	expect("case_unmapped_elsewhere", 1, 100, 0, 0);
}

static NOINLINE void case_forked(void)
{
	char *p = MAP(7 * times);
	int status;

	fflush(stdout);
	switch (fork()) {
	case -1:
		exit(1);
	case 0:
		UNMAP(p, 7 * times); /* its copy */
		_exit(0);
	}
	wait(&status);
	printf("%s 1 %ld 1 %ld\n", __func__, 7 * times * (long)page, 7 * times * (long)page);
}

static NOINLINE void case_executed(char *self)
{
	char *p = MAP(9 * times), address[32];

	printf("%s 1 %ld 1 %ld\n", __func__, 9 * times * (long)page, 9 * times * (long)page);
	snprintf(address, sizeof(address), "%lx", (unsigned long)p);
	fflush(stdout);
	execl(self, self, "exec", address, NULL);
	exit(1);
}

/* Pages that the kernel says are mapped. */
static long mapped_pages(void)
{
	int fd = open("/proc/self/statm", O_RDONLY);
	char text[128] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		exit(1);
	close(fd);
	return atol(text);
}

/* None need be there: they are not reserved. */
static NOINLINE void case_huge(void)
{
	const int flags = OURS | MAP_HUGETLB | MAP_NORESERVE;
	const long before = mapped_pages();
	long n = 0;

	for (int i = 0; i < 4; i++)
		n += !is_error(call_mmap(NULL, page, RW, flags, -1));
	n += !is_error(call_mmap(NULL, 3ul << 21, RW, flags | 21 << 26, -1)); /* of 2 MiB */
	n += !is_error(call_mmap(NULL, page, RW, flags | 30 << 26, -1));      /* of 1 GiB */
	printf("%s %ld %ld %ld %ld\n", __func__, n, (mapped_pages() - before) * (long)page, n,
	       (mapped_pages() - before) * (long)page);
}

int main(int argc, char **argv)
{
	static void (*const cases[])(void) = {
		case_map,	  case_rounded,	   case_shared, case_parts,  case_all_parts,
		case_two_at_once, case_fixed,	   case_failed, case_grown,  case_shrunk,
		case_moved,	  case_part_moved, case_kept,	case_heap,   case_heap_all,
		case_files,	  case_allocator,  elsewhere,	case_forked,
	};
	static char out[BUFSIZ];

	page = (size_t)sysconf(_SC_PAGESIZE);
	if (argc > 2 && !strcmp(argv[1], "exec"))
		return call_munmap((void *)strtoul(argv[2], NULL, 16), page) != 0;
	setvbuf(stdout, out, _IOFBF, sizeof(out));
	if (argc > 1 && !strcmp(argv[1], "huge")) {
		case_huge();
		return 0;
	}
	times = argc > 1 ? atol(argv[1]) : 100;
	if (argc > 2) {
		block = MAP(times);
		usleep((useconds_t)(atof(argv[2]) * 1e6));
		UNMAP(block, times);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cases[i]();
	case_executed(argv[0]);
	return 1;
}
