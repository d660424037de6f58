/* SPDX-License-Identifier: BSD-2-Clause */
/* testrun.c: running a loaded program once, with a context of our making. */
#include "internal.h"

int rp_prog_test_run(int prog_fd, struct rp_test_run *run)
{
	union rp_attr attr = { 0 };
	int err;

	attr.test.prog_fd = (uint32_t)prog_fd;
	attr.test.data_in = ptr64(run->data_in);
	attr.test.data_out = ptr64(run->data_out);
	attr.test.data_size_in = run->data_size_in;
	attr.test.data_size_out = run->data_size_out;
	attr.test.ctx_in = ptr64(run->ctx_in);
	attr.test.ctx_out = ptr64(run->ctx_out);
	attr.test.ctx_size_in = run->ctx_size_in;
	attr.test.ctx_size_out = run->ctx_size_out;
	attr.test.repeat = run->repeat;
	attr.test.flags = run->flags;
	attr.test.cpu = run->cpu;
	err = rp_sys_bpf(BPF_PROG_TEST_RUN, &attr);
	/* With ENOSPC the data did not fit, and everything else is valid. */
	if (err && err != -ENOSPC)
		return err;
	run->data_size_out = attr.test.data_size_out;
	run->ctx_size_out = attr.test.ctx_size_out;
	run->retval = attr.test.retval;
	run->duration_ns = attr.test.duration;
	return err;
}
