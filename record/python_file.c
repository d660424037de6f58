/* SPDX-License-Identifier: BSD-2-Clause */
/* Is there an interpreter of Python in an ELF file, which one, and where? */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "symbolize/symtab.h"

#include "languages.h"
#include "python.h"

/* The symbols that are asked for. */
enum { RUNTIME, CODE_TYPE, EVAL, VERSION, WANTED };

/* "libpython3.9.so.1.0", "python3.12": 0x0309, 0x030c; 0: the name does not say. */
static unsigned int version_in_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, "python");
	char *end;
	unsigned long major, minor;

	if (!at)
		return 0;
	major = strtoul(at + strlen("python"), &end, 10);
	if (*end != '.' || major > 9)
		return 0;
	minor = strtoul(end + 1, &end, 10);
	return major && minor < 100 ? (unsigned int)(major << 8 | minor) : 0;
}

/*
 * struct _Py_DebugOffsets, which _PyRuntime begins with from 3.13 on: numbers of 8 bytes. Where the
 * blocks begin differs, what they begin with does not.
 */
struct debug_offsets {
	unsigned int version;
	uint16_t thread, frame, code, text;
};
static const struct debug_offsets debug_offsets[] = {
	{ 0x030d, 152 / 8, 224 / 8, 272 / 8, 536 / 8 },
	{ 0x030e, 176 / 8, 248 / 8, 312 / 8, 616 / 8 },
};
enum {
	COOKIE,
	HEX_VERSION,
	FREE_THREADED,
	THREAD_FRAME = 4,
	FRAME_PREVIOUS = 1,
	FRAME_CODE,
	FRAME_POSITION,
	FRAME_MARK = 5,
	CODE_FILE = 1,
	CODE_NAME = 3,
	CODE_LINES,
	CODE_FIRST_LINE,
	CODE_BYTES = 9,
	TEXT_ASCII = 3,
	WORDS = 80
};
#define COOKIE_BYTES "xdebugpy"

/* Offsets that the programs mask have to be below what is copied there. */
static bool fits(const uint64_t *words, const struct debug_offsets *d)
{
	const uint64_t *frame = words + d->frame, *code = words + d->code;

	return words[d->thread + THREAD_FRAME] < 4096 && frame[FRAME_PREVIOUS] <= 104 &&
	       frame[FRAME_CODE] <= 104 && frame[FRAME_POSITION] <= 104 &&
	       frame[FRAME_MARK] < 112 && code[CODE_FILE] <= 152 && code[CODE_NAME] <= 152 &&
	       code[CODE_LINES] <= 152 && code[CODE_FIRST_LINE] <= 156 && code[CODE_BYTES] < 4096 &&
	       words[d->text + TEXT_ASCII] < 256;
}

static void take_offsets(const uint64_t *words, const struct debug_offsets *d,
			 struct python_layout *l)
{
	const uint64_t *frame = words + d->frame, *code = words + d->code;
	const uint16_t characters = l->text_compact - l->text_ascii;

	l->thread_frame = (uint16_t)words[d->thread + THREAD_FRAME];
	l->frame_previous = (uint16_t)frame[FRAME_PREVIOUS];
	l->frame_code = (uint16_t)frame[FRAME_CODE];
	l->frame_position = (uint16_t)frame[FRAME_POSITION];
	l->frame_mark = (uint16_t)frame[FRAME_MARK];
	l->code_file = (uint16_t)code[CODE_FILE];
	l->code_name = (uint16_t)code[CODE_NAME];
	l->code_lines = (uint16_t)code[CODE_LINES];
	l->code_first_line = (uint16_t)code[CODE_FIRST_LINE];
	l->code_bytes = (uint16_t)code[CODE_BYTES];
	l->text_ascii = (uint16_t)words[d->text + TEXT_ASCII];
	l->text_compact = (uint16_t)(l->text_ascii + characters);
}

/* What it says of itself; false: it is built without the interpreter's lock. */
static bool ask_interpreter(const struct sym_object *o, uint64_t runtime, struct python_layout *l)
{
	uint64_t words[WORDS] = { 0 };

	if (sym_object_read_at(o, runtime, words, sizeof(words)) != sizeof(words) ||
	    memcmp(&words[COOKIE], COOKIE_BYTES, sizeof(words[COOKIE])) ||
	    words[HEX_VERSION] >> 16 != l->version)
		return true;
	for (size_t i = 0; i < sizeof(debug_offsets) / sizeof(debug_offsets[0]); i++)
		if (debug_offsets[i].version == l->version && !words[FREE_THREADED] &&
		    fits(words, &debug_offsets[i]))
			take_offsets(words, &debug_offsets[i], l);
	return !words[FREE_THREADED];
}

static void read_interpreter(const struct sym_object *o, const struct sym_sought *w,
			     const char *path, struct python_file *out)
{
	const struct python_layout *known;
	unsigned int version = version_in_name(path);
	struct python_layout layout;
	uint32_t hex;

	if (w[VERSION].found &&
	    sym_object_read_at(o, w[VERSION].address, &hex, sizeof(hex)) == sizeof(hex))
		version = hex >> 16;
	known = w[RUNTIME].address && o->is64 ? record_python_layout(version) : NULL;
	if (!known) {
		rp_log(record_unknown_level(),
		       "%s: Python %u.%u is not known (3.8 to 3.14 are): its stacks are native",
		       path, version >> 8, version & 0xff);
		return;
	}
	layout = *known;
	if (!ask_interpreter(o, w[RUNTIME].address, &layout)) {
		rp_log(record_unknown_level(),
		       "%s: Python %u.%u without the interpreter lock is not known: its stacks "
		       "are native",
		       path, version >> 8, version & 0xff);
		return;
	}
	*out = (struct python_file){ .layout = layout,
				     .runtime = w[RUNTIME].address,
				     .code_type = w[CODE_TYPE].address,
				     .eval = w[EVAL].address,
				     .eval_bytes = w[EVAL].size };
}

void record_python_read_file(int fd, const char *path, struct python_file *out)
{
	struct sym_sought wanted[WANTED] = {
		[RUNTIME] = { "_PyRuntime", STT_OBJECT, 512 },
		[CODE_TYPE] = { "PyCode_Type", STT_OBJECT, 256 },
		[EVAL] = { "_PyEval_EvalFrameDefault", STT_FUNC, 64 },
		[VERSION] = { "Py_Version", STT_OBJECT, 4 },
	};
	struct sym_object *object;

	*out = (struct python_file){ 0 };
	if (sym_object_open(&object, fd))
		return;
	sym_symtab_find(object, wanted, WANTED);
	if (wanted[CODE_TYPE].found) /* else it starts one, or has nothing to do with it */
		read_interpreter(object, wanted, path, out);
	sym_object_close(object);
}
