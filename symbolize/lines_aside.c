/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libdw believes what it reads. What another user wrote can make it read beyond the end of a
 * section, take all memory, or go on for days. So that is done in a process that is there for one
 * file, of which the file has no lines if it dies:
 *
 *	here			there
 *	an address	->	sym_dwarf_find()
 *			<-	numbers, and texts
 *
 * It has so much time and memory, no rights and nothing open but the file, and ends with whoever
 * asks it.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/subuid.h"
#include "lines_aside.h"
#include "lines_image.h"
#include "strings.h"

#ifdef HAVE_LIBDW

enum {
	MOST_LIVE = 16,	   /* processes: of more files those are begun anew that are asked for */
	MOST_ENDING = 64,  /* that have not ended yet, once they were left */
	FILE_SECONDS = 6,  /* of CPU time: one more than it takes itself */
	OWNER_SECONDS = 8, /* of all files of one user, */
	ALL_SECONDS = 20,  /*   and of all */
	WAIT_SECONDS = 20, /* for an answer, however busy the machine is */
	LOOK_MS = 100,	   /* how often it looks whether anybody waits for it */
	TEXT_MOST = 4096,
	LINES_MOST = SYM_INLINE_MAX + 1,
};
#define MEMORY_MOST (512ULL << 20)

struct question {
	uint64_t vaddr;
	uint32_t inlined, max;
};
/* Then n of struct wire, and their texts. */
struct answer {
	int32_t err;
	uint32_t n;
	uint64_t ns; /* of CPU time, since it began */
};
/* A text of no bytes: NULL. */
struct wire {
	int32_t line;
	uint16_t function, file;
};

struct sym_lines {
	const struct sym_object *data, *code;
	struct sym_dwarf *here; /* NULL: it is there */
	int fd;			/* -1: it is not, or is no longer */
	pid_t pid;
	bool failed;
	uint64_t ns;		  /* that it says it has taken */
	uint64_t asked;		  /* the number of the last question, */
	uint64_t until;		  /*   and until when it is waited for its answer */
	struct sym_strings texts; /* of its answers */
};

static struct sym_lines *live[MOST_LIVE];
static pid_t ending[MOST_ENDING];
static uint64_t questions;

/* The time that files of users have taken. */
struct owner {
	uint32_t uid;
	uint64_t ns;
};
static struct hash_map owners = HASH_MAP(struct owner, uid);
static uint64_t ns_taken;

/* ---- between the two */

static bool send_all(int fd, const void *from, size_t n)
{
	ssize_t k;

	for (const char *at = from; n; at += k, n -= (size_t)k) {
		do
			k = send(fd, at, n, MSG_NOSIGNAL);
		while (k < 0 && errno == EINTR);
		if (k <= 0)
			return false;
	}
	return true;
}

/* ---- there */

static int asker;
static pid_t parent;

/* Its other end may be open elsewhere, when who asks was killed. */
static void look(int sig)
{
	const int before = errno;
	char byte;

	(void)sig;
	if (getppid() != parent || !recv(asker, &byte, 1, MSG_PEEK | MSG_DONTWAIT))
		_exit(EXIT_FAILURE);
	errno = before;
}

/* libdw calls exit(3) where memory ends; what is done then is not for this process to do. */
static void leave_at_once(void)
{
	_exit(EXIT_FAILURE);
}

static bool limit(int what, uint64_t most)
{
	struct rlimit now;

	if (getrlimit(what, &now))
		return false;
	now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
	now.rlim_cur = now.rlim_max;
	return !setrlimit(what, &now);
}

/* So much more than it has with the file, which has as much. */
static uint64_t more_memory(void)
{
	return rp_memory_part(64, MEMORY_MOST);
}

static bool limit_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	char text[64] = "";
	uint64_t pages;

	if (f && !fgets(text, sizeof(text), f))
		*text = '\0';
	if (f)
		fclose(f);
	pages = strtoull(text, NULL, 10);
	return pages && limit(RLIMIT_AS, pages * (uint64_t)sysconf(_SC_PAGESIZE) + more_memory());
}

/* Or what is recorded goes on being so, for as long as this process is there. */
static bool close_all_but(const int *keep, size_t n)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *one;

	while (all && (one = readdir(all))) {
		const int fd = atoi(one->d_name);
		bool is_kept = *one->d_name == '.' || fd == dirfd(all);

		for (size_t i = 0; i < n && !is_kept; i++)
			is_kept = fd == keep[i];
		if (!is_kept)
			close(fd);
	}
	return all && !closedir(all);
}

static void give_up_rights(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	syscall(SYS_capset, &head, none);
}

static bool is_limited(void)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE };
	const struct sigaction looks = { .sa_handler = look, .sa_flags = SA_RESTART },
			       dies = { .sa_handler = SIG_DFL };
	const struct timeval often = { .tv_usec = LOOK_MS * 1000 };
	sigset_t alarm;

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigaction(faults[i], &dies, NULL);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	return !atexit(leave_at_once) && limit(RLIMIT_CPU, FILE_SECONDS) && limit(RLIMIT_CORE, 0) &&
	       limit(RLIMIT_NPROC, 0) && !sigaction(SIGALRM, &looks, NULL) &&
	       !sigprocmask(SIG_UNBLOCK, &alarm, NULL) &&
	       !setitimer(ITIMER_REAL, &(struct itimerval){ often, often }, NULL);
}

static uint16_t length(const char *text)
{
	return (uint16_t)(text ? strnlen(text, TEXT_MOST) : 0);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static bool answer(int fd, int err, const struct sym_line *lines, size_t n)
{
	const struct answer a = { .err = err, .n = (uint32_t)n, .ns = cpu_ns() };
	struct wire wire[LINES_MOST];
	bool is_sent;

	for (size_t i = 0; i < n; i++)
		wire[i] = (struct wire){ lines[i].line, length(lines[i].function),
					 length(lines[i].file) };
	is_sent = send_all(fd, &a, sizeof(a)) && send_all(fd, wire, n * sizeof(*wire));
	for (size_t i = 0; i < n && is_sent; i++)
		is_sent = send_all(fd, lines[i].function, wire[i].function) &&
			  send_all(fd, lines[i].file, wire[i].file);
	return is_sent;
}

static void serve(const struct sym_lines *l, int fd)
{
	const int keep[] = { fd, l->data->fd, l->code->fd };
	struct sym_line lines[LINES_MOST];
	struct sym_dwarf *d;
	struct question q;
	int err;

	rp_work_watch(NULL, NULL); /* who asks looks at that */
	give_up_rights();
	if (!close_all_but(keep, sizeof(keep) / sizeof(keep[0])) || !is_limited())
		return;
	err = sym_dwarf_open(&d, l->data, l->code, more_memory(), limit_memory);
	if (!answer(fd, err, NULL, 0) || err)
		return;
	while (recv(fd, &q, sizeof(q), MSG_WAITALL) == sizeof(q))
		if (!answer(fd, 0, lines,
			    sym_dwarf_find(d, q.vaddr, q.inlined, lines,
					   q.max < LINES_MOST ? q.max : LINES_MOST)))
			return;
}

/* ---- here: which there are */

/* Those that have ended are known no longer. How many are left. */
static int reap(void)
{
	int n = 0;

	for (int i = 0; i < MOST_ENDING; i++) {
		if (ending[i] && waitpid(ending[i], NULL, WNOHANG))
			ending[i] = 0;
		n += ending[i] != 0;
	}
	return n;
}

static void leave(struct sym_lines *l)
{
	int i = 0;

	if (l->fd < 0)
		return;
	close(l->fd); /* which it sees */
	l->fd = -1;
	while (i < MOST_LIVE && live[i] != l)
		i++;
	if (i < MOST_LIVE)
		live[i] = NULL;
	for (i = 0; i < MOST_ENDING; i++)
		if (!ending[i]) {
			ending[i] = l->pid;
			break;
		}
	reap();
}

/* Where one more has a place: of whoever was asked longest ago, if need be. */
static int place(void)
{
	int oldest = 0;

	for (int i = 0; i < MOST_LIVE; i++) {
		if (!live[i])
			return i;
		if (live[i]->asked < live[oldest]->asked)
			oldest = i;
	}
	leave(live[oldest]);
	return oldest;
}

static void fail(struct sym_lines *l)
{
	leave(l);
	l->failed = true;
}

/* ---- here: time */

static bool has_time(uid_t uid)
{
	const struct owner *o = rp_hash_find(&owners, &(uint32_t){ rp_subuid_first(uid) });

	return (!o || o->ns < OWNER_SECONDS * NS_PER_SECOND) &&
	       ns_taken < ALL_SECONDS * NS_PER_SECOND;
}

static void spend(struct sym_lines *l, uint64_t ns)
{
	const uint64_t more = ns > l->ns ? ns - l->ns : 0;
	struct owner *o = rp_hash_add(&owners, &(uint32_t){ rp_subuid_first(l->data->owner) });

	if (o)
		o->ns += more;
	ns_taken += more;
	l->ns = ns;
}

/* ---- here: questions */

static bool receive(const struct sym_lines *l, void *to, size_t n)
{
	ssize_t k;

	for (char *at = to; n;) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		if (poll(&p, 1, LOOK_MS) <= 0) {
			if (rp_monotonic_ns() > l->until || rp_work_is_stopped())
				return false;
			continue;
		}
		if (rp_monotonic_ns() > l->until)
			return false;
		k = recv(l->fd, at, n, MSG_DONTWAIT);
		if (k < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

/* False: it has ended, or no more is waited for. */
static bool hear(struct sym_lines *l, struct answer *a)
{
	bool is_heard;

	l->until = rp_monotonic_ns() + WAIT_SECONDS * NS_PER_SECOND;
	is_heard = receive(l, a, sizeof(*a)) && a->n <= LINES_MOST;
	if (is_heard || !rp_work_is_stopped())
		spend(l, is_heard ? a->ns : FILE_SECONDS * NS_PER_SECOND);
	return is_heard;
}

/* NULL: it has none, or there is no memory. */
static bool hear_text(struct sym_lines *l, uint16_t n, const char **out)
{
	char text[TEXT_MOST];

	*out = NULL;
	if (n > sizeof(text) || !receive(l, text, n))
		return false;
	if (n && !memchr(text, '\0', n))
		*out = sym_strings_add(&l->texts, text, n);
	return true;
}

static bool hear_lines(struct sym_lines *l, size_t n, struct sym_line *out)
{
	struct wire wire[LINES_MOST];
	bool is_heard = receive(l, wire, n * sizeof(*wire));

	for (size_t i = 0; i < n && is_heard; i++) {
		out[i] = (struct sym_line){ .line = wire[i].line };
		is_heard = hear_text(l, wire[i].function, &out[i].function) &&
			   hear_text(l, wire[i].file, &out[i].file);
	}
	return is_heard;
}

/* 0; -ENODATA: nothing is to be had of it. */
static int begin(struct sym_lines *l)
{
	struct answer a = { 0 };
	int pair[2], at;

	if (l->failed || !has_time(l->data->owner) || reap() > MOST_ENDING / 2 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -ENODATA;
	at = place();
	parent = getpid();
	asker = pair[1];
	l->pid = fork();
	if (!l->pid) {
		close(pair[0]);
		for (int i = 0; i < MOST_LIVE; i++)
			if (live[i])
				close(live[i]->fd);
		serve(l, pair[1]);
		_exit(EXIT_SUCCESS);
	}
	close(pair[1]);
	if (l->pid < 0) {
		close(pair[0]);
		return -ENODATA;
	}
	l->fd = pair[0];
	l->ns = 0;
	live[at] = l;
	if (hear(l, &a) && !a.err)
		return 0;
	fail(l);
	return -ENODATA;
}

int sym_lines_open(struct sym_lines **out, const struct sym_object *data,
		   const struct sym_object *code)
{
	struct sym_lines *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return -ENOMEM;
	*l = (struct sym_lines){ .data = data, .code = code, .fd = -1 };
	if (data->fd < 0)
		err = -ENODATA;
	else if (sym_lines_are_ours(data))
		err = sym_dwarf_open(&l->here, data, code, UINT64_MAX, NULL);
	else
		err = begin(l);
	if (err) {
		sym_lines_close(l);
		return err;
	}
	*out = l;
	return 0;
}

void sym_lines_close(struct sym_lines *l)
{
	if (!l)
		return;
	leave(l);
	sym_dwarf_close(l->here);
	sym_strings_free(&l->texts);
	free(l);
}

size_t sym_lines_find(struct sym_lines *l, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max, bool *failed)
{
	const struct question q = { vaddr, inlined, (uint32_t)max };
	struct answer a = { 0 };

	*failed = false;
	if (l->here)
		return sym_dwarf_find(l->here, vaddr, inlined, out, max);
	l->asked = ++questions;
	if (max && has_time(l->data->owner) && (l->fd >= 0 || !begin(l)) &&
	    send_all(l->fd, &q, sizeof(q)) && hear(l, &a) && a.n <= max && hear_lines(l, a.n, out))
		return a.n;
	fail(l);
	*failed = true;
	return 0;
}

#else /* HAVE_LIBDW */

int sym_lines_open(struct sym_lines **out, const struct sym_object *data,
		   const struct sym_object *code)
{
	(void)out;
	(void)data;
	(void)code;
	return -ENODATA;
}

void sym_lines_close(struct sym_lines *l)
{
	(void)l;
}

size_t sym_lines_find(struct sym_lines *l, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max, bool *failed)
{
	(void)l;
	(void)vaddr;
	(void)inlined;
	(void)out;
	(void)max;
	*failed = false;
	return 0;
}

#endif
