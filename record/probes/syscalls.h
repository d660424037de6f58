/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls of this machine by their names and numbers. */
#ifndef RECORD_PROBES_SYSCALLS_H
#define RECORD_PROBES_SYSCALLS_H

#include <stdint.h>

enum { RECORD_SYSCALLS = 1024 };

/* By number, NULL: none; as the headers have them that this was built with (the Makefile). */
extern const char *const record_syscall_names[];
extern const uint32_t record_syscall_count;

/* Its name, also of newer calls than those headers have; NULL: there is none. */
const char *record_syscall_name(uint32_t nr);

#endif
