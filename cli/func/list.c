/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof func --list: what the patterns name, and why some of it cannot be probed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/text.h"
#include "func.h"

static const char *kind_name(enum record_probe_kind kind)
{
	static const char *const names[RECORD_PROBE_KINDS] = {
		[RECORD_PROBE_KERNEL] = "kernel",   [RECORD_PROBE_USER] = "user",
		[RECORD_PROBE_SYSCALL] = "syscall", [RECORD_PROBE_PAIR] = "pair",
		[RECORD_PROBE_EVENT] = "event",	    [RECORD_PROBE_USDT] = "usdt",
	};

	return names[kind];
}

static int print_one(const struct record_probe *p)
{
	int err = rp_text_print(stdout, "%-8s%s", kind_name(p->kind), p->name);

	if (!err && p->module)
		err = rp_text_print(stdout, "  %s", p->module);
	if (!err && p->also)
		err = rp_text_print(stdout, "  also %s", p->also);
	if (!err && p->why_not)
		err = rp_text_print(stdout, "  not: %s", p->why_not);
	fputc('\n', stdout);
	return err;
}

int func_list(const struct options *opt)
{
	const unsigned long errors = rp_log_errors();
	struct record_probes *probes;
	int err = func_find(opt, &probes);

	if (err)
		return command_failed(opt->command, err, errors);
	for (uint32_t i = 0; !err && i < record_probes_count(probes); i++)
		err = print_one(record_probes_at(probes, i));
	record_probes_close(probes);
	errno = 0;
	if (!err && (fflush(stdout) || ferror(stdout)))
		err = errno ? -errno : -EIO;
	if (err == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	return err ? command_failed(opt->command, err, errors) : EXIT_DONE;
}
