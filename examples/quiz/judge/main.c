/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * judge FILE.so NAME: judges a compiled exercise. Prints one line, "right", "wrong: WHY" or
 * "skip: WHY", and below it, indented, what the kernel said to a program that it refused. The
 * status is 0, 1 or 77.
 * judge: lists the exercises: name, lesson, and the arguments of `rawprof explain`, by tabs.
 */
#include <dlfcn.h>
#include <linux/btf.h>
#include <stdarg.h>

#include "judge.h"

enum verdict exam_say(struct exam *exam, enum verdict verdict, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(exam->why, sizeof(exam->why), fmt, args);
	va_end(args);
	return verdict;
}

static char *messages; /* of the loader, each line indented */
static size_t messages_size;
static FILE *messages_file;

static void keep_message(void *ctx, enum rp_level level, const char *message)
{
	(void)ctx;
	(void)level;
	for (const char *line = message; *line;) {
		int length = (int)strcspn(line, "\n");

		fprintf(messages_file, "    %.*s\n", length, line);
		line += length + (line[length] == '\n');
	}
}

bool exam_load(struct exam *exam)
{
	if (exam->prog < 0)
		exam->prog = rp_program_load(exam->quiz->program, &exam->bind);
	if (exam->prog >= 0)
		return true;
	exam_say(exam, WRONG, "it does not load: %s", strerror(-exam->prog));
	return false;
}

bool exam_map_is(struct exam *exam, uint32_t type, uint32_t key_size, uint32_t value_size)
{
	const struct asm_map *map = exam->quiz->maps;

	if (exam->quiz->nmaps && map->type == type && map->key_size == key_size &&
	    map->value_size == value_size)
		return true;
	exam_say(exam, WRONG, "its first map is not what it was; change the program alone");
	return false;
}

bool exam_run(struct exam *exam, uint64_t first, uint64_t second, uint32_t *result)
{
	uint64_t arguments[12] = { first, second };
	struct rp_test_run run = { .ctx_in = arguments, .ctx_size_in = sizeof(arguments) };
	int err;

	if (!exam_load(exam))
		return false;
	err = rp_prog_test_run(exam->prog, &run);
	if (err) {
		exam_say(exam, WRONG, "it cannot be run: %s", strerror(-err));
		return false;
	}
	*result = run.retval;
	return true;
}

bool exam_run_packet(struct exam *exam, uint32_t bytes, uint32_t *result)
{
	unsigned char packet[1024] = { 0 };
	struct rp_test_run run = { .data_in = packet, .data_size_in = bytes };
	int err;

	if (!exam_load(exam))
		return false;
	err = rp_prog_test_run(exam->prog, &run);
	if (err) {
		exam_say(exam, WRONG, "it cannot be run: %s", strerror(-err));
		return false;
	}
	*result = run.retval;
	return true;
}

enum verdict exam_expect(struct exam *exam, uint64_t first, uint64_t second, uint32_t expected)
{
	uint32_t result;

	if (!exam_run(exam, first, second, &result))
		return WRONG;
	if (result != expected)
		return exam_wrong(exam, "for the arguments %lld and %lld it returned %u, not %u",
				  (long long)first, (long long)second, result, expected);
	return RIGHT;
}

static const struct judged *find(const struct judged *list, const char *name)
{
	for (; list->name; list++)
		if (!strcmp(list->name, name))
			return list;
	return NULL;
}

static void print_list(const struct judged *list)
{
	for (; list->name; list++)
		printf("%s\t%s\t%s\n", list->name, list->lesson, list->explain);
}

static bool kernel_has(const char *function)
{
	const struct rp_btf *btf;

	return !rp_btf_kernel(&btf) && rp_btf_find(btf, function, BTF_KIND_FUNC) >= 0;
}

static enum verdict judge(const struct judged *judged, struct exam *exam)
{
	enum verdict verdict;
	int err;

	if (judged->needs_btf && !kernel_has(judged->needs_btf))
		return exam_say(exam, SKIPPED, "this kernel has no %s that programs may use",
				judged->needs_btf);
	if (exam->quiz->nmaps > EXAM_MAPS || (exam->quiz->nmaps && !exam->quiz->maps))
		return exam_wrong(exam, "its maps are not there, or more than %d", EXAM_MAPS);
	err = rp_maps_create(exam->quiz->maps, exam->quiz->nmaps, exam->fds);
	if (err)
		return exam_wrong(exam, "its maps cannot be made: %s", strerror(-err));
	verdict = judged->judge(exam);
	rp_fds_close(exam->fds, exam->quiz->nmaps);
	if (exam->prog >= 0)
		close(exam->prog);
	return verdict;
}

/* The exercise in the file, or NULL, which has been said. */
static const struct quiz_exercise *open_exercise(const char *path)
{
	void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	const struct quiz_exercise *found = file ? dlsym(file, "quiz") : NULL;

	if (!found || !found->program)
		printf("wrong: there is no exercise in it: %s\n", file ? "no quiz" : dlerror());
	return found && found->program ? found : NULL;
}

int main(int argc, char **argv)
{
	static const char *const words[] = { "right", "wrong", "skip" };
	static const int statuses[] = { 0, 1, 77 };
	struct exam exam = { .prog = -1 };
	const struct judged *judged;
	enum verdict verdict;

	if (argc != 3) {
		print_list(load_exercises);
		print_list(say_exercises);
		return argc != 1;
	}
	judged = find(load_exercises, argv[2]);
	if (!judged)
		judged = find(say_exercises, argv[2]);
	if (!judged) {
		printf("wrong: there is no exercise %s\n", argv[2]);
		return 1;
	}
	exam.quiz = open_exercise(argv[1]);
	if (!exam.quiz)
		return 1;
	exam.bind = (struct asm_bindings){ .maps = exam.quiz->maps,
					   .map_fds = exam.fds,
					   .nmaps = exam.quiz->nmaps };
	messages_file = open_memstream(&messages, &messages_size);
	if (!messages_file)
		return 1;
	rp_log_setup(RP_WARN, keep_message, NULL);
	verdict = judge(judged, &exam);
	fclose(messages_file);
	printf("%s%s%s\n%s", words[verdict], *exam.why ? ": " : "", exam.why,
	       verdict == WRONG ? messages : "");
	free(messages);
	return statuses[verdict];
}
