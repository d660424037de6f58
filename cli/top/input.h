/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys, from the bytes that a terminal sends for them. */
#ifndef CLI_TOP_INPUT_H
#define CLI_TOP_INPUT_H

#include <stddef.h>

enum top_key {
	TOP_KEY_NONE = 0,
	/* characters are themselves */
	TOP_KEY_BACKSPACE = 127,
	TOP_KEY_UP = 256,
	TOP_KEY_DOWN,
	TOP_KEY_LEFT,
	TOP_KEY_RIGHT,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_TAB,
};

#define TOP_INPUT_BYTES 64
struct top_input {
	char bytes[TOP_INPUT_BYTES];
	size_t n;
};

/* Adds what has been read; what does not fit is dropped. */
void top_input_add(struct top_input *in, const char *bytes, size_t n);
/*
 * The next key, TOP_KEY_NONE: there is none, or not all of it. more: bytes may still come, so that
 * an escape alone is not yet the key.
 */
int top_input_key(struct top_input *in, int more);

#endif
