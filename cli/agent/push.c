/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes to which destination, and when: the oldest window first, one at a time for each. A
 * destination that does not take it now is asked again, later each time and at no foreseeable
 * moment, so that a thousand agents do not come back together. Until then windows stay in the
 * spool, which is bounded; what has to go is counted and said.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/loader.h>

#include "agent.h"
#include "base/clock.h"
#include "push.h"

#define FIRST_RETRY_NS NS_PER_SECOND
#define LAST_RETRY_NS (300 * NS_PER_SECOND)
#define MOST_RETRY_AFTER 3600
/* Of a kind of message for a destination. */
#define QUIET_NS (60 * NS_PER_SECOND)
#define START_MS 10000
#define MAX_DEATHS 3

enum drop { DROP_FULL, DROP_OLD, DROP_REFUSED, DROP_UNREADABLE, DROPS };
static const struct {
	const char *label, *text;
} drops[DROPS] = {
	[DROP_FULL] = { "full", "the spool is full" },
	[DROP_OLD] = { "old", "they waited too long" },
	[DROP_REFUSED] = { "refused", "it refuses them" },
	[DROP_UNREADABLE] = { "unreadable", "they cannot be read" },
};

/* The way to one destination. */
struct lane {
	uint32_t id; /* of the destination: a configuration may name it again */
	bool busy, failing, gave_up;
	unsigned int failures; /* one after the other */
	uint64_t next_ns;      /* CLOCK_MONOTONIC: not before */
	uint64_t sent, sent_bytes, requests_failed, rejected, dropped[DROPS], files, file_bytes;
	uint64_t unsaid[DROPS], said_ns[DROPS];
};

struct push {
	struct push_config config;
	struct push_spool *spool;
	struct lane lane[PUSH_MAX_TARGETS]; /* as config.target */
	int socket;			    /* to the sender; -1: it has ended */
	pid_t sender;
	bool ready, reloading, ending;
	uint64_t orphans; /* dropped of destinations that are no longer configured */
};

/* ---- what is said */

static const char *name_of(const struct push *p, const struct lane *l)
{
	return p->config.target[l - p->lane].name;
}

static void say_dropped(struct push *p, struct lane *l, enum drop why, bool at_once)
{
	const uint64_t now = rp_monotonic_ns();

	if (!l->unsaid[why] || (!at_once && l->said_ns[why] && now - l->said_ns[why] < QUIET_NS))
		return;
	rp_log(RP_WARN, "%s: %" PRIu64 " windows dropped: %s", name_of(p, l), l->unsaid[why],
	       drops[why].text);
	l->unsaid[why] = 0;
	l->said_ns[why] = now;
}

static struct lane *lane_of(struct push *p, uint32_t id)
{
	for (size_t i = 0; i < p->config.ntargets; i++)
		if (p->lane[i].id == id)
			return &p->lane[i];
	return NULL;
}

static void drop(struct push *p, struct push_item *item, enum drop why)
{
	struct lane *l = lane_of(p, item->target);

	push_spool_remove(p->spool, item);
	if (!l) {
		p->orphans++;
		return;
	}
	l->dropped[why]++;
	l->unsaid[why]++;
	say_dropped(p, l, why, false);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void drop_excess(struct push *p)
{
	const uint64_t keep_ms = (uint64_t)(p->config.spool_time * 1000), now = now_ms();
	const uint64_t before = now > keep_ms ? now - keep_ms : 0;
	struct push_item *item;

	while ((item = push_spool_excess(p->spool, p->config.spool_bytes, before)))
		drop(p, item, item->ms < before ? DROP_OLD : DROP_FULL);
}

/* ---- orders */

static int order(const struct push *p, const struct push_order *o, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)o, .iov_len = sizeof(*o) };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };

	control.header = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS,
					   .cmsg_len = CMSG_LEN(sizeof(fd)) };
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(p->socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* In memory alone, as there are tokens in it. */
static int send_config(const struct push *p)
{
	const struct push_order o = { .what = PUSH_CONFIGURE };
	const struct push_config *c = &p->config;
	const int fd = memfd_create("rawprof-config", MFD_CLOEXEC);
	int err = fd < 0 ? -errno : 0;

	for (size_t done = 0; !err && done < c->npairs;) {
		const ssize_t n = write(fd, c->pairs + done, c->npairs - done);

		err = n < 0 && errno != EINTR ? -errno : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	if (!err)
		err = order(p, &o, fd);
	if (fd >= 0)
		close(fd);
	return err;
}

static void send_next(struct push *p, struct lane *l)
{
	struct push_order o = { .what = PUSH_SEND, .target = (uint32_t)(l - p->lane) };
	struct push_item *item;
	int fd, err;

	while ((item = push_spool_next(p->spool, l->id))) {
		fd = push_spool_read(p->spool, item);
		if (fd >= 0)
			break;
		drop(p, item, DROP_UNREADABLE);
	}
	if (!item)
		return;
	o.from = item->done;
	snprintf(o.kind, sizeof(o.kind), "%s", item->kind);
	err = order(p, &o, fd);
	close(fd);
	if (err) { /* it does not read: asked again in a moment */
		l->next_ns = rp_monotonic_ns() + FIRST_RETRY_NS;
		return;
	}
	item->busy = l->busy = true;
}

/* ---- answers */

/* Half of the time that it is now, and up to as much again by chance. */
static uint64_t wait_ns(unsigned int failures)
{
	uint64_t ns = FIRST_RETRY_NS << (failures < 16 ? failures : 16), random = 0;

	ns = ns < LAST_RETRY_NS ? ns : LAST_RETRY_NS;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = rp_monotonic_ns() * 0x9e3779b97f4a7c15ull;
	return ns / 2 + random % (ns / 2);
}

static void retry_later(struct push *p, struct lane *l, const struct push_answer *a)
{
	const uint64_t asked =
		a->retry_after < MOST_RETRY_AFTER ? a->retry_after : MOST_RETRY_AFTER;
	uint64_t ns = wait_ns(l->failures);

	l->failures++;
	l->requests_failed++;
	l->gave_up = p->ending;
	ns = ns > asked * NS_PER_SECOND ? ns : asked * NS_PER_SECOND;
	l->next_ns = rp_monotonic_ns() + ns;
	if (!l->failing)
		rp_log(RP_WARN, "%s takes nothing now (%s%.*u%s%.*s): windows wait in the spool",
		       name_of(p, l), a->http ? "status " : "", a->http ? 3 : 0, a->http,
		       a->http && *a->reason ? ", " : "", PUSH_REASON - 1, a->reason);
	l->failing = true;
}

static void sent(struct push *p, struct lane *l, struct push_item *item,
		 const struct push_answer *a)
{
	const bool refused = a->outcome == PUSH_REFUSED && a->refused == a->done;
	const uint64_t rejected = a->rejected + a->refused; /* of one that was taken */

	l->failures = 0;
	l->next_ns = 0;
	if (l->failing)
		rp_log(RP_INFO, "%s takes windows again", name_of(p, l));
	l->failing = false;
	if (refused && !l->unsaid[DROP_REFUSED] && !l->dropped[DROP_REFUSED])
		rp_log(RP_WARN, "%s refuses a window (status %u, %.*s)", name_of(p, l), a->http,
		       PUSH_REASON - 1, a->reason);
	if (!item)
		return;
	if (refused) {
		drop(p, item, DROP_REFUSED);
		return;
	}
	if (rejected && !l->rejected)
		rp_log(RP_WARN,
		       "%s takes windows but for a part: %" PRIu64 " profiles rejected (%.*s)",
		       name_of(p, l), rejected, PUSH_REASON - 1, a->reason);
	l->rejected += rejected;
	l->sent++;
	l->sent_bytes += item->bytes;
	push_spool_remove(p->spool, item);
}

/* What a server wants and there is not is an empty file. */
static void send_file(struct push *p, struct push_answer *a)
{
	const struct push_order o = { .what = PUSH_FILE, .target = a->target };
	int fd;

	a->build_id[PUSH_BUILD_ID - 1] = a->path[PUSH_PATH - 1] = '\0';
	if (a->target >= p->config.ntargets || !p->config.target[a->target].debuginfo)
		return;
	fd = push_debug_file(a->path, a->build_id);
	if (fd < 0)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		order(p, &o, fd);
		close(fd);
	}
}

static void take_answer(struct push *p, struct push_answer *a)
{
	struct lane *l = a->target < p->config.ntargets ? &p->lane[a->target] : NULL;
	struct push_item *item = l ? push_spool_busy(p->spool, l->id) : NULL;

	a->reason[PUSH_REASON - 1] = '\0';
	if (l && a->outcome == PUSH_HAS) {
		l->files++;
		l->file_bytes += a->bytes;
	}
	if (a->outcome == PUSH_WANTS)
		send_file(p, a);
	if (!l || !l->busy || a->outcome == PUSH_WANTS || a->outcome == PUSH_HAS)
		return;
	if (a->outcome == PUSH_PART) {
		if (item)
			push_spool_progress(p->spool, item, a->done);
		return;
	}
	l->busy = false;
	if (item)
		item->busy = false;
	if (item && a->done > item->done && a->outcome == PUSH_LATER)
		push_spool_progress(p->spool, item, a->done);
	if (a->outcome == PUSH_SENT || a->outcome == PUSH_REFUSED)
		sent(p, l, item, a);
	else if (a->outcome == PUSH_UNABLE && item) {
		rp_log(RP_WARN, "%s: %s", name_of(p, l), a->reason);
		drop(p, item, DROP_UNREADABLE);
	} else {
		retry_later(p, l, a);
	}
}

/* A sender has begun, the first one or another: nothing is under way. */
static void begin_anew(struct push *p)
{
	for (size_t i = 0; i < p->config.ntargets; i++) {
		struct lane *l = &p->lane[i];
		struct push_item *item = push_spool_busy(p->spool, l->id);

		l->busy = false;
		if (!item)
			continue;
		item->busy = false;
		item->deaths += !p->reloading;
		if (item->deaths >= MAX_DEATHS)
			drop(p, item, DROP_UNREADABLE);
	}
	p->reloading = false;
	p->ready = !send_config(p);
}

static const char *why_ended(int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
		return "libcurl.so.4 is not installed (package libcurl4)";
	if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
		return "it cannot give up its rights";
	return "it has ended";
}

static int read_answers(struct push *p)
{
	struct push_answer a;
	int status = 0;
	ssize_t n;

	while ((n = recv(p->socket, &a, sizeof(a), MSG_DONTWAIT)) == sizeof(a)) {
		if (a.outcome == PUSH_READY)
			begin_anew(p);
		else
			take_answer(p, &a);
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	close(p->socket);
	p->socket = -1;
	p->ready = false;
	while (waitpid(p->sender, &status, 0) < 0 && errno == EINTR)
		;
	return rp_fail(-EPIPE, "nothing is sent, as the process that does it is not there: %s",
		       why_ended(status));
}

/* ---- from the beginning to the end */

static int start_sender(struct push *p)
{
	struct pollfd fd;
	int err = push_sender_start(&p->socket, &p->sender);

	if (err) {
		p->socket = -1;
		return err;
	}
	fd = (struct pollfd){ .fd = p->socket, .events = POLLIN };
	if (poll(&fd, 1, START_MS) <= 0)
		return rp_fail(-ETIME, "the process that sends does not start");
	return read_answers(p);
}

int push_open(struct push_config *c, int dir, struct push **out)
{
	struct push *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->config = *c;
	*c = (struct push_config){ 0 };
	p->socket = -1;
	for (size_t i = 0; i < p->config.ntargets; i++)
		p->lane[i].id = p->config.target[i].id;
	err = push_spool_open(dir, &p->spool);
	if (!err)
		err = start_sender(p);
	if (err) {
		push_close(p);
		return err;
	}
	drop_excess(p);
	*out = p;
	return 0;
}

static void say_end(struct push *p)
{
	for (size_t i = 0; i < p->config.ntargets; i++) {
		struct lane *l = &p->lane[i];
		const uint64_t left = push_spool_state(p->spool, l->id).windows;

		if (l->rejected)
			rp_log(RP_WARN,
			       "%s: %" PRIu64 " profiles rejected, of windows that it took",
			       name_of(p, l), l->rejected);
		for (unsigned int why = 0; why < DROPS; why++)
			say_dropped(p, l, (enum drop)why, true);
		if (left)
			rp_log(RP_WARN,
			       "%s: %" PRIu64 " windows wait in the spool for the next "
			       "start",
			       name_of(p, l), left);
	}
	if (p->orphans)
		rp_log(RP_WARN,
		       "%" PRIu64 " windows dropped, of destinations that there are no "
		       "more",
		       p->orphans);
}

void push_close(struct push *p)
{
	if (!p)
		return;
	if (p->spool)
		say_end(p);
	if (p->socket >= 0) {
		close(p->socket);
		while (waitpid(p->sender, NULL, 0) < 0 && errno == EINTR)
			;
	}
	push_spool_close(p->spool);
	push_config_free(&p->config);
	free(p);
}

/* Counts of a destination that stays go on. */
void push_configure(struct push *p, struct push_config *c)
{
	struct lane old[PUSH_MAX_TARGETS];
	const size_t n = p->config.ntargets;

	memcpy(old, p->lane, sizeof(old));
	memset(p->lane, 0, sizeof(p->lane));
	push_config_free(&p->config);
	p->config = *c;
	*c = (struct push_config){ 0 };
	for (size_t i = 0; i < p->config.ntargets; i++) {
		struct lane *l = &p->lane[i];

		l->id = p->config.target[i].id;
		for (size_t j = 0; j < n; j++)
			if (old[j].id == l->id)
				*l = old[j];
		l->next_ns = 0; /* what it was refused for may have been put right */
		l->failures = 0;
	}
	p->reloading = true;
	p->ready = false;
	if (p->socket >= 0)
		send_config(p); /* which ends this sender: the next one says that it is ready */
	drop_excess(p);
}

void push_window(struct push *p, const char *name, const char *kind, uint64_t start_ns,
		 uint64_t bytes)
{
	for (size_t i = 0; i < p->config.ntargets; i++) {
		struct lane *l = &p->lane[i];
		struct push_item item = { .ms = start_ns / 1000000,
					  .bytes = bytes,
					  .target = l->id };
		int err;

		snprintf(item.kind, sizeof(item.kind), "%s", kind);
		err = push_spool_put(p->spool, name, &item);
		if (!err)
			continue;
		rp_log(RP_WARN, "%s: %s cannot be put into the spool: %s", name_of(p, l), name,
		       strerror(-err));
		l->dropped[DROP_UNREADABLE]++;
		l->unsaid[DROP_UNREADABLE]++;
	}
	drop_excess(p);
}

struct pollfd push_poll(const struct push *p)
{
	return (struct pollfd){ .fd = p ? p->socket : -1, .events = POLLIN };
}

/* True: a destination has something to be sent to it, not before *ns. */
static bool has_work(const struct push *p, size_t i, uint64_t *ns)
{
	const struct lane *l = &p->lane[i];

	*ns = l->next_ns;
	return p->ready && !l->busy && !l->gave_up && push_spool_next(p->spool, l->id);
}

int push_due_ms(const struct push *p)
{
	const uint64_t now = rp_monotonic_ns();
	uint64_t first = UINT64_MAX, ns;

	for (size_t i = 0; p && i < p->config.ntargets; i++)
		if (has_work(p, i, &ns) && ns < first)
			first = ns;
	if (first == UINT64_MAX)
		return -1;
	return first > now ? (int)((first - now) / 1000000 + 1) : 0;
}

void push_serve(struct push *p, bool readable)
{
	uint64_t ns;

	if (!p)
		return;
	if (readable && p->socket >= 0)
		read_answers(p);
	for (size_t i = 0; i < p->config.ntargets; i++)
		if (has_work(p, i, &ns) && ns <= rp_monotonic_ns())
			send_next(p, &p->lane[i]);
}

bool push_hurry(struct push *p)
{
	bool busy = false;
	uint64_t ns;

	for (size_t i = 0; p && i < p->config.ntargets; i++) {
		if (!p->ending)
			p->lane[i].next_ns = 0;
		busy = busy || p->lane[i].busy || has_work(p, i, &ns);
	}
	if (p)
		p->ending = true;
	return busy && p->socket >= 0;
}

/* ---- metrics */

static void print_counter(const struct push *p, FILE *out, const char *name, const char *help,
			  size_t member)
{
	agent_metrics_head(out, name, "counter", help);
	for (size_t i = 0; i < p->config.ntargets; i++) {
		uint64_t value;

		memcpy(&value, (const char *)&p->lane[i] + member, sizeof(value));
		fprintf(out, "rawprof_agent_%s{destination=\"%s\"} %" PRIu64 "\n", name,
			p->config.target[i].name, value);
	}
}

static void print_gauges(const struct push *p, FILE *out)
{
	agent_metrics_head(out, "push_waiting", "gauge", "windows in the spool");
	for (size_t i = 0; i < p->config.ntargets; i++)
		fprintf(out, "rawprof_agent_push_waiting{destination=\"%s\"} %" PRIu64 "\n",
			p->config.target[i].name,
			push_spool_state(p->spool, p->lane[i].id).windows);
	agent_metrics_head(out, "push_spool_bytes", "gauge", "what windows in the spool have");
	fprintf(out, "rawprof_agent_push_spool_bytes %" PRIu64 "\n",
		push_spool_state(p->spool, 0).bytes);
	agent_metrics_head(out, "push_up", "gauge", "whether the last request was answered");
	for (size_t i = 0; i < p->config.ntargets; i++)
		fprintf(out, "rawprof_agent_push_up{destination=\"%s\"} %d\n",
			p->config.target[i].name, !p->lane[i].failing);
}

void push_print_metrics(const struct push *p, FILE *out)
{
	if (!p)
		return;
	print_counter(p, out, "push_sent_total", "windows that were sent",
		      offsetof(struct lane, sent));
	print_counter(p, out, "push_sent_bytes_total", "what windows that were sent had",
		      offsetof(struct lane, sent_bytes));
	print_counter(p, out, "push_failed_total", "requests that were not answered, or with no",
		      offsetof(struct lane, requests_failed));
	print_counter(p, out, "push_rejected_total",
		      "profiles that a server of OTLP did not take, of windows that it took",
		      offsetof(struct lane, rejected));
	print_counter(p, out, "push_debuginfo_files_total", "files with debug data that were sent",
		      offsetof(struct lane, files));
	print_counter(p, out, "push_debuginfo_bytes_total", "what they had",
		      offsetof(struct lane, file_bytes));
	agent_metrics_head(out, "push_dropped_total", "counter", "windows that were not sent");
	for (size_t i = 0; i < p->config.ntargets; i++)
		for (unsigned int why = 0; why < DROPS; why++)
			fprintf(out,
				"rawprof_agent_push_dropped_total"
				"{destination=\"%s\",reason=\"%s\"} %" PRIu64 "\n",
				p->config.target[i].name, drops[why].label,
				p->lane[i].dropped[why]);
	print_gauges(p, out);
}
