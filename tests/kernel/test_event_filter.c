/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Expressions of `--filter` in the kernel: random ones, compiled, keep exactly the events that the
 * same expressions in user space keep; records in memory first, then the contexts of a tracepoint.
 */
#include <sys/prctl.h>

#include <rawprof/verifier.h>

#include "programs/shared/event_filter.h"
#include "random_filters.h"
#include "test_loader.h"

/* ---- the kernel's side */

enum { MAP_RECORD, MAP_SCRATCH, MAP_SEEN, MAPS };
/* What a tracepoint gave its program, and what the filter said of it. */
struct seen {
	uint64_t pid_tgid, uid, cpu, kept, count;
	unsigned char record[64];
};
static const struct asm_map maps[MAPS] = {
	[MAP_RECORD] = { "record", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct record) + 8, 1 },
	[MAP_SCRATCH] = { "scratch", BPF_MAP_TYPE_ARRAY, 4, EVENT_FILTER_SCRATCH, 1 },
	[MAP_SEEN] = { "seen", BPF_MAP_TYPE_ARRAY, 4, sizeof(struct seen), 1 },
};
static int fds[MAPS];

/* clang-format off */
static const struct asm_insn memory_lines[] = {
	CALL(get_current_pid_tgid),
	MOV_REG(R3, R0),
	LD_MAP_VALUE(R1, record, 0),
	LD_MAP_VALUE(R2, scratch, 0),
	CALL_FUNC(event_filter),
	EXIT(),
	INCLUDE(&rp_event_filter_part),
};

/* Where the map's value lies in the kernel's memory. */
static const struct asm_insn address_lines[] = {
	LD_MAP_VALUE(R1, record, 0),
	STX(DW, R1, offsetof(struct record, before), R1),
	MOV(R0, 0),
	EXIT(),
};

/* A tracepoint's context: 60 bytes of task:task_rename. */
static const struct asm_insn context_lines[] = {
	MOV_REG(R6, R1),
	CALL(get_current_pid_tgid),
	MOV_REG(R8, R0),
	LD_MAP_VALUE(R7, seen, 0),
	LDX(DW, R1, R7, offsetof(struct seen, pid_tgid)),
	JNE_REG(R1, R8, out),
	CALL(get_smp_processor_id),
	STX(DW, R7, offsetof(struct seen, cpu), R0),
	CALL(get_current_uid_gid),
	MOV32_REG(R0, R0),
	STX(DW, R7, offsetof(struct seen, uid), R0),
	MOV_REG(R1, R7),
	ADD(R1, offsetof(struct seen, record)),
	MOV(R2, 48),
	MOV_REG(R3, R6),
	CALL(probe_read_kernel),
	MOV_REG(R1, R6),
	LD_MAP_VALUE(R2, scratch, 0),
	MOV_REG(R3, R8),
	CALL_FUNC(event_filter),
	STX(DW, R7, offsetof(struct seen, kept), R0),
	LDX(DW, R1, R7, offsetof(struct seen, count)),
	ADD(R1, 1),
	STX(DW, R7, offsetof(struct seen, count), R1),
LABEL(out),
	MOV(R0, 0),
	EXIT(),
	INCLUDE(&rp_event_filter_part),
};
/* clang-format on */

static void said_wrong(void *ctx, const struct asm_diag *diag)
{
	ck_abort_msg("%s: %s: %s", (const char *)ctx, diag->text, diag->message);
}

/* The lines with the filter in them, assembled, linted and loaded. */
static int load(const struct asm_insn *lines, size_t n, uint32_t type, struct record_filter *filter)
{
	const struct asm_bindings bindings = { .maps = maps, .map_fds = fds, .nmaps = MAPS };
	struct asm_program program = {
		.name = "filter", .type = type, .license = "GPL", .nlines = n, .file = __FILE__
	};
	const struct asm_part *part = &rp_event_filter_part;
	struct asm_image image;
	struct asm_insn *placed;
	int fd;

	if (filter)
		ck_assert_int_eq(record_filter_compile(filter, &part), 0);
	placed = record_filter_place(lines, n, part);
	ck_assert_ptr_nonnull(placed);
	program.lines = placed;
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, said_wrong, expression), 0);
	ck_assert_int_eq(asm_lint(&image, &bindings, said_wrong, expression), 0);
	const struct rp_prog prog = { .name = "filter",
				      .type = type,
				      .license = "GPL",
				      .insns = image.insns,
				      .ninsns = image.ninsns,
				      .btf = image.btf,
				      .btf_size = image.btf_size,
				      .func_info = image.func_info,
				      .line_info = image.line_info,
				      .nfunc_info = image.nfunc_info,
				      .nline_info = image.nline_info };
	fd = rp_prog_load(&prog);
	ck_assert_msg(fd >= 0, "%s\n%s", expression, log_text);
	asm_image_free(&image);
	free(placed);
	return fd;
}
#define LOAD(lines, type, filter)                                                                  \
	load(lines, sizeof(lines) / sizeof((lines)[0]), BPF_PROG_TYPE_##type, filter)

static struct record_filter *parse(const struct record_filter_field *of, size_t n)
{
	struct record_filter *filter = NULL;
	struct record_filter_error error;

	ck_assert_msg(!record_filter_parse(expression, "t:e", of, n, &filter, &error), "%s: %s",
		      expression, error.message);
	return filter;
}

static void setup(void)
{
	capture_log();
	state = 88172645463325252;
	ck_assert_int_eq(rp_maps_create(maps, MAPS, fds), 0);
}

static void teardown(void)
{
	rp_fds_close(fds, MAPS);
}

/* ---- records in memory */

enum { EXPRESSIONS = 200, RECORDS = 16, EDGE_RECORDS = 100 };

static bool kernel_keeps(int prog, const struct record *r)
{
	struct rp_test_run run = { .flags = 0 };
	struct {
		struct record record;
		uint64_t behind;
	} value = { *r, 0 };

	ck_assert_int_eq(rp_map_update(fds[MAP_RECORD], &(uint32_t){ 0 }, &value, BPF_ANY), 0);
	ck_assert_int_eq(rp_prog_test_run(prog, &run), 0);
	return run.retval;
}

static bool user_keeps(const struct record_filter *filter, struct record *r)
{
	char comm[16];
	struct record_filter_event event = { .record = r,
					     .size = sizeof(*r),
					     .pid = (uint32_t)getpid(),
					     .tid = (uint32_t)gettid(),
					     .cpu = (uint32_t)sched_getcpu(),
					     .uid = getuid(),
					     .comm = comm,
					     .read_string = read_string,
					     .ctx = r };

	prctl(PR_GET_NAME, comm);
	return record_filter_keeps(filter, &event);
}

static unsigned int compare(const struct record_filter *filter, int prog, int records)
{
	unsigned int kept = 0;

	for (int i = 0; i < records; i++) {
		struct record r;
		bool in_kernel, in_user;

		fill(&r, kernel_text);
		in_kernel = kernel_keeps(prog, &r);
		in_user = user_keeps(filter, &r);
		ck_assert_msg(in_kernel == in_user, "%s: kernel %d, user space %d", expression,
			      in_kernel, in_user);
		kept += in_user;
	}
	return kept;
}

/* One CPU, a name, strings of the program, and where the record's text is in the kernel. */
static void prepare(void)
{
	struct rp_test_run run = { .flags = 0 };
	struct {
		struct record record;
		uint64_t behind;
	} value;
	cpu_set_t one;
	int prog;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	prctl(PR_SET_NAME, "abcabca");
	for (int i = 0; i < 4; i++)
		fill_text(user_texts[i], i ? 12 : 299);
	prog = LOAD(address_lines, RAW_TRACEPOINT, NULL);
	ck_assert_int_eq(rp_prog_test_run(prog, &run), 0);
	ck_assert_int_eq(rp_map_lookup(fds[MAP_RECORD], &(uint32_t){ 0 }, &value), 0);
	kernel_text = value.record.before + offsetof(struct record, text);
	close(prog);
}

static unsigned int compare_expression(int records)
{
	struct record_filter *filter = parse(fields, NUMBERS + STRINGS);
	const int prog = LOAD(memory_lines, RAW_TRACEPOINT, filter);
	const unsigned int kept = compare(filter, prog, records);

	close(prog);
	record_filter_free(filter);
	return kept;
}

START_TEST(two_hundred_random_expressions_keep_the_same_events)
{
	unsigned int kept = 0, mixed = 0;

	prepare();
	for (int i = 0; i < EXPRESSIONS; i++) {
		unsigned int n;

		expression[0] = '\0';
		say_condition(4);
		n = compare_expression(RECORDS);
		kept += n;
		mixed += n && n < RECORDS;
	}
	/* They are no test if they all say the same. */
	ck_assert_uint_gt(kept, EXPRESSIONS * RECORDS / 4);
	ck_assert_uint_lt(kept, EXPRESSIONS * RECORDS * 3 / 4);
	ck_assert_uint_gt(mixed, EXPRESSIONS / 3);
}
END_TEST

/* What random ones rarely meet; each is true of some records, and not of all. */
static const char *const edges[] = {
	"odd == \"abcabca\"",
	"odd ~ \"abcabc[a]\"",
	"odd ~ \"abcabc*\"",
	"odd != \"bbbbbbb\"",
	"name == \"\"",
	"text != \"\"",
	"user == \"\" || kernel == \"\"",
	"wide ~ \"*a\"",
	"wide ~ \"*[!a]*?*a*b*c*a*b*c*\"",
	"text ~ \"?*?*?*?*?*[ab]\"",
	"wide ~ \"*a*b*[!b]*c*ab*c*a*b*c*[a-b]*b*c*a*b*c*a*b*c*a*b*c*a*b*c*a*b*c*?c*a\"",
	"s64 < u64",
	"u64 >= s64",
	"s8 != u64 && s64 & s8 > 1",
	"odd64 <= 0x7fffffffffffffff && odd32 > -2",
};

START_TEST(edges_of_strings_and_numbers)
{
	prepare();
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		unsigned int n;

		strcpy(expression, edges[i]);
		n = compare_expression(EDGE_RECORDS);
		ck_assert_msg(n && n < EDGE_RECORDS, "%s: %u", expression, n);
	}
}
END_TEST

/* ---- a tracepoint */

/* task:task_rename of one's own thread: pid, the names before and behind, a signed 16 bits. */
static const char *const renames[] = { "abc", "ab", "abcabca", "kworker/0:1", "bbb", "a", "caba" };

static struct rp_tp_format rename_format;
static struct record_filter_field rename_fields[8];

static void read_format(void)
{
	static const char *const names[] = { "pid", "oldcomm", "newcomm", "oom_score_adj" };
	const struct rp_tp_field *f;

	ck_assert_int_eq(rp_tp_format("task", "task_rename", &rename_format), 0);
	for (int i = 0; i < 4; i++) {
		f = rp_tp_format_field(&rename_format, names[i]);
		ck_assert_ptr_nonnull(f);
		ck_assert_uint_le(f->offset + f->size, 48);
		rename_fields[i] =
			(struct record_filter_field){ .name = f->name,
						      .kind = f->count > 1 ? RECORD_FILTER_CHARS
									   : RECORD_FILTER_NUMBER,
						      .is_signed = f->is_signed,
						      .offset = f->offset,
						      .size = f->size };
	}
}

static void say_of_rename(int depth)
{
	if (depth && below(3)) {
		say("(");
		say_of_rename(depth - 1);
		say(below(2) ? " && " : " || ");
		say_of_rename(depth - 1);
		say(")");
		return;
	}
	switch (below(5)) {
	case 0:
		say("pid %s tid", PICK(comparisons));
		break;
	case 1:
		say("oom_score_adj & %u < %s", below(5), PICK(numbers));
		break;
	case 2:
		say("%s %s \"%s\"", below(2) ? "oldcomm" : "newcomm",
		    below(2) ? "==" : "!=", PICK(renames));
		break;
	default:
		say("%s %s \"", below(2) ? "oldcomm" : "newcomm", below(3) ? "~" : "!~");
		for (unsigned int n = 1 + below(5); n > 0; n--)
			say("%s", PICK(pieces));
		say("\"");
	}
}

static void rename_all(const struct record_filter *filter, unsigned int *kept)
{
	const uint64_t me = (uint64_t)getpid() << 32 | (uint32_t)gettid();

	for (size_t i = 0; i < sizeof(renames) / sizeof(renames[0]); i++) {
		struct seen seen = { .pid_tgid = me };
		struct record_filter_event event = { .record = seen.record,
						     .size = 48,
						     .pid = (uint32_t)getpid(),
						     .tid = (uint32_t)gettid() };

		ck_assert_int_eq(rp_map_update(fds[MAP_SEEN], &(uint32_t){ 0 }, &seen, BPF_ANY), 0);
		prctl(PR_SET_NAME, renames[i]);
		ck_assert_int_eq(rp_map_lookup(fds[MAP_SEEN], &(uint32_t){ 0 }, &seen), 0);
		ck_assert_uint_eq(seen.count, 1);
		event.cpu = (uint32_t)seen.cpu;
		event.uid = (uint32_t)seen.uid;
		ck_assert_msg(record_filter_keeps(filter, &event) == seen.kept, "%s: %s",
			      expression, renames[i]);
		*kept += seen.kept;
	}
}

START_TEST(events_of_a_tracepoint_as_they_come)
{
	unsigned int kept = 0;

	read_format();
	for (int i = 0; i < 24; i++) {
		struct record_filter *filter;
		struct rp_link *link;
		int prog;

		expression[0] = '\0';
		say_of_rename(3);
		filter = parse(rename_fields, 4);
		prog = LOAD(context_lines, TRACEPOINT, filter);
		ck_assert_int_eq(rp_attach_tracepoint(prog, "task", "task_rename", 0, &link), 0);
		rename_all(filter, &kept);
		rp_link_close(link);
		close(prog);
		record_filter_free(filter);
	}
	ck_assert_uint_gt(kept, 24);
	ck_assert_uint_lt(kept, 144);
	rp_tp_format_free(&rename_format);
}
END_TEST

/* A string of a context whose place a word of it says. */
START_TEST(a_string_of_the_context_that_has_no_fixed_place)
{
	static const char *const ways[] = { "filename == \"/bin/true\"", "filename ~ \"*/tr?e\"",
					    "filename ~ \"/b*n*\"", "filename !~ \"/bin/*\"" };
	const struct rp_tp_field *f;
	struct record_filter_field field = { .kind = RECORD_FILTER_DATA_LOC, .size = 4 };
	struct rp_tp_format format;

	ck_assert_int_eq(rp_tp_format("sched", "sched_process_exec", &format), 0);
	f = rp_tp_format_field(&format, "filename");
	ck_assert_ptr_nonnull(f);
	ck_assert(f->data_loc);
	field.name = f->name;
	field.offset = f->offset;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct record_filter *filter;
		struct rp_link *link;
		struct seen seen;
		int prog, status;
		pid_t pid;

		strcpy(expression, ways[i]);
		filter = parse(&field, 1);
		prog = LOAD(context_lines, TRACEPOINT, filter);
		ck_assert_int_eq(
			rp_attach_tracepoint(prog, "sched", "sched_process_exec", 0, &link), 0);
		pid = fork();
		if (!pid) {
			seen = (struct seen){ .pid_tgid = (uint64_t)getpid() << 32 |
							  (uint32_t)getpid() };
			rp_map_update(fds[MAP_SEEN], &(uint32_t){ 0 }, &seen, BPF_ANY);
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert_int_eq(status, 0);
		ck_assert_int_eq(rp_map_lookup(fds[MAP_SEEN], &(uint32_t){ 0 }, &seen), 0);
		ck_assert_uint_eq(seen.count, 1);
		ck_assert_msg(seen.kept == (i < 3), "%s", ways[i]);
		rp_link_close(link);
		close(prog);
		record_filter_free(filter);
	}
	rp_tp_format_free(&format);
}
END_TEST

/* ---- what is shown of it */

START_TEST(the_verifier_quotes_the_expression)
{
	const struct asm_part *part;
	struct asm_image image;
	const struct asm_bindings bindings = { .maps = maps, .map_fds = fds, .nmaps = MAPS };
	struct asm_program program = { .name = "filter",
				       .type = BPF_PROG_TYPE_RAW_TRACEPOINT,
				       .license = "GPL",
				       .file = __FILE__,
				       .nlines = sizeof(memory_lines) / sizeof(memory_lines[0]) };
	struct record_filter *filter;
	struct asm_insn *placed;
	bool found = false;

	strcpy(expression, "s8 == 3 && name ~ \"ab*\"");
	filter = parse(fields, NUMBERS + STRINGS);
	ck_assert_int_eq(record_filter_compile(filter, &part), 0);
	placed = record_filter_place(memory_lines, program.nlines, part);
	program.lines = placed;
	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, said_wrong, expression), 0);
	for (uint32_t i = 0; i < image.ninsns; i++)
		if (image.text_of[i] &&
		    !strcmp(image.text_of[i], "name ~ \"ab*\": LDX(H, R1, R6, 64)")) {
			found = true;
			ck_assert_str_eq(image.file_of[i], "--filter");
			ck_assert_uint_eq(image.program->lines[image.line_of[i]].line, 12);
		}
	ck_assert(found);
	asm_image_free(&image);
	free(placed);
	record_filter_free(filter);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("event_filter");
	TCase *tc = tcase_create("event_filter");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, two_hundred_random_expressions_keep_the_same_events);
	tcase_add_test(tc, edges_of_strings_and_numbers);
	tcase_add_test(tc, events_of_a_tracepoint_as_they_come);
	tcase_add_test(tc, a_string_of_the_context_that_has_no_fixed_place);
	tcase_add_test(tc, the_verifier_quotes_the_expression);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
