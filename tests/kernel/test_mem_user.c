/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of `rawprof mem` on an allocator that does what the test says: what is on their maps
 * after each call, by every way that this kernel has to probe; and what the system calls that map
 * tell.
 */
#include "test_loader.h"

#include <sys/mman.h>

#include "programs/mem/user.h"
#include "record/stacks.h"
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

/* ---- the allocator: gives what it is told to give */

void *give(size_t size);
void *give_cleared(size_t n, size_t size);
void *change(void *old, size_t size);
int give_aligned(void **to, size_t alignment, size_t size);
void take_back(void *block);

static void *volatile answer;
#define NOINLINE __attribute__((noinline))

NOINLINE void *give(size_t size)
{
	__asm__ volatile("" : "+r"(size));
	return answer;
}
NOINLINE void *give_cleared(size_t n, size_t size)
{
	char *p = give(n * size); /* which is not counted for itself */

	__asm__ volatile("" : "+r"(p));
	return p;
}
NOINLINE void *change(void *old, size_t size)
{
	__asm__ volatile("" : "+r"(old), "+r"(size));
	return answer;
}
NOINLINE int give_aligned(void **to, size_t alignment, size_t size)
{
	__asm__ volatile("" : "+r"(alignment), "+r"(size));
	if (!answer)
		return 12;
	*to = answer;
	return 0;
}
NOINLINE void take_back(void *block)
{
	__asm__ volatile("" : "+r"(block));
}

static const struct {
	const char *name;
	enum mem_call call;
} functions[] = { { "give", MEM_MALLOC },
		  { "give_cleared", MEM_CALLOC },
		  { "change", MEM_REALLOC },
		  { "give_aligned", MEM_POSIX_MEMALIGN },
		  { "take_back", MEM_FREE } };
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* ---- programs on it */

static struct stacks *stacks;
static struct mem_user_config config;
static struct rp_uprobes *probes[2 * FUNCTIONS];
static size_t nprobes;
static bool at_peak; /* it is to be known what was in use at the moment of highest use */

static int on_record(void *ctx, const struct stack_record *record)
{
	(void)ctx;
	(void)record;
	return 0;
}

static void open_maps(void)
{
	static struct asm_map maps[MEM_USER_MAPS];
	const struct stacks_options options = { .maps = maps,
						.nmaps = MEM_USER_MAPS,
						.config = &config.common,
						.nids = 1,
						.ring_bytes = 1 << 16 };

	memcpy(maps, rp_mem_user_maps, sizeof(maps));
	maps[MEM_MAP_BLOCKS].max_entries = 128;
	maps[MEM_MAP_TRACE].max_entries = 1 << 16;
	config = (struct mem_user_config){ .follow = 1,
					   .peak = !at_peak && rp_has(RP_HAS_PERF_LINK),
					   .peak_sites = at_peak,
					   .page_bytes = (uint32_t)sysconf(_SC_PAGESIZE) };
	config.common.identity = rp_has(RP_HAS_KERNEL_BTF) && rp_has(RP_HAS_TASK_BTF);
	ck_assert_int_eq(record_stacks_open(&options, on_record, NULL, &stacks), 0);
}

static void attach(size_t function, const struct asm_program *as, enum rp_uprobe_way way,
		   bool at_return)
{
	const uint64_t cookie = MEM_COOKIE(functions[function].call, function);
	struct asm_program program = *as;
	struct sym_functions *found;
	struct rp_uprobe_set set = { .way = way,
				     .fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				     .cookies = way == RP_UPROBE_PERF ? NULL : &cookie,
				     .n = 1,
				     .pid = getpid(),
				     .at_return = at_return,
				     .nprogs = 1 };
	int prog;

	ck_assert_int_ge(set.fd, 0);
	ck_assert_int_eq(sym_functions_find(set.fd, &functions[function].name, 1, &found), 0);
	ck_assert_msg(found->count == 1, "%s: %zu", functions[function].name, found->count);
	set.offsets = &found->items[0].offset;
	program.attach_type = rp_uprobe_attach_type(way);
	config.cookie = way == RP_UPROBE_PERF ? (uint32_t)cookie : 0;
	prog = record_stacks_load(stacks, &program, &config);
	ck_assert_int_ge(prog, 0);
	set.prog_fds = &prog;
	ck_assert_int_eq(rp_attach_uprobes(&set, &probes[nprobes++]), 0);
	close(prog);
	close(set.fd);
	sym_functions_free(found);
}

static void probe_all(enum rp_uprobe_way way)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const enum rp_uprobe_way single =
			way == RP_UPROBE_SESSION ? rp_uprobe_way(getpid(), false) : way;

		if (functions[i].call == MEM_FREE) {
			attach(i,
			       &rp_program_of(rp_mem_free_programs,
					      at_peak ? MEM_PEAK_FREES : MEM_FREES)
					->code,
			       single, false);
		} else if (way == RP_UPROBE_SESSION) {
			attach(i,
			       &rp_program_of(rp_mem_user_programs,
					      at_peak ? MEM_PEAK_CALLED : MEM_CALLED)
					->code,
			       way, false);
		} else {
			attach(i,
			       &rp_program_of(rp_mem_user_programs,
					      at_peak ? MEM_PEAK_LEFT : MEM_LEFT)
					->code,
			       way, true);
			attach(i, &rp_program_of(rp_mem_user_programs, MEM_ENTERED)->code, way,
			       false);
		}
	}
}

static void close_all(void)
{
	while (nprobes)
		rp_uprobes_close(probes[--nprobes]);
	record_stacks_close(stacks);
}

/* ---- what is on the maps */

struct blocks {
	int n;
	uint64_t bytes, address;
};

static int add_block(void *ctx, const void *key, const void *value)
{
	const struct mem_block *block = value;
	const struct mem_block_key *k = key;
	struct blocks *b = ctx;

	b->n++;
	b->bytes += block->size;
	b->address = k->address;
	return 0;
}

/* So many blocks are in use, and one of them, if it is the only one, is here. */
static void check_blocks(int n, uint64_t bytes, void *where)
{
	struct blocks b = { 0 };

	ck_assert_int_ge(rp_map_each(record_stacks_map(stacks, MEM_MAP_BLOCKS),
				     &record_stacks_maps(stacks)[MEM_MAP_BLOCKS], add_block, &b),
			 0);
	ck_assert_int_eq(b.n, n);
	ck_assert_uint_eq(b.bytes, bytes);
	if (where)
		ck_assert_ptr_eq((void *)(uintptr_t)b.address, where);
}

static int is_idle(void *ctx, const void *key, const void *value)
{
	const struct mem_thread *thread = value;
	int *n = ctx;

	(void)key;
	ck_assert_uint_eq(thread->sp, 0);
	ck_assert_uint_eq(thread->map_call, 0);
	++*n;
	return 0;
}

static void sum_stacks(uint64_t sum[MEM_WEIGHTS])
{
	memset(sum, 0, MEM_WEIGHTS * sizeof(*sum));
	for (const struct stack *s = NULL; (s = record_stacks_next(stacks, s));)
		for (int i = 0; i < MEM_WEIGHTS; i++)
			sum[i] += s->value[i];
}

/* ---- an allocator's calls */

#define AT(n) ((void *)(uintptr_t)(0x10000 * (n)))
static void *gives(void *block, size_t size)
{
	answer = block;
	return give(size);
}

static void call_all(void)
{
	void *to = AT(99);

	gives(AT(1), 100);
	check_blocks(1, 100, AT(1));
	gives(NULL, 1000); /* fails */
	check_blocks(1, 100, AT(1));

	/* realloc that moves, stays, fails, and frees */
	answer = AT(2);
	change(AT(1), 150);
	check_blocks(1, 150, AT(2));
	change(AT(2), 50);
	check_blocks(1, 50, AT(2));
	answer = NULL;
	change(AT(2), 1u << 30);
	check_blocks(1, 50, AT(2));
	change(AT(2), 0);
	check_blocks(0, 0, NULL);

	/* one call inside another; one that says elsewhere where the block is */
	answer = AT(3);
	give_cleared(7, 11);
	check_blocks(1, 77, AT(3));
	take_back(AT(3));
	answer = AT(4);
	ck_assert_int_eq(give_aligned(&to, 64, 33), 0);
	check_blocks(1, 33, AT(4));
	answer = NULL;
	ck_assert_int_ne(give_aligned(&to, 64, 33), 0);
	take_back(AT(4));
	take_back(AT(5)); /* unknown */
	take_back(NULL);
	check_blocks(0, 0, NULL);

	/* the same address again, without a free: one of them has escaped */
	gives(AT(6), 5);
	gives(AT(6), 6);
	check_blocks(1, 6, AT(6));
	take_back(AT(6));
	/* more than there is room for */
	for (int i = 0; i < 200; i++)
		gives(AT(100 + i), 1);
	check_blocks(128, 128, NULL);
	gives(NULL,
	      1); /* or the last one would be taken for one that operator delete has had before */
	for (int i = 0; i < 200; i++)
		take_back(AT(100 + i));
	check_blocks(0, 0, NULL);
}

START_TEST(an_allocators_calls)
{
	const enum rp_uprobe_way best = rp_uprobe_way(getpid(), true);
	const enum rp_uprobe_way way = (enum rp_uprobe_way)_i;
	uint64_t sum[MEM_WEIGHTS];
	struct mem_user_stats stats;
	int threads = 0;

	if (way > best || (way == RP_UPROBE_SESSION && best != way)) {
		printf("skip %s (this kernel has none)\n", rp_uprobe_way_name(way));
		return;
	}
	open_maps();
	probe_all(way);
	call_all();
	ck_assert_int_ge(rp_map_each(record_stacks_map(stacks, MEM_MAP_THREADS),
				     &record_stacks_maps(stacks)[MEM_MAP_THREADS], is_idle,
				     &threads),
			 0);
	ck_assert_int_eq(threads, 1);
	while (nprobes)
		rp_uprobes_close(probes[--nprobes]);
	ck_assert_int_eq(record_stacks_finish(stacks), 0);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
	sum_stacks(sum);
	/* 100 150 50 77 33 5 6, and 200 of a byte */
	ck_assert_uint_eq(sum[MEM_ALLOC_OBJECTS], 207);
	ck_assert_uint_eq(sum[MEM_ALLOC_SPACE], 621);
	ck_assert_uint_eq(sum[MEM_GONE_OBJECTS], 207);
	ck_assert_uint_eq(sum[MEM_GONE_SPACE], 621);
	ck_assert_uint_eq(stats.failed, 4);
	ck_assert_uint_eq(stats.inside, 1);
	ck_assert_uint_eq(stats.nothing, 1);
	ck_assert_uint_eq(stats.unknown, 1 + 72);
	ck_assert_uint_eq(stats.freed, 132); /* realloc to nothing, three blocks, and 128 */
	ck_assert_uint_eq(stats.replaced, 1);
	ck_assert_uint_eq(stats.untracked, 72);
	ck_assert_uint_eq(stats.untracked_bytes, 72);
	ck_assert_uint_eq(stats.left + stats.threads_full + stats.unsubtracted, 0);
	ck_assert_uint_eq(stats.common.fired, sum[MEM_ALLOC_OBJECTS] + stats.freed + stats.failed +
						      stats.inside + stats.nothing + stats.unknown);
	if (config.peak) {
		ck_assert_uint_eq(stats.in_use, 0);
		ck_assert_uint_eq(stats.peak, 150);
	}
	close_all();
}
END_TEST

/* ---- the moment of highest use */

/* Of the stack, which is one, and of the memory: what it had then, what it has now. */
static int check_site(void *ctx, const void *key, const void *value)
{
	const struct mem_site *site = value;
	const uint64_t *peak = ctx;

	(void)key;
	ck_assert_uint_eq(site->objects, 2);
	ck_assert_uint_eq(site->bytes, 62);
	ck_assert_uint_eq(site->peak, *peak);
	ck_assert_uint_eq(site->peak_objects, 3);
	ck_assert_uint_eq(site->peak_bytes, 170);
	ck_assert_uint_eq(site->ended, 0);
	return 0;
}

START_TEST(highest_moment)
{
	const enum rp_uprobe_way best = rp_uprobe_way(getpid(), true);
	const enum rp_uprobe_way way = (enum rp_uprobe_way)_i;
	struct mem_user_stats stats;

	if (way > best || (way == RP_UPROBE_SESSION && best != way) || !rp_has(RP_HAS_PERF_LINK) ||
	    !rp_has(RP_HAS_TASK_BTF)) {
		printf("skip %s (this kernel has none)\n", rp_uprobe_way_name(way));
		return;
	}
	at_peak = true;
	open_maps();
	probe_all(way);
	gives(AT(1), 100);
	take_back(AT(1));
	gives(AT(1), 90);
	gives(AT(2), 20);
	answer = AT(3);
	change(AT(2), 50); /* 140, never 160 */
	gives(AT(4), 30);  /* 170 */
	gives(NULL, 1000); /* fails */
	take_back(AT(1));
	answer = NULL;
	change(AT(3), 1u << 30); /* fails */
	answer = AT(5);
	change(AT(3), 32);
	gives(AT(6), 100);
	take_back(AT(6));
	while (nprobes)
		rp_uprobes_close(probes[--nprobes]);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
	ck_assert_uint_eq(stats.peak, 170);
	ck_assert_uint_eq(stats.in_use, 62);
	ck_assert_uint_gt(stats.peak_time, 0);
	ck_assert_uint_eq(stats.no_site, 0);
	ck_assert_int_eq(rp_map_each(record_stacks_map(stacks, MEM_MAP_SITES),
				     &record_stacks_maps(stacks)[MEM_MAP_SITES], check_site,
				     &stats.peak),
			 2);
	close_all();
}
END_TEST

/* ---- system calls */

static struct mem_range_event events[64];
static int nevents;

static int keep_event(void *ctx, const void *record, size_t size)
{
	(void)ctx;
	ck_assert_uint_eq(size, sizeof(events[0]));
	ck_assert_int_lt(nevents, 64);
	memcpy(&events[nevents++], record, size);
	return 0;
}

static void check_event(int n, enum mem_range_what what, enum mem_map_call call, const void *start,
			uint64_t bytes)
{
	const struct mem_range_event *e = &events[n];

	ck_assert_int_lt(n, nevents);
	ck_assert_msg(e->what == what && e->call == call, "event %d: %u %u", n, e->what, e->call);
	ck_assert_uint_eq(e->thread, (uint32_t)getpid());
	ck_assert_uint_eq(e->hash != 0, what == MEM_RANGE_COMES && call != MEM_MMAP_FILE);
	ck_assert_uint_eq(e->space, events[0].space);
	ck_assert_uint_ge(e->time, n ? events[n - 1].time : 1);
	if (what == MEM_RANGE_STAYS)
		return;
	ck_assert_ptr_eq((void *)(uintptr_t)e->start, start);
	ck_assert_uint_eq(e->bytes, bytes);
}

static void *map(void *at, size_t bytes, int flags)
{
	return mmap(at, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

START_TEST(system_calls)
{
	const struct rp_program *program = rp_mem_map_programs;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct rp_link *links[8];
	struct mem_user_stats stats;
	struct rp_ring *ring;
	char *a, *b, *c, *heap, *to = map(NULL, 2 * page, 0);
	int n = 0, file;

	open_maps();
	if (!config.common.identity) {
		printf("skip system_calls (this kernel has no BTF)\n");
		record_stacks_close(stacks);
		return;
	}
	config.common.by_pid = config.common.filtering = 1;
	ck_assert_int_eq(record_stacks_add_id(stacks, STACK_MAP_PIDS, (uint32_t)getpid()), 0);
	ck_assert_int_eq(rp_ring_open(record_stacks_map(stacks, MEM_MAP_RANGES),
				      record_stacks_maps(stacks)[MEM_MAP_RANGES].max_entries,
				      &ring),
			 0);
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	for (; program->code.name; program++) {
		int fd = record_stacks_load(stacks, &program->code, &config);

		ck_assert_int_ge(fd, 0);
		ck_assert_int_eq(rp_attach_tracepoint(fd, program->hook.group, program->hook.name,
						      0, &links[n++]),
				 0);
		close(fd);
	}
	/* The loader maps nothing from here on. */
	while (rp_ring_drain(ring, keep_event, NULL) > 0)
		nevents = 0;
	nevents = 0;

	a = map(NULL, 3 * page - 1, 0);
	munmap(a, page);
	munmap(a + 1, page);
	b = map(a + page, page, MAP_FIXED);
	map(a + page, page, MAP_FIXED_NOREPLACE);
	c = mremap(b, page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	munmap(c, 2 * page);
	c = mmap(NULL, page, PROT_READ, MAP_PRIVATE, file, 0);
	heap = sbrk(0);
	ck_assert_int_eq(brk(heap + 100), 0);
	ck_assert_int_eq(brk(heap + 40), 0);
	ck_assert_int_eq(brk(heap + 40), 0); /* unchanged */
	while (n)
		rp_link_close(links[--n]);
	ck_assert_int_ge(rp_ring_drain(ring, keep_event, NULL), 0);

	check_event(n++, MEM_RANGE_COMES, MEM_MMAP, a, 3 * page);
	check_event(n++, MEM_RANGE_GOES, MEM_MUNMAP, a, page);
	check_event(n++, MEM_RANGE_GOES, MEM_MUNMAP, a + 1, page);
	check_event(n++, MEM_RANGE_STAYS, MEM_MUNMAP, NULL, 0);
	check_event(n++, MEM_RANGE_GOES, MEM_MMAP, b, page);
	check_event(n++, MEM_RANGE_COMES, MEM_MMAP, b, page);
	check_event(n++, MEM_RANGE_GOES, MEM_MREMAP, b, page);
	check_event(n++, MEM_RANGE_GOES_TOO, MEM_MREMAP, to, 2 * page);
	check_event(n++, MEM_RANGE_COMES, MEM_MREMAP, to, 2 * page);
	check_event(n++, MEM_RANGE_GOES, MEM_MUNMAP, to, 2 * page);
	check_event(n++, MEM_RANGE_COMES, MEM_MMAP_FILE, c, page);
	check_event(n++, MEM_RANGE_COMES, MEM_BRK, heap, 100);
	check_event(n++, MEM_RANGE_GOES, MEM_BRK, heap + 40, 60);
	ck_assert_int_eq(record_stacks_stats(stacks, &stats), 0);
	ck_assert_uint_eq(stats.failed, 1); /* MAP_FIXED_NOREPLACE; munmap is told */
	ck_assert_uint_ge(stats.unchanged, 1);
	rp_ring_close(ring);
	record_stacks_close(stacks);
	close(file);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mem");
	TCase *tests = tcase_create("user");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, an_allocators_calls, RP_UPROBE_PERF, RP_UPROBE_SESSION + 1);
	tcase_add_loop_test(tests, highest_moment, RP_UPROBE_PERF, RP_UPROBE_SESSION + 1);
	tcase_add_test(tests, system_calls);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
