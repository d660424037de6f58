/* SPDX-License-Identifier: BSD-2-Clause */
/* prog_code.c: programs that others have loaded, and which source line an address of theirs is. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/btf.h>

int rp_prog_next_id(uint32_t id, uint32_t *next)
{
	union rp_attr attr = { 0 };
	int err;

	attr.of_id.id = id;
	err = rp_sys_bpf(BPF_PROG_GET_NEXT_ID, &attr);
	*next = err ? 0 : attr.of_id.next_id;
	return err == -ENOENT ? 0 : err;
}

int rp_prog_by_id(uint32_t id)
{
	union rp_attr attr = { 0 };

	attr.of_id.id = id;
	return rp_sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr);
}

static int get_info(int fd, void *info, uint32_t size)
{
	union rp_attr attr = { 0 };

	attr.info.fd = (uint32_t)fd;
	attr.info.info_len = size;
	attr.info.info = ptr64(info);
	return rp_sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* ---- texts: those of the program's BTF */

/* More than any program has; the kernel's own limit (BTF_MAX_SIZE). */
#define MAX_BTF (16u << 20)

static int read_btf(uint32_t id, char **out, uint32_t *size)
{
	struct rp_btf_info info = { 0 };
	union rp_attr attr = { 0 };
	char *data = NULL;
	int fd, err;

	attr.of_id.id = id;
	fd = rp_sys_bpf(BPF_BTF_GET_FD_BY_ID, &attr);
	if (fd < 0)
		return fd;
	err = get_info(fd, &info, sizeof(info));
	if (!err && (info.size < sizeof(struct btf_header) || info.size > MAX_BTF))
		err = -EINVAL;
	if (!err) {
		*size = info.size;
		data = calloc(1, (size_t)info.size + 1);
		info = (struct rp_btf_info){ .btf = ptr64(data), .size = info.size };
		err = data ? get_info(fd, &info, sizeof(info)) : -ENOMEM;
	}
	close(fd);
	if (err) {
		free(data);
		return err;
	}
	*out = data;
	return 0;
}

/* A text of the BTF, of which a NUL follows the end. */
static const char *text_at(const char *btf, uint32_t size, uint32_t offset)
{
	struct btf_header head;
	uint64_t at;

	if (!btf)
		return "";
	memcpy(&head, btf, sizeof(head));
	at = (uint64_t)head.hdr_len + head.str_off + offset;
	return offset < head.str_len && at < size ? btf + at : "";
}

/* ---- functions and lines */

struct arrays {
	uint64_t *funcs, *addrs;
	uint32_t *lens;
	uint8_t (*tags)[8];
	struct bpf_line_info *lines;
};

static void free_arrays(struct arrays *a)
{
	free(a->funcs);
	free(a->addrs);
	free(a->lens);
	free(a->tags);
	free(a->lines);
}

/* Only what is there is asked for: a program may have no lines. */
static int get_arrays(int fd, struct rp_prog_info *info, struct arrays *a)
{
	const struct rp_prog_info n = *info;
	const bool lines = n.nr_line_info && n.nr_line_info == n.nr_jited_line_info;
	int err;

	a->funcs = calloc(n.nr_ksyms + 1, sizeof(*a->funcs));
	a->lens = calloc(n.nr_func_lens + 1, sizeof(*a->lens));
	a->addrs = calloc(n.nr_jited_line_info + 1, sizeof(*a->addrs));
	a->lines = calloc(n.nr_line_info + 1, sizeof(*a->lines));
	a->tags = calloc(n.nr_tags + 1, sizeof(*a->tags));
	if (!a->funcs || !a->lens || !a->addrs || !a->lines || !a->tags)
		return -ENOMEM;
	*info = (struct rp_prog_info){ .ksyms = ptr64(a->funcs),
				       .nr_ksyms = n.nr_ksyms,
				       .func_lens = ptr64(a->lens),
				       .nr_func_lens = n.nr_func_lens,
				       .tags = ptr64(a->tags),
				       .nr_tags = n.nr_tags };
	if (lines) {
		info->line_info = ptr64(a->lines);
		info->jited_line_info = ptr64(a->addrs);
		info->nr_line_info = info->nr_jited_line_info = n.nr_line_info;
		info->line_info_rec_size = sizeof(*a->lines);
		info->jited_line_info_rec_size = sizeof(*a->addrs);
	}
	err = get_info(fd, info, sizeof(*info));
	if (err)
		return err;
	if (!info->ksyms || !info->nr_ksyms)
		return -EPERM;
	if (info->nr_ksyms > n.nr_ksyms || info->nr_func_lens > n.nr_func_lens ||
	    info->nr_tags > n.nr_tags ||
	    (lines &&
	     (info->nr_line_info > n.nr_line_info || info->nr_jited_line_info > n.nr_line_info)))
		return -EAGAIN;
	if (!lines || !info->line_info || !info->jited_line_info)
		info->nr_line_info = 0;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct rp_prog_code_line *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int fill(const struct rp_prog_info *info, const struct arrays *a, const uint8_t *whole,
		uint32_t size, struct rp_prog_code *code)
{
	code->funcs = calloc(info->nr_ksyms + 1, sizeof(*code->funcs));
	code->lines = calloc(info->nr_line_info + 1, sizeof(*code->lines));
	if (!code->funcs || !code->lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->nr_ksyms && i < info->nr_func_lens; i++) {
		struct rp_prog_func *func = &code->funcs[code->nfuncs++];

		*func = (struct rp_prog_func){ .start = a->funcs[i], .size = a->lens[i] };
		/* The first is called by the tag of the whole program. */
		if (!i || i < info->nr_tags)
			memcpy(func->tag, i ? a->tags[i] : whole, sizeof(func->tag));
	}
	for (uint32_t i = 0; i < info->nr_line_info; i++)
		code->lines[code->nlines++] = (struct rp_prog_code_line){
			.start = a->addrs[i],
			.file = text_at(code->texts, size, a->lines[i].file_name_off),
			.text = text_at(code->texts, size, a->lines[i].line_off),
			.line = a->lines[i].line_col >> 10,
			.insn = a->lines[i].insn_off,
		};
	qsort(code->lines, code->nlines, sizeof(*code->lines), by_start);
	return 0;
}

int rp_prog_code(int prog_fd, struct rp_prog_code *out)
{
	struct rp_prog_info info = { 0 };
	struct rp_prog_code code = { 0 };
	struct arrays a = { 0 };
	uint8_t tag[sizeof(info.tag)];
	uint32_t size = 0, btf;
	char *texts = NULL;
	int err = get_info(prog_fd, &info, sizeof(info));

	btf = info.btf_id;
	memcpy(tag, info.tag, sizeof(tag));
	if (!err && !info.jited_len)
		err = -ENOENT;
	if (!err)
		err = get_arrays(prog_fd, &info, &a);
	if (!err && info.nr_line_info && read_btf(btf, &texts, &size))
		info.nr_line_info = 0; /* lines without texts say nothing */
	code.texts = texts;
	if (!err)
		err = fill(&info, &a, tag, size, &code);
	free_arrays(&a);
	if (err)
		rp_prog_code_free(&code);
	else
		*out = code;
	return err;
}

void rp_prog_code_free(struct rp_prog_code *code)
{
	free(code->funcs);
	free(code->lines);
	free(code->texts);
	*code = (struct rp_prog_code){ 0 };
}

static const struct rp_prog_func *func_of(const struct rp_prog_code *code, uint64_t addr)
{
	for (uint32_t i = 0; i < code->nfuncs; i++)
		if (addr >= code->funcs[i].start &&
		    addr - code->funcs[i].start < code->funcs[i].size)
			return &code->funcs[i];
	return NULL;
}

bool rp_prog_code_has(const struct rp_prog_code *code, uint64_t addr)
{
	return func_of(code, addr) != NULL;
}

const struct rp_prog_code_line *rp_prog_code_find(const struct rp_prog_code *code, uint64_t addr)
{
	const struct rp_prog_func *func = func_of(code, addr);
	uint32_t low = 0, high = code->nlines;

	while (low < high) { /* the first that begins behind it */
		uint32_t middle = low + (high - low) / 2;

		if (code->lines[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return func && low && code->lines[low - 1].start >= func->start ? &code->lines[low - 1]
									: NULL;
}
