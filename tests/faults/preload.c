/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into rawprof: fails one request for memory, the one that the injection in shared memory
 * names, or counts them by where they come from. The C library's own requests (of fopen, getline,
 * strdup, asprintf, opendir, open_memstream) come through here too.
 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sites.h"

enum { MALLOC, CALLOC, REALLOC, ALIGNED };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_stack_end;

static struct injection *shared;
static struct code code;

/*
 * Not libdw's own requests: without memory it (0.188) looks behind a null pointer, or asserts, and
 * no caller can help it.
 */
static uint64_t libdw_start, libdw_end;

static void find_libdw(const struct dl_phdr_info *info)
{
	for (int i = 0; strstr(info->dlpi_name, "/libdw") && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		libdw_start = info->dlpi_addr + p->p_vaddr;
		libdw_end = libdw_start + p->p_memsz;
	}
}

static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	find_libdw(info);
	if (code.size)
		return 0; /* the first is the program itself */
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		code.start = info->dlpi_addr + p->p_vaddr;
		code.bytes = (const uint8_t *)code.start;
		code.size = p->p_filesz;
		code.offset = p->p_offset;
	}
	return 0;
}

/* What rawprof runs is to run without it. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("FAULTS_SHARED");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	unsetenv("LD_PRELOAD");
	if (fd < 0)
		return;
	dl_iterate_phdr(find_code, NULL);
	map = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map != MAP_FAILED)
		shared = map;
}

/* Above the stack of another thread than the first is what its thread pointer points to. */
static __attribute__((noinline)) bool fails(unsigned int what, const void *caller)
{
	const uint64_t *sp = __builtin_frame_address(0);
	const uint64_t *end = __libc_stack_end, *thread = __builtin_thread_pointer();
	struct site site = { .kind = KIND(KIND_MEMORY, what) };
	size_t n;

	if (!shared || ((uint64_t)caller >= libdw_start && (uint64_t)caller < libdw_end))
		return false;
	if (thread > sp && thread < end && thread - sp < 1 << 20)
		end = thread;
	n = end > sp ? (size_t)(end - sp) : 0;
	if (!site_find(&code, sp, n < SITE_WORDS ? n : SITE_WORDS, &site) ||
	    !site_count(shared, &site))
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails(MALLOC, __builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails(CALLOC, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails(REALLOC, __builtin_return_address(0)) ? NULL : __libc_realloc(p, size);
}

void *memalign(size_t alignment, size_t size)
{
	return fails(ALIGNED, __builtin_return_address(0)) ? NULL
							   : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	void *p = memalign(alignment, size);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
