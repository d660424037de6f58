/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where each thread of a process has a thread-local variable that an ELF file exports: what its
 * file says (tls_variable.c), and then what the dynamic linker has made of it in a process.
 */
#ifndef RECORD_TLS_VARIABLE_H
#define RECORD_TLS_VARIABLE_H

#include <stdbool.h>
#include <stdint.h>

struct record_remote;
struct sym_object;

struct tls_variable {
	enum tls_way {
		TLS_NONE,	/* the file has no such variable */
		TLS_IN_PROGRAM, /* at offset from the thread pointer, if the file is the program */
		/* What the dynamic linker puts at slot, an address in the file: */
		TLS_BY_OFFSET,	   /* how far it is from the thread pointer */
		TLS_BY_DESCRIPTOR, /* a function and what it takes: such a distance, or where the */
		TLS_BY_BLOCK,	   /*   number of the block is, and the place in it, as here */
		TLS_IN_BLOCK,	   /* the number of the block; in it the variable is at offset */
		TLS_UNKNOWN,	   /* it has one, and no way to it */
	} way;
	int64_t offset;
	uint64_t slot;
};

void record_tls_variable(const struct sym_object *o, const char *name, struct tls_variable *out);

/* Of a process: at offset from the thread pointer, or in the block with that number. */
struct tls_place {
	uint64_t block; /* 0: none */
	int64_t offset;
};
/* bias: from addresses in the file to those of the process. False: it cannot be known, or yet. */
bool record_tls_place(const struct tls_variable *v, uint64_t bias, struct record_remote *memory,
		      struct tls_place *out);

/* What thread-locals of a program of x86-64 take, before the thread pointer. 0: there are none. */
uint64_t record_tls_bytes(const struct sym_object *o);
/* Where a thread has the table of its blocks, from its pointer. */
int record_tls_blocks(bool musl);

#endif
