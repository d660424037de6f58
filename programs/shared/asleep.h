/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * asleep: stacks of threads that sleep since before the recording (programs/shared/asleep.c).
 *
 * An iterator; its configuration is that of the profiler with of_task. It makes entries in the map
 * threads for those that sleep since before the gate was opened, and walks those again whose
 * mappings were not known.
 */
#ifndef PROGRAMS_ASLEEP_H
#define PROGRAMS_ASLEEP_H

#include "sched.h"

#endif
