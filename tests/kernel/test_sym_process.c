/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real processes: already running, deleted from under, in a mount namespace of their own, and
 * short-lived ones known only from the kernel's own records of mappings, read here as plainly as
 * can be.
 */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

static char dir[] = "/tmp/test_sym_process.XXXXXX";
static struct sym_user *user;

/* Prints the address of a function and of a library's, then waits to be told to end. */
static const char source[] = "#include <stdio.h>\n"
			     "#include <stdlib.h>\n"
			     "#include <unistd.h>\n"
			     "__attribute__((noinline)) int known(int x) { return x + getpid(); }\n"
			     "int main(int argc, char **argv) {\n"
			     "	printf(\"%p %p\\n\", (void *)known, (void *)qsort);\n"
			     "	fflush(stdout);\n"
			     "	if (argc > 1) usleep(atoi(argv[1])); else pause();\n"
			     "	return known(1) == 0; }\n";

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static const char *in_dir(const char *name)
{
	static char paths[4][512];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void build(const char *name, const char *flags)
{
	char command[1024];
	FILE *f = fopen(in_dir("a.c"), "w");

	ck_assert_ptr_nonnull(f);
	fputs(source, f);
	fclose(f);
	snprintf(command, sizeof(command), "gcc -O1 %s -o %s %s", flags, in_dir(name),
		 in_dir("a.c"));
	ck_assert_int_eq(system(command), 0);
}

struct child {
	pid_t pid;
	uint64_t known, qsort;
};

static struct child start(const char *path, int (*prepare)(void))
{
	struct child c = { 0 };
	char text[64] = "";
	int out[2];

	ck_assert_int_eq(pipe(out), 0);
	c.pid = fork();
	ck_assert_int_ge(c.pid, 0);
	if (!c.pid) {
		dup2(out[1], 1);
		close(out[0]);
		if (!prepare || !prepare())
			execl(path, path, NULL);
		_exit(127);
	}
	close(out[1]);
	ck_assert_int_gt(read(out[0], text, sizeof(text) - 1), 0);
	close(out[0]);
	ck_assert_int_eq(sscanf(text, "%" SCNx64 " %" SCNx64, &c.known, &c.qsort), 2);
	return c;
}

static void stop(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
}

static void ck_frame(const struct child *c, uint64_t addr, const char *name, const char *path)
{
	struct sym_frame f;

	sym_user_lookup(user, c->pid, now(), addr + 1, false, &f);
	ck_assert_int_eq(f.kind, SYM_USER);
	ck_assert_msg(f.name && !strcmp(f.name, name), "%s instead of %s in %s", f.name, name,
		      f.module);
	ck_assert_uint_eq(f.offset, 1);
	if (path)
		ck_assert_str_eq(f.module, path);
}

static void setup(void)
{
	ck_assert_int_eq(sym_user_open(&user, NULL), 0);
}

static void teardown(void)
{
	sym_user_close(user);
}

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

/* A file that only the process can see, at a path where we see another. */
static int own_mounts(void)
{
	char command[1024];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", in_dir("mnt"), "tmpfs", 0, NULL))
		return -1;
	snprintf(command, sizeof(command), "cp %s %s", in_dir("inside"), in_dir("mnt/prog"));
	return system(command);
}

START_TEST(test_mount_namespace)
{
	struct child c;

	build("inside", "");
	ck_assert_int_eq(mkdir(in_dir("mnt"), 0755), 0);
	build("mnt/prog", "-O0 -Dknown=other");
	c = start(in_dir("mnt/prog"), own_mounts);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", in_dir("mnt/prog"));
	ck_assert_int_eq(sym_user_keep(user, c.pid), 0);
	stop(&c);
	ck_frame(&c, c.qsort, "qsort", NULL);
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

/* ---- the kernel's records ---- */

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
	SRunner *r = srunner_create(s);
	char command[64];
	int failed;

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_running, 0, sizeof(flags) / sizeof(flags[0]));
	tcase_add_test(t, test_deleted);
	tcase_add_test(t, test_deleted_and_kept);
	tcase_add_test(t, test_mount_namespace);
	tcase_add_test(t, test_vdso);
	tcase_add_test(t, test_short_lived);
	tcase_add_test(t, test_forked);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
