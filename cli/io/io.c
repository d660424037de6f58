/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof io: how slow is storage? Which view of it is meant. */
#include "io.h"

static int setup(struct io *io, const struct options *opt)
{
	const struct io_options *own = io->own;
	int err = io_record_init(io);

	if (err)
		return err;
	if (io_wants_processes(opt) || own->pattern)
		return io_totals_setup(io, opt);
	return own->log ? io_log_setup(io) : own->stacks ? io_stacks_setup(io) : io_hists_setup(io);
}

int io_run(const struct options *opt)
{
	struct io io = { .own = opt->own };
	const unsigned long errors = rp_log_errors();
	const int err = setup(&io, opt);
	int status;

	if (err)
		status = command_failed(opt->command, err, errors);
	else
		status = run_profiler(&io.profiler, opt, &io);
	if (err == -EINVAL) /* what was asked for makes no sense */
		status = EXIT_USAGE;

	io_hists_free(&io);
	io_totals_free(&io);
	io_record_free(&io);
	return status;
}
