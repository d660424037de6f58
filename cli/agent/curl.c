/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests by libcurl, which brings TLS, proxies and names with it, and thirty libraries: it is
 * loaded when the first destination is there, by the process that has no rights, and by no other.
 * Static programs have nothing to load it with.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "push.h"

#ifdef HAVE_CURL

#include <dlfcn.h>

#define CURL_DISABLE_TYPECHECK
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

#pragma weak dlopen /* `make static` leaves it out */

/* What a server may answer; what is behind it is not read. */
#define MAX_ANSWER (256u << 10)
#define CONNECT_MS 5000

#define FUNCTIONS(X)                                                                               \
	X(curl_global_init)                                                                        \
	X(curl_easy_init)                                                                          \
	X(curl_easy_setopt)                                                                        \
	X(curl_easy_getinfo)                                                                       \
	X(curl_easy_cleanup)                                                                       \
	X(curl_easy_strerror)                                                                      \
	X(curl_slist_append)                                                                       \
	X(curl_slist_free_all)                                                                     \
	X(curl_multi_init)                                                                         \
	X(curl_multi_add_handle)                                                                   \
	X(curl_multi_remove_handle)                                                                \
	X(curl_multi_perform)                                                                      \
	X(curl_multi_poll)                                                                         \
	X(curl_multi_info_read)                                                                    \
	X(curl_multi_cleanup)

struct push_http {
	void *library;
	CURLM *multi;
#define MEMBER(name) __typeof__(&(name)) name##_;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

/* A request that is under way. */
struct transfer {
	struct push_http *http;
	CURL *easy;
	struct curl_slist *head;
	char *url;
	void *ctx;
	size_t have; /* bytes of the answer */
	char text[PUSH_ANSWER], error[CURL_ERROR_SIZE];
};

bool push_can_send(const char **why)
{
	*why = "a static program cannot load libcurl: windows are written to --dir alone";
	return dlopen != NULL;
}

int push_http_new(struct push_http **out)
{
	struct push_http *h = dlopen ? calloc(1, sizeof(*h)) : NULL;
	bool found = true;

	if (!h)
		return dlopen ? -ENOMEM : -ENOSYS;
	h->library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!h->library)
		h->library = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
#define FIND(name)                                                                                 \
	*(void **)&h->name##_ = h->library ? dlsym(h->library, #name) : NULL;                      \
	found = found && h->name##_;
	FUNCTIONS(FIND)
#undef FIND
	if (found && !h->curl_global_init_(CURL_GLOBAL_DEFAULT))
		h->multi = h->curl_multi_init_();
	if (!h->multi) {
		push_http_free(h);
		return -ELIBACC;
	}
	*out = h;
	return 0;
}

/* The library stays: it has handlers for the end of the process. */
void push_http_free(struct push_http *h)
{
	if (h && h->multi)
		h->curl_multi_cleanup_(h->multi);
	free(h);
}

/* ---- a request */

static size_t take_answer(char *bytes, size_t one, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	const size_t room = t->have < sizeof(t->text) ? sizeof(t->text) - t->have : 0;

	n *= one;
	if (room)
		memcpy(t->text + t->have, bytes, room < n ? room : n);
	t->have += n;
	return t->have > MAX_ANSWER ? 0 : n;
}

static bool add_head(struct transfer *t, const char *name, const char *value)
{
	const size_t n = strlen(name) + strlen(value) + 3;
	char *line = malloc(n);
	struct curl_slist *longer = NULL;

	if (line) {
		snprintf(line, n, "%s%s", name, value);
		longer = t->http->curl_slist_append_(t->head, line);
		free(line);
	}
	t->head = longer ? longer : t->head;
	return longer;
}

static bool make_head(struct transfer *t, const struct push_target *target,
		      const struct push_request *r)
{
	/* Expect: no waiting for the server's permission to go on */
	bool ok = add_head(t, "Content-Type: ", r->type) && add_head(t, "Expect:", "");

	if (ok && r->gzip)
		ok = add_head(t, "Content-Encoding: ", "gzip");
	if (ok && target->text[PUSH_TOKEN])
		ok = add_head(t, "Authorization: Bearer ", target->text[PUSH_TOKEN]);
	if (ok && target->text[PUSH_TENANT])
		ok = add_head(t, "X-Scope-OrgID: ", target->text[PUSH_TENANT]);
	for (size_t i = 0; i < target->nheaders && ok; i++)
		ok = add_head(t, target->header[i], "");
	return ok;
}

static bool make_url(struct transfer *t, const struct push_target *target,
		     const struct push_request *r)
{
	const size_t n =
		strlen(target->url) + strlen(r->path) + (r->query ? strlen(r->query) : 0) + 2;

	t->url = malloc(n);
	if (t->url)
		snprintf(t->url, n, "%s%s%s%s", target->url, r->path, r->query ? "?" : "",
			 r->query ? r->query : "");
	return t->url;
}

#define SET(t, option, value)                                                                      \
	((t)->http->curl_easy_setopt_((t)->easy, CURLOPT_##option, value) == CURLE_OK)

static bool set_pem(struct transfer *t, CURLoption option, const char *pem)
{
	struct curl_blob blob = { .data = (void *)(uintptr_t)pem,
				  .len = pem ? strlen(pem) : 0,
				  .flags = CURL_BLOB_COPY };

	return !pem || t->http->curl_easy_setopt_(t->easy, option, &blob) == CURLE_OK;
}

/* False also where this libcurl does not know an option. */
static bool set_security(struct transfer *t, const struct push_target *target)
{
	const long verify = !target->unverified;
	bool ok = SET(t, SSL_VERIFYPEER, verify) && SET(t, SSL_VERIFYHOST, 2 * verify) &&
		  set_pem(t, CURLOPT_CAINFO_BLOB, target->text[PUSH_CA]) &&
		  set_pem(t, CURLOPT_SSLCERT_BLOB, target->text[PUSH_CERT]) &&
		  set_pem(t, CURLOPT_SSLKEY_BLOB, target->text[PUSH_KEY]);

	if (ok && target->text[PUSH_USER])
		ok = SET(t, USERPWD, target->text[PUSH_USER]);
	if (ok && target->text[PUSH_PROXY])
		ok = SET(t, PROXY, target->text[PUSH_PROXY]);
	/* No other protocols, and nobody is followed to another server with a token. */
	return ok && SET(t, PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) &&
	       SET(t, FOLLOWLOCATION, 0L);
}

/* An end before its time ends the request. */
static size_t read_body(char *to, size_t one, size_t n, void *ctx)
{
	const struct push_request *r = ctx;
	const size_t have = r->read(r->ctx, to, one * n);

	return have ? have : CURL_READFUNC_ABORT;
}

static int seek_body(void *ctx, curl_off_t to, int from)
{
	const struct push_request *r = ctx;

	return !to && from == SEEK_SET && r->rewind(r->ctx) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

static bool set_body(struct transfer *t, const struct push_request *r)
{
	if (!SET(t, POST, 1L) || !SET(t, POSTFIELDSIZE_LARGE, (curl_off_t)r->size))
		return false;
	if (!r->read)
		return SET(t, POSTFIELDS, r->body);
	return SET(t, READFUNCTION, read_body) && SET(t, READDATA, r) &&
	       SET(t, SEEKFUNCTION, seek_body) && SET(t, SEEKDATA, r);
}

static bool set_all(struct transfer *t, const struct push_target *target,
		    const struct push_request *r)
{
	const long ms = (long)((r->seconds > 0 ? r->seconds : target->timeout) * 1000);

	return SET(t, URL, t->url) && SET(t, PRIVATE, t) && set_body(t, r) &&
	       SET(t, HTTPHEADER, t->head) && SET(t, USERAGENT, "rawprof") &&
	       SET(t, WRITEFUNCTION, take_answer) && SET(t, WRITEDATA, t) &&
	       SET(t, ERRORBUFFER, t->error) && SET(t, NOSIGNAL, 1L) && SET(t, TIMEOUT_MS, ms) &&
	       SET(t, CONNECTTIMEOUT_MS, ms < CONNECT_MS ? ms : (long)CONNECT_MS) &&
	       set_security(t, target);
}

static void free_transfer(struct transfer *t)
{
	if (!t)
		return;
	if (t->easy)
		t->http->curl_easy_cleanup_(t->easy);
	t->http->curl_slist_free_all_(t->head);
	free(t->url);
	free(t);
}

int push_http_begin(struct push_http *h, const struct push_target *target,
		    const struct push_request *request, void *ctx)
{
	struct transfer *t = calloc(1, sizeof(*t));
	int running;

	if (!t)
		return -ENOMEM;
	t->http = h;
	t->ctx = ctx;
	t->easy = h->curl_easy_init_();
	if (!t->easy || !make_head(t, target, request) || !make_url(t, target, request)) {
		free_transfer(t);
		return -ENOMEM;
	}
	if (!set_all(t, target, request) || h->curl_multi_add_handle_(h->multi, t->easy)) {
		free_transfer(t);
		return -EINVAL;
	}
	/* It may end with this: whoever begins one asks push_http_next() before it waits. */
	h->curl_multi_perform_(h->multi, &running);
	return 0;
}

/* ---- what becomes of them */

int push_http_wait(struct push_http *h, int fd, int ms)
{
	struct curl_waitfd extra = { .fd = fd, .events = CURL_WAIT_POLLIN };
	int running;

	if (h->curl_multi_poll_(h->multi, &extra, 1, ms, NULL) ||
	    h->curl_multi_perform_(h->multi, &running))
		return -EIO;
	return 0;
}

static void describe(struct transfer *t, CURLcode code, struct push_http_result *out)
{
	char *type = NULL;
	curl_off_t after = 0;

	*out = (struct push_http_result){ .ctx = t->ctx };
	t->http->curl_easy_getinfo_(t->easy, CURLINFO_RESPONSE_CODE, &out->status);
	t->http->curl_easy_getinfo_(t->easy, CURLINFO_CONTENT_TYPE, &type);
	t->http->curl_easy_getinfo_(t->easy, CURLINFO_RETRY_AFTER, &after);
	out->retry_after = after > 0 && after < UINT32_MAX ? (uint32_t)after : 0;
	out->is_page = type && !strncmp(type, "text/html", 9);
	if (code == CURLE_OK) {
		out->size = t->have < sizeof(t->text) ? t->have : sizeof(t->text);
		memcpy(out->answer, t->text, out->size);
		push_reason(out->answer, out->size, out->reason);
		return;
	}
	out->status = 0;
	snprintf(out->reason, sizeof(out->reason), "%.100s",
		 *t->error ? t->error : t->http->curl_easy_strerror_(code));
}

bool push_http_next(struct push_http *h, struct push_http_result *result)
{
	struct transfer *t = NULL;
	const CURLMsg *m;
	int left;

	do
		m = h->curl_multi_info_read_(h->multi, &left);
	while (m && m->msg != CURLMSG_DONE);
	if (!m)
		return false;
	h->curl_easy_getinfo_(m->easy_handle, CURLINFO_PRIVATE, (char **)&t);
	describe(t, m->data.result, result);
	h->curl_multi_remove_handle_(h->multi, t->easy);
	free_transfer(t);
	return true;
}

#else

bool push_can_send(const char **why)
{
	*why = "this build is without libcurl: windows are written to --dir alone";
	return false;
}

int push_http_new(struct push_http **out)
{
	(void)out;
	return -ENOSYS;
}

void push_http_free(struct push_http *h)
{
	(void)h;
}

int push_http_begin(struct push_http *h, const struct push_target *t,
		    const struct push_request *request, void *ctx)
{
	(void)h, (void)t, (void)request, (void)ctx;
	return -ENOSYS;
}

int push_http_wait(struct push_http *h, int fd, int ms)
{
	(void)h, (void)fd, (void)ms;
	return -ENOSYS;
}

bool push_http_next(struct push_http *h, struct push_http_result *result)
{
	(void)h, (void)result;
	return false;
}

#endif
