/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof io: how slow is storage? Which view of it is meant. */
#include "commands.h"
#include "io.h"

static int setup(struct io *io)
{
	int err = io_record_init(io);

	return err ? err : io_hists_setup(io);
}

int command_io(const struct options *opt)
{
	struct io io = { .own = opt->own };
	int err = setup(&io);
	int status = err ? EXIT_FAILED : profile_run(&io.profiler, opt, &io);

	io_hists_free(&io);
	io_record_free(&io);
	return status;
}
