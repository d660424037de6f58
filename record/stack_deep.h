/* SPDX-License-Identifier: BSD-2-Clause */
/* Deep stacks come through the ring in two pieces (programs/shared/stack_deep.h): joins them. */
#ifndef RECORD_STACK_DEEP_H
#define RECORD_STACK_DEEP_H

#include <stddef.h>
#include <stdint.h>

#include "programs/shared/stack.h"

struct record_deep;

/* Stacks are cut after so many user frames. 0 or -ENOMEM. */
int record_deep_open(uint32_t most_frames, struct record_deep **out);
void record_deep_close(struct record_deep *d);
/* All frames but the outermost; copied. 0, -ENOMEM or -EBADMSG. */
int record_deep_keep(struct record_deep *d, const void *data, size_t size);
/*
 * *@record, which has the outermost, becomes one that has all, and is good until the next. 0, or
 * -EBADMSG: its other frames have not come.
 */
int record_deep_join(struct record_deep *d, const struct stack_record **record);

#endif
