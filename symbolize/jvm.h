/* SPDX-License-Identifier: BSD-2-Clause */
/* What HotSpot keeps of its methods: compressed tables, as they lie in a process's memory. */
#ifndef SYMBOLIZE_JVM_H
#define SYMBOLIZE_JVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Its compressed numbers (UNSIGNED5): bytes of six bits each, the lowest first, all but the last at
 * least 192. From JDK 20 on no byte is 0: each is one more, which is @excluded.
 */
struct sym_jvm_stream {
	const uint8_t *at, *end;
	unsigned int excluded; /* 0 or 1 */
};
/* false: the stream is cut. */
bool sym_jvm_number(struct sym_jvm_stream *s, uint32_t *out);

/*
 * The line of a bytecode by the method's table, which lies in *n bytes and has as many when it is
 * done: all are looked at. 0: it has none.
 */
uint32_t sym_jvm_line(const uint8_t *table, uint32_t *n, unsigned int excluded, uint32_t bci);

/* Where a pc of compiled code is in the source: in which method, and inlined into what. */
struct sym_jvm_scope {
	uint32_t caller; /* offset of the scope that it is inlined into; 0: none */
	uint32_t method; /* number in the code's metadata, from 1 on */
	int32_t bci;	 /* negative: not known */
};
bool sym_jvm_scope(struct sym_jvm_stream *s, struct sym_jvm_scope *out);

/* A row of the table from pcs to scopes, 16 bytes. */
struct sym_jvm_pc {
	int32_t offset; /* in the code; ascending */
	int32_t scope;	/* offset of the scope; 0: none */
	int32_t objects, flags;
};

/*
 * "java/util/HashMap", "get": "java.util.HashMap.get"; "java/util/HashMap.java". malloc'd; NULL
 * without memory. What a hidden class has behind its name, a number of this run, is left out.
 */
char *sym_jvm_name(const char *class_name, const char *method);
char *sym_jvm_file(const char *class_name, const char *source);

#endif
