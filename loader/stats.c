/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c: what the kernel knows of a loaded program: run time, sizes, its instructions as
 * rewritten and as machine code. */
#include "internal.h"

#include <stdlib.h>

int rp_stats_enable(void)
{
	union rp_attr attr = { 0 };

	attr.stats.type = BPF_STATS_RUN_TIME;
	return rp_sys_bpf(BPF_ENABLE_STATS, &attr);
}

static int get_info(int fd, struct rp_prog_info *info)
{
	union rp_attr attr = { 0 };

	attr.info.fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = ptr64(info);
	return rp_sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

int rp_prog_stats(int prog_fd, struct rp_prog_stats *out)
{
	struct rp_prog_info info = { 0 };
	struct rp_prog_stats s = { 0 };
	int err;

	err = get_info(prog_fd, &info);
	if (err)
		return err;
	memcpy(s.name, info.name, sizeof(s.name));
	s.name[sizeof(s.name) - 1] = '\0';
	memcpy(s.tag, info.tag, sizeof(s.tag));
	s.id = info.id;
	s.type = info.type;
	s.run_time_ns = info.run_time_ns;
	s.run_cnt = info.run_cnt;
	s.recursion_misses = info.recursion_misses;
	s.xlated_bytes = info.xlated_len;
	s.jited_bytes = info.jited_len;
	s.verified_insns = info.verified_insns;
	*out = s;
	return 0;
}

/* The kernel zeroes the pointer of what the caller may not see, and the length of what there is
 * none of. */
static int get_code(int prog_fd, bool jited, void **out, uint32_t *size)
{
	struct rp_prog_info info = { 0 };
	uint32_t want;
	void *code;
	int err;

	err = get_info(prog_fd, &info);
	if (err)
		return err;
	want = jited ? info.jited_len : info.xlated_len;
	if (!want)
		return jited ? -ENOENT : -EPERM;
	code = malloc(want);
	if (!code)
		return -ENOMEM;
	info = (struct rp_prog_info){ 0 };
	*(jited ? &info.jited : &info.xlated) = ptr64(code);
	*(jited ? &info.jited_len : &info.xlated_len) = want;
	err = get_info(prog_fd, &info);
	if (!err && !(jited ? info.jited : info.xlated))
		err = -EPERM;
	if (err) {
		free(code);
		return err;
	}
	*out = code;
	*size = want;
	return 0;
}

int rp_prog_xlated(int prog_fd, struct bpf_insn **out, uint32_t *n)
{
	uint32_t size;
	void *code;
	int err;

	err = get_code(prog_fd, false, &code, &size);
	if (err)
		return err;
	*out = code;
	*n = size / sizeof(struct bpf_insn);
	return 0;
}

int rp_prog_jited(int prog_fd, uint8_t **out, uint32_t *size)
{
	void *code;
	int err;

	err = get_code(prog_fd, true, &code, size);
	if (!err)
		*out = code;
	return err;
}

/* ---- source lines after the rewriting */

struct line_arrays {
	struct bpf_line_info *lines;
	uint64_t *addrs; /* of lines */
	uint64_t *funcs; /* where each function begins, */
	uint32_t *lens;	 /* and how long it is */
};

static void free_arrays(struct line_arrays *a)
{
	free(a->lines);
	free(a->addrs);
	free(a->funcs);
	free(a->lens);
}

/* Asks again with room for everything. A kernel that hides the addresses zeroes its pointer. */
static int get_lines(int prog_fd, struct rp_prog_info *info, struct line_arrays *a)
{
	const struct rp_prog_info sizes = *info;
	int err;

	a->lines = calloc(sizes.nr_line_info + 1, sizeof(*a->lines));
	a->addrs = calloc(sizes.nr_jited_line_info + 1, sizeof(*a->addrs));
	a->funcs = calloc(sizes.nr_ksyms + 1, sizeof(*a->funcs));
	a->lens = calloc(sizes.nr_func_lens + 1, sizeof(*a->lens));
	if (!a->lines || !a->addrs || !a->funcs || !a->lens)
		return -ENOMEM;
	*info = (struct rp_prog_info){
		.line_info = ptr64(a->lines),
		.nr_line_info = sizes.nr_line_info,
		.line_info_rec_size = sizeof(*a->lines),
		.jited_line_info = ptr64(a->addrs),
		.nr_jited_line_info = sizes.nr_jited_line_info,
		.jited_line_info_rec_size = sizeof(*a->addrs),
		.ksyms = ptr64(a->funcs),
		.nr_ksyms = sizes.nr_ksyms,
		.func_lens = ptr64(a->lens),
		.nr_func_lens = sizes.nr_func_lens,
	};
	err = get_info(prog_fd, info);
	if (!err && (info->nr_line_info > sizes.nr_line_info ||
		     info->nr_jited_line_info > sizes.nr_jited_line_info ||
		     info->nr_ksyms > sizes.nr_ksyms || info->nr_func_lens > sizes.nr_func_lens))
		err = -EAGAIN;
	return err;
}

/* The machine code that rp_prog_jited() gives is all functions, one behind the other. */
static uint32_t jited_offset(const struct line_arrays *a, const struct rp_prog_info *info,
			     uint64_t addr)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < info->nr_ksyms && i < info->nr_func_lens; i++) {
		if (addr >= a->funcs[i] && addr - a->funcs[i] < a->lens[i])
			return before + (uint32_t)(addr - a->funcs[i]);
		before += a->lens[i];
	}
	return UINT32_MAX;
}

int rp_prog_lines(int prog_fd, struct rp_prog_line **out, uint32_t *n)
{
	struct rp_prog_info info = { 0 };
	struct line_arrays a = { 0 };
	struct rp_prog_line *lines = NULL;
	int err = get_info(prog_fd, &info);

	if (!err && !info.nr_line_info)
		err = -ENOENT;
	if (!err)
		err = get_lines(prog_fd, &info, &a);
	if (!err && !info.line_info)
		err = -EPERM;
	if (!err) {
		lines = calloc(info.nr_line_info, sizeof(*lines));
		err = lines ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !err && i < info.nr_line_info; i++) {
		lines[i].info = a.lines[i];
		lines[i].jited = info.jited_line_info && i < info.nr_jited_line_info
					 ? jited_offset(&a, &info, a.addrs[i])
					 : UINT32_MAX;
	}
	if (!err) {
		*out = lines;
		*n = info.nr_line_info;
	}
	free_arrays(&a);
	return err;
}
