/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * "What will it say?": which of the choices is right is not written anywhere. Each judge finds out
 * what is said here and now, and takes the choice that says so.
 */
#include "judge.h"
#include <rawprof/verifier.h>

/* The choice that is right has been found. */
static enum verdict answered(struct exam *exam, size_t right)
{
	const char *answer = exam->quiz->answer;

	if (!answer || !strcmp(answer, "?"))
		return exam_wrong(exam, "no answer yet: write \"a\", \"b\", \"c\" or \"d\"");
	if (strlen(answer) != 1 || *answer < 'a' || *answer >= 'a' + QUIZ_CHOICES)
		return exam_wrong(exam,
				  "\"%.40s\" is no choice: write \"a\", \"b\", \"c\" or \"d\"",
				  answer);
	if ((size_t)(*answer - 'a') != right)
		return exam_wrong(exam, "it is not \"%s\"", exam->quiz->choices[*answer - 'a']);
	return RIGHT;
}

/* The choice that reads so. */
static enum verdict answered_by_text(struct exam *exam, const char *text)
{
	for (size_t i = 0; i < QUIZ_CHOICES && exam->quiz->choices[i]; i++)
		if (!strcmp(exam->quiz->choices[i], text))
			return answered(exam, i);
	return exam_say(exam, SKIPPED, "here it is \"%s\", which is none of the choices", text);
}

static enum verdict answered_by_number(struct exam *exam, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return answered_by_text(exam, text);
}

/* The only choice that stands in what was said. */
static enum verdict answered_by_words(struct exam *exam, const char *said)
{
	size_t right = QUIZ_CHOICES;

	for (size_t i = 0; i < QUIZ_CHOICES && exam->quiz->choices[i]; i++) {
		if (!strstr(said, exam->quiz->choices[i]))
			continue;
		if (right < QUIZ_CHOICES)
			return exam_say(exam, SKIPPED, "here it says both \"%s\" and \"%s\"",
					exam->quiz->choices[right], exam->quiz->choices[i]);
		right = i;
	}
	if (right == QUIZ_CHOICES)
		return exam_say(exam, SKIPPED, "here it says none of the choices");
	return answered(exam, right);
}

/* The verifier: "it loads", or words of its log, of an accepted program too. */
static enum verdict verifier_says(struct exam *exam)
{
	enum verdict verdict;
	char *log = NULL, *said = NULL;
	int err = rp_program_explain(exam->quiz->program, &exam->bind, &log);

	if (!log)
		return exam_wrong(exam, "the kernel did not look at it: %s", strerror(-err));
	if (asprintf(&said, "%s\n%s", log, err ? "" : "it loads") < 0)
		said = NULL;
	verdict = said ? answered_by_words(exam, said) : exam_wrong(exam, "no memory");
	free(said);
	free(log);
	return verdict;
}

/* How many instructions the verifier went through. */
static enum verdict processed(struct exam *exam)
{
	struct rp_prog_stats stats;

	if (!exam_load(exam))
		return WRONG;
	if (rp_prog_stats(exam->prog, &stats) || !stats.verified_insns)
		return exam_say(exam, SKIPPED, "this kernel does not say how many it processed");
	return answered_by_number(exam, stats.verified_insns);
}

/* The bytes of a program, from the assembler. */
static enum verdict program_bytes(struct exam *exam)
{
	struct asm_image image;
	uint32_t bytes;

	if (asm_assemble(exam->quiz->program, &exam->bind, &image, NULL, NULL))
		return exam_wrong(exam, "it cannot be assembled");
	bytes = image.ninsns * (uint32_t)sizeof(struct bpf_insn);
	asm_image_free(&image);
	return answered_by_number(exam, bytes);
}

static enum verdict returns(struct exam *exam)
{
	uint32_t result;

	if (!exam_run_packet(exam, 64, &result))
		return WRONG;
	return answered_by_number(exam, result);
}

/* What it returns when it is number 0 of the array that is its first map. */
static enum verdict returns_as_its_own_successor(struct exam *exam)
{
	uint32_t fd;
	int err;

	if (!exam_map_is(exam, BPF_MAP_TYPE_PROG_ARRAY, 4, 4) || !exam_load(exam))
		return WRONG;
	fd = (uint32_t)exam->prog;
	err = rp_map_update(exam->fds[0], &(uint32_t){ 0 }, &fd, BPF_ANY);
	if (err)
		return exam_wrong(exam, "it cannot be put in the array: %s", strerror(-err));
	return returns(exam);
}

static void keep_said(void *ctx, const struct asm_diag *diag)
{
	fprintf(ctx, "%s: %s\n", diag->severity == ASM_ERROR ? "error" : "warning", diag->message);
}

/* The lint: words of it, or "nothing". */
static enum verdict lint_says(struct exam *exam)
{
	char *said = NULL;
	size_t size;
	FILE *file = open_memstream(&said, &size);
	struct asm_image image;
	enum verdict verdict;

	if (!file || asm_assemble(exam->quiz->program, &exam->bind, &image, NULL, NULL))
		return exam_wrong(exam, "it cannot be assembled");
	asm_lint(&image, &exam->bind, keep_said, file);
	fflush(file);
	if (!size)
		fputs("nothing", file);
	fclose(file);
	asm_image_free(&image);
	verdict = answered_by_words(exam, said);
	free(said);
	return verdict;
}

const struct judged say_exercises[] = {
	{ "02-slots", "01-exit", "01/answer --bytes", NULL, program_bytes },
	{ "04-last-words", "02-registers", "02/on_one_path --step", NULL, verifier_says },
	{ "06-bytes-of-a-slot", "03-stack-and-keys", "03/padding_left", NULL, verifier_says },
	{ "09-fetch", "05-counting", "05/count_atomic", NULL, returns },
	{ "11-rounds", "06-loops-and-log2", "06/by_loop --step", NULL, processed },
	{ "13-far-field", "07-context", "07/far_field", NULL, verifier_says },
	{ "18-callback", "11-functions", "11/says_2", NULL, verifier_says },
	{ "20-quoted-line", "13-line-info", "04/unchecked --format log", NULL, verifier_says },
	{ "21-lint", "14-the-seeds-profiler", "03/padding_left --lint", NULL, lint_says },
	{ "23-bits", "15-reading-scalars", "15/bits --step", NULL, verifier_says },
	{ "25-questions", "16-pruning", "16/exact_sum --step", NULL, processed },
	{ "27-again", "18-tail-calls", "18/again", NULL, returns_as_its_own_successor },
	{ "28-given-up", "19-dynptr", "19/given_up", "bpf_dynptr_write", verifier_says },
	{ "29-task", "20-kfuncs", "20/kept", "bpf_task_from_pid", verifier_says },
	{ "30-trust", "21-trust", "21/on_switch", "bpf_task_acquire", verifier_says },
	{ 0 },
};
