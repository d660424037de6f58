/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes can be the file of an interpreter (elf-seeds): Python, V8, PHP, Ruby, Perl. What is
 * said to be in it is within what the programs of the kernel copy. And it may have a variable that
 * each thread has its own of.
 */
#include <elf.h>

#include "record/python.h"
#include "record/script.h"
#include "record/tls_variable.h"
#include "record/v8.h"
#include "symbolize/object.h"
#include "symbolize/v8.h"

#include "fuzz.h"

static void python(const uint8_t *data, size_t size)
{
	struct python_file f;

	record_python_read_file(fuzz_file(data, size), "python3.13", &f);
	fuzz_check(!f.layout.version || f.runtime);
	fuzz_check(f.layout.thread_frame < 4096 && f.layout.code_bytes < 4096);
	fuzz_check(f.layout.frame_previous <= 104 && f.layout.frame_code <= 104);
}

static void v8(const uint8_t *data, size_t size)
{
	struct sym_v8_layout l = { 0 };

	if (record_v8_read_file(fuzz_file(data, size), "node", &l))
		fuzz_check(l.bytecodes <= SYM_V8_BYTECODES && l.function_shared < 4096);
}

static void scripts(const uint8_t *data, size_t size)
{
	for (enum script_language language = 0; language < SCRIPT_LANGUAGES; language++) {
		struct script_file f;

		record_script_read_file(fuzz_file(data, size), "script", language, &f);
		fuzz_check(!f.layout || f.loop_bytes);
		fuzz_check(f.layout || (!f.loop && !f.root && !f.cold));
	}
}

static void variable(const uint8_t *data, size_t size)
{
	struct tls_variable v;
	struct sym_object *o;

	if (sym_object_open(&o, fuzz_file(data, size)))
		return;
	record_tls_variable(o, "otel_thread_ctx_v1", &v);
	fuzz_check(v.way <= TLS_UNKNOWN &&
		   (v.way != TLS_IN_PROGRAM || v.offset < 0 || o->machine == EM_AARCH64));
	sym_object_close(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	python(data, size);
	v8(data, size);
	scripts(data, size);
	variable(data, size);
	return 0;
}
