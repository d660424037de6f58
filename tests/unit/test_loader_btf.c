/* SPDX-License-Identifier: BSD-2-Clause */
/* The BTF reader on blobs made here: members of every kind, and blobs that are cut, bent or
 * malicious. */
#include "test_loader.h"

/* ---- making a blob */

enum { MAX_WORDS = 4096, MAX_STRINGS = 4096 };

static struct {
	uint32_t words[MAX_WORDS], nwords;
	char strings[MAX_STRINGS];
	uint32_t nstrings;
	uint32_t ntypes;
} b;

static uint32_t str(const char *text)
{
	const uint32_t at = b.nstrings;

	if (!*text)
		return 0;
	strcpy(b.strings + at, text);
	b.nstrings += (uint32_t)strlen(text) + 1;
	return at;
}

static void word(uint32_t w)
{
	b.words[b.nwords++] = w;
}

/* The three words that begin each type; returns its id. */
static uint32_t type(const char *name, uint32_t kind, uint32_t vlen, uint32_t size_or_type)
{
	const bool kflag = kind & 0x80;

	word(str(name));
	word((uint32_t)kflag << 31 | (kind & 0x1f) << 24 | vlen);
	word(size_or_type);
	return ++b.ntypes;
}

static uint32_t integer(const char *name, uint32_t size, uint32_t encoding, uint32_t bits)
{
	const uint32_t id = type(name, BTF_KIND_INT, 0, size);

	word(encoding << 24 | bits);
	return id;
}

static void member(const char *name, uint32_t id, uint32_t offset)
{
	word(str(name));
	word(id);
	word(offset);
}

static uint32_t array(uint32_t element, uint32_t n)
{
	const uint32_t id = type("", BTF_KIND_ARRAY, 0, 0);

	word(element);
	word(1);
	word(n);
	return id;
}

static void begin(void)
{
	memset(&b, 0, sizeof(b));
	b.nstrings = 1;
}

static size_t blob(uint8_t *out)
{
	struct btf_header h = { BTF_MAGIC,    BTF_VERSION,  0,	       sizeof(h), 0,
				b.nwords * 4, b.nwords * 4, b.nstrings };

	memcpy(out, &h, sizeof(h));
	memcpy(out + sizeof(h), b.words, b.nwords * 4);
	memcpy(out + sizeof(h) + b.nwords * 4, b.strings, b.nstrings);
	return sizeof(h) + b.nwords * 4 + b.nstrings;
}

static struct rp_btf *parse(void)
{
	uint8_t data[sizeof(struct btf_header) + sizeof(b.words) + sizeof(b.strings)];
	const size_t size = blob(data);
	struct rp_btf *btf;

	ck_assert_int_eq(rp_btf_parse(data, size, &btf), 0);
	return btf;
}

/* ---- a kernel in small */

enum {
	INT = 1,
	CHAR,
	ULONG,
	OLD_BITS,
	COMM,
	NAME_T,
	CONST_INT,
	UNION,
	ANON,
	INNER,
	TASK,
	PTR_TASK,
	TASKS
};

static void build(void)
{
	begin();
	ck_assert_uint_eq(integer("int", 4, BTF_INT_SIGNED, 32), INT);
	integer("char", 1, BTF_INT_SIGNED, 8);
	integer("unsigned long", 8, 0, 64);
	integer("old_bits", 4, 0, 3);
	array(CHAR, 16);
	type("name_t", BTF_KIND_TYPEDEF, 0, COMM);
	type("", BTF_KIND_CONST, 0, INT);
	type("", BTF_KIND_UNION, 2, 8); /* UNION */
	member("as_long", ULONG, 0);
	member("as_int", CONST_INT, 0);
	type("", BTF_KIND_STRUCT, 2, 16); /* ANON */
	member("", UNION, 0);
	member("after", INT, 64);
	type("inner", BTF_KIND_STRUCT, 2, 8);
	member("x", INT, 0);
	member("y", INT, 32);
	ck_assert_uint_eq(type("task", BTF_KIND_STRUCT | 0x80, 8, 160), TASK);
	member("pid", CONST_INT, 0);
	member("", ANON, 64);
	member("comm", NAME_T, 192);
	member("parent", PTR_TASK, 320);
	member("inner", INNER, 384);
	member("flag", INT, 3 << 24 | 448);
	member("old", OLD_BITS, 480);
	member("tasks", TASKS, 512);
	ck_assert_uint_eq(type("", BTF_KIND_PTR, 0, TASK), PTR_TASK);
	ck_assert_uint_eq(array(PTR_TASK, 4), TASKS);
	type("colour", BTF_KIND_ENUM | 0x80, 2, 4);
	word(str("RED"));
	word(1);
	word(str("NONE"));
	word((uint32_t)-1);
	type("wide", BTF_KIND_ENUM64, 1, 8);
	word(str("HUGE"));
	word(0x89abcdef);
	word(0x01234567);
	type("", BTF_KIND_FUNC_PROTO, 2, INT);
	word(str("a"));
	word(INT);
	word(str("b"));
	word(INT);
	type("do_it", BTF_KIND_FUNC, 1, b.ntypes);
	type("", BTF_KIND_FUNC_PROTO, 3, 0); /* void (*)(void *, struct task *, int) */
	word(0);
	word(0);
	word(0);
	word(PTR_TASK);
	word(0);
	word(INT);
	type("", BTF_KIND_PTR, 0, b.ntypes);
	type("btf_trace_wake", BTF_KIND_TYPEDEF, 0, b.ntypes);
	type("btf_trace_odd", BTF_KIND_TYPEDEF, 0, INT);
}

static const struct {
	const char *path;
	uint32_t nhops, offset[4], size;
	int is_signed;
} fields[] = {
	{ "pid", 1, { 0 }, 4, 1 },
	{ "as_long", 1, { 8 }, 8, 0 },
	{ "as_int", 1, { 8 }, 4, 1 },
	{ "after", 1, { 16 }, 4, 1 },
	{ "comm", 1, { 24 }, 16, 0 },
	{ "comm[0]", 1, { 24 }, 1, 1 },
	{ "comm[15]", 1, { 39 }, 1, 1 },
	{ "parent", 1, { 40 }, 8, 0 },
	{ "parent.pid", 2, { 40, 0 }, 4, 1 },
	{ "parent.parent.inner.y", 3, { 40, 40, 52 }, 4, 1 },
	{ "inner", 1, { 48 }, 8, 0 },
	{ "inner.x", 1, { 48 }, 4, 1 },
	{ "tasks", 1, { 64 }, 32, 0 },
	{ "tasks[2]", 1, { 80 }, 8, 0 },
	{ "tasks[2].comm[1]", 2, { 80, 25 }, 1, 1 },
};

START_TEST(test_field)
{
	struct asm_access a;
	char why[ASM_WHY_SIZE] = "";
	struct rp_btf *btf;

	build();
	btf = parse();
	ck_assert_msg(!rp_btf_access(btf, "task", fields[_i].path, &a, why), "%s: %s",
		      fields[_i].path, why);
	ck_assert_uint_eq(a.nhops, fields[_i].nhops);
	for (uint32_t h = 0; h < a.nhops; h++) {
		ck_assert_uint_eq(a.hop[h].offset, fields[_i].offset[h]);
		ck_assert_uint_eq(a.hop[h].size, h + 1 < a.nhops ? 8 : fields[_i].size);
	}
	ck_assert_int_eq(a.hop[a.nhops - 1].is_signed, fields[_i].is_signed);
	rp_btf_free(btf);
}
END_TEST

static const struct {
	const char *type, *path;
	int err;
	const char *why;
} bad[] = {
	{ "task", "flag", -EOPNOTSUPP, "task.flag is a bit field" },
	{ "task", "old", -EOPNOTSUPP, "task.old is a bit field" },
	{ "task", "nope", -ENOENT, "this kernel's task has no member `nope'" },
	{ "task", "inner.nope", -ENOENT, "this kernel's inner has no member `nope'" },
	{ "nope", "x", -ENOENT, "no type `nope'" },
	{ "", "x", -ENOENT, "no type `'" },
	{ "task", "pid.x", -EINVAL, "no struct or union" },
	{ "task", "pid[0]", -EINVAL, "no array" },
	{ "task", "comm[16]", -EINVAL, "[16] of an array of 16" },
	{ "task", "comm[99999999999999999999]", -EINVAL, "not an index" },
	{ "task", "comm[1", -EINVAL, "not an index" },
	{ "task", "comm[]", -EINVAL, "not an index" },
	{ "task", ".pid", -EINVAL, "a name is missing" },
	{ "task", "parent.", -EINVAL, "a name is missing" },
	{ "task", "parent->pid", -EINVAL, "`.' expected at `->pid'" },
	{ "task", "parent.parent.parent.parent.parent.parent.parent.parent.pid", -EINVAL,
	  "more than 7 pointers" },
};

START_TEST(test_bad_field)
{
	struct asm_access a = { .nhops = 77 };
	char why[ASM_WHY_SIZE] = "";
	struct rp_btf *btf;

	build();
	btf = parse();
	ck_assert_int_eq(rp_btf_access(btf, bad[_i].type, bad[_i].path, &a, why), bad[_i].err);
	ck_assert_msg(strstr(why, bad[_i].why), "\"%s\" is not \"%s\"", why, bad[_i].why);
	ck_assert_uint_eq(a.nhops, 77);
	ck_assert_int_eq(rp_btf_access(btf, bad[_i].type, bad[_i].path, &a, NULL), bad[_i].err);
	rp_btf_free(btf);
}
END_TEST

static int count_func(void *ctx, const char *name, int nargs)
{
	(void)nargs;
	ck_assert_str_eq(name, "do_it");
	return ++*(int *)ctx > 100 ? -ECANCELED : 0;
}

START_TEST(test_other_kinds)
{
	struct rp_btf *btf;
	int64_t value = 0;
	int n = 0;

	build();
	btf = parse();
	ck_assert_int_eq(rp_btf_find(btf, "task", BTF_KIND_STRUCT), TASK);
	ck_assert_int_eq(rp_btf_find(btf, "task", BTF_KIND_STRUCT), TASK); /* from memory */
	ck_assert_int_eq(rp_btf_find(btf, "task", BTF_KIND_FUNC), -ENOENT);
	ck_assert_int_eq(rp_btf_find(btf, "", BTF_KIND_UNION), -ENOENT);
	ck_assert_int_eq(rp_btf_size(btf, "task"), 160);
	ck_assert_int_eq(rp_btf_size(btf, "name_t"), 16);
	ck_assert_int_eq(rp_btf_size(btf, "nope"), -ENOENT);
	ck_assert_int_eq(rp_btf_enum(btf, "colour", "NONE", &value), 0);
	ck_assert_int_eq(value, -1);
	ck_assert_int_eq(rp_btf_enum(btf, NULL, "RED", &value), 0);
	ck_assert_int_eq(value, 1);
	ck_assert_int_eq(rp_btf_enum(btf, "wide", "HUGE", &value), 0);
	ck_assert_int_eq(value, 0x0123456789abcdef);
	ck_assert_int_eq(rp_btf_enum(btf, "colour", "HUGE", &value), -ENOENT);
	ck_assert_int_eq(rp_btf_func_nargs(btf, "do_it"), 2);
	ck_assert_int_eq(rp_btf_func_nargs(btf, "nope"), -ENOENT);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "wake", 0, "task"), 1);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "wake", 0, "inner"), 0);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "wake", 1, "task"), 0);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "wake", 2, "task"), -ENOENT);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "wake", UINT32_MAX, "task"), -ENOENT);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "sleep", 0, "task"), -ENOENT);
	ck_assert_int_eq(rp_btf_tracepoint_takes(btf, "odd", 0, "task"), -ENOENT);
	ck_assert_int_eq(rp_btf_each_func(btf, "do_*", count_func, &n), 1);
	ck_assert_int_eq(rp_btf_each_func(btf, "x*", count_func, &n), 0);
	ck_assert_int_eq(n, 1);
	rp_btf_free(btf);
}
END_TEST

/* More types than one landmark covers, and more names than the memory of names holds. */
START_TEST(test_many_types)
{
	struct rp_btf *btf;
	char name[16];

	begin();
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		integer(name, (uint32_t)i + 1, 0, 8);
	}
	btf = parse();
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 300; i++) {
			snprintf(name, sizeof(name), "t%d", i);
			ck_assert_int_eq(rp_btf_find(btf, name, BTF_KIND_INT), i + 1);
			ck_assert_int_eq(rp_btf_size(btf, name), i + 1);
		}
	rp_btf_free(btf);
}
END_TEST

/* ---- malicious ones */

START_TEST(test_cycles)
{
	struct asm_access a;
	char why[ASM_WHY_SIZE] = "";
	struct rp_btf *btf;

	begin();
	type("loop", BTF_KIND_TYPEDEF, 0, 2);
	type("loop2", BTF_KIND_TYPEDEF, 0, 1);
	array(3, 2); /* of itself */
	type("holder", BTF_KIND_STRUCT, 3, 8);
	member("array", 3, 0);
	member("loop", 1, 0);
	member("nothing", 999, 0);
	/* Anonymous members that hold the struct itself, a thousand of them at each level. */
	type("bomb", BTF_KIND_STRUCT, 1000, 8);
	for (int i = 0; i < 1000; i++)
		member("", 5, 0);
	btf = parse();
	ck_assert_int_eq(rp_btf_size(btf, "loop"), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "loop", "x", &a, why), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "array", &a, why), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "array[1]", &a, why), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "loop.x", &a, why), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "nothing", &a, why), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "bomb", "x", &a, why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why, "without end"));
	rp_btf_free(btf);
}
END_TEST

START_TEST(test_huge_array)
{
	struct asm_access a;
	struct rp_btf *btf;

	begin();
	integer("int", 4, BTF_INT_SIGNED, 32);
	array(1, UINT32_MAX);
	array(2, UINT32_MAX);
	type("holder", BTF_KIND_STRUCT, 2, 8);
	member("a", 2, 0);
	member("b", 3, 0);
	btf = parse();
	ck_assert_int_eq(rp_btf_access(btf, "holder", "a", &a, NULL), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "b", &a, NULL), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "a[4000000000]", &a, NULL), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "a[1000000000]", &a, NULL), -EINVAL);
	ck_assert_int_eq(rp_btf_access(btf, "holder", "a[5]", &a, NULL), 0);
	ck_assert_uint_eq(a.hop[0].offset, 20);
	rp_btf_free(btf);
}
END_TEST

/* Whatever a blob holds, asking it is safe; the sanitizers are the judges. */
static void ask_everything(const uint8_t *data, size_t size)
{
	struct rp_btf *btf = NULL;
	struct asm_access a;
	char why[ASM_WHY_SIZE];
	int64_t value;
	int n = 0;

	if (rp_btf_parse(data, size, &btf)) {
		ck_assert_ptr_null(btf);
		return;
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		rp_btf_access(btf, "task", fields[i].path, &a, why);
	rp_btf_size(btf, "name_t");
	rp_btf_enum(btf, NULL, "HUGE", &value);
	rp_btf_func_nargs(btf, "do_it");
	rp_btf_tracepoint_takes(btf, "wake", 0, "task");
	rp_btf_each_func(btf, "do_it", count_func, &n);
	rp_btf_free(btf);
}

START_TEST(test_cut_anywhere)
{
	uint8_t data[8192];
	size_t size;

	build();
	size = blob(data);
	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *copy =
			malloc(cut + 1); /* of the exact size, so that a read beyond it is seen */
		struct rp_btf *btf = NULL;

		memcpy(copy, data, cut);
		ck_assert_int_eq(rp_btf_parse(copy, cut, &btf), -EINVAL);
		ck_assert_ptr_null(btf);
		free(copy);
	}
}
END_TEST

START_TEST(test_bent_anywhere)
{
	static const uint32_t evil[] = { 0,	 1,	     0x7f,	 0xff,
					 0xffff, 0x7fffffff, 0x80000000, 0xffffffff };
	uint8_t data[8192], copy[8192];
	uint32_t seed = 12345;
	size_t size;

	build();
	size = blob(data);
	for (size_t at = 0; at + 4 <= size; at += 4)
		for (size_t e = 0; e < sizeof(evil) / sizeof(evil[0]); e++) {
			memcpy(copy, data, size);
			memcpy(copy + at, &evil[e], 4);
			ask_everything(copy, size);
		}
	for (int i = 0; i < 20000; i++) {
		memcpy(copy, data, size);
		for (int k = 0; k < 4; k++) {
			seed = seed * 1103515245 + 12345;
			copy[(seed >> 8) % size] = (uint8_t)(seed >> 24);
		}
		ask_everything(copy, size);
	}
}
END_TEST

START_TEST(test_kernel_file_is_no_btf)
{
	const struct rp_btf *btf = NULL;

	capture_log();
	put_file("/sys/kernel/btf/vmlinux", "this is not what it should be");
	ck_assert_int_eq(rp_btf_kernel(&btf), -EINVAL);
	ck_assert_ptr_null(btf);
	ck_assert_logged("/sys/kernel/btf/vmlinux cannot be used: it is malformed");
	remove_root();
}
END_TEST

/* Of a kernel whose BTF has a kind that came later, what lies before it is used all the same. */
START_TEST(test_kernel_of_a_newer_kind)
{
	uint8_t data[sizeof(struct btf_header) + sizeof(b.words) + sizeof(b.strings)];
	const struct rp_btf *btf = NULL;
	char path[128];
	size_t size;
	FILE *f;

	begin();
	integer("int", 4, BTF_INT_SIGNED, 32);
	type("early", BTF_KIND_TYPEDEF, 0, 1);
	type("new", 0x1f, 0, 0);
	type("late", BTF_KIND_TYPEDEF, 0, 1);
	size = blob(data);
	capture_log();
	put_file("/sys/kernel/btf/vmlinux", "");
	snprintf(path, sizeof(path), "%s/sys/kernel/btf/vmlinux", root);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(data, 1, size, f), size);
	fclose(f);
	ck_assert_int_eq(rp_btf_kernel(&btf), 0);
	ck_assert_int_eq(rp_btf_find(btf, "early", BTF_KIND_TYPEDEF), 2);
	ck_assert_not_logged("newer kind");
	ck_assert_int_eq(rp_btf_size(btf, "early"), 4);
	ck_assert_int_eq(rp_btf_find(btf, "late", BTF_KIND_TYPEDEF), -ENOENT);
	ck_assert_logged("type 3 is malformed, or of a newer kind");
	rp_btf_kernel_release();
	remove_root();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader: BTF");
	TCase *tc = tcase_create("blobs");

	tcase_add_loop_test(tc, test_field, 0, sizeof(fields) / sizeof(fields[0]));
	tcase_add_loop_test(tc, test_bad_field, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(tc, test_other_kinds);
	tcase_add_test(tc, test_many_types);
	tcase_add_test(tc, test_cycles);
	tcase_add_test(tc, test_huge_array);
	tcase_add_test(tc, test_cut_anywhere);
	tcase_add_test(tc, test_bent_anywhere);
	tcase_add_test(tc, test_kernel_file_is_no_btf);
	tcase_add_test(tc, test_kernel_of_a_newer_kind);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
