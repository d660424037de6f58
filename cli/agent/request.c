/* SPDX-License-Identifier: BSD-2-Clause */
/* A window as what servers take: which services are in it, and how each server is told of them. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <zlib.h>

#include "push.h"

/* What servers call the kinds of windows: names that they know, if they have one. */
static const struct {
	const char *kind, *name;
} names[] = {
	{ "cpu", "process_cpu" }, { "offcpu", "off_cpu" },  { "lock", "mutex" },
	{ "mem", "page_faults" }, { "io", "block_device" },
};

static const char *name_of(const char *kind)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].kind, kind))
			return names[i].name;
	return kind;
}

/* ---- names of labels */

/* Prometheus's rules: letters, digits and _, no digit first. */
static int clean_name(struct push_labels *l, const char *name, const char *text)
{
	char clean[64];
	size_t i;

	for (i = 0; i < sizeof(clean) - 1 && name[i]; i++)
		clean[i] = isalnum((unsigned char)name[i]) ? name[i] : '_';
	clean[i] = '\0';
	return push_label_set(l, clean, text);
}

static int with_name(const struct push_labels *from, const char *kind, struct push_labels *out)
{
	int err = push_label_set(out, "__name__", name_of(kind));

	for (size_t i = 0; i < from->n && !err; i++)
		err = clean_name(out, from->label[i].key, from->label[i].str);
	return err;
}

/* OpenTelemetry's names of attributes. */
static int with_attributes(const struct push_labels *from, const char *kind,
			   struct push_labels *out)
{
	static const char *const known[][2] = {
		{ "service_name", "service.name" },
		{ "host", "host.name" },
		{ "container", "container.id" },
		{ "runtime", "container.runtime" },
		{ "pod", "k8s.pod.uid" },
		{ "pod_name", "k8s.pod.name" },
		{ "namespace", "k8s.namespace.name" },
		{ "exe", "process.executable.name" },
		{ "unit", "systemd.unit" },
		{ "slice", "systemd.slice" },
		{ "service_version", "service.version" },
		{ "environment", "deployment.environment.name" },
	};
	int err = 0;

	(void)kind;
	for (size_t i = 0; i < from->n && !err; i++) {
		const char *name = from->label[i].key;

		for (size_t j = 0; j < sizeof(known) / sizeof(known[0]); j++)
			if (!strcmp(known[j][0], name))
				name = known[j][1];
		err = push_label_set(out, name, from->label[i].str);
	}
	return err;
}

/* ---- requests of several services at once */

static int make_parts(const struct push_series *s, size_t n, const char *kind,
		      int (*rename)(const struct push_labels *from, const char *kind,
				    struct push_labels *out),
		      report_parts_writer *writer, struct push_request *out)
{
	struct push_labels *labels = calloc(n + 1, sizeof(*labels));
	struct report_part *parts = calloc(n + 1, sizeof(*parts));
	FILE *f = open_memstream(&out->body, &out->size);
	int err = labels && parts && f ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++) {
		err = rename(&s[i].labels, kind, &labels[i]);
		parts[i] = (struct report_part){ s[i].report, labels[i].label, labels[i].n };
	}
	if (!err)
		err = writer(parts, n, f);
	if (f && fclose(f) && !err)
		err = -ENOMEM;
	for (size_t i = 0; labels && i < n; i++)
		push_labels_free(&labels[i]);
	free(labels);
	free(parts);
	return err;
}

/* ---- a request for each service: Pyroscope's /ingest */

#define BOUNDARY_BYTES 40
/* Nobody who chooses names in a profile may know it beforehand. */
static int make_boundary(char boundary[BOUNDARY_BYTES])
{
	uint64_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(boundary, BOUNDARY_BYTES, "rawprof%016" PRIx64 "%016" PRIx64, random[0],
		 random[1]);
	return 0;
}

/* In a query: what RFC 3986 leaves as it is. */
static void add_escaped(FILE *f, const char *s)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || strchr("-._~", *s))
			fputc(*s, f);
		else
			fprintf(f, "%%%02X", (unsigned char)*s);
}

/* "service{host=web,exe=nginx}": what would end a text in it is replaced. */
static char *application(const struct push_labels *l)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool first = true;

	if (!f)
		return NULL;
	fprintf(f, "%s{", push_label(l, "service_name"));
	for (size_t i = 0; i < l->n; i++) {
		if (!strcmp(l->label[i].key, "service_name"))
			continue;
		fprintf(f, "%s%s=%s", first ? "" : ",", l->label[i].key, l->label[i].str);
		first = false;
	}
	fputc('}', f);
	return fclose(f) ? NULL : text;
}

static int plain_labels(const struct push_labels *from, struct push_labels *out)
{
	int err = 0;

	for (size_t i = 0; i < from->n && !err; i++) {
		char *text = strdup(from->label[i].str);

		for (char *c = text; c && *c; c++)
			*c = strchr("{},=\"", *c) ? '_' : *c;
		err = text ? clean_name(out, from->label[i].key, text) : -ENOMEM;
		free(text);
	}
	return err;
}

static char *ingest_query(const struct push_series *s)
{
	const struct report_info *info = report_get_info(s->report);
	const uint64_t end_ns = info->start_ns + info->duration_ns;
	struct push_labels plain = { 0 };
	char *query = NULL, *name = NULL;
	FILE *f = NULL;
	size_t size;

	if (!plain_labels(&s->labels, &plain))
		name = application(&plain);
	if (name)
		f = open_memstream(&query, &size);
	if (f) {
		fputs("format=pprof&spyName=rawprof&name=", f);
		add_escaped(f, name);
		/* seconds; the profile itself has them in ns */
		fprintf(f, "&from=%llu&until=%llu",
			(unsigned long long)(info->start_ns / 1000000000),
			(unsigned long long)((end_ns + 999999999) / 1000000000));
		if (info->period && info->period_type.unit &&
		    !strcmp(info->period_type.unit, "nanoseconds"))
			fprintf(f, "&sampleRate=%llu",
				(unsigned long long)((1000000000 + info->period / 2) /
						     info->period));
	}
	push_labels_free(&plain);
	free(name);
	if (!f || fclose(f)) {
		free(query);
		return NULL;
	}
	return query;
}

static void begin_field(FILE *f, const char *boundary, const char *name, const char *file,
			const char *type)
{
	fprintf(f,
		"--%s\r\nContent-Disposition: form-data; name=\"%s\"; "
		"filename=\"%s\"\r\nContent-Type: %s\r\n\r\n",
		boundary, name, file, type);
}

static void add_type_config(FILE *f, const struct report *r)
{
	fputc('{', f);
	for (size_t i = 0; i < report_value_types(r); i++) {
		const struct report_value_type t = report_value_type(r, i);
		const bool samples = !strcmp(t.type, "samples");

		fprintf(f,
			"%s\"%s\":{\"units\":\"%s\",\"display-name\":\"%s\","
			"\"aggregation\":\"sum\",\"sampled\":%s}",
			i ? "," : "", t.type,
			samples			  ? "samples"
			: strcmp(t.unit, "count") ? t.unit
						  : "objects",
			t.type, samples ? "true" : "false");
	}
	fputc('}', f);
}

static int make_ingest(const struct push_series *s, struct push_request *out)
{
	FILE *f = open_memstream(&out->body, &out->size);
	char boundary[BOUNDARY_BYTES], *pprof = NULL;
	size_t size = 0;
	int err = f ? make_boundary(boundary) : -ENOMEM;

	if (!err)
		err = report_pprof_bytes(s->report, &pprof, &size);

	if (!err) {
		begin_field(f, boundary, "profile", "profile.pprof", "application/octet-stream");
		fwrite(pprof, 1, size, f);
		fputs("\r\n", f);
		begin_field(f, boundary, "sample_type_config", "sample_type_config.json",
			    "application/json");
		add_type_config(f, s->report);
		fprintf(f, "\r\n--%s--\r\n", boundary);
		snprintf(out->type, sizeof(out->type), "multipart/form-data; boundary=%s",
			 boundary);
		free(pprof);
	}
	if (f && fclose(f) && !err)
		err = -ENOMEM;
	out->query = err ? NULL : ingest_query(s);
	return err || out->query ? err : -ENOMEM;
}

/* ---- all together */

/* A third of it is left. What others take has profiles inside that are packed already. */
static int pack(struct push_request *r)
{
	enum { GZIP = 16, MEMORY = 8 };
	z_stream z = { .next_in = (Bytef *)r->body, .avail_in = (uInt)r->size };
	unsigned char *packed = NULL;
	uLong room;
	int err;

	if (r->size > UINT32_MAX / 2 || deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + GZIP,
						     MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	room = deflateBound(&z, z.avail_in);
	packed = malloc(room);
	z.next_out = packed;
	z.avail_out = (uInt)room;
	err = packed && deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
	deflateEnd(&z);
	if (err) {
		free(packed);
		return err;
	}
	free(r->body);
	r->body = (char *)packed;
	r->size = room - z.avail_out;
	r->gzip = true;
	return 0;
}

static const struct {
	const char *path, *type;
	report_parts_writer *writer; /* NULL: a request for each service */
	bool gzip;		     /* its body is to be packed */
} forms[PUSH_TYPES] = {
	[PUSH_PYROSCOPE] = { "/push.v1.PusherService/Push", "application/proto",
			     report_parts_write_pyroscope },
	[PUSH_INGEST] = { "/ingest", "", NULL },
	[PUSH_PARCA] = { "/api/profiles/writeraw", "application/json", report_parts_write_parca },
	[PUSH_OTLP] = { "/v1development/profiles", "application/x-protobuf",
			report_parts_write_otlp, true },
};

int push_request_make(const struct push_target *t, const char *kind, const struct push_series *s,
		      size_t n, struct push_request *out)
{
	report_parts_writer *const writer = forms[t->type].writer;
	int err;

	*out = (struct push_request){ 0 };
	snprintf(out->type, sizeof(out->type), "%s", forms[t->type].type);
	snprintf(out->path, sizeof(out->path), "%s", forms[t->type].path);
	if (writer)
		err = make_parts(s, n, kind, t->type == PUSH_OTLP ? with_attributes : with_name,
				 writer, out);
	else
		err = make_ingest(s, out);
	if (!err && forms[t->type].gzip)
		err = pack(out);
	if (err)
		push_request_free(out);
	return err;
}

void push_request_free(struct push_request *r)
{
	free(r->query);
	free(r->body);
	*r = (struct push_request){ 0 };
}

int push_window_read(const struct push_config *c, const void *window, size_t size,
		     struct push_symbols *symbols, struct push_series **out, size_t *n)
{
	struct report_file file = { 0 };
	int err = report_read(window, size, &file);

	if (err)
		return err;
	err = file.report ? push_series_make(c, file.report, out, n) : -EINVAL;
	if (!err && symbols)
		push_symbols_meet(symbols, file.report);
	report_file_free(&file);
	return err;
}
