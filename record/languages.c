/* SPDX-License-Identifier: BSD-2-Clause */
/* A process has a language if it maps a file with its name; what that file is others find out. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "languages.h"
#include "recording.h"

#define LATELY_NS NS_PER_SECOND
#define LOOK_NS (NS_PER_SECOND / 10)

/* So many warnings. */
#define MOST_TOLD 16

enum rp_level record_unknown_level(void)
{
	static unsigned int told;

	return told < MOST_TOLD && ++told ? RP_WARN : RP_INFO;
}

bool record_language_file(const char *path)
{
	static const char *const words[] = {
		"python", "node", "jvm", "java", "php", "ruby", "perl"
	};
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(slash ? slash : path, words[i]))
			return true;
	return false;
}

bool record_program_runs(bool (*is_one)(const void *ctx, const char *exe), const void *ctx)
{
	DIR *proc = opendir("/proc");
	char path[64], exe[512];
	struct dirent *e;
	bool found = false;
	ssize_t n;

	while (proc && !found && (e = readdir(proc))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/exe", e->d_name);
		n = readlink(path, exe, sizeof(exe) - 1);
		exe[n > 0 ? n : 0] = '\0';
		found = is_one(ctx, exe);
	}
	if (proc)
		closedir(proc);
	return found;
}

static bool is_interpreter(const void *ctx, const char *exe)
{
	(void)ctx;
	return record_language_file(exe);
}

/* A program that is asked for by its number or its command has them from its first sample. */
bool record_languages_may_wait(const struct recording *rec)
{
	const struct record_options *opt = rec->opt;

	return rec->profiler->languages && rec->config.managed_bytes && !opt->python_only &&
	       !opt->program && !opt->pids.n && !opt->tids.n;
}

int record_languages_load(struct recording *rec)
{
	int err;

	if (!rec->languages_wait)
		return 0;
	rec->languages_wait = false;
	err = rec->profiler->languages(rec);
	rp_btf_kernel_release();
	if (!err)
		rp_log(RP_INFO, "frames of languages are walked since %.0f ms after the start",
		       (double)(rp_monotonic_ns() - rec->begin_ns) / 1e6);
	return err;
}

int record_languages_begin(struct recording *rec)
{
	/* Programs whose file has another name are found when a sample hits them. */
	return rec->languages_wait && record_program_runs(is_interpreter, NULL)
		       ? record_languages_load(rec)
		       : 0;
}

void record_languages_saw(struct recording *rec, const struct stack_record *record)
{
	if (rec->languages_wait && rec->config.deep_bytes && record->user_end == UNWIND_DEEP)
		rec->language_met = true;
}

void record_languages_mapped(struct recording *rec, const char *path)
{
	rec->mapped_ns = rp_monotonic_ns();
	if (record_language_file(path))
		rec->language_met = true;
}

uint64_t record_languages_urgent(const struct recording *rec)
{
	if (!rec->languages_wait || rp_monotonic_ns() - rec->mapped_ns > LATELY_NS)
		return UINT64_MAX;
	return LOOK_NS;
}

int record_languages_look(struct recording *rec)
{
	if (!rec->languages_wait)
		return 0;
	if (rec->tables && record_tables_have_language(rec->tables))
		rec->language_met = true;
	return rec->language_met ? record_languages_load(rec) : 0;
}
