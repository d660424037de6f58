/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of a VT100 and of what came after it. */
#include "input.h"

#include <string.h>

void top_input_add(struct top_input *in, const char *bytes, size_t n)
{
	const size_t room = TOP_INPUT_BYTES - in->n;

	n = n < room ? n : room;
	memcpy(in->bytes + in->n, bytes, n);
	in->n += n;
}

static int take(struct top_input *in, size_t n, int key)
{
	in->n -= n;
	memmove(in->bytes, in->bytes + n, in->n);
	return key;
}

/* By the last byte, "A" of "\033[A" and "\033OA"; with "~" by the number before it. */
static int key_of(char last, unsigned int number)
{
	static const struct {
		char last;
		unsigned int number;
		int key;
	} keys[] = {
		{ 'A', 0, TOP_KEY_UP },	       { 'B', 0, TOP_KEY_DOWN },
		{ 'C', 0, TOP_KEY_RIGHT },     { 'D', 0, TOP_KEY_LEFT },
		{ 'H', 0, TOP_KEY_HOME },      { 'F', 0, TOP_KEY_END },
		{ 'M', 0, TOP_KEY_ENTER },     { '~', 1, TOP_KEY_HOME },
		{ '~', 4, TOP_KEY_END },       { '~', 5, TOP_KEY_PAGE_UP },
		{ '~', 6, TOP_KEY_PAGE_DOWN }, { '~', 7, TOP_KEY_HOME },
		{ '~', 8, TOP_KEY_END },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].last == last && (last != '~' || keys[i].number == number))
			return keys[i].key;
	return TOP_KEY_NONE;
}

/* "\033[" or "\033O", digits and semicolons, and a byte that ends it. */
static int sequence(struct top_input *in, int more)
{
	unsigned int number = 0;
	size_t i = 2;

	if (in->n == 1)
		return more ? TOP_KEY_NONE : take(in, 1, TOP_KEY_ESCAPE);
	if (in->bytes[1] != '[' && in->bytes[1] != 'O')
		return take(in, 1, TOP_KEY_ESCAPE);
	while (i < in->n && ((in->bytes[i] >= '0' && in->bytes[i] <= '9') || in->bytes[i] == ';')) {
		if (in->bytes[i] != ';')
			number = (number * 10 + (unsigned int)(in->bytes[i] - '0')) % 1000;
		i++;
	}
	if (i == in->n)
		return more && in->n < TOP_INPUT_BYTES ? TOP_KEY_NONE : take(in, in->n, 0);
	return take(in, i + 1, key_of(in->bytes[i], number));
}

int top_input_key(struct top_input *in, int more)
{
	unsigned char c;

	if (!in->n)
		return TOP_KEY_NONE;
	c = (unsigned char)in->bytes[0];
	switch (c) {
	case '\033':
		return sequence(in, more);
	case '\r':
	case '\n':
		return take(in, 1, TOP_KEY_ENTER);
	case '\t':
		return take(in, 1, TOP_KEY_TAB);
	case '\b':
		return take(in, 1, TOP_KEY_BACKSPACE);
	default:
		return take(in, 1, c);
	}
}
