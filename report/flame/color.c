/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The colours of a flame graph. The kind of code chooses a range of hues; in it the
 * beginning of a name (a namespace, a prefix) chooses most of the hue, so that what belongs
 * together looks alike, and the whole name the rest and the lightness.
 */
#include <string.h>

#include "flame.h"

/* Hue in degrees, saturation and lightness in percent: from, and by how much they may grow. */
struct range {
	float hue, hues, saturation, lightness, lightnesses;
};

static const struct range ranges[] = {
	[REPORT_USER] = { 14, 36, 86, 62, 9 },	   /* orange */
	[REPORT_KERNEL] = { 198, 26, 62, 66, 9 },  /* blue */
	[REPORT_JIT] = { 92, 52, 46, 62, 9 },	   /* green */
	[REPORT_INLINED] = { 340, 24, 70, 76, 7 }, /* rose */
	[REPORT_MARK] = { 45, 1, 6, 80, 4 },	   /* grey */
	[REPORT_PYTHON] = { 256, 34, 56, 74, 8 },  /* violet */
	[REPORT_JS] = { 58, 26, 66, 62, 8 },	   /* yellow */
	[REPORT_JVM] = { 152, 30, 44, 60, 9 },	   /* sea green */
	[REPORT_PHP] = { 228, 24, 48, 72, 8 },	   /* indigo */
	[REPORT_RUBY] = { 352, 14, 58, 62, 8 },	   /* ruby */
	[REPORT_PERL] = { 184, 14, 50, 58, 8 },	   /* teal */
	[KIND_LABEL] = { 45, 1, 6, 80, 4 },	   [KIND_COMM] = { 215, 20, 18, 80, 5 }, /* slate */
};

/*
 * Of the values of a label, by their place. First those of a flame graph: what runs is hot, what
 * waits is cold; the next ones are as far from them and from each other as they can be.
 */
static const struct range label_ranges[] = {
	{ 12, 10, 84, 62, 8 },	{ 206, 10, 62, 64, 8 }, { 46, 8, 84, 60, 8 },
	{ 272, 10, 50, 72, 7 }, { 128, 12, 42, 62, 8 }, { 330, 10, 62, 73, 7 },
	{ 172, 10, 44, 60, 8 }, { 28, 6, 34, 62, 7 },
};
static const struct range mixed_range = { 215, 20, 8, 82, 6 };

/* FNV-1a, here because the colours must never change with the hash of the tables. */
static uint32_t name_hash(const char *s, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	h ^= h >> 15;
	h *= 0x2c1b3c6du;
	return h ^ h >> 13;
}

static float fraction(uint32_t hash)
{
	return (float)(hash & 0xffff) / 65536.0f;
}

/* One of the three channels of an HSL colour, as in CSS Color Module Level 3, section 4.2.4. */
static unsigned int channel(float n, float hue, float saturation, float lightness)
{
	float k = n + hue / 30 < 12 ? n + hue / 30 : n + hue / 30 - 12;
	float a = saturation * (lightness < 0.5f ? lightness : 1 - lightness);
	float limit = k - 3 < 9 - k ? k - 3 : 9 - k;

	limit = limit < -1 ? -1 : limit > 1 ? 1 : limit;
	return (unsigned int)((lightness - a * limit) * 255 + 0.5f);
}

static void color_in(const struct range *range, const char *name, char color[8])
{
	const char *start = name + strspn(name, "_[");
	uint32_t family = name_hash(start, strcspn(start, ":._(<"));
	uint32_t whole = name_hash(name, strlen(name));
	float hue = range->hue + range->hues * (0.6f * fraction(family) + 0.4f * fraction(whole));
	float lightness = (range->lightness + range->lightnesses * fraction(whole >> 16)) / 100;
	float saturation = range->saturation / 100;

	snprintf(color, 8, "#%02x%02x%02x", channel(0, hue, saturation, lightness) & 0xff,
		 channel(8, hue, saturation, lightness) & 0xff,
		 channel(4, hue, saturation, lightness) & 0xff);
}

void report_flame_color(const char *name, uint32_t kind, char color[8])
{
	color_in(&ranges[kind], name, color);
}

void report_flame_color_of_label(const char *name, unsigned int place, char color[8])
{
	size_t n = sizeof(label_ranges) / sizeof(*label_ranges);

	color_in(place == FLAME_MIXED ? &mixed_range : &label_ranges[place % n], name, color);
}

static void put_ranges(struct out *o, const char *before, const struct range *list, size_t n)
{
	report_out_puts(o, before);
	for (size_t i = 0; i < n; i++) {
		const struct range *r = &list[i];

		report_out_printf(o, "%s[%g,%g,%g,%g,%g]", i ? "," : "", (double)r->hue,
				  (double)r->hues, (double)r->saturation, (double)r->lightness,
				  (double)r->lightnesses);
	}
}

void report_flame_ranges(struct out *o)
{
	put_ranges(o, "{\"kinds\":[", ranges, sizeof(ranges) / sizeof(*ranges));
	put_ranges(o, "],\"labels\":[", label_ranges, sizeof(label_ranges) / sizeof(*label_ranges));
	put_ranges(o, "],\"mixed\":", &mixed_range, 1);
	report_out_putc(o, '}');
}
