/* SPDX-License-Identifier: BSD-2-Clause */
/* Moments as clocks on walls show them. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <rawprof/report.h>

#include "clock.h"

/* In a static file it is there only if other code needs it. */
#pragma weak localtime_r

static bool is_leap(unsigned int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

struct wall_clock report_clock_utc(uint64_t ns)
{
	static const unsigned char lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const uint64_t seconds = ns / 1000000000;
	const unsigned int of_day = seconds % 86400;
	unsigned int days = (unsigned int)(seconds / 86400), year = 1970, month = 0, length;

	for (; days >= (length = 365 + is_leap(year)); year++)
		days -= length;
	for (; days >= (length = lengths[month] + (month == 1 && is_leap(year))); month++)
		days -= length;
	return (struct wall_clock){ .year = year,
				    .month = month + 1,
				    .day = days + 1,
				    .hour = of_day / 3600,
				    .minute = of_day / 60 % 60,
				    .second = of_day % 60 };
}

struct wall_clock report_clock_local(uint64_t ns)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!localtime_r || !localtime_r(&seconds, &tm))
		return report_clock_utc(ns);
	return (struct wall_clock){ .year = (unsigned int)tm.tm_year + 1900,
				    .month = (unsigned int)tm.tm_mon + 1,
				    .day = (unsigned int)tm.tm_mday,
				    .hour = (unsigned int)tm.tm_hour,
				    .minute = (unsigned int)tm.tm_min,
				    .second = (unsigned int)tm.tm_sec,
				    .offset = (int)(tm.tm_gmtoff / 60) };
}

void report_clock(uint64_t wall_ns, char text[REPORT_CLOCK_TEXT])
{
	const struct wall_clock c = report_clock_local(wall_ns);

	snprintf(text, REPORT_CLOCK_TEXT, "%02u:%02u:%02u.%06" PRIu64, c.hour, c.minute, c.second,
		 wall_ns / 1000 % 1000000);
}
