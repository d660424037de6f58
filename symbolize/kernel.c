/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel addresses: each is asked for once, and the answers are remembered. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/symbolize.h>

#include "base/grow.h"
#include "note.h"
#include "strings.h"

enum { BATCH = 256 }; /* as sym_kernel_source.name promises */

struct answer {
	uint64_t addr;	  /* what was looked up: for return addresses one less than asked */
	uint64_t start;	  /* of the function; meaningless without a name */
	const char *name; /* NULL: this address has none */
	const char *module;
	enum sym_kind kind;
};

struct sym_kernel {
	struct sym_kernel_source source;
	char *kallsyms_path;
	struct sym_kallsyms *kallsyms;
	int kallsyms_error;	/* of the attempt to open it, which is made once */
	struct answer *answers; /* sorted by address, each address once */
	size_t count, capacity;
	struct sym_strings strings;
	char build_id[SYM_BUILD_ID_TEXT];
	bool build_id_read;
};

int sym_kernel_open(struct sym_kernel **out, const struct sym_kernel_source *source)
{
	struct sym_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	if (source)
		k->source = *source;
	if (k->source.kallsyms) {
		k->kallsyms_path = strdup(k->source.kallsyms);
		if (!k->kallsyms_path) {
			free(k);
			return -ENOMEM;
		}
	}
	*out = k;
	return 0;
}

void sym_kernel_close(struct sym_kernel *k)
{
	if (!k)
		return;
	sym_kallsyms_close(k->kallsyms);
	sym_strings_free(&k->strings);
	free(k->kallsyms_path);
	free(k->answers);
	free(k);
}

int sym_kernel_kallsyms(struct sym_kernel *k, const struct sym_kallsyms **out)
{
	if (!k->kallsyms && !k->kallsyms_error)
		k->kallsyms_error = sym_kallsyms_open(&k->kallsyms, k->kallsyms_path);
	if (k->kallsyms_error)
		return k->kallsyms_error;
	*out = k->kallsyms;
	return 0;
}

/*
 * BPF programs are "bpf_prog_", 16 hex digits of their tag and maybe "_name"; trampolines are
 * "bpf_trampoline_" and a number. "%pS" shows no module for them, kallsyms shows "[bpf]".
 */
static bool is_bpf(const char *name, const char *module)
{
	if (module)
		return !strcmp(module, "bpf");
	if (!strncmp(name, "bpf_prog_", 9)) {
		size_t hex = strspn(name + 9, "0123456789abcdef");

		return hex == 16 && (name[25] == '_' || !name[25]);
	}
	return !strncmp(name, "bpf_trampoline_", 15) && name[15] >= '0' && name[15] <= '9';
}

static int fill_answer(struct sym_kernel *k, struct answer *a, const char *name, size_t name_len,
		       const char *module, size_t module_len)
{
	a->name = sym_strings_add(&k->strings, name, name_len);
	a->module = module ? sym_strings_add(&k->strings, module, module_len) : NULL;
	if (!a->name || (module && !a->module))
		return -ENOMEM;
	if (is_bpf(a->name, a->module)) {
		a->kind = SYM_BPF;
		a->module = "bpf";
	} else {
		a->kind = a->module ? SYM_MODULE : SYM_KERNEL;
	}
	return 0;
}

/* "name+0xoffset/0xsize[ [module]]"; whatever else it is, is no name. */
static int parse_text(struct sym_kernel *k, struct answer *a, const char *text)
{
	const char *plus = NULL, *module = NULL;
	size_t module_len = 0;
	uint64_t offset;
	char *end;

	for (const char *p = text; (p = strstr(p, "+0x")); p++)
		plus = p;
	if (!plus || plus == text)
		return 0;
	offset = strtoull(plus + 3, &end, 16);
	if (end == plus + 3 || strncmp(end, "/0x", 3) || offset > a->addr)
		return 0;
	end += 3 + strspn(end + 3, "0123456789abcdef");
	if (!strncmp(end, " [", 2)) {
		module = end + 2;
		/* With CONFIG_STACKTRACE_BUILD_ID the build-id may follow the module's name. */
		module_len = strcspn(module, " ]");
	}
	a->start = a->addr - offset;
	return fill_answer(k, a, text, plus - text, module, module_len);
}

static int ask_source(struct sym_kernel *k, struct answer *answers, size_t n)
{
	uint64_t addrs[BATCH];
	char *texts;
	int err = 0;

	texts = malloc((n < BATCH ? n : BATCH) * SYM_KERNEL_TEXT);
	if (!texts)
		return -ENOMEM;
	for (size_t done = 0, m; done < n && !err; done += m) {
		m = n - done < BATCH ? n - done : BATCH;
		for (size_t i = 0; i < m; i++) {
			addrs[i] = answers[done + i].addr;
			texts[i * SYM_KERNEL_TEXT] = '\0';
		}
		err = k->source.name(k->source.ctx, addrs, m, texts, SYM_KERNEL_TEXT);
		for (size_t i = 0; i < m && !err; i++) {
			texts[(i + 1) * SYM_KERNEL_TEXT - 1] = '\0';
			err = parse_text(k, &answers[done + i], texts + i * SYM_KERNEL_TEXT);
		}
	}
	free(texts);
	return err;
}

static int ask_kallsyms(struct sym_kernel *k, struct answer *answers, size_t n)
{
	const struct sym_kallsyms *ks = NULL;
	int err = sym_kernel_kallsyms(k, &ks);

	for (size_t i = 0; i < n && !err; i++) {
		struct sym_ksym sym;

		if (sym_kallsyms_lookup(ks, answers[i].addr, &sym))
			continue;
		answers[i].start = sym.addr;
		err = fill_answer(k, &answers[i], sym.name, strlen(sym.name), sym.module,
				  sym.module ? strlen(sym.module) : 0);
	}
	return err;
}

static int ask(struct sym_kernel *k, struct answer *answers, size_t n)
{
	int err;

	if (k->source.name) {
		err = ask_source(k, answers, n);
		if (!err || err == -ENOMEM)
			return err;
		k->source.name = NULL;
	}
	return ask_kallsyms(k, answers, n);
}

static int compare(const void *a, const void *b)
{
	const struct answer *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static const struct answer *find(const struct sym_kernel *k, uint64_t addr)
{
	struct answer key = { .addr = addr };

	if (!k->count)
		return NULL;
	return bsearch(&key, k->answers, k->count, sizeof(key), compare);
}

int sym_kernel_prepare(struct sym_kernel *k, const uint64_t *addrs, size_t n,
		       bool are_return_addresses)
{
	struct answer *new;
	size_t count = 0;
	int err;

	err = RP_GROW_TO(k->answers, k->count + n, k->capacity);
	if (err)
		return err;
	new = k->answers + k->count;
	for (size_t i = 0; i < n; i++) {
		uint64_t addr = addrs[i] - are_return_addresses;

		if (!find(k, addr))
			new[count++] = (struct answer){ .addr = addr, .kind = SYM_KERNEL };
	}
	if (!count)
		return 0;
	qsort(new, count, sizeof(*new), compare);
	n = 1;
	for (size_t i = 1; i < count; i++) {
		if (new[i].addr != new[n - 1].addr)
			new[n++] = new[i];
	}
	err = ask(k, new, n);
	if (err)
		return err;
	k->count += n;
	qsort(k->answers, k->count, sizeof(*new), compare);
	return 0;
}

/* The build-id of the running kernel; module build-ids are not looked for. */
static const char *build_id(struct sym_kernel *k)
{
	if (!k->build_id_read) {
		k->build_id_read = true;
		sym_note_read_build_id("/sys/kernel/notes", k->build_id);
	}
	return k->build_id[0] ? k->build_id : NULL;
}

void sym_kernel_lookup(struct sym_kernel *k, uint64_t addr, bool is_return_address,
		       struct sym_frame *out)
{
	const struct answer *a = find(k, addr - is_return_address);

	if (!a && !sym_kernel_prepare(k, &addr, 1, is_return_address))
		a = find(k, addr - is_return_address);
	*out = (struct sym_frame){ .kind = SYM_KERNEL, .module_addr = addr };
	if (a && a->name) {
		out->kind = a->kind;
		out->name = a->name;
		out->offset = addr - a->start;
		out->module = a->module;
	}
	if (out->kind == SYM_KERNEL) {
		out->module = "[kernel]";
		out->build_id = build_id(k);
	}
}
