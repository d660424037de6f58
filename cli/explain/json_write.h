/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON as it is written, piece by piece:
 *
 *	struct json all = { .out = out }, list;
 *	fputc('{', out);
 *	json_string(&all, "name", "x");
 *	json_open(&all, "list", &list, '[');
 *	json_number(&list, NULL, 1);
 *	fputs("]}", out);
 */
#ifndef CLI_EXPLAIN_JSON_WRITE_H
#define CLI_EXPLAIN_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Members of the object or array that is being written; the first needs no comma. */
struct json {
	FILE *out;
	bool begun;
};

/* In quotes. Any bytes: what is no ASCII is taken for Latin-1, so that the text is always valid. */
void json_put(FILE *out, const char *text);
/* The comma before a member, and its key; NULL: in an array. */
void json_next(struct json *j, const char *key);
/* Begins a member that has members; who closes it writes the other bracket. */
void json_open(struct json *parent, const char *key, struct json *child, char bracket);
void json_string(struct json *j, const char *key, const char *text); /* nothing if NULL */
void json_number(struct json *j, const char *key, int64_t n);
void json_truth(struct json *j, const char *key, bool is);

#endif
