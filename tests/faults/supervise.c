/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * supervise.c: one run of rawprof, from outside. Its system calls are held by seccomp until this
 * process, which listens (seccomp_unotify(2)), lets them go on or answers with an error in their
 * place: no ptrace, which rawprof itself uses on the program that it starts. Only what runs
 * rawprof's own file is counted and failed: its threads, and its children until they execute
 * something else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* What takes 0.3 s gets so many; what is left over gets so many to go. */
enum { LIMIT_SECONDS = 100, GRACE_SECONDS = 30, MAX_NUMBER = 512, FIRST_PORT = 19500 };

struct watch {
	const struct run *run;
	struct outcome *out;
	pid_t pid;
	int listener, ended; /* descriptors; ended: of the process */
	struct code code;
	const uint8_t *file;
	size_t file_size;
	uint64_t entry;
	struct {
		pid_t tid;
		bool ours;
	} known[64];
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the process */

static int install_filter(void)
{
	static struct sock_filter code[MAX_NUMBER + 2];
	struct sock_fprog program = { .filter = code };
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (int nr = 0; nr < MAX_NUMBER; nr++) {
		if (!kind_exempt(nr))
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	program.len = n;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_NEW_LISTENER |
				    SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			    &program);
}

static void send_descriptor(int socket, int fd)
{
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct mmsghdr msg = { .msg_hdr = { .msg_iov = &iov,
					    .msg_iovlen = 1,
					    .msg_control = control,
					    .msg_controllen = sizeof(control) } };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg.msg_hdr);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmmsg(socket, &msg, 1, 0) != 1)
		_exit(120);
}

static int receive_descriptor(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int fd = -1;

	if (recvmsg(socket, &msg, MSG_CMSG_CLOEXEC) <= 0)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (c)
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

/* Each worker has a directory with its number, and a port. */
static int worker_port(const struct run *run)
{
	return FIRST_PORT + atoi(strrchr(run->dir, '/') + 1);
}

/* The words of the row, with what its @names stand for. */
static void make_arguments(const struct run *run, char *words, size_t size, char **argv)
{
	const char *in = run->row->args;
	size_t n = 0;
	int argc = 0;

	while (*in && n < size - 600) {
		if (!strncmp(in, "@prog", 5))
			n += (size_t)sprintf(words + n, "%s/faults/target", places.build), in += 5;
		else if (!strncmp(in, "@others", 7))
			n += (size_t)sprintf(words + n, "%s/faults/others", places.build), in += 7;
		else if (!strncmp(in, "@pid", 4))
			n += (size_t)sprintf(words + n, "%d", run->target), in += 4;
		else if (!strncmp(in, "@out", 4))
			n += (size_t)sprintf(words + n, "result"), in += 4;
		else if (!strncmp(in, "@windows", 8))
			n += (size_t)sprintf(words + n, "windows"), in += 8;
		else if (!strncmp(in, "@port", 5))
			n += (size_t)sprintf(words + n, "%d", worker_port(run)), in += 5;
		else if (!strncmp(in, "@log", 4))
			n += (size_t)sprintf(words + n, "%s/../tests/data/nullcheck-6.18.log",
					     places.build),
				in += 4;
		else if (!strncmp(in, "@saved", 6))
			n += (size_t)sprintf(words + n, "%s/../tests/fuzz/corpus/saved/file",
					     places.build),
				in += 6;
		else
			words[n++] = *in++;
	}
	words[n] = 0;
	argv[argc++] = places.rawprof;
	for (char *w = strtok(words, " "); w && argc < 30; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
}

static void redirect(const char *path, int fd, int flags)
{
	int opened = open(path, flags, 0600);

	if (opened < 0 || dup2(opened, fd) < 0)
		_exit(121);
	close(opened);
}

static void set_environment(const struct run *run)
{
	static const char *const dropped[] = { "DEBUGINFOD_URLS", "PAGER", "TERM", "LD_PRELOAD" };
	char path[1100];

	for (size_t i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		unsetenv(dropped[i]);
	snprintf(path, sizeof(path), "%s/%s", run->row->cold ? run->dir : places.work, "cache");
	setenv("XDG_CACHE_HOME", path, 1);
	snprintf(path, sizeof(path), "%s/sane", run->dir);
	setenv("FAULTS_SANE", path, 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	if (!run->shared || !run->shared->memory)
		return;
	snprintf(path, sizeof(path), "%s/points", run->dir);
	setenv("FAULTS_SHARED", path, 1);
	snprintf(path, sizeof(path), "%s/faults/preload.so", places.build);
	setenv("LD_PRELOAD", path, 1);
}

static void __attribute__((noreturn)) execute(const struct run *run, int socket)
{
	const bool listened = run->shared && !run->shared->memory;
	char words[4096], *argv[32];

	setsid();
	for (int sig = 1; sig < SIGRTMIN; sig++)
		signal(sig, SIG_DFL);	  /* nohup(1) has one ignored */
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* unsupervised, each of its calls would fail */
	close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
	make_arguments(run, words, sizeof(words), argv);
	if (chdir(run->dir))
		_exit(122);
	redirect("/dev/null", 0, O_RDONLY);
	redirect("stdout", 1, O_WRONLY | O_CREAT | O_TRUNC);
	redirect("stderr", 2, O_WRONLY | O_CREAT | O_TRUNC);
	set_environment(run);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	personality(ADDR_NO_RANDOMIZE);
	if (listened) {
		int listener = install_filter();

		if (listener < 0)
			_exit(123);
		send_descriptor(socket, listener);
	}
	execv(argv[0], argv);
	_exit(124);
}

/* ---- whose call it is, and from where */

static bool is_ours(struct watch *w, pid_t tid, bool forget)
{
	size_t slot = (size_t)tid % (sizeof(w->known) / sizeof(w->known[0]));
	char path[64], exe[512];
	ssize_t n;

	if (w->known[slot].tid == tid && !forget)
		return w->known[slot].ours;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n < 0 ? 0 : n] = 0;
	w->known[slot].tid = forget ? 0 : tid;
	w->known[slot].ours = !strcmp(exe, places.rawprof);
	return w->known[slot].ours;
}

static void map_file(struct watch *w)
{
	int fd = open(places.rawprof, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return;
	w->file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	w->file_size = (size_t)st.st_size;
	close(fd);
}

static bool find_code(struct watch *w, pid_t tid)
{
	char path[64], line[1024];
	FILE *f;

	if (w->code.size)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long start, end, offset;
		char mode[8];

		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "%lx-%lx %7s %lx", &start, &end, mode, &offset) != 4 ||
		    !strchr(mode, 'x') || !strstr(line, places.rawprof))
			continue;
		w->code = (struct code){ .start = start, .size = end - start, .offset = offset };
		if (w->code.size > w->file_size - offset)
			w->code.size = w->file_size - offset;
		w->code.bytes = w->file + offset;
	}
	if (f)
		fclose(f);
	return w->code.size > 0;
}

static bool stack_of(pid_t tid, uint64_t *words, size_t *n)
{
	char path[64], text[256], *at;
	int fd;
	ssize_t got;
	uint64_t sp;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return false;
	text[got] = 0;
	at = strrchr(text, ' '); /* the program counter; before it the stack pointer */
	if (!at)
		return false;
	*at = 0;
	at = strrchr(text, ' ');
	sp = at ? strtoull(at + 1, NULL, 16) : 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : pread(fd, words, *n * sizeof(*words), (off_t)sp);
	if (fd >= 0)
		close(fd);
	*n = got > 0 ? (size_t)got / sizeof(*words) : 0;
	return *n > 0;
}

/* Whether this call is to fail. */
static bool due(struct watch *w, const struct seccomp_notif *call)
{
	struct injection *in = w->run->shared;
	const uint64_t *args = (const uint64_t *)call->data.args;
	struct site site = { .kind = kind_of(call->data.nr, args) };
	uint64_t words[SITE_WORDS];
	size_t n = SITE_WORDS;

	if (!kind_fails(site.kind) || (!in->counting && (in->fired || site.kind != in->fail.kind)))
		return false;
	return find_code(w, (pid_t)call->pid) && stack_of((pid_t)call->pid, words, &n) &&
	       site_find(&w->code, words, n, &site) && site_count(in, &site);
}

static void answer(struct watch *w)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp reply;
	pid_t tid;

	memset(&call, 0, sizeof(call));
	if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return;
	tid = (pid_t)call.pid;
	reply = (struct seccomp_notif_resp){ .id = call.id,
					     .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	if (is_ours(w, tid, call.data.nr == SYS_execve) && due(w, &call)) {
		reply.flags = 0;
		reply.error = -w->run->shared->err;
	}
	ioctl(w->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* ---- until all is over */

static void listen_for(struct watch *w, int ms, bool *ended)
{
	struct pollfd fds[2] = { { .fd = w->listener, .events = POLLIN },
				 { .fd = w->ended, .events = POLLIN } };

	if (poll(fds, 2, ms) <= 0)
		return;
	if (fds[0].revents & POLLIN) {
		answer(w);
	} else if (fds[0].revents) {
		close(w->listener);
		w->listener = -1;
	}
	*ended = *ended || fds[1].revents;
}

static char state_of(pid_t pid)
{
	char path[64], text[512], *at;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')');
	return at ? at[2] : 0;
}

/* A child that was left to this process, or 0. */
static pid_t a_child(void)
{
	char path[64], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	f = fopen(path, "re");
	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return atoi(text);
}

/* What rawprof left behind has a while to end by itself. Stopped, it never will. */
static void wait_for_descendants(struct watch *w)
{
	double end = now() + GRACE_SECONDS, stopped = 0;
	bool ended = true;
	pid_t pid;

	for (;;) {
		do
			pid = waitpid(-1, NULL, WNOHANG | __WALL);
		while (pid > 0);
		if (pid < 0 && errno == ECHILD)
			return;
		pid = a_child();
		stopped = pid && strchr("Tt", state_of(pid)) ? stopped + 1 : 0;
		if (now() > end || stopped > 100) {
			snprintf(w->out->why, sizeof(w->out->why), "process %d stays, state %c",
				 pid, state_of(pid));
			for (; (pid = a_child()); waitpid(pid, NULL, __WALL))
				kill(pid, SIGKILL);
			return;
		}
		w->ended = -1;
		listen_for(w, 5, &ended);
	}
}

static void kill_at_a_moment(struct watch *w)
{
	usleep(w->run->kill_usec);
	kill(w->pid, SIGKILL);
}

static void wait_for_end(struct watch *w)
{
	double end = now() + LIMIT_SECONDS;
	bool ended = false;

	if (w->run->mode == RUN_KILL)
		kill_at_a_moment(w);
	while (!ended && now() < end)
		listen_for(w, 1000, &ended);
	w->out->hung = !ended;
	if (!ended)
		kill(w->pid, SIGKILL);
	while (waitpid(w->pid, &w->out->status, __WALL) < 0 && errno == EINTR)
		;
	wait_for_descendants(w);
}

static void supervise_here(const struct run *run, struct outcome *out)
{
	struct watch w = { .run = run, .out = out, .listener = -1, .ended = -1 };
	int sockets[2];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	map_file(&w);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		return;
	w.pid = fork();
	if (!w.pid)
		execute(run, sockets[1]);
	close(sockets[1]);
	if (run->shared && !run->shared->memory)
		w.listener = receive_descriptor(sockets[0]);
	w.ended = (int)syscall(SYS_pidfd_open, w.pid, 0);
	wait_for_end(&w);
	out->fired = run->shared && run->shared->fired;
}

/* In a process of its own, whose children are those of this run and no others. */
void supervise(const struct run *run, struct outcome *out)
{
	struct outcome *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	shared->status = 119 << 8;
	if (run->shared) {
		struct injection *in = run->shared;

		in->counting = run->mode != RUN_FAIL;
		in->memory = in->counting ? run->mode == RUN_COUNT_MEMORY
					  : run->point.site.kind >> 32 == KIND_MEMORY;
		in->fired = in->lock = 0;
		in->nth = run->point.nth;
		in->err = run->point.err;
		in->fail = run->point.site;
		in->fail.count = 0;
		in->nsites = in->lost = 0;
		memset(in->sites, 0, in->counting ? sizeof(in->sites) : 0);
	}
	pid = fork();
	if (!pid) {
		supervise_here(run, shared);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*out = *shared;
	munmap(shared, sizeof(*shared));
}
