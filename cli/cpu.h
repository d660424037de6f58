/* SPDX-License-Identifier: BSD-2-Clause */
/* What doctor wants to know of `rawprof cpu`. */
#ifndef CLI_CPU_H
#define CLI_CPU_H

#include <stddef.h>

/*
 * Everything that `rawprof cpu -- PROGRAM` does before it records, taken back at once. 0, and the event that it
 * would sample by; else a negative errno after a message.
 */
int cpu_try(char *event, size_t size);

#endif
