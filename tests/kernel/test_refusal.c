/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every program of rawprof with one instruction taken out, or its condition turned round: whatever
 * the running kernel refuses has to be explained, with a line of the program. There are many
 * programs, and long ones take the verifier a while: of each every n-th instruction is tried, from
 * another one on, so that the parts that they share are tried everywhere.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include <rawprof/program.h>
#include <rawprof/verifier.h>

enum { TRIED_IN_ALL = 600, MIN_TRIED = 8 };
/* Where the machine is emulated, every so many programs. */
enum { EMULATED_PROGRAMS = 8, EMULATED_TRIED = 2 };

static unsigned int refused, accepted;

/* A message that a newer kernel may have and we do not know is told, not held against us. */
static unsigned int unknown;

static void check_refusal(const struct asm_image *image, const struct rp_prog *prog,
			  const char *log, uint32_t slot)
{
	const struct asm_refused what = { .log = log,
					  .insns = image->insns,
					  .ninsns = image->ninsns,
					  .line = prog->line,
					  .line_ctx = prog->line_ctx };
	struct asm_refusal r;

	ck_assert_int_eq(asm_refusal_explain(&what, &r), 0);
	ck_assert_msg(strstr(log, r.message) || strchr(r.message, '\n'), "%s", r.message);
	if (r.insn >= 0) {
		ck_assert_int_lt(r.insn, image->ninsns);
		ck_assert_msg(strstr(r.at, ".c:"), "%s", r.at);
	}
	if (!r.why) {
		printf("%s without instruction %u: not known: %s\n", prog->name, slot, r.message);
		unknown++;
	} else if (strstr(r.message, "!read_ok")) {
		ck_assert_ptr_nonnull(r.history);
	}
	asm_refusal_free(&r);
}

static void say_nothing(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	(void)message;
}

/*
 * Most are accepted, and nobody reads what the kernel then says: its log, ten times as dear as the
 * verdict, is asked for when it has refused. Both ways of loading have to agree.
 */
static int load(const struct rp_prog *prog, char **log)
{
	int fd;

	*log = NULL;
	rp_log_setup(RP_ERROR, say_nothing, NULL);
	fd = rp_prog_load(prog);
	rp_log_setup(RP_WARN, NULL, NULL);
	if (fd < 0) {
		const int refused_with = fd;

		fd = rp_prog_load_verbose(prog, 1, log);
		ck_assert_int_eq(fd, refused_with);
	}
	return fd;
}

static void load_changed(const struct asm_image *image, uint32_t slot)
{
	struct rp_prog prog;
	char *log;
	int fd;

	rp_prog_of_image(image, &prog);
	fd = load(&prog, &log);
	if (fd >= 0) {
		accepted++;
		close(fd);
	} else {
		refused++;
		ck_assert_ptr_nonnull(log);
		check_refusal(image, &prog, log, slot);
	}
	free(log);
}

/*
 * Whether the kernel looks at it at all: not if it is for an event that is not there, nor, with a
 * log that has no reason in it, where no program of its kind is permitted.
 */
static bool is_looked_at(const struct asm_image *image)
{
	bool looked_at;
	struct rp_prog prog;
	char *log;
	int fd;

	rp_prog_of_image(image, &prog);
	fd = load(&prog, &log);
	looked_at = fd >= 0 || (log && fd != -EPERM);
	if (fd >= 0)
		close(fd);
	free(log);
	return looked_at;
}

static size_t count_programs(void)
{
	size_t n = 0;

	while (rp_program_number(n))
		n++;
	return n;
}

static uint32_t tried_each(void)
{
	uint32_t each = (uint32_t)(TRIED_IN_ALL / count_programs());

	if (getenv("VM_EMULATED"))
		return EMULATED_TRIED;
	return each > MIN_TRIED ? each : MIN_TRIED;
}

static void break_each(const struct asm_image *image, uint32_t number)
{
	const uint8_t wide = BPF_LD | BPF_IMM | BPF_DW;
	const uint32_t step = image->ninsns / tried_each() + 1;

	for (uint32_t slot = 0; slot < image->ninsns; slot++) {
		struct bpf_insn *insn = &image->insns[slot];
		const struct bpf_insn was[2] = { insn[0],
						 insn[0].code == wide ? insn[1] : insn[0] };
		const uint32_t slots = was[0].code == wide ? 2 : 1;

		/* The last one always: what no kernel lets pass. */
		if ((slot % step != number % step && slot + 1 < image->ninsns) || !insn->code)
			continue;
		for (uint32_t i = 0; i < slots; i++)
			insn[i] = (struct bpf_insn){ .code = BPF_JMP | BPF_JA };
		load_changed(image, slot);
		memcpy(insn, was, slots * sizeof(*insn));
		if (BPF_CLASS(was[0].code) == BPF_JMP && BPF_OP(was[0].code) == BPF_JEQ) {
			insn->code = (uint8_t)(insn->code ^ BPF_JEQ ^ BPF_JNE);
			load_changed(image, slot);
			*insn = was[0];
		}
	}
}

START_TEST(each_instruction)
{
	const struct rp_program *entry = rp_program_number((size_t)_i);
	struct asm_bindings bind = { .maps = entry->maps,
				     .nmaps = entry->nmaps,
				     .config = entry->config,
				     .config_size = entry->code.config_size,
				     .field = rp_bind_field,
				     .tp_field = rp_bind_tp_field };
	struct asm_image image;
	int fds[64];

	if (getenv("VM_EMULATED") && _i % EMULATED_PROGRAMS)
		return;
	ck_assert_uint_le(entry->nmaps, 64);
	ck_assert_int_eq(rp_maps_create(entry->maps, entry->nmaps, fds), 0);
	if (entry->prepare)
		ck_assert_int_eq(entry->prepare(fds), 0);
	bind.map_fds = fds;
	if (asm_assemble(&entry->code, &bind, &image, NULL, NULL)) {
		printf("skip %s (this kernel lacks what it reads)\n", entry->code.name);
	} else if (!is_looked_at(&image)) {
		printf("skip %s (this kernel lacks what it is attached to)\n", entry->code.name);
		asm_image_free(&image);
	} else {
		break_each(&image, (uint32_t)_i);
		asm_image_free(&image);
		printf("%s: %u refused, %u accepted\n", entry->code.name, refused, accepted);
		ck_assert_uint_gt(refused, 0);
		ck_assert_msg(unknown * 20 <= refused, "%u of %u refusals are not explained",
			      unknown, refused);
	}
	rp_fds_close(fds, entry->nmaps);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refusals by the kernel");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_loop_test(tests, each_instruction, 0, (int)count_programs());
	tcase_set_timeout(tests, 300);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
