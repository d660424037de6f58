/* SPDX-License-Identifier: BSD-2-Clause */
/* stats.c: what the kernel knows of a loaded program: run time, sizes, its instructions as
 * rewritten and as machine code. */
#include "internal.h"

#include <stdlib.h>

int rp_stats_enable(void)
{
	union rp_attr attr = { 0 };

	attr.stats.type = BPF_STATS_RUN_TIME;
	return sys_bpf(BPF_ENABLE_STATS, &attr);
}

static int get_info(int fd, struct rp_prog_info *info)
{
	union rp_attr attr = { 0 };

	attr.info.fd = (uint32_t)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = ptr64(info);
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
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
