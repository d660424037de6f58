/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real processes: already running, deleted from under, and short-lived ones known only from the
 * kernel's own records of mappings, read here as plainly as can be.
 */
#include <dlfcn.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sym_process.h"

static const char *const flags[] = { "", "-no-pie", "-static", "-static-pie", "-fuse-ld=gold" };

START_TEST(test_running)
{
	struct child c;

	build("run", flags[_i]);
	c = start(in_dir("run"), NULL);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", in_dir("run"));
	ck_frame(&c, c.qsort, "qsort", NULL);
	ck_assert_str_eq(sym_user_comm_at(user, c.pid, now()), "run");
	stop(&c);
}
END_TEST

/* The file is gone, and another one has its name: the process still runs the old one. */
START_TEST(test_deleted)
{
	struct sym_frame f;
	struct child c;

	build("gone", "-Wl,--build-id=none");
	c = start(in_dir("gone"), NULL);
	ck_assert_int_eq(unlink(in_dir("gone")), 0);
	build("gone", "-O0 -Wl,--build-id=none");
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", NULL);
	stop(&c);
	/* Of another one, nothing was asked while it lived: no name rather than the new file's. */
	c = start(in_dir("gone"), NULL);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_assert_int_eq(unlink(in_dir("gone")), 0);
	build("gone", "-O2 -Wl,--build-id=none");
	stop(&c);
	sym_user_lookup(user, c.pid, now(), c.known, false, &f);
	ck_assert_ptr_null(f.name);
	ck_assert_str_eq(f.module, in_dir("gone"));
	ck_assert_uint_ne(f.module_addr, 0);
}
END_TEST

/* The same, but it was taken hold of in time. */
START_TEST(test_deleted_and_kept)
{
	struct child c;

	build("kept", "-Wl,--build-id=none");
	c = start(in_dir("kept"), NULL);
	ck_assert_int_eq(unlink(in_dir("kept")), 0);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_assert_int_eq(sym_user_keep(user, c.pid), 0);
	stop(&c);
	ck_frame(&c, c.known, "known", NULL);
}
END_TEST

/* Most of the vdso's code has no symbol, and is known by where it begins. */
START_TEST(test_vdso_places)
{
	uint64_t start = getauxval(AT_SYSINFO_EHDR), names = 0, places = 0;
	char place[64];

	ck_assert_int_eq(sym_user_snapshot(user, getpid(), now()), 0);
	for (uint64_t at = start; at < start + 4096; at++) {
		struct sym_frame f;

		sym_user_lookup(user, getpid(), now(), at, false, &f);
		if (f.is_place) {
			snprintf(place, sizeof(place), "[vdso+0x%" PRIx64 "]",
				 f.module_addr - f.offset);
			ck_assert_str_eq(f.name, place);
			places++;
		} else {
			names += f.name != NULL;
		}
	}
	ck_assert_uint_gt(names, 0);
#ifdef __x86_64__
	ck_assert_uint_gt(places, 0);
#endif
}
END_TEST

START_TEST(test_vdso)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_NOLOAD | RTLD_NOW), *function;
	struct sym_frame f;

	ck_assert_int_eq(sym_user_snapshot(user, getpid(), now()), 0);
	sym_user_lookup(user, getpid(), now(), getauxval(AT_SYSINFO_EHDR), false, &f);
	ck_assert_int_eq(f.kind, SYM_VDSO);
	ck_assert_str_eq(f.module, "[vdso]");
	ck_assert_ptr_null(f.name); /* its ELF header */
	ck_assert_ptr_nonnull(f.build_id);
	function = vdso ? dlsym(vdso, "__vdso_getcpu") : NULL;
	if (!function)
		return; /* another C library or architecture */
	sym_user_lookup(user, getpid(), now(), (uintptr_t)function + 2, false, &f);
	ck_assert_int_eq(f.kind, SYM_VDSO);
	ck_assert_str_eq(f.name, "__vdso_getcpu"); /* its alias getcpu is weak */
	ck_assert_uint_eq(f.offset, 2);
}
END_TEST

/* ---- the kernel's records */

enum { PAGES = 256, MAX_CPUS = 64 };

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

static int open_rings(struct ring *rings)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .size = sizeof(a),
				     .config = PERF_COUNT_SW_DUMMY,
				     .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
				     .mmap = 1,
				     .mmap2 = 1,
				     .comm = 1,
				     .comm_exec = 1,
				     .task = 1,
				     .sample_id_all = 1,
				     .use_clockid = 1,
				     .clockid = CLOCK_MONOTONIC };
	int n = 0;

	for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && n < MAX_CPUS; cpu++) {
		int fd = syscall(SYS_perf_event_open, &a, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			continue;
		rings[n].fd = fd;
		rings[n].page = mmap(NULL, (PAGES + 1) * getpagesize(), PROT_READ | PROT_WRITE,
				     MAP_SHARED, fd, 0);
		ck_assert_ptr_ne(rings[n].page, MAP_FAILED);
		n++;
	}
	return n;
}

union record {
	struct perf_event_header h;
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t maj, min;
		uint64_t ino, ino_generation;
		uint32_t prot, flags;
		char filename[4096];
	} mmap2;
	struct {
		struct perf_event_header h;
		uint32_t pid, tid;
		char comm[16];
	} comm;
	struct {
		struct perf_event_header h;
		uint32_t pid, ppid, tid, ptid;
	} task;
	char bytes[65536];
};

static void feed(const union record *r)
{
	uint64_t time; /* the last part of each, with the tid before it */

	memcpy(&time, r->bytes + r->h.size - 8, 8);
	if (r->h.type == PERF_RECORD_MMAP2) {
		struct sym_mmap m = { .time = time,
				      .pid = r->mmap2.pid,
				      .prot = r->mmap2.prot,
				      .start = r->mmap2.addr,
				      .len = r->mmap2.len,
				      .pgoff = r->mmap2.pgoff,
				      .dev_major = r->mmap2.maj,
				      .dev_minor = r->mmap2.min,
				      .inode = r->mmap2.ino,
				      .filename = r->mmap2.filename };

		ck_assert_int_eq(sym_user_mmap(user, &m), 0);
	} else if (r->h.type == PERF_RECORD_COMM) {
		ck_assert_int_eq(sym_user_comm(user, time, r->comm.pid, r->comm.tid, r->comm.comm,
					       r->h.misc & PERF_RECORD_MISC_COMM_EXEC),
				 0);
	} else if (r->h.type == PERF_RECORD_FORK) {
		ck_assert_int_eq(sym_user_fork(user, time, r->task.pid, r->task.ppid), 0);
	} else if (r->h.type == PERF_RECORD_EXIT && r->task.pid == r->task.tid) {
		ck_assert_int_eq(sym_user_exit(user, time, r->task.pid), 0);
	}
}

static void drain(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail, size = (uint64_t)PAGES * getpagesize();
	const char *data = (char *)r->page + getpagesize();
	static union record record;

	while (tail < head) {
		for (size_t i = 0; i < sizeof(record.h); i++)
			record.bytes[i] = data[(tail + i) % size];
		ck_assert_int_ne(record.h.type, PERF_RECORD_LOST);
		for (size_t i = 0; i < record.h.size; i++)
			record.bytes[i] = data[(tail + i) % size];
		feed(&record);
		tail += record.h.size;
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
}

static void close_rings(struct ring *rings, int n)
{
	for (int i = 0; i < n; i++) {
		munmap(rings[i].page, (PAGES + 1) * getpagesize());
		close(rings[i].fd);
	}
}

/* One child: forked, for some ms still this program, then another, then gone. */
struct short_lived {
	struct child child;
	uint64_t forked, ended;
};

static void live_short(struct short_lived *s, const char *path)
{
	char text[64] = "";
	int out[2];

	ck_assert_int_eq(pipe2(out, O_CLOEXEC), 0);
	s->child.pid = fork();
	if (!s->child.pid) {
		dup2(out[1], 1);
		execl(path, path, "1000", NULL);
		_exit(127);
	}
	s->forked = now();
	close(out[1]);
	ck_assert_int_gt(read(out[0], text, sizeof(text) - 1), 0);
	s->ended = now(); /* of what is asked about: it certainly lived until here */
	ck_assert_int_eq(sscanf(text, "%" SCNx64 " %" SCNx64, &s->child.known, &s->child.qsort), 2);
	close(out[0]);
	waitpid(s->child.pid, NULL, 0);
}

START_TEST(test_short_lived)
{
	enum { N = 100 };
	static struct short_lived s[N];
	struct ring rings[MAX_CPUS];
	int n = open_rings(rings);
	uint64_t before = now();

	ck_assert_int_ge(n, 1);
	build("one", "");
	build("two", "-no-pie");
	ck_assert_int_eq(sym_user_snapshot(user, getpid(), before), 0);
	for (int i = 0; i < N; i++)
		live_short(&s[i], in_dir(i % 2 ? "one" : "two"));
	for (int i = n; i-- > 0;)
		drain(&rings[i]);
	for (int i = 0; i < N; i++) {
		const char *path = in_dir(i % 2 ? "one" : "two");
		struct sym_frame f;

		sym_user_lookup(user, s[i].child.pid, s[i].ended, s[i].child.known, false, &f);
		ck_assert_pstr_eq(f.name, "known");
		ck_assert_str_eq(f.module, path);
		sym_user_lookup(user, s[i].child.pid, s[i].ended, s[i].child.qsort, false, &f);
		ck_assert_pstr_eq(f.name, "qsort");
		ck_assert_str_eq(sym_user_comm_at(user, s[i].child.pid, s[i].ended),
				 i % 2 ? "one" : "two");
		/* Before that it was nobody's, and our own code was not yet there. */
		sym_user_lookup(user, s[i].child.pid, before, s[i].child.known, false, &f);
		ck_assert_ptr_null(f.module);
		sym_user_lookup(user, s[i].child.pid, s[i].ended, (uintptr_t)live_short, false, &f);
		ck_assert_ptr_null(f.name);
	}
	close_rings(rings, n);
}
END_TEST

/* A child that never execs has its parent's code, by the parent's snapshot. */
START_TEST(test_forked)
{
	struct ring rings[MAX_CPUS];
	int n = open_rings(rings), go[2];
	struct sym_frame f;
	uint64_t alive;
	pid_t pid;
	char c;

	ck_assert_int_eq(pipe(go), 0);
	pid = fork();
	if (!pid) {
		close(go[1]);
		_exit(read(go[0], &c, 1) != 0);
	}
	alive = now();
	close(go[1]);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(sym_user_snapshot(user, getpid(), now()), 0);
	for (int i = 0; i < n; i++)
		drain(&rings[i]);
	sym_user_lookup(user, pid, alive, (uintptr_t)sym_user_lookup, false, &f);
	ck_assert_pstr_eq(f.name, "sym_user_lookup");
	ck_assert_str_eq(sym_user_comm_at(user, pid, alive), "test_sym_proces");
	close(go[0]);
	close_rings(rings, n);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("processes, live");
	TCase *t = tcase_create("processes, live");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_loop_test(t, test_running, 0, sizeof(flags) / sizeof(flags[0]));
	tcase_add_test(t, test_deleted);
	tcase_add_test(t, test_deleted_and_kept);
	tcase_add_test(t, test_vdso);
	tcase_add_test(t, test_vdso_places);
	tcase_add_test(t, test_short_lived);
	tcase_add_test(t, test_forked);
	return run_all(s, t);
}
