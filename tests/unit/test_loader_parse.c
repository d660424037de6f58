/* SPDX-License-Identifier: BSD-2-Clause */
/* What the loader reads as text or bytes: CPU lists, tracepoint formats, side-band records,
 * verifier logs, names; and ABI layouts. */
#include "test_loader.h"

#include <limits.h>

/* ---- CPU lists */

static const struct {
	const char *text;
	int n, first, last; /* n < 0: an errno */
} lists[] = {
	{ "0\n", 1, 0, 0 },
	{ "0-3\n", 4, 0, 3 },
	{ "0-3,8,10-11", 7, 0, 11 },
	{ "8,0-1,1", 3, 0, 8 },
	{ "65535", 1, 65535, 65535 },
	{ "0-65535,0-3", 65536, 0, 65535 },
	{ "", -EINVAL },
	{ "\n", -EINVAL },
	{ ",", -EINVAL },
	{ "1,", -EINVAL },
	{ "1-", -EINVAL },
	{ "3-1", -EINVAL },
	{ "-1", -EINVAL },
	{ "65536", -EINVAL },
	{ "99999999999999999999", -EINVAL },
	{ "0-65535,0-65535,0-65535", -EINVAL },
	{ "0-7:2/4", -EINVAL },
	{ "0 1", -EINVAL },
	{ "0\n1", -EINVAL },
	{ "abc", -EINVAL },
};

START_TEST(test_cpu_list)
{
	struct rp_cpus cpus = { NULL, 77 };
	const int err = rp_cpus_parse(lists[_i].text, &cpus);

	if (lists[_i].n < 0) {
		ck_assert_int_eq(err, lists[_i].n);
		ck_assert_int_eq(cpus.n, 77);
		return;
	}
	ck_assert_int_eq(err, 0);
	ck_assert_int_eq(cpus.n, lists[_i].n);
	ck_assert_int_eq(cpus.cpu[0], lists[_i].first);
	ck_assert_int_eq(cpus.cpu[cpus.n - 1], lists[_i].last);
	for (int i = 1; i < cpus.n; i++)
		ck_assert_int_lt(cpus.cpu[i - 1], cpus.cpu[i]);
	ck_assert(rp_cpus_has(&cpus, lists[_i].last));
	ck_assert(!rp_cpus_has(&cpus, lists[_i].last + 1));
	rp_cpus_free(&cpus);
}
END_TEST

START_TEST(test_online_cpus)
{
	struct rp_cpus cpus;

	put_file("/sys/devices/system/cpu/online", "2,4-5\n");
	ck_assert_int_eq(rp_cpus_online(&cpus), 0);
	ck_assert_int_eq(cpus.n, 3);
	ck_assert_int_eq(rp_first_online_cpu(), 2);
	rp_cpus_free(&cpus);
	capture_log();
	put_file("/sys/devices/system/cpu/online", "nonsense\n");
	ck_assert_int_eq(rp_cpus_online(&cpus), -EINVAL);
	ck_assert_logged("which is no list of CPUs");
	remove_root();
}
END_TEST

START_TEST(test_possible_cpus)
{
	static const struct asm_map map = { "m", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 1 };
	static const struct asm_map plain = { "m", BPF_MAP_TYPE_ARRAY, 4, 12, 1 };
	uint64_t values[2 * 6] = { 1, 100, 2, 200, 3, 300, 4, 400, 5, 500, 6, 600 };

	put_file("/sys/devices/system/cpu/possible", "0-5\n");
	ck_assert_int_eq(rp_cpus_possible(), 6);
	ck_assert_uint_eq(rp_map_cpu_stride(&map), 16);
	ck_assert_uint_eq(rp_map_value_bytes(&map), 96);
	ck_assert_uint_eq(rp_map_cpu_sum(&map, values, 0), 21);
	ck_assert_uint_eq(rp_map_cpu_sum(&map, values, 1), 2100);
	ck_assert_uint_eq(rp_map_cpu_stride(&plain), 0);
	ck_assert_uint_eq(rp_map_value_bytes(&plain), 12);
	ck_assert_uint_eq(rp_map_cpu_sum(&plain, values, 0), 1);
	remove_root();
}
END_TEST

/* ---- tracepoint formats */

static const char format_text[] =
	"name: made_up\n"
	"ID: 1234\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:unsigned long args[6];\toffset:24;\tsize:48;\tsigned:0;\n"
	"\tfield:const char * filename;\toffset:72;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:80;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u8[] bytes;\toffset:84;\tsize:4;\tsigned:0;\n"
	"\tfield:pid_t\tchild_pid;\toffset:88;\tsize:4;\tsigned:1;\n"
	"\tfield:char task[TASK_COMM_LEN];\toffset:92;\tsize:16;\tsigned:0;\n"
	"\n"
	"print fmt: \"comm=%s ID: 99 field:x\", REC->comm\n";

static const struct {
	const char *name, *type;
	uint32_t offset, size, count;
	bool is_signed, data_loc, rel_loc, common;
} format_fields[] = {
	{ "common_type", "unsigned short", 0, 2, 1, .common = true },
	{ "common_pid", "int", 4, 4, 1, .is_signed = true, .common = true },
	{ "comm", "char[16]", 8, 16, 16 },
	{ "args", "unsigned long[6]", 24, 48, 6 },
	{ "filename", "const char *", 72, 8, 1 },
	{ "name", "__data_loc char[]", 80, 4, 1, .data_loc = true },
	{ "bytes", "__rel_loc u8[]", 84, 4, 1, .rel_loc = true },
	{ "child_pid", "pid_t", 88, 4, 1, .is_signed = true },
	{ "task", "char[TASK_COMM_LEN]", 92, 16, 16 },
};

START_TEST(test_tp_format)
{
	struct rp_tp_format f;

	ck_assert_int_eq(rp_tp_format_parse(format_text, &f), 0);
	ck_assert_uint_eq(f.id, 1234);
	ck_assert_uint_eq(f.nfields, sizeof(format_fields) / sizeof(format_fields[0]));
	ck_assert_str_eq(f.print, "\"comm=%s ID: 99 field:x\", REC->comm");
	for (uint32_t i = 0; i < f.nfields; i++) {
		const struct rp_tp_field *x = rp_tp_format_field(&f, format_fields[i].name);

		ck_assert_ptr_nonnull(x);
		ck_assert_str_eq(x->type, format_fields[i].type);
		ck_assert_uint_eq(x->offset, format_fields[i].offset);
		ck_assert_uint_eq(x->size, format_fields[i].size);
		ck_assert_uint_eq(x->count, format_fields[i].count);
		ck_assert_int_eq(x->is_signed, format_fields[i].is_signed);
		ck_assert_int_eq(x->data_loc, format_fields[i].data_loc);
		ck_assert_int_eq(x->rel_loc, format_fields[i].rel_loc);
		ck_assert_int_eq(x->common, format_fields[i].common);
	}
	rp_tp_format_free(&f);
}
END_TEST

static const char *const bad_formats[] = {
	"",
	"ID: 5\n",
	"\tfield:int x;\toffset:8;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:int x;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:int x;\toffset:8;\tsigned:1;\n",
	"ID: 5\n\tfield:int x;\toffset:99999999999999999999;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:int x;\toffset:-8;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:int;\toffset:8;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:;\toffset:8;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:x];\toffset:8;\tsize:4;\tsigned:1;\n",
	"ID: 5\n\tfield:int x",
	"ID: 5\n\tfield:int x;\toffset:8;\tsize:4",
};

START_TEST(test_bad_tp_format)
{
	struct rp_tp_format f = { .id = 77 };

	ck_assert_int_eq(rp_tp_format_parse(bad_formats[_i], &f), -EINVAL);
	ck_assert_uint_eq(f.id, 77);
}
END_TEST

START_TEST(test_cut_tp_format)
{
	struct rp_tp_format f;

	for (size_t n = 0; n < sizeof(format_text); n++) {
		char *cut = strndup(format_text, n);

		if (!rp_tp_format_parse(cut, &f))
			rp_tp_format_free(&f);
		free(cut);
	}
}
END_TEST

/* ---- side-band records */

struct raw {
	uint8_t bytes[256];
	size_t size;
};

static void put(struct raw *r, const void *data, size_t n)
{
	memcpy(r->bytes + r->size, data, n);
	r->size += n;
}

static void put32(struct raw *r, uint32_t v)
{
	put(r, &v, sizeof(v));
}

static void put64(struct raw *r, uint64_t v)
{
	put(r, &v, sizeof(v));
}

static struct raw start(uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { type, misc, 0 };
	struct raw r = { .size = 0 };

	put(&r, &h, sizeof(h));
	return r;
}

/* The trailer of pid 11, tid 12, time 13 on CPU 14, and the size. */
static void finish(struct raw *r)
{
	uint16_t size;

	put32(r, 11);
	put32(r, 12);
	put64(r, 13);
	put32(r, 14);
	put32(r, 0);
	size = (uint16_t)r->size;
	memcpy(r->bytes + 6, &size, sizeof(size));
}

static struct raw mmap_record(uint16_t misc)
{
	struct raw r = start(PERF_RECORD_MMAP2, misc);

	put32(&r, 1);
	put32(&r, 2);
	put64(&r, 0x400000);
	put64(&r, 0x1000);
	put64(&r, 0x2000);
	if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		put32(&r, 20);
		put(&r, "abcdefghijklmnopqrst", 20);
	} else {
		put32(&r, 8);
		put32(&r, 1);
		put64(&r, 99);
		put64(&r, 7);
	}
	put32(&r, 5);
	put32(&r, 2);
	put(&r, "/bin/true\0\0\0\0\0\0", 16);
	finish(&r);
	return r;
}

START_TEST(test_mmap_record)
{
	struct raw r = mmap_record(0);
	struct rp_side_event e;

	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), 0);
	ck_assert_int_eq(e.type, RP_SIDE_MMAP);
	ck_assert_uint_eq(e.pid, 1);
	ck_assert_uint_eq(e.tid, 2);
	ck_assert_uint_eq(e.time, 13);
	ck_assert_uint_eq(e.cpu, 14);
	ck_assert_uint_eq(e.mmap.start, 0x400000);
	ck_assert_uint_eq(e.mmap.len, 0x1000);
	ck_assert_uint_eq(e.mmap.pgoff, 0x2000);
	ck_assert_uint_eq(e.mmap.maj, 8);
	ck_assert_uint_eq(e.mmap.min, 1);
	ck_assert_uint_eq(e.mmap.ino, 99);
	ck_assert_uint_eq(e.mmap.ino_generation, 7);
	ck_assert_uint_eq(e.mmap.prot, 5);
	ck_assert_uint_eq(e.mmap.build_id_size, 0);
	ck_assert_str_eq(e.mmap.path, "/bin/true");
	ck_assert_uint_eq(rp_side_time(r.bytes, r.size), 13);
	ck_assert_uint_eq(rp_side_time(r.bytes, 8), 0);
}
END_TEST

START_TEST(test_mmap_record_with_build_id)
{
	struct raw r = mmap_record(PERF_RECORD_MISC_MMAP_BUILD_ID);
	struct rp_side_event e;

	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), 0);
	ck_assert_uint_eq(e.mmap.build_id_size, 20);
	ck_assert_mem_eq(e.mmap.build_id, "abcdefghijklmnopqrst", 20);
	ck_assert_uint_eq(e.mmap.ino, 0);
	ck_assert_str_eq(e.mmap.path, "/bin/true");
	r.bytes[40] = 21; /* a size that cannot be */
	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), -EINVAL);
}
END_TEST

START_TEST(test_task_records)
{
	struct raw r = start(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	struct rp_side_event e;

	put32(&r, 1);
	put32(&r, 2);
	put(&r, "sh\0\0\0\0\0", 8);
	finish(&r);
	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), 0);
	ck_assert_int_eq(e.type, RP_SIDE_COMM);
	ck_assert_str_eq(e.comm.comm, "sh");
	ck_assert(e.comm.exec);

	for (int exit = 0; exit < 2; exit++) {
		r = start(exit ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 0);
		put32(&r, 1);
		put32(&r, 2);
		put32(&r, 3);
		put32(&r, 4);
		put64(&r, 5);
		finish(&r);
		ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), 0);
		ck_assert_int_eq(e.type, exit ? RP_SIDE_EXIT : RP_SIDE_FORK);
		ck_assert_uint_eq(e.pid, 1);
		ck_assert_uint_eq(e.fork.ppid, 2);
		ck_assert_uint_eq(e.tid, 3);
		ck_assert_uint_eq(e.fork.ptid, 4);
		ck_assert_uint_eq(e.time, 13);
	}

	r = start(PERF_RECORD_LOST, 0);
	put64(&r, 1);
	put64(&r, 500);
	finish(&r);
	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), 0);
	ck_assert_int_eq(e.type, RP_SIDE_LOST);
	ck_assert_uint_eq(e.lost.n, 500);
	ck_assert_uint_eq(e.pid, 11);
}
END_TEST

/* Cut short, of the wrong size, or without the end of its string: refused, and nothing beyond it is
 * read. */
START_TEST(test_malformed_records)
{
	const struct raw whole = mmap_record(0);
	struct rp_side_event e = { .pid = 77 };
	struct raw r;

	for (size_t cut = 0; cut < whole.size; cut++) {
		uint8_t *copy = malloc(cut + 1);
		const uint16_t size = (uint16_t)cut;

		memcpy(copy, whole.bytes, cut);
		ck_assert_int_eq(rp_side_parse(copy, cut, &e), -EINVAL);
		if (cut >= 8)
			memcpy(copy + 6, &size, sizeof(size));
		/* With the size to match, what is left may be a record with a shorter path, or
		 * none. */
		if (rp_side_parse(copy, cut, &e) == 0)
			ck_assert_uint_ge(cut, 72 + 1 + 24);
		free(copy);
	}
	e.pid = 77;
	r = whole;
	memset(r.bytes + 72, 'x', 16);
	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), -EINVAL);
	r = start(12345, 0);
	finish(&r);
	ck_assert_int_eq(rp_side_parse(r.bytes, r.size, &e), -ENOMSG);
	ck_assert_uint_eq(e.pid, 77);
}
END_TEST

/* ---- verifier logs */

static const struct {
	const char *log, *tail;
	long insn;
} logs[] = {
	{ "", NULL, -1 },
	{ "\n\n", NULL, -1 },
	{ "processed 0 insns (limit 1000000)\n", NULL, -1 },
	{ "unreachable insn 2\nprocessed 0 insns (limit 1000000) max_states\n",
	  "unreachable insn 2", -1 },
	{ "0: (b7) r0 = 0\n12: (95) exit\nR0 !read_ok\nprocessed 2 insns\nstack depth 8\n",
	  "0: (b7) r0 = 0\n12: (95) exit\nR0 !read_ok", 12 },
	{ "no newline at the end", "no newline at the end", -1 },
	{ "verification time 100 usec\nstack depth 0\nprocessed 1 insns", NULL, -1 },
	/* a number that begins a line is not yet an instruction */
	{ "3: R0=1\n7 is odd\n8: (07) r1 += 1\n9: R1=2\noops\n",
	  "3: R0=1\n7 is odd\n8: (07) r1 += 1\n9: R1=2\noops", 8 },
	{ "1\n2\n3\n4\n5\n6\n", "3\n4\n5\n6", -1 },
	{ "1: (", "1: (", -1 },
	{ "7:", "7:", -1 },
	{ "7", "7", -1 },
};

START_TEST(test_verifier_log)
{
	const int lines = !strncmp(logs[_i].log, "1\n2", 3) ? 4 : 24;
	long insn = 77;
	char *tail = rp_verifier_log_tail(logs[_i].log, lines, &insn);

	if (logs[_i].tail) {
		ck_assert_ptr_nonnull(tail);
		ck_assert_str_eq(tail, logs[_i].tail);
	} else {
		ck_assert_ptr_null(tail);
	}
	ck_assert_int_eq(insn, logs[_i].insn);
	free(tail);
}
END_TEST

/* ---- names, messages */

START_TEST(test_names)
{
	char name[16];

	rp_kernel_name(name, "plain_Name.1");
	ck_assert_str_eq(name, "plain_Name.1");
	rp_kernel_name(name, "a-b c/\xff: and much more of it");
	ck_assert_str_eq(name, "a_b_c____and_mu");
	rp_kernel_name(name, NULL);
	ck_assert_str_eq(name, "");
	ck_assert_uint_eq(rp_name_distance("", ""), 0);
	ck_assert_uint_eq(rp_name_distance("cycles", "cycles"), 0);
	ck_assert_uint_eq(rp_name_distance("cylces", "cycles"), 2);
	ck_assert_uint_eq(rp_name_distance("abc", ""), 3);
	ck_assert_uint_eq(rp_name_distance("kitten", "sitting"), 3);
	ck_assert_uint_gt(
		rp_name_distance("0123456789012345678901234567890123456789012345678901234567890123",
				 "x"),
		1000);
	ck_assert_str_eq(rp_map_type_name(BPF_MAP_TYPE_RINGBUF), "ring buffer");
	ck_assert_str_eq(rp_map_type_name(12345), "type 12345");
}
END_TEST

START_TEST(test_log_levels)
{
	capture_log();
	rp_log_setup(RP_WARN, keep_log, NULL);
	ck_assert(rp_log_wants(RP_WARN));
	ck_assert(!rp_log_wants(RP_INFO));
	rp_log(RP_INFO, "not this");
	rp_log(RP_WARN, "but %s", "this");
	ck_assert_int_eq(rp_fail(-EBUSY, "and %d", 7), -EBUSY);
	ck_assert_str_eq(log_text, "1: but this\n0: and 7\n");
}
END_TEST

/* ---- the ABI: our structs against the installed header's */

#define SAME(ours, theirs)                                                                         \
	_Static_assert(offsetof(union rp_attr, ours) == offsetof(union bpf_attr, theirs), #ours)

SAME(map.value_size, value_size);
SAME(map.inner_fd, inner_map_fd);
SAME(map.name, map_name);
SAME(map.btf_vmlinux_value_id, btf_vmlinux_value_type_id);
SAME(elem.map_fd, map_fd);
SAME(elem.key, key);
SAME(elem.value, next_key);
SAME(elem.flags, flags);
SAME(batch.in_batch, batch.in_batch);
SAME(batch.values, batch.values);
SAME(batch.count, batch.count);
SAME(batch.flags, batch.flags);
SAME(prog.type, prog_type);
SAME(prog.license, license);
SAME(prog.log_buf, log_buf);
SAME(prog.name, prog_name);
SAME(prog.func_info, func_info);
SAME(prog.line_info_cnt, line_info_cnt);
SAME(prog.attach_btf_id, attach_btf_id);
SAME(test.retval, test.retval);
SAME(test.duration, test.duration);
SAME(test.ctx_out, test.ctx_out);
SAME(test.cpu, test.cpu);
SAME(info.info, info.info);
SAME(raw_tp.prog_fd, raw_tracepoint.prog_fd);
SAME(btf.log_buf, btf_log_buf);
SAME(btf.log_level, btf_log_level);
SAME(link.attach_type, link_create.attach_type);
_Static_assert(offsetof(struct rp_attr_link, perf.cookie) == 16, "after the four words");
_Static_assert(offsetof(struct rp_attr_link, uprobe_multi.pid) == 16 + 4 * 8 + 8,
	       "after count and flags");
_Static_assert(offsetof(struct rp_prog_info, xlated) ==
		       offsetof(struct bpf_prog_info, xlated_prog_insns),
	       "");
_Static_assert(offsetof(struct rp_prog_info, run_cnt) == offsetof(struct bpf_prog_info, run_cnt),
	       "");

START_TEST(test_build_id_bit)
{
	struct perf_event_attr ours = { 0 }, theirs = { 0 };

	rp_perf_attr_build_id(&ours, 1);
	ck_assert_mem_ne(&ours, &theirs, sizeof(ours));
#ifdef PERF_ATTR_SIZE_VER7 /* the first header that has both */
	theirs.build_id = 1;
	ck_assert_mem_eq(&ours, &theirs, sizeof(ours));
	theirs.build_id = 0;
#endif
	rp_perf_attr_build_id(&ours, 0);
	ck_assert_mem_eq(&ours, &theirs, sizeof(ours));
}
END_TEST

#define LOOP(tc, test, table) tcase_add_loop_test(tc, test, 0, sizeof(table) / sizeof(table[0]))

int main(void)
{
	Suite *suite = suite_create("loader: parsing");
	TCase *tc = tcase_create("parsing");

	LOOP(tc, test_cpu_list, lists);
	tcase_add_test(tc, test_online_cpus);
	tcase_add_test(tc, test_possible_cpus);
	tcase_add_test(tc, test_tp_format);
	LOOP(tc, test_bad_tp_format, bad_formats);
	tcase_add_test(tc, test_cut_tp_format);
	tcase_add_test(tc, test_mmap_record);
	tcase_add_test(tc, test_mmap_record_with_build_id);
	tcase_add_test(tc, test_task_records);
	tcase_add_test(tc, test_malformed_records);
	LOOP(tc, test_verifier_log, logs);
	tcase_add_test(tc, test_names);
	tcase_add_test(tc, test_log_levels);
	tcase_add_test(tc, test_build_id_bit);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
