/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sender's side of debug data for Parca: which build ids windows have, whether the server wants
 * the files, and sending those. One at a time for each destination, beside its windows.
 *
 *	ShouldInitiateUpload	is it wanted? -> the supervisor is asked for the file
 *	InitiateUpload		how, and by which name
 *	Upload			a stream: who it is, then the file in pieces
 *	MarkUploadFinished
 *
 * Each build id is asked for once in the life of a sender, unless the server was away; once for
 * each path, as a file that only says that it has a build id is none for the others that do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "push.h"

#define SERVICE "/parca.debuginfo.v1alpha1.DebuginfoService/"
/* Then all are asked for again: whoever makes many files keeps no other one from being sent. */
#define MAX_ASKED 10000
#define MAX_QUEUE 1000
#define PIECE (1u << 20)
#define UPLOAD_SECONDS 600
/* After a server that was away, and for an answer of the supervisor. */
#define PAUSE_NS (60 * NS_PER_SECOND)
enum { STRATEGY_GRPC = 1 };

struct wanted {
	char build_id[PUSH_BUILD_ID];
	char path[PUSH_PATH];
};

struct push_symbols {
	struct push_call call; /* the first, as what comes back with a result */
	struct push_http *http;
	const struct push_target *target;
	push_wants_fn *wants;
	void *ctx;
	enum { IDLE, ASKED, WAITS, BEGUN, UPLOADS, MARKED } state;
	uint64_t since_ns, not_before_ns;
	struct hash_map asked; /* of struct wanted */
	struct wanted *queue;
	size_t first, n, capacity;
	struct wanted now;
	struct push_request request;
	int fd; /* -1: none */
	uint64_t size, hash;
	char upload_id[128];
	/* The stream: what is written before the file's next piece, and where that is. */
	char head[256];
	size_t nhead, head_at;
	uint64_t piece_left, file_at;
};

/* ---- which */

static void meet_one(struct push_symbols *s, const char *path, const char *build_id)
{
	struct wanted w = { .path = "" };
	bool is_new;

	if (*path != '/' || strlen(path) >= sizeof(w.path) ||
	    strlen(build_id) >= sizeof(w.build_id))
		return;
	memcpy(w.build_id, build_id, strlen(build_id));
	memcpy(w.path, path, strlen(path));
	if (!rp_hash_add_within(&s->asked, &w, MAX_ASKED, &is_new) || !is_new)
		return;
	RP_PUSH(s->queue, s->n, s->capacity, w); /* without memory: not asked about */
}

/* From another one on each time: whoever maps many files first fills not the queue for ever. */
void push_symbols_meet(struct push_symbols *s, const struct report *r)
{
	const char *path, *build_id;
	size_t at = 0, end = 0, first;

	if (!s)
		return;
	/* While windows come faster than answers, it is never empty. */
	s->n -= s->first;
	if (s->first)
		memmove(s->queue, s->queue + s->first, s->n * sizeof(*s->queue));
	s->first = 0;
	while (report_next_module(r, &at, &path, &build_id))
		end++;
	first = end ? rp_monotonic_ns() % end : 0;
	at = 0;
	for (size_t i = 0; i < first + end && s->n < MAX_QUEUE; i++) {
		if (i == end)
			at = 0;
		if (report_next_module(r, &at, &path, &build_id) && i >= first)
			meet_one(s, path, build_id);
	}
}

/* ---- requests */

static void end_one(struct push_symbols *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->request.body);
	s->request = (struct push_request){ 0 };
	s->fd = -1;
	s->state = IDLE;
	s->since_ns = rp_monotonic_ns();
}

/* It was away: all that it has not answered is asked again, with the next window. */
static void pause_all(struct push_symbols *s)
{
	rp_hash_free(&s->asked);
	s->first = s->n = 0;
	s->not_before_ns = rp_monotonic_ns() + PAUSE_NS;
	end_one(s);
}

static bool begin(struct push_symbols *s, const char *method, int state)
{
	snprintf(s->request.path, sizeof(s->request.path), SERVICE "%s", method);
	snprintf(s->request.type, sizeof(s->request.type), "application/grpc-web+proto");
	s->state = state;
	s->since_ns = rp_monotonic_ns();
	if (!push_http_begin(s->http, s->target, &s->request, s))
		return true;
	pause_all(s);
	return false;
}

/* A call with one message: texts by their fields, and a number if it is not 0. */
static bool call(struct push_symbols *s, const char *method, int state, const char *const texts[4],
		 uint64_t number, unsigned int number_field)
{
	static const char none[PUSH_FRAME_HEAD];
	FILE *f;

	free(s->request.body);
	s->request = (struct push_request){ 0 };
	f = open_memstream(&s->request.body, &s->request.size);
	if (f)
		fwrite(none, 1, sizeof(none), f);
	for (unsigned int i = 0; f && i < 4; i++)
		if (texts[i])
			push_put_text(f, i + 1, texts[i]);
	if (f && number) {
		push_put_varint(f, number_field << 3);
		push_put_varint(f, number);
	}
	if (!f || fclose(f)) {
		pause_all(s);
		return false;
	}
	push_frame_head(s->request.body, s->request.size - PUSH_FRAME_HEAD);
	return begin(s, method, state);
}

/* ---- the file */

static bool hash_file(struct push_symbols *s)
{
	unsigned char piece[65536];
	ssize_t n;

	s->hash = 0xcbf29ce484222325ull; /* FNV-1a */
	for (uint64_t at = 0; at < s->size; at += (uint64_t)n) {
		n = pread(s->fd, piece, sizeof(piece), (off_t)at);
		if (n <= 0)
			return false;
		for (ssize_t i = 0; i < n; i++)
			s->hash = (s->hash ^ piece[i]) * 0x100000001b3ull;
	}
	return true;
}

static size_t varint_bytes(uint64_t value)
{
	size_t n = 1;

	for (; value > 0x7f; value >>= 7)
		n++;
	return n;
}

/* UploadRequest { 1: UploadInfo { 1: build id, 2: upload id } } */
static bool begin_stream(struct push_symbols *s)
{
	const size_t nid = strlen(s->now.build_id), nup = strlen(s->upload_id);
	const size_t inner = 2 + nid + 2 + nup; /* both are shorter than 128 bytes */
	FILE *f = fmemopen(s->head, sizeof(s->head), "wb");
	char frame[PUSH_FRAME_HEAD];

	if (!f)
		return false;
	push_frame_head(frame, 1 + varint_bytes(inner) + inner);
	fwrite(frame, 1, sizeof(frame), f);
	push_put_varint(f, 1 << 3 | 2);
	push_put_varint(f, inner);
	push_put_text(f, 1, s->now.build_id);
	push_put_text(f, 2, s->upload_id);
	s->nhead = PUSH_FRAME_HEAD + 1 + varint_bytes(inner) + inner;
	s->head_at = 0;
	s->piece_left = s->file_at = 0;
	return !fclose(f);
}

static uint64_t piece_at(const struct push_symbols *s, uint64_t at)
{
	return s->size - at < PIECE ? s->size - at : PIECE;
}

/* UploadRequest { 2: bytes } */
static void begin_piece(struct push_symbols *s)
{
	const uint64_t n = piece_at(s, s->file_at);
	size_t at = PUSH_FRAME_HEAD;

	push_frame_head(s->head, 1 + varint_bytes(n) + n);
	s->head[at++] = 2 << 3 | 2;
	for (uint64_t left = n;; left >>= 7) {
		s->head[at++] = (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
		if (left <= 0x7f)
			break;
	}
	s->nhead = at;
	s->head_at = 0;
	s->piece_left = n;
}

static uint64_t stream_bytes(const struct push_symbols *s)
{
	uint64_t all = s->nhead;

	for (uint64_t at = 0; at < s->size; at += PIECE) {
		const uint64_t n = piece_at(s, at);

		all += PUSH_FRAME_HEAD + 1 + varint_bytes(n) + n;
	}
	return all;
}

/* What curl sends next; 0 at the end, or if the file has become shorter. */
static size_t read_stream(void *ctx, char *to, size_t room)
{
	struct push_symbols *s = ctx;
	ssize_t n;

	if (s->head_at == s->nhead && !s->piece_left && s->file_at < s->size)
		begin_piece(s);
	if (s->head_at < s->nhead) {
		const size_t left = s->nhead - s->head_at, part = left < room ? left : room;

		memcpy(to, s->head + s->head_at, part);
		s->head_at += part;
		return part;
	}
	if (!s->piece_left)
		return 0;
	n = pread(s->fd, to, s->piece_left < room ? s->piece_left : room, (off_t)s->file_at);
	if (n <= 0)
		return 0;
	s->file_at += (uint64_t)n;
	s->piece_left -= (uint64_t)n;
	return (size_t)n;
}

static bool rewind_stream(void *ctx)
{
	return begin_stream(ctx);
}

static void upload(struct push_symbols *s)
{
	free(s->request.body);
	s->request = (struct push_request){
		.read = read_stream, .rewind = rewind_stream, .ctx = s, .seconds = UPLOAD_SECONDS
	};
	if (!begin_stream(s)) {
		end_one(s);
		return;
	}
	s->request.size = stream_bytes(s);
	begin(s, "Upload", UPLOADS);
}

/* ---- answers */

/* ShouldInitiateUploadResponse { 1: bool } */
static void take_should(struct push_symbols *s, struct push_message m)
{
	uint64_t number, value;
	struct push_message in;
	bool should = false;

	while (push_next_field(&m, &number, &value, &in))
		if (number == 1)
			should = value != 0;
	if (!should || !s->wants(s->ctx, s->target, s->now.build_id, s->now.path)) {
		end_one(s);
		return;
	}
	s->state = WAITS;
	s->since_ns = rp_monotonic_ns();
}

/* InitiateUploadResponse { 1: { 2: upload id, 3: strategy } }; no other addresses are sent to. */
static void take_instructions(struct push_symbols *s, struct push_message m)
{
	struct push_message in, instructions = { NULL, NULL };
	uint64_t number, value, strategy = 0;

	*s->upload_id = '\0';
	while (push_next_field(&m, &number, &value, &in))
		if (number == 1)
			instructions = in;
	while (push_next_field(&instructions, &number, &value, &in)) {
		const size_t n = (size_t)(in.end - in.at);

		if (number == 3)
			strategy = value;
		if (number != 2 || n >= sizeof(s->upload_id) - 1)
			continue;
		memcpy(s->upload_id, in.at, n);
		s->upload_id[n] = '\0';
	}
	if (strategy == STRATEGY_GRPC && *s->upload_id)
		upload(s);
	else
		end_one(s);
}

static void done(void *call_, const struct push_http_result *r)
{
	struct push_symbols *s = call_;
	struct push_message m;

	if (r->status <= 0 || r->status == 429 || r->status >= 500 || r->is_page) {
		pause_all(s);
		return;
	}
	if (r->status != 200 || !push_call_answer(r->answer, r->size, &m)) {
		end_one(s); /* it does not take this one */
		return;
	}
	if (s->state == ASKED) {
		take_should(s, m);
	} else if (s->state == BEGUN) {
		take_instructions(s, m);
	} else if (s->state == UPLOADS) {
		call(s, "MarkUploadFinished", MARKED,
		     (const char *const[4]){ s->now.build_id, s->upload_id }, 0, 0);
	} else {
		s->wants(s->ctx, s->target, NULL, NULL); /* it is there */
		end_one(s);
	}
}

/* ---- from outside */

void push_symbols_file(struct push_symbols *s, int fd)
{
	char hash[17];
	struct stat st;

	if (!s || s->state != WAITS || s->fd >= 0) {
		close(fd);
		return;
	}
	s->fd = fd;
	s->size = !fstat(fd, &st) && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	if (!s->size || !hash_file(s)) {
		end_one(s);
		return;
	}
	snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)s->hash);
	call(s, "InitiateUpload", BEGUN, (const char *const[4]){ s->now.build_id, NULL, hash },
	     s->size, 2);
}

uint64_t push_symbols_size(const struct push_symbols *s)
{
	return s->size;
}

void push_symbols_go(struct push_symbols *s)
{
	const uint64_t now = rp_monotonic_ns();

	if (s && s->state == WAITS && now - s->since_ns > PAUSE_NS)
		end_one(s);
	if (!s || s->state != IDLE || now < s->not_before_ns)
		return;
	if (s->first == s->n) {
		s->first = s->n = 0;
		return;
	}
	s->now = s->queue[s->first++];
	call(s, "ShouldInitiateUpload", ASKED, (const char *const[4]){ s->now.build_id }, 0, 0);
}

struct push_symbols *push_symbols_new(const struct push_target *t, struct push_http *http,
				      push_wants_fn *wants, void *ctx)
{
	struct push_symbols *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->call.done = done;
	s->target = t;
	s->http = http;
	s->wants = wants;
	s->ctx = ctx;
	s->fd = -1;
	s->asked = HASH_SET(struct wanted);
	return s;
}
