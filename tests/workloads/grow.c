/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * grow: makes itself larger in ways that are known to the page.
 *
 *	touch_pages()	touches PAGES pages of a mapping for the first time
 *	copy_pages()	writes to them in a child that shares them: each is copied
 *	touch_huge()	touches HUGE bytes of memory that may have huge pages
 *	read_into()	has the kernel touch PAGES pages, by read(2)
 *	map_things()	maps CALLS times PAGES pages, unmaps half of each, fails as often
 *	grow_heap()	moves the end of the heap by PAGES pages, and back
 *	enlarge()	makes a mapping of PAGES pages twice as large
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

#define PAGES 1000
#define CALLS 10
#define HUGE (16 << 20)

static size_t page;

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(1);
	return p;
}

NOINLINE static void touch_pages(volatile char *p)
{
	for (size_t i = 0; i < PAGES; i++)
		p[i * page] = 1;
	__asm__ volatile("");
}

NOINLINE static void copy_pages(volatile char *p)
{
	for (size_t i = 0; i < PAGES; i++)
		p[i * page] = 2;
	__asm__ volatile("");
}

NOINLINE static void touch_huge(void)
{
	/* Whole huge pages, wherever the mapping begins. */
	char *p = map(2 * HUGE);
	volatile char *start = p + (HUGE - (uintptr_t)p % HUGE);

	madvise((void *)start, HUGE, MADV_HUGEPAGE);
	for (size_t i = 0; i < HUGE; i += page)
		start[i] = 1;
	munmap(p, 2 * HUGE);
}

NOINLINE static void read_into(char *p)
{
	int fd = open("/dev/zero", O_RDONLY);

	/* A page each time, as clearing may stop at what is not there. */
	for (size_t i = 0; i < PAGES; i++)
		if (read(fd, p + i * page, page) != (ssize_t)page)
			exit(1);
	close(fd);
}

NOINLINE static void map_things(void)
{
	for (int i = 0; i < CALLS; i++) {
		char *p = map(PAGES * page);

		munmap(p + PAGES / 2 * page, PAGES / 2 * page);
		munmap(p + PAGES / 2 * page, PAGES / 2 * page); /* nothing is there */
		/* In place of what is there. */
		mmap(p, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		mmap(NULL, SIZE_MAX / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
}

NOINLINE static void grow_heap(void)
{
	if (sbrk((intptr_t)(PAGES * page)) == (void *)-1 ||
	    sbrk(-(intptr_t)(PAGES * page)) == (void *)-1)
		exit(1);
	__asm__ volatile("");
}

NOINLINE static void enlarge(char *p)
{
	if (mremap(p, PAGES * page, 2 * PAGES * page, MREMAP_MAYMOVE) == MAP_FAILED)
		exit(1);
	__asm__ volatile("");
}

int main(void)
{
	char *p;
	int status;

	page = (size_t)sysconf(_SC_PAGESIZE);
	p = map(PAGES * page);
	madvise(p, PAGES * page, MADV_NOHUGEPAGE);
	touch_pages(p);
	switch (fork()) {
	case -1:
		return 1;
	case 0:
		copy_pages(p);
		_exit(0);
	}
	wait(&status);
	touch_huge();
	read_into(map(PAGES * page));
	map_things();
	grow_heap();
	enlarge(p);
	return status;
}
