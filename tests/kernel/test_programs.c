/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every program of programs/, in several configurations, as the verifier and bpftool see it: the
 * disassembly is theirs, and the lint has nothing to say of what the verifier takes.
 */
#include "disasm_tools.h"

#include <errno.h>
#include <unistd.h>

#include <rawprof/program.h>
#include <rawprof/verifier.h>
#include "programs/shared/ksym.h"

/* ---- configurations */

#define MAX_CONFIG 4096

/*
 * All zero, all one, and some of each: the configuration is switches and small numbers. Every
 * program gets the first two, and others that differ from program to program, for they share their
 * parts. What is made up like that may be no program at all; the sample configuration has to be.
 */
enum { CONFIGS = 12, CONFIGS_EACH = 3, USUAL = CONFIGS };
/* Logs are long, and an emulated machine is slow: there every so many programs. */
enum { EMULATED_PROGRAMS = 6 };

static void fill_config(void *config, size_t size, unsigned int which)
{
	uint32_t words[MAX_CONFIG / 4] = { 0 };

	ck_assert_uint_le(size, sizeof(words));
	for (size_t i = 0; i < size / 4; i++)
		words[i] = which == 0 ? 0 : which == 1 ? 8 : (i * 7 + which * 13) % 3 ? 8 : 0;
	memcpy(config, words, size);
}

/* ---- one program in one configuration */

/* Why the last program was not loaded. */
static char why_not[200];

static void keep_diag(void *ctx, const struct asm_diag *diag)
{
	(void)ctx;
	snprintf(why_not, sizeof(why_not), "%s", diag->message);
}

static void keep_error(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	snprintf(why_not, sizeof(why_not), "%.*s", (int)strcspn(message, "\n"), message);
}

struct loaded {
	struct asm_image image;
	struct asm_bindings bindings;
	char *log;
	int fd;
};

/* False where the kernel lacks what the program needs. */
static bool load(const struct asm_program *program, const struct asm_bindings *bindings,
		 bool wants_log, struct loaded *out)
{
	int err = asm_assemble(program, bindings, &out->image, keep_diag, NULL);

	if (err)
		return false;
	const struct rp_prog prog = { .name = program->name,
				      .type = program->type,
				      .attach_type = program->attach_type,
				      .flags = program->flags,
				      .license = program->license,
				      .target = program->target,
				      .insns = out->image.insns,
				      .ninsns = out->image.ninsns,
				      .btf = out->image.btf,
				      .btf_size = out->image.btf_size,
				      .func_info = out->image.func_info,
				      .line_info = out->image.line_info,
				      .nfunc_info = out->image.nfunc_info,
				      .nline_info = out->image.nline_info };
	out->bindings = *bindings;
	out->log = NULL;
	out->fd = wants_log ? rp_prog_load_verbose(&prog, 2, &out->log) : rp_prog_load(&prog);
	if (out->fd < 0) {
		free(out->log);
		asm_image_free(&out->image);
	}
	return out->fd >= 0;
}

static void unload(struct loaded *l)
{
	close(l->fd);
	free(l->log);
	asm_image_free(&l->image);
}

static void no_word(void *ctx, const struct asm_diag *diag)
{
	const struct asm_program *program = ctx;

	ck_abort_msg("%s: %s:%u: %s: %s", program->name, diag->file, diag->line, diag->text,
		     diag->message);
}

static void lint(struct loaded *l)
{
	ck_assert_int_eq(asm_lint(&l->image, &l->bindings, no_word, (void *)l->image.program), 0);
}

static void compare_log(struct loaded *l)
{
	compare_with_log(&l->image, l->log);
}

/* bpftool reads all names of the kernel each time: where it is emulated, one program of eight. */
static void compare_xlated(struct loaded *l)
{
	static unsigned int number;

	if (!getenv("VM_EMULATED") || number++ % 8 == 0)
		compare_with_bpftool(l->fd);
}

/* ---- all of them */

/* A map that programs may only read holds a text, and is frozen, when they are loaded. */
static void make_maps(const struct rp_program *entry, int *fds)
{
	ck_assert_int_eq(rp_maps_create(entry->maps, entry->nmaps, fds), 0);
	for (size_t i = 0; i < entry->nmaps; i++)
		if (entry->maps[i].flags & BPF_F_RDONLY_PROG) {
			ck_assert_uint_eq(entry->maps[i].value_size, sizeof(KSYM_FORMAT));
			ck_assert_int_eq(
				rp_map_update(fds[i], &(uint32_t){ 0 }, KSYM_FORMAT, BPF_ANY), 0);
			ck_assert_int_eq(rp_map_freeze(fds[i]), 0);
		}
}

static unsigned int nth_configuration(size_t program, unsigned int n)
{
	return n < 2 ? n : 2 + (unsigned int)(program + n) % (CONFIGS - 2);
}

/* False if the kernel did not take it. */
static bool in_configuration(size_t number, unsigned int n, int *fds,
			     void (*check)(struct loaded *l))
{
	const struct rp_program *entry = rp_program_number(number);
	const struct asm_program *program = &entry->code;
	unsigned char config[MAX_CONFIG] = { 0 };
	const struct asm_bindings bindings = { .maps = entry->maps,
					       .map_fds = fds,
					       .nmaps = entry->nmaps,
					       .config = program->config_size ? config : NULL,
					       .config_size = program->config_size,
					       .field = rp_bind_field,
					       .tp_field = rp_bind_tp_field };
	struct loaded l;

	if (n != USUAL)
		fill_config(config, program->config_size, nth_configuration(number, n));
	else if (entry->config)
		memcpy(config, entry->config, program->config_size);
	if (!load(program, &bindings, check == compare_log, &l))
		return false;
	check(&l);
	unload(&l);
	return true;
}

/*
 * What walks by unwind tables has a log of megabytes: the tools are compared on the parts of
 * programs, where they load.
 */
static bool in_configurations(size_t number, int *fds, void (*check)(struct loaded *l))
{
	const struct asm_program *program = &rp_program_number(number)->code;
	bool taken = false;

	for (unsigned int n = 0; program->config_size && n < CONFIGS_EACH; n++)
		taken |= in_configuration(number, n, fds, check);
	if (taken && check != lint)
		return true;
	if (in_configuration(number, USUAL, fds, check))
		return true;
	printf("skip: %s as its command loads it: %s\n", program->name, why_not);
	return taken;
}

static void each_program(void (*check)(struct loaded *l))
{
	const struct rp_program *entry;
	unsigned int programs = 0;
	size_t i = 0;

	rp_log_setup(RP_ERROR, keep_error, NULL);
	for (; (entry = rp_program_number(i)); i++) {
		int fds[64];

		if (getenv("VM_EMULATED") && i % EMULATED_PROGRAMS)
			continue;
		ck_assert_uint_le(entry->nmaps, 64);
		make_maps(entry, fds);
		programs += in_configurations(i, fds, check);
		for (size_t m = 0; m < entry->nmaps; m++)
			close(fds[m]);
	}
	ck_assert_uint_gt(programs, 0);
	printf("%u of %zu programs\n", programs, i);
}

START_TEST(the_lint_has_nothing_to_say)
{
	each_program(lint);
}
END_TEST

START_TEST(they_read_as_the_verifiers_log)
{
	each_program(compare_log);
}
END_TEST

START_TEST(they_read_as_bpftools_xlated)
{
	if (have_bpftool("they_read_as_bpftools_xlated"))
		each_program(compare_xlated);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("programs");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, the_lint_has_nothing_to_say);
	tcase_add_test(tests, they_read_as_the_verifiers_log);
	tcase_add_test(tests, they_read_as_bpftools_xlated);
	tcase_set_timeout(tests, 300);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
