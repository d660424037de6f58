/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments as clocks on walls show them. */
#ifndef REPORT_CLOCK_H
#define REPORT_CLOCK_H

#include <stdint.h>

struct wall_clock {
	unsigned int year, month, day; /* 1970 and later, 1 to 12, 1 to 31 */
	unsigned int hour, minute, second;
	int offset; /* minutes east of UTC */
};

/* @ns since 1970, UTC. */
struct wall_clock report_clock_utc(uint64_t ns);

/*
 * @ns in local time; in UTC, and offset says so, where the C library knows of no time zones:
 * `make static` leaves them out, which are a tenth of the file and seldom there on the machines
 * that it is for.
 */
struct wall_clock report_clock_local(uint64_t ns);

#endif
