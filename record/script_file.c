/* SPDX-License-Identifier: BSD-2-Clause */
/* Is there an interpreter of PHP, Ruby or Perl in an ELF file, which version, and where? */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "symbolize/symtab.h"

#include "generated.h"
#include "languages.h"
#include "script.h"

/* The symbols that are asked for: the loop, the variable where all begins. */
enum { LOOP, ROOT, WANTED };

/* What is asked of a file, with the symbols that are there. */
struct search {
	const struct sym_object *object;
	struct sym_sought wanted[WANTED];
};

/* ---- PHP */

#define PHP_HEADER "X-Powered-By: PHP/" /* main/SAPI.h: SAPI_PHP_VERSION_HEADER */
enum { CHUNK = 1 << 16, MOST_READ = 32 << 20 };

/* "8.2.36" behind the header that it sends: 0x0802; 0: it is not there. */
static unsigned int php_version(const struct sym_object *o)
{
	const size_t overlap = sizeof(PHP_HEADER) + 16;
	char *chunk = malloc(CHUNK + overlap + 1);
	unsigned int version = 0;
	size_t n;

	for (uint64_t at = 0; chunk && !version && at < MOST_READ; at += CHUNK) {
		const char *found;
		unsigned long major, minor = 0;
		char *end;

		n = sym_object_read(o, at, chunk, CHUNK + overlap);
		if (!n)
			break;
		chunk[n] = '\0';
		found = memmem(chunk, n, PHP_HEADER, strlen(PHP_HEADER));
		if (!found)
			continue;
		major = strtoul(found + strlen(PHP_HEADER), &end, 10);
		if (*end == '.')
			minor = strtoul(end + 1, &end, 10);
		if (major && major < 256 && minor < 256)
			version = (unsigned int)(major << 8 | minor);
	}
	free(chunk);
	return version;
}

/*
 * What the JIT makes the loop jumps to, so it runs in its frame. Where a trace is left all
 * registers are saved above, of both kinds (zend_jit_trace_exit_stub()).
 */
enum { SAVED = 2 * 16 * 8 };
static void find_generated(const struct sym_object *o, struct script_file *out)
{
	uint8_t code[32];
	const size_t n = sym_object_read_at(o, out->loop, code, sizeof(code));

	out->generated = record_generated_in(code, n);
	out->generated.arg = SAVED;
	out->generated.ra_off = 1;
}

/* ---- the part of the loop that the compiler has put elsewhere */

static bool in_loop(const struct script_file *f, uint64_t address)
{
	return address - f->loop < f->loop_bytes;
}

/*
 * Conditional jumps out of the loop lead there: the function by .eh_frame that most of them lead
 * to. Bytes that only look like a jump lead anywhere, so it has to be several.
 */
static void find_cold(const struct sym_object *o, struct script_file *out)
{
	const uint64_t bytes = out->loop_bytes;
	struct sym_fdes *fdes = NULL;
	uint8_t *code = bytes < 1 << 20 ? malloc(bytes) : NULL;
	uint64_t best = 0, last = 0;
	unsigned int votes = 0, jumps = 0;

	if (!code || sym_object_read_at(o, out->loop, code, bytes) != bytes ||
	    sym_fdes_read(&fdes, o)) {
		free(code);
		return;
	}
	/* Twice: the majority is the one that is left, then how far it reaches. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i + 6 <= bytes; i++) {
			int32_t step;
			uint64_t to, start;
			size_t index;

			if (code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80)
				continue;
			memcpy(&step, code + i + 2, sizeof(step));
			to = out->loop + i + 6 + (uint64_t)(int64_t)step;
			if (in_loop(out, to) || !sym_fdes_find(fdes, to, &start, &index))
				continue;
			if (pass) {
				jumps += start == best;
				last = start == best && to > last ? to : last;
			} else if (!votes || start == best) {
				best = start;
				votes++;
			} else {
				votes--;
			}
		}
	}
	if (jumps >= 4) {
		out->cold = best;
		out->cold_bytes = last - best + 64;
	}
	sym_fdes_close(fdes);
	free(code);
}

/* ---- all */

static const char *const symbols[SCRIPT_LANGUAGES][WANTED] = {
	[SCRIPT_PHP] = { "execute_ex", "executor_globals" },
	[SCRIPT_RUBY] = { "rb_vm_exec", "ruby_current_ec" },
	[SCRIPT_PERL] = { "Perl_runops_standard", "PL_thr_key" },
};

static unsigned int version_of(const struct search *s, enum script_language language)
{
	switch (language) {
	case SCRIPT_PHP:
		return php_version(s->object);
	case SCRIPT_RUBY:
		return record_ruby_version(s->object);
	case SCRIPT_PERL:
		return record_perl_version(s->object);
	default:
		return 0;
	}
}

static void read_interpreter(struct search *s, const char *path, enum script_language language,
			     struct script_file *out)
{
	const struct sym_sought *w = s->wanted;
	const unsigned int version = version_of(s, language);
	const struct script_layout *known = record_script_layout(language, version);
	struct script_file found = { .layout = known,
				     .root = w[ROOT].address,
				     .loop = w[LOOP].address,
				     .loop_bytes = w[LOOP].size };
	const char *built = "";

	if (known && !w[LOOP].found)
		built = " without its symbols";
	else if (known && !w[ROOT].found)
		built = language == SCRIPT_PERL ? " for one thread" : " for several threads";
	else if (known && language == SCRIPT_RUBY && !record_ruby_places(s->object, &found))
		built = " in the program itself";
	else if (known && language == SCRIPT_PERL && !record_perl_places(s->object, &found))
		built = " built in another way";
	if (!known || !s->object->is64 || *built) {
		rp_log(record_unknown_level(),
		       "%s: %s %u.%u%s is not known (%s): its stacks are native", path,
		       record_script_name(language), version >> 8, version & 0xff, built,
		       record_script_versions(language));
		return;
	}
	if (language != SCRIPT_PERL && !found.cold)
		find_cold(s->object, &found);
	if (language == SCRIPT_PHP)
		find_generated(s->object, &found);
	*out = found;
}

void record_script_read_file(int fd, const char *path, enum script_language language,
			     struct script_file *out)
{
	const char *const *names = symbols[language];
	struct search s = { .wanted = { [LOOP] = { names[LOOP], STT_FUNC, 1 },
					[ROOT] = { names[ROOT],
						   language == SCRIPT_RUBY ? STT_TLS : STT_OBJECT,
						   1 } } };
	struct sym_object *object;

	*out = (struct script_file){ 0 };
	if (!names[LOOP]) {
		close(fd);
		return;
	}
	if (sym_object_open(&object, fd))
		return;
	s.object = object;
	sym_symtab_find(object, s.wanted, WANTED);
	/* Else it starts one, or has nothing to do with it; from 3.3 on Ruby's does not say. */
	if (s.wanted[LOOP].found || (language == SCRIPT_RUBY && record_ruby_version(object)))
		read_interpreter(&s, path, language, out);
	sym_object_close(object);
}
