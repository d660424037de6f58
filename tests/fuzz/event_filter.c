/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions of `--filter`: the input is one, and what is behind its first line a record. What is
 * parsed is evaluated, compiled and assembled without a word, and the lint has none either.
 */
#include <rawprof/verifier.h>

#include "programs/shared/event_filter.h"
#include "record/filter/filter.h"

#include "fuzz.h"

static const struct record_filter_value values[] = { { "R", 1 }, { "O_CREAT", 64 }, { "NO", -1 } };
static const struct record_filter_field fields[] = {
	{ "a", RECORD_FILTER_NUMBER, true, 8, 1 },
	{ "b", RECORD_FILTER_NUMBER, false, 10, 2 },
	{ "pid", RECORD_FILTER_NUMBER, true, 12, 4, .values = values, .nvalues = 3 },
	{ "c", RECORD_FILTER_NUMBER, false, 17, 8, .unit_ns = 1000 },
	{ "d", RECORD_FILTER_NUMBER, true, 32, 8 },
	{ "n", RECORD_FILTER_CHARS, false, 40, 16 },
	{ "m", RECORD_FILTER_CHARS, false, 57, 5 },
	{ "t", RECORD_FILTER_DATA_LOC, false, 64, 4 },
	{ "r", RECORD_FILTER_REL_LOC, false, 70, 4 },
	{ "u", RECORD_FILTER_USER_STRING, false, 80, 8 },
	{ "k", RECORD_FILTER_KERNEL_STRING, false, 88, 8 },
	{ "x", RECORD_FILTER_OTHER, false, 88, 8 },
	{ "y[1]", RECORD_FILTER_NUMBER, false, 88, 3 },
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

static const struct asm_map maps[] = {
	{ "record", BPF_MAP_TYPE_ARRAY, 4, 128, 1 },
	{ "scratch", BPF_MAP_TYPE_ARRAY, 4, EVENT_FILTER_SCRATCH, 1 },
};

/* clang-format off */
static const struct asm_insn lines[] = {
	CALL(get_current_pid_tgid),
	MOV_REG(R3, R0),
	LD_MAP_VALUE(R1, record, 0),
	LD_MAP_VALUE(R2, scratch, 0),
	CALL_FUNC(event_filter),
	EXIT(),
	INCLUDE(&rp_event_filter_part),
};
/* clang-format on */
enum { LINES = sizeof(lines) / sizeof(lines[0]) };

static void hear(void *ctx, const struct asm_diag *diag)
{
	fprintf(stderr, "%s: %s: %s\n", (const char *)ctx, diag->text, diag->message);
	abort();
}

static void compile(struct record_filter *filter, char *text)
{
	const struct asm_bindings bindings = { .maps = maps, .nmaps = 2 };
	struct asm_program program = { .name = "fuzz",
				       .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				       .nlines = LINES,
				       .file = __FILE__ };
	const struct asm_part *part;
	struct asm_insn *placed;
	struct asm_image image;

	fuzz_check(!record_filter_compile(filter, &part));
	placed = record_filter_place(lines, LINES, part);
	program.lines = placed;
	fuzz_check(!asm_assemble(&program, &bindings, &image, hear, text));
	fuzz_check(!asm_lint(&image, &bindings, hear, text));
	asm_image_free(&image);
	free(placed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	char *text = fuzz_text(&in);
	struct record_filter_error error;
	struct record_filter *filter = NULL;
	const int err = record_filter_parse(text, "t:e", fields, FIELDS, &filter, &error);
	void *record = fuzz_copy(in.at, (size_t)(in.end - in.at));

	if (err) {
		fuzz_check(!filter && *error.message);
		fuzz_check(error.at <= strlen(text) && error.length <= strlen(text) - error.at);
	} else {
		const struct record_filter_event event = { .record = record,
							   .size = (size_t)(in.end - in.at),
							   .comm = "comm" };

		record_filter_keeps(filter, &event);
		compile(filter, text);
		record_filter_free(filter);
	}
	free(record);
	free(text);
	return 0;
}
