/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel names from a source of texts, and from kallsyms when there is none. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

static char path[] = "/tmp/test_sym_kernel.XXXXXX";

/* What the kernel would say, and what it was asked. */
struct fake {
	const char *text;
	uint64_t asked[2000];
	size_t calls, count;
	int err;
};

static int fake_name(void *ctx, const uint64_t *addrs, size_t n, char *texts, size_t stride)
{
	struct fake *f = ctx;

	ck_assert_uint_le(n, 256);
	ck_assert_uint_eq(stride, SYM_KERNEL_TEXT);
	f->calls++;
	for (size_t i = 0; i < n; i++) {
		f->asked[f->count++] = addrs[i];
		if (f->text)
			snprintf(texts + i * stride, stride, "%s", f->text);
		else
			snprintf(texts + i * stride, stride, "f%" PRIx64 "+0x%x/0x100",
				 addrs[i] >> 8, (unsigned)(addrs[i] & 0xff));
	}
	return f->err;
}

static struct sym_kernel *open_fake(struct fake *f)
{
	struct sym_kernel_source source = { .name = fake_name, .ctx = f, .kallsyms = path };
	struct sym_kernel *k = NULL;

	ck_assert_int_eq(sym_kernel_open(&k, &source), 0);
	return k;
}

static const struct parsed {
	const char *text;
	enum sym_kind kind;
	const char *name;
	uint64_t offset;
	const char *module;
} texts[] = {
	{ "vfs_read+0x1c/0x2f0", SYM_KERNEL, "vfs_read", 0x1c, "[kernel]" },
	{ "f.constprop.0.isra.0+0x0/0xba", SYM_KERNEL, "f.constprop.0.isra.0", 0, "[kernel]" },
	{ "ext4_sync+0x10/0x20 [ext4]", SYM_MODULE, "ext4_sync", 0x10, "ext4" },
	{ "ext4_sync+0x10/0x20 [ext4 0123abcd]", SYM_MODULE, "ext4_sync", 0x10, "ext4" },
	{ "bpf_prog_0123456789abcdef_cpu+0x4/0x9", SYM_BPF, "bpf_prog_0123456789abcdef_cpu", 4,
	  "bpf" },
	{ "bpf_prog_0123456789abcdef+0x4/0x9", SYM_BPF, "bpf_prog_0123456789abcdef", 4, "bpf" },
	{ "bpf_prog_x+0x4/0x9 [bpf]", SYM_BPF, "bpf_prog_x", 4, "bpf" },
	{ "bpf_trampoline_6442518220+0x4/0x9", SYM_BPF, "bpf_trampoline_6442518220", 4, "bpf" },
	{ "bpf_prog_alloc+0x4/0x9", SYM_KERNEL, "bpf_prog_alloc", 4, "[kernel]" },
	{ "bpf_trampoline_link_prog+0x4/0x9", SYM_KERNEL, "bpf_trampoline_link_prog", 4,
	  "[kernel]" },
	{ "_RNvC+0x1_3x+0x4/0x9", SYM_KERNEL, "_RNvC+0x1_3x", 4, "[kernel]" },
	{ "0xffffffff81000000", SYM_KERNEL, NULL, 0, "[kernel]" },
	{ "", SYM_KERNEL, NULL, 0, "[kernel]" },
	{ "+0x4/0x9", SYM_KERNEL, NULL, 0, "[kernel]" },
	{ "name+0x4", SYM_KERNEL, NULL, 0, "[kernel]" },
	{ "name+0x/0x9", SYM_KERNEL, NULL, 0, "[kernel]" },
	{ "name+0xffffffffffffffff/0x9", SYM_KERNEL, NULL, 0, "[kernel]" },
};

START_TEST(test_text)
{
	const struct parsed *p = &texts[_i];
	struct fake f = { .text = p->text };
	struct sym_kernel *k = open_fake(&f);
	struct sym_frame frame;

	sym_kernel_lookup(k, 0xffffffff81000004, false, &frame);
	ck_assert_int_eq(frame.kind, p->kind);
	ck_assert_pstr_eq(frame.name, p->name);
	ck_assert_uint_eq(frame.offset, p->offset);
	ck_assert_str_eq(frame.module, p->module);
	ck_assert_uint_eq(frame.module_addr, 0xffffffff81000004);
	sym_kernel_close(k);
}
END_TEST

/* A call that ends its function returns to the next one's first byte. */
START_TEST(test_return_address)
{
	struct fake f = { 0 };
	struct sym_kernel *k = open_fake(&f);
	struct sym_frame frame;

	sym_kernel_lookup(k, 0x81000300, true, &frame);
	ck_assert_str_eq(frame.name, "f810002");
	ck_assert_uint_eq(frame.offset, 0x100);
	ck_assert_uint_eq(frame.module_addr, 0x81000300);
	sym_kernel_lookup(k, 0x81000300, false, &frame);
	ck_assert_str_eq(frame.name, "f810003");
	ck_assert_uint_eq(frame.offset, 0);
	sym_kernel_close(k);
}
END_TEST

START_TEST(test_prepare)
{
	struct fake f = { 0 };
	struct sym_kernel *k = open_fake(&f);
	struct sym_frame frame;
	uint64_t addrs[1500];
	char name[32];

	for (size_t i = 0; i < 1500; i++)
		addrs[i] = 0x1000 + 0x80 * (i * 7 % 750);
	ck_assert_int_eq(sym_kernel_prepare(k, addrs, 1500, false), 0);
	ck_assert_uint_eq(f.count, 750);
	ck_assert_uint_eq(f.calls, 3);
	for (size_t i = 0; i < 1500; i++) {
		sym_kernel_lookup(k, addrs[i], false, &frame);
		sprintf(name, "f%" PRIx64, addrs[i] >> 8);
		ck_assert_str_eq(frame.name, name);
	}
	ck_assert_int_eq(sym_kernel_prepare(k, addrs, 1500, false), 0);
	ck_assert_uint_eq(f.count, 750);
	ck_assert_int_eq(sym_kernel_prepare(k, addrs, 10, true), 0);
	ck_assert_uint_eq(f.count, 760);
	ck_assert_uint_eq(f.asked[750], 0xfff);
	ck_assert_int_eq(sym_kernel_prepare(k, NULL, 0, false), 0);
	sym_kernel_close(k);
}
END_TEST

static void write_kallsyms(const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

START_TEST(test_source_fails)
{
	struct fake f = { .err = -EPERM };
	struct sym_kernel *k = open_fake(&f);
	uint64_t addrs[] = { 0x1005, 0x2001, 0x9999999 };
	struct sym_frame frame;

	write_kallsyms("1000 T one\n2000 t two\t[mod]\n3000 t three\t[bpf]\n");
	ck_assert_int_eq(sym_kernel_prepare(k, addrs, 3, false), 0);
	sym_kernel_lookup(k, 0x1005, false, &frame);
	ck_assert_str_eq(frame.name, "one");
	ck_assert_uint_eq(frame.offset, 5);
	ck_assert_int_eq(frame.kind, SYM_KERNEL);
	sym_kernel_lookup(k, 0x2001, false, &frame);
	ck_assert_str_eq(frame.name, "two");
	ck_assert_str_eq(frame.module, "mod");
	ck_assert_int_eq(frame.kind, SYM_MODULE);
	sym_kernel_lookup(k, 0x3000, true, &frame);
	ck_assert_str_eq(frame.name, "two");
	ck_assert_uint_eq(frame.offset, 0x1000);
	sym_kernel_lookup(k, 0x3000, false, &frame);
	ck_assert_int_eq(frame.kind, SYM_BPF);
	ck_assert_uint_eq(f.calls, 1); /* a source that failed is not asked again */
	sym_kernel_close(k);
}
END_TEST

START_TEST(test_restricted)
{
	struct sym_kernel_source source = { .kallsyms = path };
	const struct sym_kallsyms *ks = (void *)path;
	struct sym_kernel *k = NULL;
	struct sym_frame frame;
	uint64_t addr = 0x1005;

	write_kallsyms("0000000000000000 T one\n0000000000000000 t two\n");
	ck_assert_int_eq(sym_kernel_open(&k, &source), 0);
	ck_assert_int_eq(sym_kernel_prepare(k, &addr, 1, false), -EACCES);
	ck_assert_int_eq(sym_kernel_kallsyms(k, &ks), -EACCES);
	ck_assert_ptr_eq(ks, path);
	sym_kernel_lookup(k, addr, false, &frame);
	ck_assert_int_eq(frame.kind, SYM_KERNEL);
	ck_assert_ptr_null(frame.name);
	ck_assert_uint_eq(frame.module_addr, 0x1005);
	sym_kernel_close(k);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kernel names");
	TCase *t = tcase_create("kernel names");
	SRunner *r = srunner_create(s);
	int failed;

	if (close(mkstemp(path)))
		return EXIT_FAILURE;
	suite_add_tcase(s, t);
	tcase_add_loop_test(t, test_text, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(t, test_return_address);
	tcase_add_test(t, test_prepare);
	tcase_add_test(t, test_source_fails);
	tcase_add_test(t, test_restricted);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	unlink(path);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
