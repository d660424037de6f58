/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * btf.c: reading BTF (Documentation/bpf/btf.rst), the kernel's own above all. Loading it costs, so
 * it is done when the first program asks, and everything is looked up in place: no index beyond a
 * landmark for every 64th type, and none of types behind the last that was asked for.
 */
#include "btf.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMOS = 16, MAX_BTF = 256 << 20 };

struct btf_memo {
	char *name[MEMOS];
	uint32_t kind[MEMOS], id[MEMOS];
	uint32_t next;
};

size_t rp_btf_record_size(const struct btf_type *t)
{
	const size_t vlen = btf_vlen(t), head = sizeof(*t);

	switch (btf_kind(t)) {
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return head;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return head + 4;
	case BTF_KIND_ARRAY:
		return head + sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64:
		return head + vlen * 12;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return head + vlen * 8;
	}
	return 0;
}

bool rp_btf_walk_to(const struct rp_btf *btf, uint32_t id)
{
	struct btf_walked *w = btf->walked;

	while (w->ntypes < id) {
		const uint32_t left = btf->types_len - w->end;
		size_t size = 0;

		if (left >= sizeof(struct btf_type))
			size = rp_btf_record_size(btf_at_offset(btf, w->end));
		if (!size || size > left)
			return false;
		if (w->ntypes % BTF_STEP == 0)
			w->landmarks[w->ntypes / BTF_STEP] = w->end;
		w->ntypes++;
		w->end += (uint32_t)size;
	}
	return true;
}

static int begin_walk(struct rp_btf *btf)
{
	const uint32_t most = btf->types_len / sizeof(struct btf_type);

	btf->walked = malloc(sizeof(*btf->walked) + (most / BTF_STEP + 1) * sizeof(uint32_t));
	if (!btf->walked)
		return -ENOMEM;
	btf->walked->ntypes = btf->walked->end = 0;
	return 0;
}

static int find_sections(struct rp_btf *btf)
{
	const struct btf_header *h = btf->data;
	uint64_t types, strs;

	if (btf->size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len < sizeof(*h))
		return -EINVAL;
	types = (uint64_t)h->hdr_len + h->type_off;
	strs = (uint64_t)h->hdr_len + h->str_off;
	if (types % 4 || types + h->type_len > btf->size || strs + h->str_len > btf->size ||
	    !h->str_len)
		return -EINVAL;
	btf->types = (uint8_t *)btf->data + types;
	btf->types_len = h->type_len;
	btf->strs = (char *)btf->data + strs;
	btf->strs_len = h->str_len;
	return btf->strs[0] || btf->strs[btf->strs_len - 1] ? -EINVAL : 0;
}

/* Takes data over, also on failure. */
static int open_blob(void *data, size_t size, bool mapped, struct rp_btf **out)
{
	struct rp_btf *btf = calloc(1, sizeof(*btf));
	int err = -ENOMEM;

	if (!btf) {
		if (mapped)
			munmap(data, size);
		else
			free(data);
		return err;
	}
	btf->data = data;
	btf->size = size;
	btf->mapped = mapped;
	btf->memo = calloc(1, sizeof(*btf->memo));
	if (btf->memo)
		err = find_sections(btf);
	if (!err)
		err = begin_walk(btf);
	if (err)
		rp_btf_free(btf);
	else
		*out = btf;
	return err;
}

int rp_btf_parse(const void *data, size_t size, struct rp_btf **out)
{
	void *copy = malloc(size ? size : 1);
	struct rp_btf *btf;
	int err;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	err = open_blob(copy, size, false, &btf);
	if (err)
		return err;
	rp_btf_walk_to(btf, UINT32_MAX);
	if (btf->walked->end != btf->types_len) {
		rp_btf_free(btf);
		return -EINVAL;
	}
	*out = btf;
	return 0;
}

void rp_btf_free(struct rp_btf *btf)
{
	if (!btf)
		return;
	if (btf->mapped)
		munmap(btf->data, btf->size);
	else
		free(btf->data);
	for (int i = 0; btf->memo && i < MEMOS; i++)
		free(btf->memo->name[i]);
	free(btf->memo);
	free(btf->walked);
	free(btf);
}

/* ---- the kernel's */

static struct rp_btf *kernel_btf;

static int open_kernel_fd(int fd, struct rp_btf **out)
{
	struct stat st;
	size_t size;
	char *text;
	void *map;
	int err;

	/* Since 6.16 the file can be mapped, which spares a copy of some megabytes. */
	if (!fstat(fd, &st) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED)
			return open_blob(map, (size_t)st.st_size, true, out);
	}
	err = rp_read_fd(fd, MAX_BTF, &text, &size);
	return err ? err : open_blob(text, size, false, out);
}

int rp_btf_kernel(const struct rp_btf **out)
{
	int fd, err;

	if (!kernel_btf) {
		fd = rp_root_open("/sys/kernel/btf/vmlinux", O_RDONLY);
		if (fd < 0)
			return fd;
		err = open_kernel_fd(fd, &kernel_btf);
		close(fd);
		if (err)
			return rp_fail(
				err, "/sys/kernel/btf/vmlinux cannot be used: %s",
				err == -EINVAL
					? "it is malformed, or of a newer kind than this program "
					  "knows"
					: strerror(-err));
	}
	*out = kernel_btf;
	return 0;
}

void rp_btf_kernel_release(void)
{
	rp_btf_free(kernel_btf);
	kernel_btf = NULL;
}

/* ---- types by id and by name */

const struct btf_type *rp_btf_type_at(const struct rp_btf *btf, uint32_t id)
{
	const struct btf_type *t;
	uint32_t offset;

	if (id == 0 || !rp_btf_has(btf, id))
		return NULL;
	offset = btf->walked->landmarks[(id - 1) / BTF_STEP];
	t = btf_at_offset(btf, offset);
	for (uint32_t i = (id - 1) % BTF_STEP; i; i--)
		t = btf_at_offset(btf, offset += (uint32_t)rp_btf_record_size(t));
	return t;
}

static int recall(const struct rp_btf *btf, const char *name, uint32_t kind)
{
	const struct btf_memo *m = btf->memo;

	for (int i = 0; i < MEMOS && m->name[i]; i++)
		if (m->kind[i] == kind && !strcmp(m->name[i], name))
			return (int)m->id[i];
	return -ENOENT;
}

static void remember(const struct rp_btf *btf, const char *name, uint32_t kind, uint32_t id)
{
	struct btf_memo *m = btf->memo;
	const uint32_t i = m->next++ % MEMOS;

	free(m->name[i]);
	m->name[i] = strdup(name);
	m->kind[i] = kind;
	m->id[i] = id;
}

int rp_btf_find(const struct rp_btf *btf, const char *name, uint32_t kind)
{
	const struct btf_type *t;
	uint32_t offset = 0;
	int id = recall(btf, name, kind);

	if (id >= 0 || !*name)
		return id;
	for (uint32_t i = 1; rp_btf_has(btf, i); i++) {
		t = btf_at_offset(btf, offset);
		if (btf_kind(t) == kind && !strcmp(btf_str(btf, t->name_off), name)) {
			remember(btf, name, kind, i);
			return (int)i;
		}
		offset += (uint32_t)rp_btf_record_size(t);
	}
	if (btf->walked->end < btf->types_len)
		rp_log(RP_WARN,
		       "kernel BTF: type %u is malformed, or of a newer kind than this program "
		       "knows; %s was not found before it",
		       btf->walked->ntypes + 1, name);
	return -ENOENT;
}

const struct btf_type *rp_btf_resolve(const struct rp_btf *btf, uint32_t id)
{
	const struct btf_type *t = rp_btf_type_at(btf, id);

	for (int i = 0; t && i < BTF_MAX_CHAIN; i++) {
		switch (btf_kind(t)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			t = rp_btf_type_at(btf, t->type);
			break;
		default:
			return t;
		}
	}
	return NULL;
}

int64_t rp_btf_size_of(const struct rp_btf *btf, uint32_t id)
{
	uint64_t count = 1;

	for (int i = 0; i < BTF_MAX_CHAIN; i++) {
		const struct btf_type *t = rp_btf_resolve(btf, id);
		const struct btf_array *array;

		switch (t ? btf_kind(t) : BTF_KIND_UNKN) {
		case BTF_KIND_ARRAY:
			array = (const struct btf_array *)(t + 1);
			count *= array->nelems;
			id = array->type;
			break;
		case BTF_KIND_PTR:
			count *= sizeof(void *);
			return count <= UINT32_MAX ? (int64_t)count : -EINVAL;
		case BTF_KIND_INT:
		case BTF_KIND_FLOAT:
		case BTF_KIND_ENUM:
		case BTF_KIND_ENUM64:
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION:
			if (t->size && count > UINT32_MAX / t->size)
				return -EINVAL;
			return (int64_t)(count * t->size);
		default:
			return -EINVAL;
		}
		if (count > UINT32_MAX)
			return -EINVAL;
	}
	return -EINVAL;
}

/* ---- functions */

int rp_btf_func_nargs(const struct rp_btf *btf, const char *name)
{
	const int id = rp_btf_find(btf, name, BTF_KIND_FUNC);
	const struct btf_type *proto;

	if (id < 0)
		return id;
	proto = rp_btf_type_at(btf, rp_btf_type_at(btf, (uint32_t)id)->type);
	return proto && btf_kind(proto) == BTF_KIND_FUNC_PROTO ? (int)btf_vlen(proto) : -ENOENT;
}

int rp_btf_tracepoint_takes(const struct rp_btf *btf, const char *event, unsigned int n,
			    const char *type)
{
	const struct btf_type *t;
	const struct btf_param *param;
	char name[64];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", event);
	id = rp_btf_find(btf, name, BTF_KIND_TYPEDEF);
	t = id < 0 ? NULL : rp_btf_resolve(btf, (uint32_t)id);
	if (t && btf_kind(t) == BTF_KIND_PTR)
		t = rp_btf_resolve(btf, t->type);
	/* The first parameter is the tracepoint's own. */
	if (!t || btf_kind(t) != BTF_KIND_FUNC_PROTO || (uint64_t)n + 1 >= btf_vlen(t))
		return -ENOENT;
	param = (const struct btf_param *)(t + 1) + n + 1;
	t = rp_btf_resolve(btf, param->type);
	if (t && btf_kind(t) == BTF_KIND_PTR)
		t = rp_btf_resolve(btf, t->type);
	return t && btf_kind(t) == BTF_KIND_STRUCT && !strcmp(btf_str(btf, t->name_off), type);
}

/* Arguments of a prototype that a BPF program gets as 8 bytes each. */
static int plain_args(const struct rp_btf *btf, const struct btf_type *func)
{
	const struct btf_type *proto = rp_btf_type_at(btf, func->type);
	const struct btf_param *param;

	if (!proto || btf_kind(proto) != BTF_KIND_FUNC_PROTO)
		return -ENOENT;
	param = (const void *)(proto + 1);
	for (uint32_t i = 0; i < btf_vlen(proto); i++) {
		const struct btf_type *t = rp_btf_resolve(btf, param[i].type);

		if (!t || btf_kind(t) == BTF_KIND_STRUCT || btf_kind(t) == BTF_KIND_UNION ||
		    btf_kind(t) == BTF_KIND_FLOAT || (btf_kind(t) == BTF_KIND_INT && t->size > 8))
			return -EOPNOTSUPP;
	}
	return (int)btf_vlen(proto);
}

int rp_btf_each_func(const struct rp_btf *btf, const char *glob,
		     int (*fn)(void *ctx, const char *name, int nargs), void *ctx)
{
	uint32_t offset = 0;
	int n = 0, err;

	for (uint32_t i = 1; rp_btf_has(btf, i); i++) {
		const struct btf_type *t = btf_at_offset(btf, offset);
		const char *name = btf_str(btf, t->name_off);

		offset += (uint32_t)rp_btf_record_size(t);
		if (btf_kind(t) != BTF_KIND_FUNC || fnmatch(glob, name, 0))
			continue;
		err = fn(ctx, name, plain_args(btf, t));
		if (err < 0)
			return err;
		n++;
	}
	return n;
}
