/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stalls DEVICE DIRECTORY SECONDS [locked]: burns CPU time in a program whose file nobody can look
 * at. It lies on a file system in user space (FUSE), under an overlay that this user has mounted in
 * a namespace of their own. Once it burns, its server answers no more; then this prints the number
 * of its process, and ends after so many seconds.
 *
 * "locked": it burns in a process whose mappings and memory nobody can look at. Its server never
 * answers a write, and one of its threads takes away a page that it has written: the kernel writes
 * that back with the process's lock held. Another thread wants the lock to write, too, which keeps
 * out all who want to read.
 *
 * DEVICE is /dev/fuse, or another node of it that the user may open; DIRECTORY an empty one of
 * theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.h"

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ends with the one that started it. */
static pid_t start_child(void)
{
	const pid_t pid = fork();

	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

enum { ROOT = FUSE_ROOT_ID, FILE_NODE = 2, MOST = 1 << 16 };
#define NAME "stalled"

/* ---- the server: a directory with one file, which is this program */

struct server {
	int device, program;
	uint64_t size;
};
static volatile bool *silent; /* for both processes */

static void answer(const struct server *s, uint64_t unique, int error, const void *data, size_t n)
{
	static char buf[MOST + sizeof(struct fuse_out_header)];
	const struct fuse_out_header header = { .len = (uint32_t)(sizeof(header) + n),
						.error = error,
						.unique = unique };

	memcpy(buf, &header, sizeof(header));
	if (n)
		memcpy(buf + sizeof(header), data, n);
	if (write(s->device, buf, header.len) < 0 && errno != ENOENT)
		_exit(1);
}

static struct fuse_attr attributes(const struct server *s, uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == ROOT ? 0 : s->size,
				   .mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0755,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void look_up(const struct server *s, const struct fuse_in_header *in, const char *name)
{
	const struct fuse_entry_out out = { .nodeid = FILE_NODE,
					    .entry_valid = 1,
					    .attr = attributes(s, FILE_NODE) };
	const bool known = !strcmp(name, NAME);

	answer(s, in->unique, known ? 0 : -ENOENT, &out, known ? sizeof(out) : 0);
}

static void read_file(const struct server *s, const struct fuse_in_header *in,
		      const struct fuse_read_in *what)
{
	static char data[MOST];
	const size_t n = what->size < MOST ? what->size : MOST;
	const ssize_t got = pread(s->program, data, n, (off_t)what->offset);

	answer(s, in->unique, got < 0 ? -EIO : 0, data, got < 0 ? 0 : (size_t)got);
}

static void serve_one(const struct server *s, const struct fuse_in_header *in, const void *what)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = MOST, .max_write = MOST
	};
	const struct fuse_attr_out attr = { .attr_valid = 1, .attr = attributes(s, in->nodeid) };
	const struct fuse_open_out opened = { .fh = 1 };
	const struct fuse_statfs_out fs = { .st = { .bsize = 4096, .namelen = 255 } };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(s, in->unique, 0, &init, sizeof(init));
	case FUSE_LOOKUP:
		return look_up(s, in, what);
	case FUSE_GETATTR:
		return answer(s, in->unique, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return answer(s, in->unique, 0, &opened, sizeof(opened));
	case FUSE_READ:
		return read_file(s, in, what);
	case FUSE_STATFS:
		return answer(s, in->unique, 0, &fs, sizeof(fs));
	case FUSE_FLUSH:
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return answer(s, in->unique, 0, NULL, 0);
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_WRITE: /* never */
		return;
	default:
		answer(s, in->unique, -ENOSYS, NULL, 0);
	}
}

static void serve(const struct server *s)
{
	static union {
		struct fuse_in_header header;
		char bytes[MOST + 4096];
	} in;

	while (read(s->device, &in, sizeof(in)) > 0)
		if (!*silent)
			serve_one(s, &in.header, in.bytes + sizeof(in.header));
	_exit(0);
}

/* ---- what it is mounted on */

static void put(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(3);
	close(fd);
}

static void enter_namespace(void)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		_exit(3);
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	put("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	put("/proc/self/gid_map", map);
}

static pid_t start_server(const char *device)
{
	struct server s = { .device = open(device, O_RDWR),
			    .program = open("/proc/self/exe", O_RDONLY) };
	char options[64];
	struct stat st;
	pid_t pid;

	if (s.device < 0 || s.program < 0 || fstat(s.program, &st))
		_exit(3);
	s.size = (uint64_t)st.st_size;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", s.device);
	if (mount("fuse", "lower", "fuse", 0, options))
		_exit(3);
	pid = start_child();
	if (!pid)
		serve(&s);
	close(s.device);
	return pid;
}

/* ---- the programs */

static bool burn_and_say_so(void)
{
	burn_until(thread_cpu_ns() + 50000000);
	return write(STDOUT_FILENO, "", 1) == 1;
}

static void *page;
static atomic_int step;

static void *take_away(void *unused)
{
	while (step < 1)
		usleep(1000);
	munmap(page, 4096);
	return unused;
}

static void *want_lock(void *unused)
{
	while (step < 2)
		usleep(1000);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return unused;
}

/*
 * Threads come first, as a new one has to map its stack; and once all has been done that will be,
 * nothing has to be mapped or linked for it.
 */
static void burn_locked(void)
{
	const int fd = open("lower/" NAME, O_RDWR);
	pthread_t threads[2];

	mlockall(MCL_CURRENT); /* nor is any of it taken away when memory is scarce */
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || pthread_create(&threads[0], NULL, take_away, NULL) ||
	    pthread_create(&threads[1], NULL, want_lock, NULL) || !burn_and_say_so())
		_exit(3);
	*(volatile char *)page = 1;
	step = 1;
	usleep(200000);
	step = 2;
	usleep(200000);
	while (burn_and_say_so())
		burn_until(thread_cpu_ns() + 1000000000);
}

int main(int argc, char **argv)
{
	pid_t server, program;
	int burns[2];
	uint64_t end;
	char byte;

	if (argc == 2) { /* executed from there: with what it needs */
		if (burn_and_say_so())
			burn_until(UINT64_MAX);
		return 1;
	}
	if ((argc != 4 && argc != 5) || chdir(argv[2]))
		return 2;
	end = now_ns() + (uint64_t)(atof(argv[3]) * 1e9);
	enter_namespace();
	if (mkdir("lower", 0755) || mkdir("other", 0755) || mkdir("over", 0755))
		return 3;
	silent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (silent == MAP_FAILED)
		return 3;
	server = start_server(argv[1]);
	if (mount("overlay", "over", "overlay", 0, "lowerdir=lower:other"))
		return 3;
	if (pipe(burns))
		return 3;
	program = start_child();
	if (!program) {
		dup2(burns[1], STDOUT_FILENO);
		if (argc == 5)
			burn_locked();
		execl("over/" NAME, NAME, "burn", (char *)NULL);
		_exit(3);
	}
	close(burns[1]);
	for (int i = 4; i < argc + 1; i++)
		if (read(burns[0], &byte, 1) != 1)
			return 3;
	*silent = argc == 4;
	printf("%d\n", (int)program);
	fflush(stdout);
	while (now_ns() < end && !kill(program, 0))
		usleep(10000);
	kill(program, SIGKILL);
	kill(server, SIGKILL);
	return 0;
}
