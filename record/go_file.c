/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program of Go says of itself: which version has made it (the section .go.buildinfo, which
 * strip leaves: debug/buildinfo), and where a thread has its g (runtime.tlsg, or where the linker
 * puts it: cmd/link/internal/ld, tlsoffset).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "published.h"
#include "symbolize/object.h"
#include "symbolize/symtab.h"
#include "tls_variable.h"

/* It lies in the first bytes that a program may write, at a multiple of 16. */
#define SEARCHED 65536
#define INFO_BYTES 48
static const char magic[] = "\xff Go buildinf:";
enum { FLAGS_AT = 15, TEXT_AT = 32, TEXT_IS_THERE = 2 };

/* "go1.24.6", behind its length; "go1.24-20250101-RC00 +abc", too. */
static unsigned int minor_of(const unsigned char *info)
{
	const char *text = (const char *)info + TEXT_AT + 1;
	const size_t n = info[TEXT_AT];
	unsigned int minor = 0;

	if (!(info[FLAGS_AT] & TEXT_IS_THERE) || n < 5 || n > 127 || memcmp(text, "go1.", 4))
		return 0;
	for (size_t i = 4; i < n && i < 7 && text[i] >= '0' && text[i] <= '9'; i++)
		minor = minor * 10 + (unsigned int)(text[i] - '0');
	return minor;
}

/* Data that lies at vaddr. */
static unsigned int find_version(const unsigned char *data, size_t size, uint64_t vaddr)
{
	for (size_t at = -vaddr & 15; at + INFO_BYTES <= size; at += 16)
		if (!memcmp(data + at, magic, sizeof(magic) - 1))
			return minor_of(data + at);
	return 0;
}

unsigned int record_go_version(const struct sym_object *o)
{
	unsigned char *data = malloc(SEARCHED);
	unsigned int version = 0;

	for (size_t i = 0; data && !version && i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];
		const size_t size = s->size < SEARCHED ? s->size : SEARCHED;

		if (s->write && !s->exec)
			version = find_version(data, sym_object_read(o, s->offset, data, size),
					       s->vaddr);
	}
	free(data);
	return version;
}

bool record_go_tls(struct sym_object *o, int64_t *out)
{
	struct sym_sought wanted = { "runtime.tlsg", STT_TLS, 1 };
	const uint64_t bytes = record_tls_bytes(o);

	*out = -8;
	if (bytes <= 8) /* by the linker of Go itself */
		return true;
	sym_symtab_find(o, &wanted, 1);
	if (!wanted.found || wanted.address >= bytes)
		return false;
	*out = (int64_t)wanted.address - (int64_t)bytes;
	return true;
}
