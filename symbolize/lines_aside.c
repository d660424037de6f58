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
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/subuid.h"
#include "lines_aside.h"
#include "lines_confine.h"
#include "lines_image.h"
#include "strings.h"

#ifdef HAVE_LIBDW

enum {
	MOST_LIVE = 16,	   /* processes: of more files those are begun anew that are asked for */
	MOST_ENDING = 64,  /* that have not ended yet, once they were left; */
	OWNER_ENDING = 28, /*   of one user */
	FILE_SECONDS = 6,  /* of CPU time: one more than it takes itself */
	OWNER_SECONDS = 8, /* of all files of one user, */
	ALL_SECONDS = 20,  /*   and of all */
	WAIT_SECONDS = 20, /* for an answer, however busy the machine is */
	LOOK_MS = 100,	   /* how often it looks whether anybody waits for it */
	TEXT_MOST = 4096,
	LINES_MOST = SYM_INLINE_MAX + 1,
};
#define OWNER_TEXTS (32ULL << 20)

struct question {
	uint64_t vaddr;
	uint32_t inlined, max;
};
/* Then n of struct wire, and their texts. */
struct answer {
	int32_t err;
	uint32_t n;
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
	uint64_t ns;		  /* of CPU time that it has taken */
	uint64_t asked;		  /* the number of the last question, */
	uint64_t until;		  /*   and until when it is waited for its answer */
	struct sym_strings texts; /* of its answers */
	uint64_t bytes;		  /*   and what they take */
};

static struct sym_lines *live[MOST_LIVE];
static struct ending {
	pid_t pid; /* 0: none */
	uid_t owner;
} ending[MOST_ENDING];
static uint64_t questions;

/* What files of users have taken: of time, and now of memory for texts. */
struct owner {
	uint32_t uid;
	uint64_t ns, bytes;
};
static struct hash_map owners = HASH_MAP(struct owner, uid);
static uint64_t ns_taken;

/* ---- whose, and what is left of it */

static uid_t owner_of(const struct sym_lines *l)
{
	return rp_subuid_first(l->data->owner);
}

static uint64_t left(uint64_t most, uint64_t taken)
{
	return taken < most * NS_PER_SECOND ? most * NS_PER_SECOND - taken : 0;
}

/* Of its owner, and of all. */
static uint64_t time_left(const struct sym_lines *l)
{
	const struct owner *o = rp_hash_find(&owners, &(uint32_t){ owner_of(l) });
	const uint64_t own = left(OWNER_SECONDS, o ? o->ns : 0), all = left(ALL_SECONDS, ns_taken);

	return own < all ? own : all;
}

/* ---- between the two */

static bool send_all(int fd, const void *from, size_t n, int flags)
{
	ssize_t k;

	for (const char *at = from; n; at += k, n -= (size_t)k) {
		do
			k = send(fd, at, n, MSG_NOSIGNAL | flags);
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

static bool watch_asker(void)
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
	return !atexit(leave_at_once) && !sigaction(SIGALRM, &looks, NULL) &&
	       !sigprocmask(SIG_UNBLOCK, &alarm, NULL) &&
	       !setitimer(ITIMER_REAL, &(struct itimerval){ often, often }, NULL);
}

static uint16_t length(const char *text)
{
	return (uint16_t)(text ? strnlen(text, TEXT_MOST) : 0);
}

static bool answer(int fd, int err, const struct sym_line *lines, size_t n)
{
	const struct answer a = { .err = err, .n = (uint32_t)n };
	struct wire wire[LINES_MOST];
	bool is_sent;

	for (size_t i = 0; i < n; i++)
		wire[i] = (struct wire){ lines[i].line, length(lines[i].function),
					 length(lines[i].file) };
	is_sent = send_all(fd, &a, sizeof(a), 0) && send_all(fd, wire, n * sizeof(*wire), 0);
	for (size_t i = 0; i < n && is_sent; i++)
		is_sent = send_all(fd, lines[i].function, wire[i].function, 0) &&
			  send_all(fd, lines[i].file, wire[i].file, 0);
	return is_sent;
}

static void serve(const struct sym_lines *l, int fd)
{
	const int keep[] = { fd, l->data->fd, l->code->fd };
	struct sym_line lines[LINES_MOST];
	struct sym_dwarf *d;
	uint64_t seconds = 1 + time_left(l) / NS_PER_SECOND;
	struct question q;
	int err;

	seconds = seconds < FILE_SECONDS ? seconds : FILE_SECONDS;
	rp_work_watch(NULL, NULL); /* who asks looks at that */
	if (!watch_asker() || !sym_lines_confine(keep, sizeof(keep) / sizeof(keep[0]), seconds))
		return;
	err = sym_dwarf_open(&d, l->data, l->code, sym_lines_memory(), sym_lines_confine_calls);
	if (!answer(fd, err, NULL, 0) || err)
		return;
	while (recv(fd, &q, sizeof(q), MSG_WAITALL) == sizeof(q))
		if (!answer(fd, 0, lines,
			    sym_dwarf_find(d, q.vaddr, q.inlined, lines,
					   q.max < LINES_MOST ? q.max : LINES_MOST)))
			return;
}

/* ---- here: which there are */

/* Those that have ended are known no longer. Whether one more may end, of this owner. */
static bool reap(uid_t owner)
{
	int n = 0, own = 0;

	for (struct ending *e = ending; e < ending + MOST_ENDING; e++) {
		if (e->pid && waitpid(e->pid, NULL, WNOHANG))
			e->pid = 0;
		n += e->pid != 0;
		own += e->pid && e->owner == owner;
	}
	return n + MOST_LIVE < MOST_ENDING && own < OWNER_ENDING;
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
		if (!ending[i].pid) {
			ending[i] = (struct ending){ l->pid, owner_of(l) };
			break;
		}
	reap(owner_of(l));
}

/* How many there are of files of the same owner. */
static int count_live(const struct sym_lines *l)
{
	int n = 0;

	for (int i = 0; i < MOST_LIVE; i++)
		n += live[i] && owner_of(live[i]) == owner_of(l);
	return n;
}

/*
 * Where one more has a place, if need be of the one that was asked longest ago: of the owner who
 * has most, once one more is there.
 */
static int place(const struct sym_lines *l)
{
	int at = 0, most = 0;

	for (int i = 0; i < MOST_LIVE; i++) {
		int n;

		if (!live[i])
			return i;
		n = count_live(live[i]) + (owner_of(live[i]) == owner_of(l));
		if (n > most || (n == most && live[i]->asked < live[at]->asked)) {
			most = n;
			at = i;
		}
	}
	leave(live[at]);
	return at;
}

static void fail(struct sym_lines *l)
{
	leave(l);
	l->failed = true;
}

/* ---- here: time */

/* What it says itself is not believed; it is known until it is reaped. */
static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t = { 0 };
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

/* Waiting, since @began, costs a quarter of computing: the machine may be busy. */
static void spend(struct sym_lines *l, uint64_t began)
{
	const uint64_t waited = (rp_monotonic_ns() - began) / 4, ns = cpu_ns(l->pid),
		       computed = ns > l->ns ? ns - l->ns : 0,
		       more = computed > waited ? computed : waited;
	struct owner *o = rp_hash_add(&owners, &(uint32_t){ owner_of(l) });

	if (o)
		o->ns += more;
	ns_taken += more;
	l->ns += computed;
}

/* ---- here: questions */

static bool receive(const struct sym_lines *l, void *to, size_t n)
{
	ssize_t k;

	for (char *at = to; n;) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		if (rp_monotonic_ns() > l->until)
			return false;
		if (poll(&p, 1, LOOK_MS) <= 0) {
			if (rp_work_is_stopped())
				return false;
			continue;
		}
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
	l->until = rp_monotonic_ns() + WAIT_SECONDS * NS_PER_SECOND;
	return receive(l, a, sizeof(*a)) && a->n <= LINES_MOST;
}

/* NULL: its owner has no room for it, or there is no memory. They are kept until it is closed. */
static const char *keep_text(struct sym_lines *l, const char *text, size_t n)
{
	struct owner *o = rp_hash_add(&owners, &(uint32_t){ owner_of(l) });
	const char *kept = sym_strings_find(&l->texts, text, n);
	const uint64_t more = 2 * (n + 1); /* in their chunks */

	if (kept || !o || o->bytes + more > OWNER_TEXTS || !rp_memory_take(more))
		return kept;
	o->bytes += more;
	l->bytes += more;
	return sym_strings_add(&l->texts, text, n);
}

static void forget_texts(struct sym_lines *l)
{
	struct owner *o = l->bytes ? rp_hash_find(&owners, &(uint32_t){ owner_of(l) }) : NULL;

	if (o)
		o->bytes -= l->bytes;
	rp_memory_give(l->bytes);
	sym_strings_free(&l->texts);
}

static bool hear_text(struct sym_lines *l, uint16_t n, const char **out)
{
	char text[TEXT_MOST];

	*out = NULL;
	if (n > sizeof(text) || !receive(l, text, n))
		return false;
	if (n && !memchr(text, '\0', n))
		*out = keep_text(l, text, n);
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

/* 0; -ENODATA: nothing is to be had of it; -EAGAIN: not now. */
static int begin(struct sym_lines *l)
{
	const uint64_t began = rp_monotonic_ns();
	struct answer a = { 0 };
	bool is_heard;
	int pair[2], at;

	if (l->failed || !time_left(l))
		return -ENODATA;
	if (!reap(owner_of(l)) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -EAGAIN;
	at = place(l);
	parent = getpid();
	asker = pair[1];
	l->pid = fork();
	if (!l->pid) {
		serve(l, pair[1]);
		_exit(EXIT_SUCCESS);
	}
	close(pair[1]);
	if (l->pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	l->fd = pair[0];
	l->ns = 0;
	live[at] = l;
	is_heard = hear(l, &a);
	spend(l, began);
	if (is_heard && !a.err)
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
	if (err && err != -EAGAIN) {
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
	forget_texts(l);
	free(l);
}

size_t sym_lines_find(struct sym_lines *l, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max, bool *failed)
{
	const struct question q = { vaddr, inlined, (uint32_t)max };
	int err = l->here || l->fd >= 0 ? 0 : begin(l);
	struct answer a = { 0 };
	uint64_t began;
	bool is_heard;

	*failed = err || (l->here && !sym_dwarf_may_find(l->here));
	if (l->here)
		return sym_dwarf_find(l->here, vaddr, inlined, out, max);
	if (err || !max)
		return 0;
	l->asked = ++questions;
	began = rp_monotonic_ns();
	is_heard = time_left(l) && send_all(l->fd, &q, sizeof(q), MSG_DONTWAIT) && hear(l, &a) &&
		   a.n <= max && hear_lines(l, a.n, out);
	spend(l, began);
	*failed = !is_heard;
	if (!is_heard)
		fail(l);
	return is_heard ? a.n : 0;
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
