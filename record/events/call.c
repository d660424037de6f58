/* SPDX-License-Identifier: BSD-2-Clause */
/* The arguments of a system call, by its format file, and what they say. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/loader.h>

#include "base/lack.h"
#include "call.h"

/* The functions behind these have names of their own (include/linux/syscalls.h). */
static const struct {
	const char *call, *event;
} aliases[] = {
	{ "stat", "newstat" },	      { "fstat", "newfstat" },	    { "lstat", "newlstat" },
	{ "uname", "newuname" },      { "sendfile", "sendfile64" }, { "umount2", "umount" },
	{ "fadvise64", "fadvise64" },
};

const char *record_call_event(const char *name)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcmp(aliases[i].call, name))
			return aliases[i].event;
	return name;
}

/* ---- what an argument is */

static bool is_one_of(const char *word, const char *words)
{
	const size_t n = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word))
		if (at[n] == ' ' && at[-1] == ' ')
			return true;
	return false;
}

/* Bytes and sign of a number, by its type. */
static void measure(struct record_arg *a)
{
	const char *t = a->type;

	a->size = 8;
	a->is_signed = false;
	if (!strncmp(t, "const ", 6))
		t += 6;
	if (strstr(t, "unsigned long") || strstr(t, "64") || !strcmp(t, "size_t"))
		return;
	if (!strcmp(t, "long") || !strcmp(t, "loff_t") || !strcmp(t, "off_t") ||
	    !strcmp(t, "ssize_t")) {
		a->is_signed = true;
		return;
	}
	if (is_one_of(t,
		      " int pid_t key_t clockid_t timer_t qid_t key_serial_t s32 __s32 mqd_t ")) {
		a->size = 4;
		a->is_signed = true;
	} else if (strstr(t, "mode_t")) {
		a->size = 2;
		a->kind = RECORD_ARG_OCTAL;
	} else if (!strncmp(t, "unsigned", 8) || strstr(t, "32") || strstr(t, "uid_t") ||
		   strstr(t, "gid_t") || strstr(t, "rwf_t")) {
		a->size = 4;
	}
}

static void describe(const struct record_call *call, struct record_arg *a)
{
	const char *type = a->type;

	a->names = record_call_names(call->name, a->name);
	a->kind = RECORD_ARG_NUMBER;
	measure(a);
	if (a->names)
		a->kind = RECORD_ARG_NAMED;
	else if (!strcmp(type, "const char *") && strcmp(a->name, "buf") != 0)
		a->kind = RECORD_ARG_TEXT;
	else if (strchr(type, '*') && is_one_of(call->name, " write pwrite64 sendto ") &&
		 is_one_of(a->name, " buf buff "))
		a->kind = RECORD_ARG_BYTES;
	else if (strchr(type, '*'))
		a->kind = RECORD_ARG_POINTER;
	else if (strstr(a->name, "dfd") || !strcmp(a->name, "fd") || !strcmp(a->name, "fildes")) {
		a->kind = RECORD_ARG_FILE;
		a->size = 4;
		a->is_signed = true;
	} else if (!strcmp(a->name, "addr") || !strcmp(a->name, "brk")) {
		a->kind = RECORD_ARG_POINTER;
	}
}

static int add_arg(struct record_call *call, const struct rp_tp_field *f)
{
	struct record_arg *a = &call->arg[call->nargs];

	/* syscall_nr, and what the kernel itself has read of the program's memory */
	if (f->common || f->data_loc || strstr(f->name, "syscall_nr") || f->offset < 16 ||
	    call->nargs == RECORD_CALL_ARGS)
		return 0;
	a->name = strdup(f->name);
	a->type = strdup(f->type);
	call->nargs++;
	if (!a->name || !a->type)
		return -ENOMEM;
	describe(call, a);
	return 0;
}

static int add_args(struct record_call *call, const char *event)
{
	struct rp_tp_format format;
	int err = rp_tp_format("syscalls", event, &format);

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < format.nfields; i++)
		err = add_arg(call, &format.fields[i]);
	rp_tp_format_free(&format);
	return err;
}

/* Of a call without a tracepoint, or whose tracepoint cannot be read, no arguments are known. */
int record_call_open(uint32_t number, const char *name, struct record_call **out)
{
	struct record_call *call = calloc(1, sizeof(*call));
	char event[128];
	int err;

	if (!call)
		return -ENOMEM;
	call->number = number;
	call->name = name;
	call->returns_address = is_one_of(name, " mmap brk mremap shmat ");
	snprintf(event, sizeof(event), "sys_enter_%s", record_call_event(name));
	err = rp_tp_try("syscalls", event);
	rp_lack(err, event);
	err = err ? 0 : add_args(call, event);
	if (err)
		record_call_free(call);
	else
		*out = call;
	return err;
}

void record_call_free(struct record_call *call)
{
	for (uint32_t i = 0; call && i < call->nargs; i++) {
		free(call->arg[i].name);
		free(call->arg[i].type);
	}
	free(call);
}

/* ---- what it says */

static uint64_t widened(const struct record_arg *a, uint64_t v)
{
	const unsigned int bits = 8u * a->size;

	if (bits >= 64)
		return v;
	v &= (1ull << bits) - 1;
	return a->is_signed && v >> (bits - 1) ? v | ~0ull << bits : v;
}

static void put_number(const struct record_arg *a, uint64_t value, struct record_out *out)
{
	const uint64_t v = widened(a, value);

	if (a->is_signed)
		record_out_signed(out, (int64_t)v);
	else
		record_out_number(out, v);
}

/* The bytes without the NUL; *cut: there are more of them. */
static size_t length_of(const struct record_arg *a, const struct record_call_text *t, bool *cut)
{
	if (a->kind == RECORD_ARG_BYTES) {
		*cut = (uint64_t)t->bytes < t->whole;
		return (size_t)t->bytes;
	}
	*cut = t->bytes == t->room;
	return strnlen(t->text, (size_t)t->bytes);
}

/* Bytes may have a NUL among them, which a text that is put into quotes cannot. */
static void put_bytes(const char *text, size_t n, bool json, struct record_out *out)
{
	for (size_t at = 0;;) {
		const size_t part = strnlen(text + at, n - at);
		struct record_out quoted = { 0 };

		(json ? record_out_json : record_out_quoted)(&quoted, text + at, part);
		if (!at)
			record_out_char(out, '"');
		if (quoted.n > 2)
			record_out_bytes(out, quoted.text + 1, quoted.n - 2);
		out->failed = out->failed || quoted.failed;
		record_out_free(&quoted);
		at += part;
		if (at >= n)
			break;
		record_out_str(out, json ? "\\u0000" : "\\x00");
		at++;
	}
	record_out_char(out, '"');
}

void record_arg_text(const struct record_arg *a, uint64_t value, const struct record_call_text *t,
		     struct record_out *out)
{
	bool cut;

	switch (a->kind) {
	case RECORD_ARG_NAMED:
		record_call_put_names(a->names, widened(a, value), out);
		break;
	case RECORD_ARG_OCTAL:
		record_out_printf(out, "0%llo", (unsigned long long)widened(a, value));
		break;
	case RECORD_ARG_TEXT:
	case RECORD_ARG_BYTES:
		if (t && t->bytes >= 0) {
			const size_t n = length_of(a, t, &cut);

			put_bytes(t->text, n, false, out);
			record_out_str(out, cut ? "..." : "");
			break;
		}
		/* fall through */
	case RECORD_ARG_POINTER:
		if (value)
			record_out_hex(out, value);
		else
			record_out_str(out, "NULL");
		if (t && t->bytes == -2 && value)
			record_out_str(out, "(unreadable)");
		break;
	case RECORD_ARG_FILE:
		if ((int32_t)value == AT_FDCWD) {
			record_out_str(out, "AT_FDCWD");
			break;
		}
		/* fall through */
	default:
		put_number(a, value, out);
	}
}

void record_arg_json(const struct record_arg *a, uint64_t value, const struct record_call_text *t,
		     struct record_out *out)
{
	struct record_out text = { 0 };
	bool cut;

	switch (a->kind) {
	case RECORD_ARG_TEXT:
	case RECORD_ARG_BYTES:
		if (t && t->bytes >= 0)
			put_bytes(t->text, length_of(a, t, &cut), true, out);
		else
			record_out_str(out, "null");
		break;
	case RECORD_ARG_NUMBER:
	case RECORD_ARG_OCTAL:
		put_number(a, value, out);
		break;
	default:
		if (a->kind == RECORD_ARG_FILE && (int32_t)value != AT_FDCWD) {
			put_number(a, value, out);
			break;
		}
		if (a->kind == RECORD_ARG_POINTER && !value) {
			record_out_str(out, "null");
			break;
		}
		record_arg_text(a, value, NULL, &text);
		record_out_json(out, text.text ? text.text : "", text.n);
		out->failed = out->failed || text.failed;
		record_out_free(&text);
	}
}

bool record_arg_is_idle(const struct record_call *call, uint32_t number, const uint64_t *args)
{
	if (call->arg[number].kind != RECORD_ARG_OCTAL || !number ||
	    strncmp(call->name, "open", 4) != 0)
		return false;
	return !(args[number - 1] & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)));
}

/* Those with which the kernel asks itself to begin a call anew (include/linux/errno.h). */
static const struct {
	int number;
	const char *name;
} restarts[] = { { 512, "ERESTARTSYS" },
		 { 513, "ERESTARTNOINTR" },
		 { 514, "ERESTARTNOHAND" },
		 { 516, "ERESTART_RESTARTBLOCK" } };

const char *record_call_error(int64_t ret)
{
	if (ret >= 0 || ret < -4095)
		return NULL;
	for (size_t i = 0; i < sizeof(restarts) / sizeof(restarts[0]); i++)
		if (restarts[i].number == -ret)
			return restarts[i].name;
	return strerrorname_np((int)-ret);
}
