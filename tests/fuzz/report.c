/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every form of a profile, of names that are anything: the input is a program that adds frames and
 * samples, its texts end with newlines. What is for people is printable, JSON is JSON, pprof refers
 * to nothing that it lacks, folded lines have the weights that were put in, and a saved profile is
 * as good as the one that it was made of.
 */
#include <rawprof/report.h>

#include "report/read/wire.h"

#include "fuzz_json.h"
#include "fuzz_pprof.h"

enum { FRAMES = 24, SAMPLES = 16, TEXTS = 8, MOMENTS = 32 };

static const struct report_value_type types[] = { { "samples", "count" },
						  { "cpu", "nanoseconds" } };

struct made {
	struct report *report;
	char *texts[TEXTS];
	uint32_t frames[FRAMES];
	size_t nframes;
};

static const char *pick(struct made *m, struct fuzz_input *in)
{
	uint64_t i = fuzz_below(in, TEXTS + 1);

	return i < TEXTS ? m->texts[i] : NULL;
}

static void add_frame(struct made *m, struct fuzz_input *in)
{
	struct report_frame f = { .name = pick(m, in),
				  .module = pick(m, in),
				  .build_id = pick(m, in),
				  .file = pick(m, in),
				  .address = fuzz_take(in, 2) << 8,
				  .line = (uint32_t)fuzz_take(in, 1),
				  .kind = (enum report_frame_kind)fuzz_below(in,
									     REPORT_FRAME_KINDS) };

	f.map_start = f.address & ~0xfffu;
	f.map_end = f.map_start + 0x1000 * fuzz_below(in, 3);
	fuzz_check(!report_frame_add(m->report, &f, &m->frames[m->nframes++]));
}

static uint64_t add_sample(struct made *m, struct fuzz_input *in)
{
	const uint64_t n = fuzz_take(in, 1) % 8;
	uint32_t stack[8];
	uint64_t values[2] = { fuzz_take(in, 1), fuzz_take(in, 3) };
	struct report_label label = { .key = pick(m, in), .str = pick(m, in) };
	struct report_sample s = { .comm = pick(m, in),
				   .pid = (int32_t)fuzz_take(in, 1),
				   .frames = stack,
				   .nframes = m->nframes ? n : 0,
				   .values = values };

	for (uint64_t i = 0; i < s.nframes; i++)
		stack[i] = m->frames[fuzz_below(in, m->nframes)];
	if (label.key) {
		s.labels = &label;
		s.nlabels = 1;
	}
	return report_add(m->report, &s) ? 0 : values[0];
}

static void add_moments(struct made *m, struct fuzz_input *in)
{
	const size_t samples = report_samples(m->report);

	for (uint64_t n = fuzz_below(in, MOMENTS); n-- && samples;) {
		const struct report_moment moment = {
			.time_ns = fuzz_take(in, 2) << fuzz_below(in, 32),
			.cpu = fuzz_below(in, 3) ? fuzz_below(in, 4) : REPORT_NO_CPU,
			.kind = fuzz_below(in, 3),
			.weight = fuzz_take(in, 3),
			.sample = (uint32_t)fuzz_below(in, samples),
			.count = (uint32_t)fuzz_below(in, 2),
		};

		fuzz_check(!report_add_moment(m->report, &moment));
	}
}

static char *written(const struct made *m, report_writer *write, size_t *size)
{
	const struct report_options show = { .color_by_label = m->texts[1],
					     .title = m->texts[2],
					     .annotate = true,
					     .delimiter = m->nframes & 1,
					     .reverse = m->nframes & 2,
					     .width = 80 };
	char *text = NULL;
	FILE *f = open_memstream(&text, size);

	fuzz_check(!write(m->report, f, m->nframes & 4 ? NULL : &show) && !fclose(f));
	return text;
}

static uint64_t folded_sum(const char *text)
{
	uint64_t sum = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
		const char *weight = memrchr(text, ' ', (size_t)(end - text));

		fuzz_check(weight && weight > text);
		sum += strtoull(weight + 1, NULL, 10);
	}
	fuzz_check(!*text);
	return sum;
}

/* A trace of Perfetto is packets, each a field 1. */
static void check_packets(const char *text, size_t size)
{
	struct pprof_part trace = { (const uint8_t *)text, (const uint8_t *)text + size };
	struct pprof_field packet, field;

	while (pprof_next(&trace, &packet)) {
		fuzz_check(packet.number == 1 && packet.is_part);
		while (pprof_next(&packet.part, &field))
			fuzz_check(field.number);
	}
}

/* Each thread's slices begin and end in the order of a stack. */
static void check_slices(const char *text)
{
	uint64_t open = 0;

	for (; (text = strstr(text, "\n{\"ph\":\"")); text++) {
		open += text[8] == 'B';
		fuzz_check(text[8] != 'E' || open--);
	}
	fuzz_check(!open);
}

/* What is read back leaves in every form as it did before. */
static void check_saved(const struct made *m, const char *saved, size_t size)
{
	struct report_file file;
	struct made again = *m;

	fuzz_check(!report_read(saved, size, &file));
	again.report = file.report;
	for (const struct report_format *f = report_formats; f->name; f++) {
		size_t before, after;
		char *a, *b;

		if (!f->write)
			continue;
		a = written(m, f->write, &before);
		b = written(&again, f->write, &after);
		fuzz_check(before == after && !memcmp(a, b, after));
		free(a);
		free(b);
	}
	report_file_free(&file);
}

/* The data of a page are JSON in which nothing ends the element that they are in. */
static void check_page(char *page)
{
	static const char begin[] = "id=\"data\">";
	char *data = strstr(page, begin), *end;

	fuzz_check(data);
	data += strlen(begin);
	end = strchr(data, '<');
	fuzz_check(end && !strncmp(end, "</script>", 9));
	*end = 0;
	fuzz_check_json(data);
}

/* Two fields, messages, and nothing that is missing; tests/cli/push_server.py looks into them. */
static void check_otlp(const char *text, size_t size)
{
	struct wire w = wire_of(text, size);
	struct wire_field field;
	unsigned int seen = 0;

	while (report_wire_next(&w, &field)) {
		fuzz_check(field.is_bytes && (field.number == 1 || field.number == 2));
		seen |= field.number;
	}
	fuzz_check(!w.bad && seen == 3);
}

static void check_forms(const struct made *m, uint64_t total)
{
	for (const struct report_format *f = report_formats; f->name; f++) {
		size_t size;
		char *text;

		if (!f->write)
			continue;
		text = written(m, f->write, &size);
		if (!strcmp(f->name, "pprof"))
			fuzz_check_pprof(text, size);
		else if (!strcmp(f->name, "perfetto"))
			check_packets(text, size);
		else if (!strcmp(f->name, "otlp"))
			check_otlp(text, size);
		else if (f->binary)
			check_saved(m, text, size);
		else
			fuzz_check_printable(text, size);
		if (f->json || strstr(f->endings[0], ".json"))
			fuzz_check_json(text);
		if (!strcmp(f->name, "html"))
			check_page(text);
		if (!strcmp(f->name, "chrome"))
			check_slices(text);
		if (!strcmp(f->name, "folded"))
			fuzz_check(folded_sum(text) == total);
		free(text);
	}
	fuzz_check(report_total(m->report, 0) == total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	struct made m = { .nframes = 0 };
	uint64_t total = 0, frames, samples;
	struct report_info info;

	if (report_new(types, 2, &m.report))
		return 0;
	for (size_t i = 0; i < TEXTS; i++)
		m.texts[i] = fuzz_text(&in);
	info = (struct report_info){ .command = m.texts[0],
				     .target = m.texts[1],
				     .event = m.texts[2],
				     .main_module = m.texts[3],
				     .kernel_build_id = m.texts[4],
				     .host = m.texts[5],
				     .note = m.texts[6],
				     .period = 1000,
				     .period_type = { "cpu", "nanoseconds" } };
	fuzz_check(!report_set_info(m.report, &info));
	frames = fuzz_below(&in, FRAMES);
	samples = fuzz_below(&in, SAMPLES);
	while (frames--)
		add_frame(&m, &in);
	while (samples--)
		total += add_sample(&m, &in);
	add_moments(&m, &in);
	check_forms(&m, total);
	report_free(m.report);
	for (size_t i = 0; i < TEXTS; i++)
		free(m.texts[i]);
	return 0;
}
