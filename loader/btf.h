/* SPDX-License-Identifier: BSD-2-Clause */
/* btf.h: the reader's view of a BTF blob, for the files of the loader that walk it. */
#ifndef LOADER_BTF_H
#define LOADER_BTF_H

#include "internal.h"

/*
 * How far the types have been walked, by whatever was asked for: of the kernel's that is most often
 * a small part.
 */
struct btf_walked {
	uint32_t ntypes; /* so many, each found to lie within types_len; */
	uint32_t end;	 /* the offset behind them */
	/* Byte offset of types 1, 1 + BTF_STEP, 1 + 2 * BTF_STEP …: the others are reached by
	 * walking from there. */
	uint32_t landmarks[];
};

/* Type id 0 is void; the others lie one after the other and vary in size. */
struct rp_btf {
	const uint8_t *types;
	uint32_t types_len;
	const char *strs; /* begins and ends with a NUL */
	uint32_t strs_len;
	struct btf_walked *walked;
	void *data;
	size_t size;
	bool mapped; /* data is from mmap, not malloc */
	/* The last names looked up, since programs ask for several members of one type. */
	struct btf_memo *memo;
};

enum { BTF_STEP = 64, BTF_MAX_CHAIN = 32 };

static inline uint32_t btf_kind(const struct btf_type *t)
{
	return (t->info >> 24) & 0x1f;
}

static inline uint32_t btf_vlen(const struct btf_type *t)
{
	return t->info & 0xffff;
}

static inline bool btf_kflag(const struct btf_type *t)
{
	return t->info >> 31;
}

/* The string at an offset; "" if there is none. */
static inline const char *btf_str(const struct rp_btf *btf, uint32_t offset)
{
	return offset < btf->strs_len ? btf->strs + offset : "";
}

static inline const struct btf_type *btf_at_offset(const struct rp_btf *btf, uint32_t offset)
{
	return (const struct btf_type *)(const void *)(btf->types + offset);
}

/* Bytes of a whole record, or 0 for a kind that is not known. */
size_t rp_btf_record_size(const struct btf_type *t);
/* Walks up to that type. False if there is none, or a record before it is malformed. */
bool rp_btf_walk_to(const struct rp_btf *btf, uint32_t id);
static inline bool rp_btf_has(const struct rp_btf *btf, uint32_t id)
{
	return id <= btf->walked->ntypes || rp_btf_walk_to(btf, id);
}
/* NULL for void and for ids out of range. */
const struct btf_type *rp_btf_type_at(const struct rp_btf *btf, uint32_t id);
/* Through typedefs, const and the like. NULL for void and for chains that do not end. */
const struct btf_type *rp_btf_resolve(const struct rp_btf *btf, uint32_t id);
/* sizeof, through typedefs and arrays; -EINVAL if it has none or is 4 GB or more. */
int64_t rp_btf_size_of(const struct rp_btf *btf, uint32_t id);

#endif
