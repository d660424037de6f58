/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes of this very file: found, attached by every way that the kernel has, and their
 * arguments read to the bit.
 */
#include "test_loader.h"
#include "../workloads/usdt_probes.h"

#include <sys/prctl.h>

#include <rawprof/macros.h>
#include <rawprof/symbolize.h>
#include <rawprof/uprobe.h>

enum { PROBES = 32, PLACES = 8, TEXT = 32 };

/* ---- what a program keeps of a probe */

struct record {
	uint64_t values[RP_USDT_ARGS];
	uint64_t sum; /* of the first argument, over all hits */
	uint32_t failed, hits;
	char text[TEXT];
};
static const struct asm_map records_map = { "records", BPF_MAP_TYPE_ARRAY,
					    4,	       PROBES * sizeof(struct record),
					    1,	       BPF_F_MMAPABLE };
static struct record *records;
static int records_fd = -1;

static void map_records(void)
{
	size_t size;
	void *at;

	if (records_fd < 0) {
		records_fd = rp_map_create(&records_map);
		ck_assert_int_ge(records_fd, 0);
		ck_assert_int_eq(rp_map_mmap(records_fd, &records_map, &at, &size), 0);
		records = at;
	}
	memset(records, 0, PROBES * sizeof(*records));
}

/* The cookie: which record, and above that which place. @part writes to R7. */
static int load(enum rp_uprobe_way way, const struct asm_part *part)
{
	/* clang-format off */
	const struct asm_insn lines[] = {
		MOV_REG(R6, R1),
		CALL(get_attach_cookie),
		MOV_REG(R8, R0),
		MOV32_REG(R1, R8),
		AND(R1, PROBES - 1),
		MUL(R1, sizeof(struct record)),
		LD_MAP_VALUE(R7, records, 0),
		ADD_REG(R7, R1),
		MOV_REG(R0, R8),
		RSH(R0, 32),
		INCLUDE(part),
		LDX(W, R1, R7, offsetof(struct record, hits)),
		ADD(R1, 1),
		STX(W, R7, offsetof(struct record, hits), R1),
		LDX(DW, R1, R7, offsetof(struct record, sum)),
		LDX(DW, R2, R7, 0),
		ADD_REG(R1, R2),
		STX(DW, R7, offsetof(struct record, sum), R1),
		MOV(R0, 0),
		EXIT(),
	};
	/* clang-format on */
	const struct asm_program program = { .name = "usdt",
					     .license = "Dual BSD/GPL",
					     .type = BPF_PROG_TYPE_KPROBE,
					     .attach_type = rp_uprobe_attach_type(way),
					     .lines = lines,
					     .nlines = sizeof(lines) / sizeof(lines[0]) };
	const struct asm_bindings bind = { .maps = &records_map,
					   .map_fds = &records_fd,
					   .nmaps = 1 };
	int prog;

	map_records();
	prog = rp_program_load(&program, &bind);
	ck_assert_int_ge(prog, 0);
	return prog;
}

/* ---- a probe of ours */

struct probe {
	struct rp_usdt_args args[PLACES];
	uint64_t offsets[PLACES], semaphores[PLACES], cookies[PLACES];
	uint32_t n;
};

static struct sym_usdt *own;
static int own_fd;

static int find_variable(void *ctx, const char *name, uint64_t *vaddr)
{
	return sym_usdt_variable(ctx, name, vaddr);
}

static void find(const char *name, uint32_t record, struct probe *out)
{
	*out = (struct probe){ 0 };
	for (size_t i = 0; i < own->count; i++) {
		const struct sym_usdt_site *s = &own->items[i];
		const struct rp_usdt_place place = { own->machine, s->vaddr, s->args, find_variable,
						     own };

		if (strcmp(s->name, name))
			continue;
		ck_assert_str_eq(s->provider, "shop");
		ck_assert_uint_lt(out->n, PLACES);
		rp_usdt_parse(&place, &out->args[out->n]);
		out->offsets[out->n] = s->offset;
		out->semaphores[out->n] = s->semaphore;
		out->cookies[out->n] = (uint64_t)out->n << 32 | record;
		out->n++;
	}
	ck_assert_uint_gt(out->n, 0);
}

static struct rp_uprobes *attach(const struct probe *p, enum rp_uprobe_way way, int prog)
{
	const struct rp_uprobe_set set = { .way = way,
					   .fd = own_fd,
					   .offsets = p->offsets,
					   .cookies = p->cookies,
					   .semaphores = p->semaphores,
					   .n = p->n,
					   .pid = -1,
					   .prog_fds = &prog,
					   .nprogs = 1 };
	struct rp_uprobes *probes;

	ck_assert_int_eq(rp_attach_uprobes(&set, &probes), 0);
	return probes;
}

/* Probes @name, runs all, and leaves what came in record @number. */
static void pass(const char *name, enum rp_uprobe_way way, uint32_t number, uint32_t strings)
{
	struct rp_uprobes *probes;
	struct rp_usdt_code *code;
	struct probe p;
	int prog;

	find(name, number, &p);
	const struct rp_usdt_reader reader = { .places = p.args,
					       .n = p.n,
					       .nargs = p.args[0].n,
					       .ctx = R6,
					       .to = R7,
					       .values = offsetof(struct record, values),
					       .failed = offsetof(struct record, failed),
					       .texts = offsetof(struct record, text),
					       .strings = strings,
					       .text_size = TEXT };

	ck_assert_int_eq(rp_usdt_compile(&reader, &code), 0);
	prog = load(way, rp_usdt_part(code));
	rp_usdt_code_free(code);
	probes = attach(&p, way, prog);
	usdt_pass_all();
	rp_uprobes_close(probes);
	usdt_pass_all();
	close(prog);
}

static enum rp_uprobe_way first_way(void)
{
	return rp_has(RP_HAS_PERF_LINK) ? RP_UPROBE_PERF_LINK : RP_UPROBE_NONE;
}

START_TEST(arguments_of_all_sizes_are_exact)
{
	const enum rp_uprobe_way best = rp_uprobe_way(-1, false);

	for (int way = (int)first_way(); way && way <= (int)best; way++) {
		/* All of them by the best way; putting them there takes its time. */
		for (uint32_t n = way == (int)best ? 0 : RP_USDT_ARGS; n <= RP_USDT_ARGS; n++) {
			char name[16];

			snprintf(name, sizeof(name), "args%u", n);
			pass(name, (enum rp_uprobe_way)way, n, 0);
			ck_assert_uint_eq(records[n].hits, 1);
			ck_assert_msg(!records[n].failed, "%s: %x", name, records[n].failed);
			for (uint32_t i = 0; i < n; i++)
				ck_assert_msg(records[n].values[i] == usdt_values[i],
					      "%s, argument %u: %#llx", name, i + 1,
					      (unsigned long long)records[n].values[i]);
		}
	}
}
END_TEST

START_TEST(each_place_has_its_own_arguments)
{
	const enum rp_uprobe_way best = rp_uprobe_way(-1, false);

	for (int way = (int)first_way(); way && way <= (int)best; way++) {
		pass("inlined", (enum rp_uprobe_way)way, 3, 0);
		ck_assert_uint_eq(records[3].hits, 4);
		ck_assert_uint_eq(records[3].failed, 0);
		ck_assert_uint_eq(records[3].sum, 10 + 20 + 30 + 40);
		ck_assert_uint_eq(records[3].values[0], 40);
		ck_assert_uint_eq(records[3].values[1], 4);
	}
}
END_TEST

START_TEST(strings_are_read)
{
	const enum rp_uprobe_way best = rp_uprobe_way(-1, false);

	pass("text", best, 0, 1);
	ck_assert_str_eq(records[0].text, "bread");
	ck_assert_uint_eq(records[0].values[1], 5);
	ck_assert_uint_eq(records[0].failed, 0);
	/* 40 of the last place is the address of nothing */
	pass("inlined", best, 0, 1);
	ck_assert_str_eq(records[0].text, "");
	ck_assert_uint_eq(records[0].failed, 1U << 16);
}
END_TEST

#if defined(__x86_64__)
START_TEST(what_cannot_be_read_is_said)
{
	const double number = 2.5;
	struct probe p;
	uint64_t bits;

	memcpy(&bits, &number, sizeof(bits));
	find("odd", 0, &p);
	ck_assert_uint_eq(p.n, 1);
	ck_assert_uint_eq(p.args[0].n, 5);
	ck_assert_str_eq(p.args[0].arg[2].why,
			 "it is in a vector register, and probes see none of those");
	ck_assert_str_eq(p.args[0].arg[3].why,
			 "it is in a segment (a variable of the thread), which probes do not find");
	pass("odd", rp_uprobe_way(-1, false), 0, 0);
	ck_assert_uint_eq(records[0].values[0], (uint64_t)-77);
	ck_assert_uint_eq(records[0].values[1], bits);
	ck_assert_uint_eq(records[0].values[2], 0);
	ck_assert_uint_eq(records[0].values[3], 0);
	ck_assert_uint_eq(records[0].values[4], (uint64_t)-10);
	ck_assert_uint_eq(records[0].failed, 1 << 2 | 1 << 3);
}
END_TEST
#endif

/* ---- semaphores */

START_TEST(a_semaphore_is_up_while_the_probe_is_there)
{
	const enum rp_uprobe_way best = rp_uprobe_way(-1, false);

	ck_assert_uint_eq(shop_heard_semaphore, 0);
	for (int way = (int)first_way(); way && way <= (int)best; way++) {
		pass("heard", (enum rp_uprobe_way)way, 1, 0);
		ck_assert_uint_eq(records[1].hits, 1);
		ck_assert_uint_eq(records[1].values[0], 5);
		ck_assert_uint_eq(shop_heard_semaphore, 0);
	}
}
END_TEST

static void listen_for_ever(int ready)
{
	const enum rp_uprobe_way way = rp_uprobe_way(-1, false);
	struct rp_usdt_code *code;
	struct probe p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	find("heard", 0, &p);
	const struct rp_usdt_reader reader = { .places = p.args,
					       .n = p.n,
					       .nargs = 1,
					       .ctx = R6,
					       .to = R7,
					       .failed = offsetof(struct record, failed) };

	ck_assert_int_eq(rp_usdt_compile(&reader, &code), 0);
	attach(&p, way, load(way, rp_usdt_part(code)));
	ck_assert_int_eq(write(ready, "", 1), 1);
	for (;;)
		pause();
}

/* However the one who listens ends: the kernel counts down. It does so a moment after. */
START_TEST(a_killed_listener_leaves_no_semaphore_up)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	int ready[2], status;
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe2(ready, O_CLOEXEC), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		listen_for_ever(ready[1]);
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	ck_assert_uint_eq(shop_heard_semaphore, 1);
	ck_assert(usdt_pass_guarded(1));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (int i = 0; i < 500 && shop_heard_semaphore; i++)
		nanosleep(&moment, NULL);
	ck_assert_uint_eq(shop_heard_semaphore, 0);
	ck_assert(!usdt_pass_guarded(1));
	close(ready[0]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("USDT probes");
	TCase *tc = tcase_create("live");

	if (rp_uprobe_way(-1, false) < RP_UPROBE_PERF_LINK) {
		printf("skip: no uprobes with cookies here\n");
		return 0;
	}
	own_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (own_fd < 0 || sym_usdt_read(own_fd, &own)) {
		perror("/proc/self/exe");
		return 1;
	}
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, arguments_of_all_sizes_are_exact);
	tcase_add_test(tc, each_place_has_its_own_arguments);
	tcase_add_test(tc, strings_are_read);
#if defined(__x86_64__)
	tcase_add_test(tc, what_cannot_be_read_is_said);
#endif
	tcase_add_test(tc, a_semaphore_is_up_while_the_probe_is_there);
	tcase_add_test(tc, a_killed_listener_leaves_no_semaphore_up);
	suite_add_tcase(s, tc);
	return run_suite(s);
}
