/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof doctor: what this kernel and these capabilities allow, and what each command will use. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rawprof/asm.h>

#include "cli/commands.h"
#include "doctor.h"
#include "base/file.h"
#include "base/text.h"

struct setting {
	const char *name, *path;
	char value[64]; /* "" if the kernel has none */
};

/* Whose functions have names: record/python_layouts.c, v8_layouts.c, jvm.c, script_layouts.c. */
static const struct finding languages[] = {
	{ "Python", "", 0, "CPython 3.8 to 3.14, with glibc" },
	{ "JavaScript", "", 0, "V8 10.2, 11.3, 12.4 (Node 18, 20, 22)" },
	{ "Java", "", 0, "HotSpot 17, 21, 25, 26" },
	{ "PHP", "", 0, "8.2, not for several threads (ZTS)" },
	{ "Ruby", "", 0, "3.1, with libruby" },
	{ "Perl", "", 0, "5.36 for several threads (as Debian's is), with glibc" },
};
enum { LANGUAGES = sizeof(languages) / sizeof(languages[0]) };

struct diagnosis {
	struct utsname uts;
	long cpus, page_size;
	struct setting settings[8];
	struct finding rights[DOCTOR_RIGHTS];
	struct finding mechanisms[DOCTOR_MECHANISMS];
	struct finding ways[DOCTOR_WAYS];
	struct finding languages[LANGUAGES];
	struct finding commands[DOCTOR_COMMANDS];
};

/* Settings that take away what capabilities give, or the other way round. */
static const struct setting settings[] = {
	{ "kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
	{ "kernel.perf_event_max_sample_rate", "/proc/sys/kernel/perf_event_max_sample_rate" },
	{ "kernel.perf_event_max_stack", "/proc/sys/kernel/perf_event_max_stack" },
	{ "kernel.perf_event_mlock_kb", "/proc/sys/kernel/perf_event_mlock_kb" },
	{ "kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict" },
	{ "kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled" },
	{ "net.core.bpf_jit_enable", "/proc/sys/net/core/bpf_jit_enable" },
	{ "lockdown", "/sys/kernel/security/lockdown" },
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* As record/config.c decides it. */
static void find_languages(struct finding out[LANGUAGES])
{
	const char *lack = NULL;

#ifdef __x86_64__
	if (!rp_has(RP_HAS_UPROBE_MULTI_PID))
		lack = "needs Linux 6.10";
#else
	lack = "on x86-64 alone";
#endif
	for (int i = 0; i < LANGUAGES; i++) {
		out[i] = languages[i];
		if (!lack)
			continue;
		out[i].err = -EOPNOTSUPP;
		snprintf(out[i].text, sizeof(out[i].text), "%s: %s", lack, languages[i].text);
	}
}

static void examine(struct diagnosis *d)
{
	uname(&d->uts);
	d->cpus = sysconf(_SC_NPROCESSORS_ONLN);
	d->page_size = sysconf(_SC_PAGESIZE);
	for (int i = 0; i < SETTINGS; i++) {
		struct setting *s = &d->settings[i];

		*s = settings[i];
		if (rp_read_small_file(s->path, s->value, sizeof(s->value)) < 0)
			*s->value = '\0';
		s->value[strcspn(s->value, "\n")] = '\0';
	}
	doctor_rights(d->rights);
	doctor_mechanisms(d->mechanisms);
	doctor_ways(d->mechanisms, d->ways);
	doctor_commands(d->commands);
	find_languages(d->languages);
}

/* ---- as text */

static void print_findings(const char *title, const struct finding *f, int n)
{
	printf("\n%s\n", title);
	for (int i = 0; i < n; i++) {
		printf("  %-3s  %-16s %-5s ", f[i].err ? "no" : "yes", f[i].name, f[i].since);
		/* A text of several lines stays in its column. */
		for (const char *c = f[i].text; *c; c++)
			if (*c == '\n')
				printf("\n%31s", "");
			else
				putchar(*c);
		putchar('\n');
	}
}

static void print_text(const struct diagnosis *d)
{
	printf("rawprof %s on Linux %s (%s), %ld CPUs, pages of %ld bytes\n", RAWPROF_VERSION,
	       d->uts.release, d->uts.machine, d->cpus, d->page_size);
	print_findings("Rights of this process", d->rights, DOCTOR_RIGHTS);
	puts("\nSettings");
	for (int i = 0; i < SETTINGS; i++)
		printf("       %-34s %s\n", d->settings[i].name,
		       *d->settings[i].value ? d->settings[i].value : "-");
	print_findings("Mechanisms, and the Linux that brought them", d->mechanisms,
		       DOCTOR_MECHANISMS);
	print_findings("What is used for", d->ways, DOCTOR_WAYS);
	print_findings("Languages whose functions have names", d->languages, LANGUAGES);
	print_findings("Commands", d->commands, DOCTOR_COMMANDS);
}

/* ---- as JSON */

static void print_list(const char *title, const struct finding *f, int n)
{
	printf(",\n  \"%s\": [", title);
	for (int i = 0; i < n; i++) {
		printf("%s\n    { \"name\": ", i ? "," : "");
		rp_text_print_json(stdout, f[i].name);
		printf(", \"works\": %s, \"errno\": %d, \"since\": ", f[i].err ? "false" : "true",
		       -f[i].err);
		rp_text_print_json(stdout, f[i].since);
		printf(", \"text\": ");
		rp_text_print_json(stdout, f[i].text);
		printf(" }");
	}
	printf("\n  ]");
}

static void print_json(const struct diagnosis *d)
{
	printf("{\n  \"rawprof\": ");
	rp_text_print_json(stdout, RAWPROF_VERSION);
	printf(",\n  \"linux\": ");
	rp_text_print_json(stdout, d->uts.release);
	printf(",\n  \"machine\": ");
	rp_text_print_json(stdout, d->uts.machine);
	printf(",\n  \"cpus\": %ld,\n  \"page_size\": %ld,\n  \"settings\": {", d->cpus,
	       d->page_size);
	for (int i = 0; i < SETTINGS; i++) {
		printf("%s\n    ", i ? "," : "");
		rp_text_print_json(stdout, d->settings[i].name);
		printf(": ");
		if (*d->settings[i].value)
			rp_text_print_json(stdout, d->settings[i].value);
		else
			printf("null");
	}
	printf("\n  }");
	print_list("rights", d->rights, DOCTOR_RIGHTS);
	print_list("mechanisms", d->mechanisms, DOCTOR_MECHANISMS);
	print_list("ways", d->ways, DOCTOR_WAYS);
	print_list("languages", d->languages, LANGUAGES);
	print_list("commands", d->commands, DOCTOR_COMMANDS);
	printf("\n}\n");
}

static int run(const struct options *opt)
{
	struct diagnosis *d = calloc(1, sizeof(*d));
	const bool json = opt->format->json;
	int status = EXIT_DONE;

	if (!d) {
		rp_log(RP_ERROR, "out of memory");
		return EXIT_FAILED;
	}
	examine(d);
	if (json)
		print_json(d);
	else
		print_text(d);
	for (int i = 0; i < DOCTOR_COMMANDS; i++)
		if (d->commands[i].err && doctor_is_main(i))
			status = EXIT_FAILED;
	free(d);
	if (fflush(stdout) || ferror(stdout)) {
		rp_log(RP_ERROR, "cannot write standard output: %s", strerror(errno));
		status = EXIT_FAILED;
	}
	return status;
}

static const char *check(const struct options *opt)
{
	return opt->format->json || opt->format == report_format_by_name("table")
		       ? NULL
		       : "it has the formats table and json";
}

static const struct option_row own[] = {
	{ "format", 0, OPTION_OUTPUT, .help = "the form of the result", .words = "table json" },
	{ 0 },
};

const struct command doctor_command = {
	.name = "doctor",
	.summary = "what can be done here, and what will each command use?",
	.about =
		"Tries every mechanism of the kernel that rawprof can use. Says which of them this "
		"kernel and these capabilities give, why not the others, and what is used in "
		"their place. A bug report begins with it.\n\n"
		"yes and no say whether a mechanism works, tried a moment ago; a number such as "
		"5.8 is the Linux that brought it. Each command is set up as for a recording and "
		"taken down again: under Commands is what runs its programs, and what it has to "
		"do without.\n\n"
		"Exit status: 0 if the commands work, 1 if one of them does not. Options that do "
		"not work, as in mem -k, do not count.",
	.takes = TAKES_FORMAT,
	.own = own,
	.check = check,
	.run = run,
};
