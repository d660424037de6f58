/* SPDX-License-Identifier: BSD-2-Clause */
/* Names, labels and values of the text exposition format. */
#include <inttypes.h>
#include <string.h>

#include "prometheus.h"
#include "text.h"

bool report_prometheus_name(const char *s)
{
	static const char allowed[] =
		"0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *s && !strchr("0123456789", *s) && !s[strspn(s, allowed)];
}

void report_prometheus_head(struct out *o, const char *name, const char *help, const char *type)
{
	report_out_printf(o, "# HELP %s ", name);
	for (; *help; help++)
		report_out_puts(o, *help == '\\'   ? "\\\\"
				   : *help == '\n' ? "\\n"
						   : (char[]){ *help, 0 });
	report_out_printf(o, "\n# TYPE %s %s\n", name, type);
}

/*
 * A text that can be printed stands as it is. One that cannot has its bytes in their printable form
 * and its backslashes doubled, and so has one that looks like that form: no two are written alike.
 */
static bool stands_as_it_is(const char *s)
{
	while (*s) {
		char unit[RP_TEXT_UNIT];
		const char *at = s;
		size_t n = rp_text_unit(&s, unit, NULL);

		if (n != (size_t)(s - at) || memcmp(unit, at, n))
			return false;
		if (*at == '\\' && *s && strchr("nrtx\\", *s))
			return false;
	}
	return true;
}

void report_prometheus_label(struct out *o, bool *first, const char *key, const char *value)
{
	bool plain = stands_as_it_is(value);

	report_out_printf(o, "%s%s=\"", *first ? "" : ",", key);
	*first = false;
	while (*value) {
		char unit[RP_TEXT_UNIT];
		bool backslash = *value == '\\';

		rp_text_unit(&value, unit, NULL);
		if (backslash && !plain)
			report_out_puts(o, "\\\\");
		for (const char *c = unit; *c; c++) {
			if (*c == '\\' || *c == '"')
				report_out_putc(o, '\\');
			report_out_putc(o, *c);
		}
	}
	report_out_putc(o, '"');
}

const char *report_prometheus_suffix(enum report_unit unit)
{
	switch (unit) {
	case REPORT_UNIT_NS:
	case REPORT_UNIT_US:
		return "_seconds";
	case REPORT_UNIT_BYTES:
		return "_bytes";
	case REPORT_UNIT_PERCENT:
		return "_percent";
	default:
		return "";
	}
}

/* How many of a unit make a base unit. */
static uint64_t base(enum report_unit unit)
{
	return unit == REPORT_UNIT_NS ? 1000000000 : unit == REPORT_UNIT_US ? 1000000 : 1;
}

void report_prometheus_value(struct out *o, uint64_t v, enum report_unit unit)
{
	int digits = unit == REPORT_UNIT_NS ? 9 : 6;
	uint64_t one = base(unit), rest = v % one;

	report_out_u64(o, v / one);
	if (!rest)
		return;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	report_out_printf(o, ".%0*" PRIu64, digits, rest);
}

void report_prometheus_real(struct out *o, double v, enum report_unit unit)
{
	report_out_printf(o, "%.9g", v / (double)base(unit));
}
