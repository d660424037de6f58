/* SPDX-License-Identifier: BSD-2-Clause */
/* left.h: what stays in the kernel when the processes that made it have gone. */
#ifndef LEFT_H
#define LEFT_H

#include <stdbool.h>
#include <stddef.h>

/* Notes what there is now. */
void left_begin(void);
/*
 * Whether there is now a BPF program, map or link that no process has a descriptor of, or a probe
 * in tracefs, that was not there before. Some seconds have to go by since the last process ended:
 * it looks again until what it saw is gone, or has stayed.
 */
bool left_since(char *what, size_t size);

#endif
