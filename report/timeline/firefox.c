/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processed profile format of Firefox Profiler, version 66 (docs-developer/CHANGELOG-formats.md
 * of github.com/firefox-devtools/profiler): newer ones of it load that too.
 */
#include <errno.h>
#include <stdlib.h>

#include "firefox.h"

#define FORMAT_VERSION 66
#define GECKO_VERSION 24 /* has to be there, and means nothing here */

static const struct {
	const char *name, *color;
} categories[] = {
	[CATEGORY_USER] = { "User", "yellow" },
	[CATEGORY_KERNEL] = { "Kernel", "orange" },
	[CATEGORY_JIT] = { "JIT", "green" },
	[CATEGORY_INLINED] = { "Inlined", "lightblue" },
	[CATEGORY_OTHER] = { "Other", "grey" },
	[CATEGORY_PYTHON] = { "Python", "magenta" },
	[CATEGORY_JS] = { "JavaScript", "brown" },
	[CATEGORY_JVM] = { "Java", "blue" },
	[CATEGORY_PHP] = { "PHP", "lightred" },
	[CATEGORY_RUBY] = { "Ruby", "darkgrey" },
	[CATEGORY_PERL] = { "Perl", "green" },
	[CATEGORY_BLOCKED] = { "Blocked", "purple" },
	[CATEGORY_RUNNABLE] = { "Runnable", "red" },
};

/* What waits are called, and which labels they have. */
static int list_waits(struct firefox *f)
{
	const struct report *r = f->t.r;
	int err = 0;

	for (size_t i = 0; i < f->t.nspans && !err; i++) {
		const struct span *s = &f->t.spans[i];
		const struct label_set *set = labels_of(r, sample_of(r, s->sample)->label_set);
		uint32_t id;

		if (s->kind != SPAN_WAIT)
			continue;
		if (!report_timeline_is_runnable(&f->t, s))
			err = report_strings_add(&f->reasons, report_timeline_reason(&f->t, s),
						 &id);
		for (uint64_t k = 0; k < set->count && !err; k++)
			err = report_strings_add(&f->keys, text(r, set->labels[k].key), &id);
	}
	return err;
}

static void put_categories(struct firefox *f)
{
	struct out *o = &f->out;

	report_out_puts(o, ",\n\"categories\":[");
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		report_out_printf(
			o, "%s\n{\"name\":\"%s\",\"color\":\"%s\",\"subcategories\":[\"Other\"",
			i ? "," : "", categories[i].name, categories[i].color);
		for (uint32_t id = 1; i == CATEGORY_BLOCKED && id < f->reasons.count; id++) {
			report_out_putc(o, ',');
			report_out_json(o, strings_get(&f->reasons, id));
		}
		report_out_puts(o, "]}");
	}
	report_out_putc(o, ']');
}

static void put_schemas(struct firefox *f)
{
	struct out *o = &f->out;

	report_out_puts(o,
			",\n\"markerSchema\":[\n{\"name\":\"wait\",\"display\":[\"marker-chart\","
			"\"marker-table\",\"timeline-overview\"],\"fields\":[");
	for (uint32_t id = 1; id < f->keys.count; id++) {
		report_out_puts(o, id > 1 ? "," : "");
		report_out_puts(o, "{\"key\":");
		report_firefox_put_key(f, strings_get(&f->keys, id));
		report_out_puts(o, ",\"label\":");
		report_out_json(o, strings_get(&f->keys, id));
		report_out_puts(o, ",\"format\":\"string\"}");
	}
	report_out_puts(o,
			"]},\n{\"name\":\"woken\",\"display\":[\"marker-chart\",\"marker-table\"],"
			"\"tableLabel\":\"by {marker.data.by}\",\"fields\":["
			"{\"key\":\"by\",\"label\":\"by\",\"format\":\"string\"},"
			"{\"key\":\"tid\",\"label\":\"its tid\",\"format\":\"tid\"},"
			"{\"key\":\"cpu\",\"label\":\"on CPU\",\"format\":\"integer\"}]}]");
}

/* A row of the panel that says more about the profile. */
static void put_extra(struct out *o, const char *label, const char *value, const char **comma)
{
	if (!value || !*value)
		return;
	report_out_printf(o, "%s{\"label\":\"%s\",\"format\":\"string\",\"value\":", *comma, label);
	report_out_json(o, value);
	report_out_putc(o, '}');
	*comma = ",";
}

static void put_extras(struct firefox *f)
{
	const struct report *r = f->t.r;
	const struct report_info *info = &r->meta.info;
	const char *comma = "";
	struct buf b = { 0 };

	report_out_puts(&f->out, ",\n\"extra\":[{\"label\":\"Recording\",\"entries\":[");
	report_add_profile_circumstances(&b, r);
	put_extra(&f->out, "Samples", b.s, &comma);
	put_extra(&f->out, "Host", info->host, &comma);
	put_extra(&f->out, "Kernel", info->kernel, &comma);
	put_extra(&f->out, "Note", info->note, &comma);
	if (r->meta.has_ledger) {
		report_buf_reset(&b);
		report_add_ledger(&b, &r->meta.ledger, text(r, r->types[0].type));
		put_extra(&f->out, "Ledger", b.s, &comma);
	}
	report_out_puts(&f->out, "]}]");
	f->err = f->err ? f->err : b.err;
	report_buf_free(&b);
}

static void put_meta(struct firefox *f)
{
	const struct report_info *info = &f->t.r->meta.info;
	const uint64_t interval = f->t.interval ? f->t.interval : 1000000;
	struct out *o = &f->out;
	struct buf title = { 0 };

	report_add_title(&title, info);
	f->err = title.err;
	report_out_printf(
		o,
		"{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,"
		"\"processType\":0,\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
		"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,\n"
		"\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\","
		"\"threadCPUDelta\":\"ns\"},\n\"extensions\":{\"length\":0,\"baseURL\":[],"
		"\"id\":[],\"name\":[]},\n\"importedFrom\":\"rawprof\",\"product\":",
		GECKO_VERSION, FORMAT_VERSION);
	report_out_json(o, title.s);
	report_buf_free(&title);
	report_out_puts(o, ",\"startTime\":");
	report_out_ms(o, info->start_ns);
	report_out_puts(o, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	/* What is at the end of the range is not in it. */
	report_out_ms(o, f->t.last_start < f->t.end ? f->t.end : f->t.last_start + interval);
	report_out_puts(o, ",\"interval\":");
	report_out_ms(o, interval);
	if (info->cpus)
		report_out_printf(o, ",\"logicalCPUs\":%u", info->cpus);
	put_categories(f);
	put_schemas(f);
	put_extras(f);
	report_out_puts(o, "},\n\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\n");
}

int report_write_firefox(const struct report *r, FILE *file, const struct report_options *options)
{
	struct firefox *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->out.file = file;
	err = report_timeline_make(r, options, &f->t);
	if (!err)
		err = report_firefox_tables_init(f);
	if (!err)
		err = list_waits(f);
	if (!err) {
		put_meta(f);
		report_firefox_put_threads(f);
		report_firefox_put_tables(f);
		report_out_puts(&f->out, "}\n");
		err = f->err ? f->err : report_out_end(&f->out);
	}
	report_firefox_tables_free(f);
	report_timeline_free(&f->t);
	free(f);
	return err;
}
