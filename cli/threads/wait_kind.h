/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread was waiting for, by the kernel's frames of its stack. */
#ifndef CLI_WAIT_KIND_H
#define CLI_WAIT_KIND_H

#include "cli/run.h"

/* "disk", "futex", ...; "other" if no frame fits. addrs: leaf first. The text is constant. */
const char *wait_kind(struct recording *rec, const uint64_t *addrs, size_t n);

#endif
