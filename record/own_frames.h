/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel stack holds of ourselves. */
#ifndef RECORD_OWN_FRAMES_H
#define RECORD_OWN_FRAMES_H

#include "recording.h"

/*
 * How many of the innermost frames of a kernel stack are not the program's doing but belong to the
 * BPF program that recorded it and to the way it was called: bpf_prog_..., bpf_trace_run4, the stub
 * of a tracepoint.
 */
size_t record_own_frames(struct recording *rec, const uint64_t *addrs, size_t n);

#endif
