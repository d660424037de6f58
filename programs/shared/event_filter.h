/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events a person wants, as a function that is made of an expression when a program is loaded
 * (record/filter/filter.h):
 *
 *	event_filter(R1 = the record, R2 = scratch memory, R3 = process << 32 | thread)
 *		R0 = 1: the event is kept; 0: it is not
 *
 * The record is the context of a tracepoint, or memory of that layout. The scratch memory is the
 * value of a map, of EVENT_FILTER_SCRATCH bytes, and of this CPU alone. A program INCLUDEs
 * rp_event_filter_part, which keeps every event and whose place another one may take.
 */
#ifndef PROGRAMS_EVENT_FILTER_H
#define PROGRAMS_EVENT_FILTER_H

#include <rawprof/asm.h>

#define EVENT_FILTER_SCRATCH 528

extern const struct asm_part rp_event_filter_part;

#endif
