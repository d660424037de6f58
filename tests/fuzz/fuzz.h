/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What fuzz targets share. A target feeds one input to a parser of what others wrote: it does not
 * crash, read what is not its own, leak or hang, and what it says holds (fuzz_check). Built with
 * clang's libFuzzer, or with driver.c.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(holds)                                                                          \
	do {                                                                                       \
		if (!(holds)) {                                                                    \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);        \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* A file with these contents that is in memory only; a descriptor at its beginning. */
static inline int fuzz_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET)) {
		perror("memfd");
		exit(1);
	}
	return fd;
}

/* Where such a file is, for what takes a path. */
static inline const char *fuzz_path(int fd)
{
	static char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return path;
}

/* A copy that ends where its memory does, so that a byte too many is seen. To be freed. */
static inline void *fuzz_copy(const void *data, size_t size)
{
	void *copy = malloc(size ? size : 1);

	if (!copy)
		exit(1);
	return memcpy(copy, data, size);
}

/* ---- inputs that are a language: numbers and texts, taken from the front; 0 and "" at the end */

struct fuzz_input {
	const uint8_t *at, *end;
};

static inline uint64_t fuzz_take(struct fuzz_input *in, size_t bytes)
{
	const size_t left = (size_t)(in->end - in->at), n = bytes < left ? bytes : left;
	uint64_t value = 0;

	if (n)
		memcpy(&value, in->at, n);
	in->at += n;
	return value;
}

static inline uint64_t fuzz_below(struct fuzz_input *in, uint64_t limit)
{
	return fuzz_take(in, limit > 256 ? 4 : 1) % limit;
}

/* To the next newline or NUL, which is taken too. To be freed. */
static inline char *fuzz_text(struct fuzz_input *in)
{
	size_t n = 0;
	char *text;

	while (in->at + n < in->end && in->at[n] && in->at[n] != '\n')
		n++;
	text = fuzz_copy(in->at, n + (in->at + n < in->end));
	text = realloc(text, n + 1);
	text[n] = '\0';
	in->at += n + (in->at + n < in->end);
	return text;
}

/* ---- what a person or a tool may be shown */

/* The length of the UTF-8 character at s; 0: there is none. */
static inline size_t fuzz_utf8(const unsigned char *s)
{
	const size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4;

	if (*s >= 0xf5 || (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] >= 0x90))
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

/*
 * UTF-8 without control characters, C1 (U+0080 to U+009F) too, but newlines and tabs. No terminal
 * is moved by it.
 */
static inline void fuzz_check_printable(const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;

	fuzz_check(strlen(text) == size);
	while (*s) {
		const size_t n = fuzz_utf8(s);

		fuzz_check(n);
		fuzz_check(*s >= 0x20 || *s == '\n' || *s == '\t');
		fuzz_check(*s != 0x7f && !(*s == 0xc2 && s[1] < 0xa0));
		s += n;
	}
}

#endif
