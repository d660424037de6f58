/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread was waiting for, as the kernel's side of its stack tells. */
#ifndef CLI_WAIT_KIND_H
#define CLI_WAIT_KIND_H

#include "cli/run.h"

/* "disk", "futex", ...; "other" if no frame tells. addrs: leaf first. The text is constant. */
const char *wait_kind(struct recording *rec, const uint64_t *addrs, size_t n);
/* All of them, in the order in which they are best shown; NULL at the end. */
extern const char *const wait_kinds[];

#endif
