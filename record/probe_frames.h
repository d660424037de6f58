/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel stack holds of ourselves. */
#ifndef CLI_PROBE_FRAMES_H
#define CLI_PROBE_FRAMES_H

#include "session.h"

/*
 * How many of the innermost frames of a kernel stack are not the program's doing but belong to the BPF program that
 * recorded it and to the way it was called: bpf_prog_..., bpf_trace_run4, the stub of a tracepoint.
 */
size_t record_probe_frames(struct session *s, const uint64_t *addrs, size_t n);

#endif
