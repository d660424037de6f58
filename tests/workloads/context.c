/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Publishes what its threads work on, by OpenTelemetry's proposals 4719 and 4947, and burns CPU
 * time of shares that are known: a fifth without a context, a fifth on /a, three fifths on /b.
 *
 *	context WHERE HOW SECONDS
 *
 * WHERE: program, or a library with the variable, to be loaded by dlopen(); context-linked was
 * linked to it. HOW: right; late: keys but the first, and the service, come when half is done; or a
 * lie: invalid, huge (more bytes than a record has), cut (an attribute longer than the rest),
 * nowhere and circle (where the pointer leads), schema, payload (what describes it).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "work.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t bytes;
	uint8_t attributes[612];
};

struct head {
	char signature[8];
	uint32_t version, bytes;
	uint64_t published_at, payload;
};

#ifdef IN_LIBRARY
__thread void *otel_thread_ctx_v1;
void **context_slot(void);
__attribute__((visibility("default"))) void **context_slot(void)
{
	return &otel_thread_ctx_v1;
}
#else

#ifdef LINKED
void **context_slot(void);
#else
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;
static void **(*context_slot)(void);
static void **own_slot(void)
{
	return &otel_thread_ctx_v1;
}
#endif

/* ---- a message of protocol buffers, whose parts are shorter than 16 KB */

struct message {
	uint8_t bytes[1024];
	size_t n;
};

static void put(struct message *m, unsigned int field, const void *bytes, size_t n)
{
	m->bytes[m->n++] = (uint8_t)(field << 3 | 2);
	if (n > 127)
		m->bytes[m->n++] = (uint8_t)(n | 128);
	m->bytes[m->n++] = (uint8_t)(n > 127 ? n >> 7 : n);
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

static void put_attribute(struct message *m, unsigned int field, const char *key,
			  const struct message *value)
{
	struct message pair = { .n = 0 };

	put(&pair, 1, key, strlen(key));
	put(&pair, 2, value->bytes, value->n);
	put(m, field, pair.bytes, pair.n);
}

static void put_text(struct message *m, unsigned int field, const char *key, const char *text)
{
	struct message value = { .n = 0 };

	put(&value, 1, text, strlen(text));
	put_attribute(m, field, key, &value);
}

static struct message payload_of(const char *how, bool late)
{
	static const char *const keys[] = { "http.route", "user", "datadog.local_root_span_id" };
	struct message all = { .n = 0 }, resource = { .n = 0 }, list = { .n = 0 },
		       value = { .n = 0 };

	if (late)
		put_text(&resource, 1, "service.name", "shop");
	put_text(&resource, 1, "deployment.environment.name", "test");
	put_text(&resource, 1, "telemetry.sdk.language", "c");
	put(&all, 1, resource.bytes, resource.n);
	put_text(&all, 2, "threadlocal.schema_version",
		 strcmp(how, "schema") ? "tlsdesc_v1_dev" : "no_such_v9");
	for (size_t i = 0; i < (late ? 3 : 1); i++) {
		struct message key = { .n = 0 };

		put(&key, 1, keys[i], strlen(keys[i]));
		put(&list, 1, key.bytes, key.n);
	}
	put(&value, 5, list.bytes, list.n);
	put_attribute(&all, 2, "threadlocal.attribute_key_map", &value);
	if (!strcmp(how, "payload"))
		memset(all.bytes + 2, 0xff, all.n - 2);
	return all;
}

static struct head *head;
static struct message payload[2];

static void publish(const char *how, bool late)
{
	static uint64_t times;

	payload[late] = payload_of(how, late);
	head->published_at = 0;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(head->signature, "OTEL_CTX", 8);
	head->version = 2;
	head->bytes = (uint32_t)payload[late].n;
	head->payload = (uintptr_t)payload[late].bytes;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	head->published_at = thread_cpu_ns() + ++times;
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, head, 4096, "OTEL_CTX");
}

static void map_head(void)
{
	const int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (head == MAP_FAILED)
		exit(1);
	madvise(head, 4096, MADV_DONTFORK);
}

/* ---- contexts */

static void add(struct record *r, uint8_t key, const char *text)
{
	uint8_t *at = r->attributes + r->bytes;

	at[0] = key;
	at[1] = (uint8_t)strlen(text);
	memcpy(at + 2, text, strlen(text));
	r->bytes = (uint16_t)(r->bytes + 2 + strlen(text));
}

/* A trace of 10, 11, 12 ... and a span of 20, 21, ... of number 1; of others the first is more. */
static void make(struct record *r, const char *how, uint8_t number, const char *route)
{
	memset(r, 0, sizeof(*r));
	for (uint8_t i = 0; i < 16; i++)
		r->trace[i] = (uint8_t)(0x10 * number + i);
	for (uint8_t i = 0; i < 8; i++)
		r->span[i] = (uint8_t)(0x80 + 0x10 * number + i);
	r->flags = number;
	add(r, 0, "/before");
	if (strcmp(how, "late")) {
		add(r, 1, number == 1 ? "ann" : "bob");
		add(r, 2, "0123456789abcdef");
	}
	add(r, 0, route); /* the last one counts */
	add(r, 200, "of no name");
	r->valid = strcmp(how, "invalid") ? 1 : 2;
	if (!strcmp(how, "huge"))
		r->bytes = 0xffff;
	if (!strcmp(how, "cut"))
		r->attributes[r->bytes - 11] = 255;
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

static void *thread_context(const char *how, struct record *r)
{
	static void *loop = &loop;

	if (!strcmp(how, "nowhere"))
		return (void *)(uintptr_t)0x123456789abc;
	return strcmp(how, "circle") ? (void *)r : (void *)&loop;
}

struct work {
	const char *how;
	double seconds;
	uint8_t number;
	const char *route;
};

/* Attributes whose keys are published. */
static bool all_keys = true;

static void *run(void *ctx)
{
	static _Thread_local struct record record;
	const struct work *w = ctx;

	if (w->number) {
		make(&record, w->how, w->number, w->route);
		*context_slot() = thread_context(w->how, &record);
	}
	burn(w->seconds / 2);
	while (!__atomic_load_n(&all_keys, __ATOMIC_ACQUIRE))
		usleep(1000);
	if (w->number && !strcmp(w->how, "late")) {
		record.valid = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		make(&record, "right", w->number, w->route);
	}
	burn(w->seconds / 2);
	usleep(50000);
	*context_slot() = NULL;
	return NULL;
}

static void find_slot(const char *where)
{
#ifdef LINKED
	(void)where;
#else
	void *library;

	context_slot = own_slot;
	if (!strcmp(where, "program"))
		return;
	library = dlopen(where, RTLD_NOW);
	if (library)
		*(void **)&context_slot = dlsym(library, "context_slot");
	if (!library || !context_slot) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#endif
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "right";
	const bool late = !strcmp(how, "late");
	const double seconds = seconds_arg(argc, argv, 3, 1);
	struct work work[] = { { how, seconds / 5, 0, NULL },
			       { how, seconds / 5, 1, "/a" },
			       { how, seconds * 3 / 5, 2, "/b" } };
	pthread_t thread[3];

	find_slot(argc > 1 ? argv[1] : "program");
	map_head();
	publish(how, !late);
	all_keys = !late;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, run, &work[i]))
			return 1;
	if (late) {
		sleep(1);
		publish(how, true);
		__atomic_store_n(&all_keys, true, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
#endif
