/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts, watches and ends the program that is profiled; finds those that run already. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "base/file.h"
#include "confine.h"
#include "target.h"

/* As of a program that returned 1. */
#define STATUS_NOT_KNOWN W_EXITCODE(1, 0)

/* The exit status of a program that signal N ended is this + N, as a shell has it. */
#define SIGNAL_STATUS 128

/* What a program has to end after a signal. */
#define PATIENCE_MS 2000

/* How often it is looked whether the child has come to the gate, and for how long: 0.1 s. */
enum { GATE_LOOK_NS = 20000, GATE_LOOKS = 5000 };

static int pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

uint32_t record_target_process_of(uint32_t id)
{
	char path[64], text[512];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%u/status", id);
	if (rp_read_small_file(path, text, sizeof(text)) < 0)
		return 0;
	line = strstr(text, "\nTgid:");
	return line ? (uint32_t)strtoul(line + 6, NULL, 10) : 0;
}

void record_target_tell_unopened(uint32_t pid, size_t files, const char *follows)
{
	rp_log(RP_WARN, "process %u: %zu file%s with code of it cannot be opened: %s%s", pid, files,
	       files == 1 ? "" : "s", follows,
	       rp_cap_has(RP_CAP_SYS_ADMIN) ? "" : "; run rawprof as root to have them");
}

static int watch(struct target *t, pid_t pid)
{
	int *grown = realloc(t->pidfd, (t->npidfds + 1) * sizeof(*grown));
	int fd;

	if (!grown)
		return -ENOMEM;
	t->pidfd = grown;
	fd = pidfd_open(pid);
	if (fd < 0)
		return fd;
	t->pidfd[t->npidfds++] = fd;
	return 0;
}

static bool is_program(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* The path that execvp(3) takes. False: there is none. */
static bool find_path(const char *name, char path[PATH_MAX])
{
	const char *dir = getenv("PATH");
	bool found = false;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return true;
	}
	while (!found && dir && *dir) {
		size_t length = strcspn(dir, ":");

		snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, dir, length ? "/" : "./", name);
		found = is_program(path);
		dir += length + (dir[length] == ':');
	}
	return found;
}

/* The file itself, without symbolic links, which is how its mappings are called. */
static char *find_program(const char *name)
{
	char path[PATH_MAX];

	return find_path(name, path) ? realpath(path, NULL) : NULL;
}

static char *program_of(uint32_t id)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/exe", id);
	n = readlink(link, path, sizeof(path) - 1);
	return n > 0 ? strndup(path, (size_t)n) : NULL;
}

static int find_running(struct target *t, const struct record_options *opt)
{
	for (uint32_t i = 0; i < opt->tids.n; i++)
		if (!record_target_process_of(opt->tids.id[i]))
			return rp_fail(-ESRCH, "there is no thread %u", opt->tids.id[i]);
	for (uint32_t i = 0; i < opt->pids.n; i++) {
		uint32_t id = opt->pids.id[i], process = record_target_process_of(id);
		int err = process ? 0 : -ESRCH;

		if (process && process != id)
			return rp_fail(-ESRCH, "%u is a thread, not a process: use --tid", id);
		if (!err)
			err = watch(t, (pid_t)id);
		if (err == -ESRCH)
			return rp_fail(err, "there is no process %u", id);
		if (err == -EPERM || err == -ENOSYS) /* what is refused is its end alone */
			rp_log(RP_WARN,
			       "cannot see process %u end: pidfd_open: %s (a filter of system "
			       "calls?): the recording ends by its duration or by hand",
			       id, strerror(-err));
		else if (err)
			return rp_fail(err, "cannot watch process %u: pidfd_open: %s", id,
				       strerror(-err));
	}
	return 0;
}

struct child_fds {
	int ready, gate, error;
};

static void __attribute__((noreturn)) run_child(char **program, const struct child_fds *fds)
{
	/* Not read(): who watches that would see the end of one that began before. */
	struct pollfd go = { .fd = fds->gate, .events = POLLIN };
	/* Whatever it looks for once it is watched would be seen as the program's own. */
	char path[PATH_MAX];
	bool found;
	sigset_t none;
	int err;

	record_read_as_user(true); /* what it runs is what its user may run */
	found = find_path(program[0], path);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	close(fds->ready);
	while (poll(&go, 1, -1) < 0 && errno == EINTR)
		;
	if (!(go.revents & POLLIN))
		_exit(127); /* rawprof has gone before anything began */
	if (found)
		execvp(path, program);
	execvp(program[0], program);
	err = errno;
	if (write(fds->error, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

/* An end of a pipe for each of us; ours is the one that is read from if @reads. */
static int make_pipe(int *ours, int *childs, bool reads)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return rp_fail(-errno, "pipe: %s", strerror(errno));
	*ours = ends[!reads];
	*childs = ends[reads];
	return 0;
}

static void close_pipes(struct child_fds *fds)
{
	const int all[] = { fds->ready, fds->gate, fds->error };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i] >= 0)
			close(all[i]);
}

static int make_child(struct target *t, char **program)
{
	struct child_fds fds = { -1, -1, -1 };
	pid_t pid = -1;
	int err = make_pipe(&t->ready, &fds.ready, true);

	if (!err)
		err = make_pipe(&t->gate, &fds.gate, false);
	if (!err)
		err = make_pipe(&t->exec_error, &fds.error, true);
	if (!err) {
		pid = fork();
		err = pid < 0 ? rp_fail(-errno, "fork: %s", strerror(errno)) : 0;
	}
	if (!pid) {
		close(t->gate); /* else the child would hold its own gate open */
		run_child(program, &fds);
	}
	close_pipes(&fds);
	if (err)
		return err;
	t->child = pid;
	err = watch(t, pid);
	if (err == -EPERM || err == -ENOSYS)
		return rp_fail(err,
			       "cannot see %s end: pidfd_open: %s: a filter of system calls "
			       "(seccomp) refuses it, as containers have one: run rawprof outside",
			       program[0], strerror(-err));
	return err ? rp_fail(err, "cannot watch %s: pidfd_open: %s", program[0], strerror(-err))
		   : 0;
}

int record_target_open(struct target *t, const struct record_options *opt)
{
	*t = (struct target){ .ready = -1, .gate = -1, .exec_error = -1 };
	if (opt->program) {
		t->program = find_program(opt->program[0]);
		return make_child(t, opt->program);
	}
	if (opt->pids.n || opt->tids.n)
		t->program = program_of(opt->pids.n ? opt->pids.id[0] : opt->tids.id[0]);
	return find_running(t, opt);
}

/* Without a signal for the application if the child has gone. */
/* Of /proc/PID/stat(5): "1234 (name) S ...". */
static bool is_asleep(pid_t pid)
{
	char path[64], stat[512];
	const char *end;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	end = rp_read_small_file(path, stat, sizeof(stat)) < 0 ? NULL : strrchr(stat, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

/* That it closes this is not enough: it has to be let on to the gate, which this thread's priority
 * may prevent. */
void record_target_await(struct target *t)
{
	const struct timespec moment = { .tv_nsec = GATE_LOOK_NS };
	char none;

	if (t->ready < 0)
		return;
	while (read(t->ready, &none, 1) < 0 && errno == EINTR)
		;
	for (int looks = 0; looks < GATE_LOOKS && !is_asleep(t->child); looks++)
		nanosleep(&moment, NULL);
}

static bool open_gate(int gate)
{
	sigset_t pipe, before;
	bool opened;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	opened = write(gate, "", 1) == 1;
	if (!opened && !sigismember(&before, SIGPIPE))
		sigtimedwait(&pipe, NULL, &(struct timespec){ 0 });
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return opened;
}

int record_target_start(struct target *t, const struct record_options *opt)
{
	int err = 0;

	if (!t->child)
		return 0;
	if (!open_gate(t->gate))
		return rp_fail(-ECHILD, "%s ended before it began", opt->program[0]);
	/* The pipe closes itself when the program is executed; only a failure writes. */
	if (read(t->exec_error, &err, sizeof(err)) == sizeof(err))
		return rp_fail(-err, "cannot run %s: %s", opt->program[0], strerror(err));
	return 0;
}

/* Whether the child has ended within so many ms. */
static bool reap(struct target *t, int timeout_ms)
{
	for (int waited = 0;; waited += 10) {
		pid_t pid = waitpid(t->child, &t->wait_status, timeout_ms < 0 ? 0 : WNOHANG);

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			rp_log(RP_ERROR, "cannot see how process %d ends: %s", (int)t->child,
			       strerror(errno));
		if (pid) {
			t->wait_status = pid < 0 ? STATUS_NOT_KNOWN : t->wait_status;
			t->ended = true;
			return true;
		}
		if (timeout_ms >= 0 && waited >= timeout_ms)
			return false;
		if (timeout_ms >= 0)
			poll(NULL, 0, 10);
	}
}

/* A program that cannot be killed, such as another user's, is left to itself. */
static void end_child(struct target *t)
{
	const int err = kill(t->child, SIGKILL) ? errno : 0;

	if (reap(t, err ? PATIENCE_MS : -1))
		return;
	rp_log(RP_WARN, "process %d goes on: it cannot be killed: %s", (int)t->child,
	       strerror(err));
	t->ended = true;
}

int record_target_finish(struct target *t)
{
	if (!t->child || t->ended)
		return 0;
	if (!reap(t, 0)) {
		kill(t->child, SIGTERM);
		if (!reap(t, PATIENCE_MS))
			end_child(t);
		/* It ended because we said so, which is no fault of its own. */
		return WIFEXITED(t->wait_status) ? WEXITSTATUS(t->wait_status) : 0;
	}
	if (WIFEXITED(t->wait_status))
		return WEXITSTATUS(t->wait_status);
	return WIFSIGNALED(t->wait_status) ? SIGNAL_STATUS + WTERMSIG(t->wait_status) : 0;
}

void record_target_close(struct target *t)
{
	if (t->ready >= 0)
		close(t->ready);
	if (t->gate >= 0)
		close(t->gate); /* a child that waits there ends by itself */
	if (t->child && !t->ended)
		end_child(t);
	if (t->exec_error >= 0)
		close(t->exec_error);
	for (uint32_t i = 0; i < t->npidfds; i++)
		close(t->pidfd[i]);
	free(t->pidfd);
	free(t->program);
}
