/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two ways to name a kernel address held against each other on the running kernel: what "%pS"
 * prints, by a BPF program of twelve instructions of its own, and /proc/kallsyms.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

struct printer {
	int prog, out;
};

static int bpf(int cmd, union bpf_attr *attr)
{
	return syscall(__NR_bpf, cmd, attr, sizeof(*attr));
}

static int make_array(uint32_t value_size, uint32_t flags)
{
	union bpf_attr a = { .map_type = BPF_MAP_TYPE_ARRAY,
			     .key_size = 4,
			     .value_size = value_size,
			     .max_entries = 1,
			     .map_flags = flags };

	return bpf(BPF_MAP_CREATE, &a);
}

static int make_format(void)
{
	char format[8] = "%pS";
	uint32_t zero = 0;
	int fd = make_array(sizeof(format), BPF_F_RDONLY_PROG);
	union bpf_attr a = { .map_fd = fd, .key = (uintptr_t)&zero, .value = (uintptr_t)format };
	union bpf_attr b = { .map_fd = fd };

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bpf(BPF_MAP_UPDATE_ELEM, &a), 0);
	ck_assert_int_eq(bpf(BPF_MAP_FREEZE, &b), 0);
	return fd;
}

/* bpf_snprintf(out, SYM_KERNEL_TEXT, "%pS", &ctx->addr, 8) */
static struct printer make_printer(void)
{
	int format = make_format(), out = make_array(SYM_KERNEL_TEXT, 0);
	struct bpf_insn insns[] = {
		{ BPF_LDX | BPF_MEM | BPF_DW, 1, 1, 0, 0 },
		{ BPF_STX | BPF_MEM | BPF_DW, 10, 1, -8, 0 },
		{ BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_VALUE, 0, out },
		{ 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 2, 0, 0, SYM_KERNEL_TEXT },
		{ BPF_LD | BPF_IMM | BPF_DW, 3, BPF_PSEUDO_MAP_VALUE, 0, format },
		{ 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, 4, 10, 0, 0 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, 4, 0, 0, -8 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, 5, 0, 0, 8 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, 165 /* bpf_snprintf */ },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr a = { .prog_type = 31 /* BPF_PROG_TYPE_SYSCALL */,
			     .insns = (uintptr_t)insns,
			     .insn_cnt = sizeof(insns) / sizeof(insns[0]),
			     .license = (uintptr_t) "GPL",
			     .prog_flags = 1U << 4 /* BPF_F_SLEEPABLE */,
			     .prog_name = "sym_test" };
	struct printer p = { .prog = bpf(BPF_PROG_LOAD, &a), .out = out };

	ck_assert_msg(p.prog >= 0, "loading: %s", strerror(errno));
	close(format);
	return p;
}

static void close_printer(struct printer *p)
{
	close(p->prog);
	close(p->out);
}

static int print(void *ctx, const uint64_t *addrs, size_t n, char *texts, size_t stride)
{
	struct printer *p = ctx;
	uint32_t zero = 0;

	for (size_t i = 0; i < n; i++) {
		union bpf_attr run = { .test = { .prog_fd = p->prog,
						 .ctx_in = (uintptr_t)&addrs[i],
						 .ctx_size_in = sizeof(addrs[i]) } };
		union bpf_attr look = { .map_fd = p->out,
					.key = (uintptr_t)&zero,
					.value = (uintptr_t)(texts + i * stride) };

		if (bpf(BPF_PROG_TEST_RUN, &run) || bpf(BPF_MAP_LOOKUP_ELEM, &look))
			return -errno;
	}
	return 0;
}

struct picked {
	uint64_t text; /* of the image: what lies before it is no code */
	uint64_t addrs[1200];
	size_t count, seen;
};

/* Every 53rd function, and addresses inside it. */
static int pick(void *ctx, const struct sym_ksym *sym)
{
	struct picked *p = ctx;

	if (!sym->module && sym->addr < p->text)
		return 0; /* the header, which only the file names */
	if (sym->module && !strcmp(sym->module, "bpf"))
		return 0; /* the file does not tell where it ends */
	if (sym->module && !strncmp(sym->module, "__builtin__", 11))
		return 0; /* pages for kprobes and ftrace, which only the file names */
	if (p->seen++ % 53 == 0 && p->count + 3 <= 1200 && sym->size > 1) {
		p->addrs[p->count++] = sym->addr;
		p->addrs[p->count++] = sym->addr + sym->size / 2;
		p->addrs[p->count++] = sym->addr + 1;
	}
	return 0;
}

START_TEST(test_both_ways_agree)
{
	struct printer printer = make_printer();
	struct sym_kernel_source source = { .name = print, .ctx = &printer };
	struct sym_kernel *by_kernel = NULL, *by_file = NULL;
	const struct sym_kallsyms *ks = NULL;
	static struct picked picked;
	struct sym_ksym start;
	size_t compared = 0;

	ck_assert_int_eq(sym_kernel_open(&by_kernel, &source), 0);
	ck_assert_int_eq(sym_kernel_open(&by_file, NULL), 0);
	ck_assert_int_eq(sym_kernel_kallsyms(by_file, &ks), 0);
	ck_assert_uint_eq(sym_kallsyms_find(ks, "_stext", &start, 1), 1);
	picked.text = start.addr;
	sym_kallsyms_glob(ks, "*", pick, &picked);
	ck_assert_uint_ge(picked.count, 1000);
	ck_assert_int_eq(sym_kernel_prepare(by_kernel, picked.addrs, picked.count, false), 0);
	for (size_t i = 0; i < picked.count; i++) {
		struct sym_frame a, b;

		sym_kernel_lookup(by_kernel, picked.addrs[i], false, &a);
		sym_kernel_lookup(by_file, picked.addrs[i], false, &b);
		if (a.name && !strncmp(a.name, "__pfx_", 6))
			continue; /* padding that shares its address with a marker */
		ck_assert_msg(a.name && b.name && !strcmp(a.name, b.name) && a.offset == b.offset &&
				      a.kind == b.kind,
			      "%" PRIx64 ": the kernel says %s+0x%" PRIx64
			      ", the file %s+0x%" PRIx64,
			      picked.addrs[i], a.name, a.offset, b.name, b.offset);
		compared++;
	}
	ck_assert_uint_ge(compared, 1000);
	sym_kernel_close(by_kernel);
	sym_kernel_close(by_file);
	close_printer(&printer);
}
END_TEST

/* Addresses with several names: the kernel takes the first of its table. */
START_TEST(test_aliases_agree)
{
	struct printer printer = make_printer();
	struct sym_kernel_source source = { .name = print, .ctx = &printer };
	struct sym_kernel *k = NULL;
	const struct sym_kallsyms *ks = NULL;
	static const char *const names[] = { "_stext", "_text", "__irqentry_text_start",
					     "__irqentry_text_end", "_sinittext" };
	int compared = 0;

	ck_assert_int_eq(sym_kernel_open(&k, &source), 0);
	ck_assert_int_eq(sym_kernel_kallsyms(k, &ks), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct sym_ksym marker, sym;
		struct sym_frame frame;

		if (!sym_kallsyms_find(ks, names[i], &marker, 1))
			continue;
		sym_kernel_lookup(k, marker.addr, false, &frame);
		if (!frame.name || !strncmp(frame.name, "__pfx_", 6))
			continue;
		ck_assert_int_eq(sym_kallsyms_lookup(ks, marker.addr, &sym), 0);
		ck_assert_str_eq(frame.name, sym.name);
		compared++;
	}
	ck_assert_int_ge(compared, 2);
	sym_kernel_close(k);
	close_printer(&printer);
}
END_TEST

struct all {
	struct sym_ksym *v;
	size_t count, capacity;
};

static int take_all(void *ctx, const struct sym_ksym *sym)
{
	struct all *all = ctx;

	if (all->count == all->capacity) {
		all->capacity = 2 * all->capacity + 1024;
		all->v = realloc(all->v, all->capacity * sizeof(*all->v));
		ck_assert_ptr_nonnull(all->v);
	}
	all->v[all->count++] = *sym;
	return 0;
}

/*
 * What the kernel may call an address that the file has no name for: by data, by padding, by a mark
 * that it takes for more than that, by a function that would be too long to be one.
 */
static bool may_be_nameless(const struct sym_kallsyms *ks, const struct sym_frame *f)
{
	struct sym_ksym sym;

	return !f->name || !strncmp(f->name, "__pfx_", 6) || f->offset >= 65536 ||
	       !sym_kallsyms_find(ks, f->name, &sym, 1) || !sym.size;
}

/*
 * Where one way has no name, the other must not invent one: both ends of the gaps between
 * functions.
 */
START_TEST(test_gaps_agree)
{
	struct printer printer = make_printer();
	struct sym_kernel_source source = { .name = print, .ctx = &printer };
	struct sym_kernel *by_kernel = NULL, *by_file = NULL;
	const struct sym_kallsyms *ks = NULL;
	struct all all = { 0 };
	size_t small = 0, compared = 0;

	ck_assert_int_eq(sym_kernel_open(&by_kernel, &source), 0);
	ck_assert_int_eq(sym_kernel_open(&by_file, NULL), 0);
	ck_assert_int_eq(sym_kernel_kallsyms(by_file, &ks), 0);
	sym_kallsyms_glob(ks, "*", take_all, &all);
	for (size_t i = 0; i + 1 < all.count; i++) {
		const struct sym_ksym *f = &all.v[i], *next = f + 1;
		const uint64_t ends[] = { f->addr + f->size, next->addr - 1 };

		if (ends[0] >= next->addr || (f->module && !strncmp(f->module, "__builtin__", 11)))
			continue;
		if (next->addr - ends[0] < 4096 && small++ % 211)
			continue; /* padding, of which there is much */
		for (int k = 0; k < 2; k++) {
			struct sym_frame a, b;

			sym_kernel_lookup(by_kernel, ends[k], false, &a);
			sym_kernel_lookup(by_file, ends[k], false, &b);
			ck_assert_msg(b.name ? a.name && !strcmp(a.name, b.name)
					     : may_be_nameless(ks, &a),
				      "%" PRIx64 ", behind %s: the kernel says %s+0x%" PRIx64
				      ", the file %s",
				      ends[k], f->name, a.name, a.offset, b.name);
			compared++;
		}
	}
	ck_assert_uint_ge(compared, 4);
	free(all.v);
	sym_kernel_close(by_kernel);
	sym_kernel_close(by_file);
	close_printer(&printer);
}
END_TEST

static int take_bpf(void *ctx, const struct sym_ksym *sym)
{
	struct sym_ksym *out = ctx;

	if (strlen(sym->name) < 9 || strcmp(sym->name + strlen(sym->name) - 9, "_sym_test"))
		return 0;
	*out = *sym;
	return 1;
}

/* The printer itself is a BPF program: both ways know its name. Needs the BPF JIT. */
START_TEST(test_bpf_program)
{
	struct printer printer = make_printer();
	struct sym_kernel_source source = { .name = print, .ctx = &printer };
	struct sym_kernel *k = NULL;
	struct sym_kallsyms *ks = NULL;
	struct sym_ksym sym, again;
	struct sym_frame frame;

	ck_assert_int_eq(sym_kernel_open(&k, &source), 0);
	ck_assert_int_eq(sym_kallsyms_open(&ks, NULL), 0);
	if (sym_kallsyms_glob(ks, "bpf_prog_*", take_bpf, &sym)) {
		ck_assert_str_eq(sym.module, "bpf");
		sym_kernel_lookup(k, sym.addr + 1, false, &frame);
		ck_assert_int_eq(frame.kind, SYM_BPF);
		ck_assert_str_eq(frame.module, "bpf");
		ck_assert_str_eq(frame.name, sym.name);
		ck_assert_uint_eq(frame.offset, 1);
		ck_assert_int_eq(sym_kallsyms_lookup(ks, sym.addr + 1, &again), 0);
		ck_assert_str_eq(again.name, sym.name);
	} else {
		fprintf(stderr,
			"no BPF program in kallsyms: interpreter, or bpf_jit_kallsyms off\n");
	}
	sym_kallsyms_close(ks);
	sym_kernel_close(k);
	close_printer(&printer);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel names, live");
	TCase *t = tcase_create("kernel names, live");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 30);
	tcase_add_test(t, test_both_ways_agree);
	tcase_add_test(t, test_aliases_agree);
	tcase_add_test(t, test_gaps_agree);
	tcase_add_test(t, test_bpf_program);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
