/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording in which one allocation or one call of the kernel fails, each in turn: it returns
 * that, and gives everything back, since the application that uses the library lives on.
 */
#include "test_loader.h"

#include <link.h>
#include <malloc.h>

#include <rawprof/record.h>

#include "../faults/sites.h"

enum { POINTS = 1024, TIMES_EACH = 2 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static struct injection injection;
static struct code code;
static bool injecting;
static long long live; /* bytes */

/* ---- what fails */

static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size, (void)ctx;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X))
			code = (struct code){ .start = info->dlpi_addr + p->p_vaddr,
					      .bytes = (uint8_t *)(info->dlpi_addr + p->p_vaddr),
					      .size = p->p_filesz,
					      .offset = p->p_offset };
	}
	return 1;
}

/* Calls of the thread that records, and of no other. */
static __thread bool records;

static __attribute__((noinline)) bool fails(uint64_t kind)
{
	extern void *__libc_stack_end;
	const uint64_t *sp = (uint64_t *)__builtin_frame_address(0) + 2; /* not the wrapper */
	struct site site = { .kind = kind };
	size_t n = (size_t)((uint64_t *)__libc_stack_end - sp);

	return injecting && records &&
	       site_find(&code, sp, n < SITE_WORDS ? n : SITE_WORDS, &site) &&
	       site_count(&injection, &site);
}

static void *came(void *p)
{
	__atomic_add_fetch(&live, p ? (long long)malloc_usable_size(p) : 0, __ATOMIC_RELAXED);
	return p;
}

static void goes(void *p)
{
	__atomic_sub_fetch(&live, p ? (long long)malloc_usable_size(p) : 0, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	return fails(KIND(KIND_MEMORY, 0)) ? NULL : came(__libc_malloc(size));
}

void *calloc(size_t n, size_t size)
{
	return fails(KIND(KIND_MEMORY, 1)) ? NULL : came(__libc_calloc(n, size));
}

void *realloc(void *p, size_t size)
{
	void *moved;

	if (fails(KIND(KIND_MEMORY, 2)))
		return NULL;
	goes(p);
	moved = came(__libc_realloc(p, size));
	if (!moved && size)
		came(p);
	return moved;
}

void free(void *p)
{
	goes(p);
	__libc_free(p);
}

static int failing_bpf(int cmd, void *attr, uint32_t size)
{
	return fails(KIND(SYS_bpf, cmd)) ? -ENOMEM : partial_bpf(cmd, attr, size);
}

static int failing_perf(const struct perf_event_attr *attr, pid_t pid, int cpu, int group,
			unsigned long flags)
{
	return fails(KIND(SYS_perf_event_open, 0)) ? -EMFILE
						   : plain_perf(attr, pid, cpu, group, flags);
}

static int failing_ioctl(int fd, unsigned long request, unsigned long arg)
{
	return fails(KIND(SYS_ioctl, request)) ? -EIO : plain_ioctl(fd, request, arg);
}

/* ---- a recording */

static int record_once(bool *reported)
{
	uint32_t pid = (uint32_t)getpid();
	const struct record_options options = { .pids = { &pid, 1 },
						.freq = 499,
						.duration = 0.02 };
	struct recording *rec = NULL;
	struct report *report = NULL;
	int err = record_new(&record_cpu, &options, &rec);

	if (!err)
		err = record_run(rec);
	if (!err)
		err = record_report(rec, &report);
	*reported = report != NULL;
	report_free(report);
	record_free(rec);
	return err;
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void *burn(void *stop)
{
	while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		usleep(2000);
	}
	return NULL;
}

/* When call @nth of @site fails: false if something stays, or is not as it says. */
static bool is_clean(const struct site *site, uint32_t nth)
{
	const int descriptors = open_descriptors();
	const long long bytes = live;
	bool reported;
	int err;

	injection.counting = false;
	injection.fail = *site;
	injection.fail.count = 0;
	injection.fired = 0;
	injection.nth = nth;
	capture_log();
	injecting = true;
	err = record_once(&reported);
	injecting = false;
	if (live == bytes && open_descriptors() == descriptors && reported == !err)
		return true;
	printf("kind %llx, call %u from %x, %x, %x: returned %d%s, %lld bytes and %d "
	       "descriptors stay\n",
	       (unsigned long long)site->kind, nth, site->at[0], site->at[1], site->at[2], err,
	       reported ? " with a report" : "", live - bytes, open_descriptors() - descriptors);
	return false;
}

/* The C library keeps something of the first threads that are there at once; a leak comes again. */
static unsigned int fail_one(const struct site *site, uint32_t nth)
{
	return !is_clean(site, nth) && !is_clean(site, nth);
}

/* Memory, or calls of the kernel. */
static void fail_each(bool memory)
{
	static const struct rp_sys failing = { failing_bpf, failing_perf, failing_ioctl };
	static struct site sites[POINTS];
	unsigned int n = 0, failed = 0;
	pthread_t thread;
	bool reported;
	int stop = 0;

	dl_iterate_phdr(find_code, NULL);
	rp_sys_replace(&failing);
	ck_assert_int_eq(pthread_create(&thread, NULL, burn, &stop), 0);
	records = true;
	capture_log();
	ck_assert_int_eq(record_once(&reported), 0); /* what the loader keeps is there from now */
	injection.counting = injecting = true;
	ck_assert_int_eq(record_once(&reported), 0);
	injecting = false;
	for (size_t i = 0; i < SITE_MAX && n < POINTS; i++) {
		const struct site *site = &injection.sites[i];

		if (site->count && (site->kind >> 32 == KIND_MEMORY) == memory)
			sites[n++] = *site;
	}
	ck_assert_uint_gt(n, 10);
	for (unsigned int i = 0; i < n; i++) {
		for (uint32_t nth = 1; nth <= TIMES_EACH && nth <= sites[i].count; nth++)
			failed += fail_one(&sites[i], nth);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	printf("%u places\n", n);
	ck_assert_uint_eq(failed, 0);
}

START_TEST(each_allocation_fails_once)
{
	fail_each(true);
}
END_TEST

START_TEST(each_call_of_the_kernel_fails_once)
{
	fail_each(false);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record faults");
	TCase *tc = tcase_create("kernel");

	tcase_add_test(tc, each_allocation_fails_once);
	tcase_add_test(tc, each_call_of_the_kernel_fails_once);
	tcase_set_timeout(tc, 500);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
