/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that start requests: how many, for how long, how many bytes. */
#include <stdio.h>

#include "io.h"

static const struct report_value_type *types(const struct recording *rec, size_t *n)
{
	static const struct report_value_type values[IO_WEIGHTS] = {
		[IO_WEIGHT_COUNT] = { "requests", "count" },
		[IO_WEIGHT_NS] = { "delay", "nanoseconds" },
		[IO_WEIGHT_BYTES] = { "size", "bytes" },
	};

	(void)rec;
	*n = IO_WEIGHTS;
	return values;
}

/* A stack is published when its request starts, which may end too soon or after the end. */
static bool values(const struct recording *rec, const struct stack *stack, uint64_t *value)
{
	(void)rec;
	(void)value;
	return stack->value[IO_WEIGHT_COUNT] != 0;
}

static int decorate(struct recording *rec, const struct stack *stack, struct report_sample *sample)
{
	struct io *io = rec->ctx;
	static struct report_label labels[2];
	static char disk[IO_TEXT], op[IO_TEXT];
	const uint64_t tag = stack->record->tag;

	labels[0] = (struct report_label){
		.key = "disk", .str = io_disk_name(&io->names, (uint32_t)(tag >> 32), disk)
	};
	labels[1] = (struct report_label){ .key = "op", .str = io_op_name((uint32_t)tag, op) };
	sample->labels = labels;
	sample->nlabels = 2;
	return 0;
}

int io_stacks_setup(struct io *io)
{
	io->config.stacks = io->config.timeline = io->config.extent = 1;
	io->maps[IO_MAP_HISTS].max_entries = io->maps[IO_MAP_TOTALS].max_entries =
		io->maps[IO_MAP_ENDS].max_entries = 1;
	io->profiler.no_stacks = false;
	io->profiler.weight = IO_WEIGHT_NS;
	io->profiler.micros = true;
	io->profiler.types = types;
	io->profiler.values = values;
	io->profiler.decorate = decorate;
	return 0;
}
