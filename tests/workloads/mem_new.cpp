/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mem_new [TIMES]: as mem_exact, what C++ has of its own. mem_new TIMES limited: no more, but then
 * sets itself a limit on its memory and finds that new throws; and again when it has as many
 * mappings as it may have.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>

#define NOINLINE __attribute__((noinline))

struct alignas(128) wide {
	char bytes[256];
};

static long times;

template <class T> static T *hide(T *p)
{
	static T *volatile hidden;

	hidden = p;
	return hidden;
}

static void expect(const char *name, long allocated, long bytes, long kept, long kept_bytes)
{
	std::printf("%s %ld %ld %ld %ld\n", name, allocated, bytes, kept, kept_bytes);
}

extern "C" {
NOINLINE void case_new(void)
{
	for (long i = 0; i < times; i++) {
		hide(new char[100]);
		delete hide(new long);
	}
	expect(__func__, 2 * times, 108 * times, times, 100 * times);
}

NOINLINE void case_new_nothrow(void)
{
	for (long i = 0; i < times; i++) {
		delete[] hide(new (std::nothrow) char[30]);
	}
	expect(__func__, times, 30 * times, 0, 0);
}

NOINLINE void case_new_aligned(void)
{
	for (long i = 0; i < times; i++) {
		hide(new wide);
		delete hide(new wide);
	}
	expect(__func__, 2 * times, 512 * times, times, 256 * times);
}

NOINLINE void case_new_throws(void)
{
	/* The exception itself is allocated too: nothing of it may stay. */
	long caught = 0;

	for (long i = 0; i < times; i++) {
		try {
			hide(new char[std::size_t(1) << 60]);
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	if (caught != times)
		std::puts("case_new_throws did not throw");
}
}

static bool throws()
{
	try {
		hide(new char[std::size_t(64) << 20]);
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

static void limit(int resource, rlim_t to)
{
	struct rlimit r;

	getrlimit(resource, &r);
	r.rlim_cur = to;
	setrlimit(resource, &r);
}

static void in_need()
{
	limit(RLIMIT_AS, 1 << 20);
	if (!throws())
		std::puts("RLIMIT_AS: no exception");
	limit(RLIMIT_AS, RLIM_INFINITY);
	limit(RLIMIT_DATA, 1 << 20);
	if (!throws())
		std::puts("RLIMIT_DATA: no exception");
	limit(RLIMIT_DATA, RLIM_INFINITY);
	/* one mapping each, for no two neighbours have the same protection */
	for (int prot = PROT_NONE;; prot ^= PROT_READ)
		if (mmap(nullptr, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
			break;
	if (!throws())
		std::puts("mappings: no exception");
	std::puts("in_need");
}

int main(int argc, char **argv)
{
	static char out[BUFSIZ];

	std::setvbuf(stdout, out, _IOFBF, sizeof(out));
	times = argc > 1 ? std::atol(argv[1]) : 100;
	case_new();
	case_new_nothrow();
	case_new_aligned();
	case_new_throws();
	if (argc > 2)
		in_need();
	return 0;
}
