/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code of a file, and what jumps where in it.
 *
 * Whether anything jumps into a function's prologue from outside is asked of two: of a set that
 * holds the target of whatever may be a call or a far jump in the segment (on x86-64 at any byte,
 * be it the start of an instruction or not, so nothing is missed and a few targets are none), and,
 * for the short jumps of x86-64, of the functions next to it, decoded from several bytes at which
 * an instruction may begin, of which those that are wrong soon fall in with the one that is right.
 */
#include "loader/internal.h"
#include "code.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	CHUNK = 256 << 10,
	FAR_MOST = 6,	  /* bytes of a far jump: 0f 8x and four more */
	REACH = 128 + 15, /* of a short jump, and its own length */
	SYNC = 16,	  /* starts that are tried, */
	SYNC_ROOM = 128,  /* so many bytes before it matters */
};

struct rp_code {
	const struct insn_arch *arch; /* NULL: none of ours */
	int fd;
	bool nops; /* the kernel treats them well */
	uint64_t offset, size;
	uint64_t *targets; /* bit i: something may jump to offset + i * align; NULL: not read yet */
};

int rp_code_open(int fd, uint16_t machine, uint64_t offset, uint64_t size, struct rp_code **out)
{
	struct rp_code *c;

	if (size > UINT32_MAX || offset + size < offset || offset + size > INT64_MAX)
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (c->fd < 0) {
		free(c);
		return -errno;
	}
	c->arch = rp_insn_arch(machine);
	c->nops = rp_has(RP_HAS_UPROBE_NOP);
	c->offset = offset;
	c->size = size;
	*out = c;
	return 0;
}

void rp_code_close(struct rp_code *c)
{
	if (!c)
		return;
	close(c->fd);
	free(c->targets);
	free(c);
}

/* All @n bytes at @offset of the segment. */
static int read_code(const struct rp_code *c, uint64_t offset, uint8_t *buf, size_t n)
{
	size_t have = 0;
	ssize_t got;

	while (have < n) {
		got = pread(c->fd, buf + have, n - have, (off_t)(c->offset + offset + have));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO; /* the file has become shorter */
		have += (size_t)got;
	}
	return 0;
}

/* ---- jumps from afar */

static int32_t word_at(const uint8_t *p)
{
	int32_t w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The target of what may be a far jump at @p, where FAR_MOST bytes can be read; 0: it is none. */
static int64_t far_target(const struct insn_arch *arch, const uint8_t *p)
{
	struct insn i;

	if (arch->align > 1)
		return arch->decode(p, FAR_MOST, &i) ? i.target : 0;
	if (p[0] == 0xe8 || p[0] == 0xe9)
		return 5 + (int64_t)word_at(p + 1);
	if (p[0] == 0x0f && (p[1] & 0xf0) == 0x80)
		return 6 + (int64_t)word_at(p + 2);
	return 0;
}

static int read_targets(struct rp_code *c)
{
	const uint32_t align = c->arch->align;
	uint64_t *bits = calloc(c->size / align / 64 + 1, sizeof(*bits));
	uint8_t *buf = calloc(1, CHUNK + FAR_MOST); /* zeros behind the end are no jump */
	int err = bits && buf ? 0 : -ENOMEM;

	for (uint64_t at = 0; !err && at < c->size; at += CHUNK) {
		const size_t left = c->size - at, n = left < CHUNK ? left : CHUNK;
		const size_t more = left < CHUNK + FAR_MOST ? left : CHUNK + FAR_MOST;

		err = read_code(c, at, buf, more);
		memset(buf + more, 0, CHUNK + FAR_MOST - more);
		for (size_t i = 0; !err && i < n; i += align) {
			const int64_t far = far_target(c->arch, buf + i);
			const uint64_t to = at + i + (uint64_t)far; /* wraps below 0 */

			if (far && to < c->size)
				bits[to / align / 64] |= 1ULL << to / align % 64;
		}
	}
	free(buf);
	if (err)
		free(bits);
	else
		c->targets = bits;
	return err;
}

static uint64_t entered_from_afar(const struct rp_code *c, uint64_t entry)
{
	const uint32_t align = c->arch->align;
	uint64_t entered = 0;

	for (uint32_t i = align; i < PROLOGUE && entry + i < c->size; i += align) {
		const uint64_t bit = (entry + i) / align;

		if (c->targets[bit / 64] >> bit % 64 & 1)
			entered |= 1ULL << i;
	}
	return entered;
}

/* ---- short jumps from the neighbours */

/* Follows the instructions from @at on; @entry is where the prologue is in @code. */
static uint64_t entered_by(const struct insn_arch *arch, const uint8_t *code, size_t n, size_t at,
			   int64_t entry)
{
	uint64_t entered = 0;
	struct insn i;

	for (; at < n; at += i.len) {
		int64_t to;

		if (!arch->decode(code + at, n - at, &i)) {
			i.len = 1;
			continue;
		}
		to = (int64_t)at + i.target - entry;
		if (i.target && to > 0 && to < PROLOGUE)
			entered |= 1ULL << to;
	}
	return entered;
}

static int entered_from_nearby(const struct rp_code *c, uint64_t entry, uint64_t size,
			       uint64_t *entered)
{
	const uint64_t end = entry + size, left = c->size - end;
	const size_t before = entry < REACH + SYNC_ROOM ? entry : REACH + SYNC_ROOM;
	const size_t after = left < REACH + PROLOGUE ? left : REACH + PROLOGUE;
	uint8_t code[REACH + SYNC_ROOM + PROLOGUE];
	int err;

	err = read_code(c, entry - before, code, before);
	for (size_t i = 0; !err && i < SYNC && i < before; i++)
		*entered |= entered_by(c->arch, code, before, i, (int64_t)before);
	/* A function that is longer than the reach of short jumps keeps those behind it out. */
	if (err || size > REACH + PROLOGUE)
		return err;
	err = read_code(c, end, code, after);
	if (!err)
		*entered |= entered_by(c->arch, code, after, 0, -(int64_t)size);
	return err;
}

static int entered_from_outside(struct rp_code *c, uint64_t entry, uint64_t size, uint64_t *out)
{
	uint64_t entered;
	int err = c->targets ? 0 : read_targets(c);

	if (err)
		return err;
	entered = entered_from_afar(c, entry);
	if (c->arch->align == 1)
		err = entered_from_nearby(c, entry, size, &entered);
	if (!err)
		*out = entered;
	return err;
}

/* ---- one function */

/* Reads the code of @f and where it leads; *code is malloc'd. -ENODATA if that makes no sense. */
static int read_function(struct rp_code *c, const struct rp_function *f, uint8_t **code,
			 struct body *body)
{
	uint64_t size = f->size;
	uint8_t *buf;
	int err;

	if (f->offset < c->offset || f->offset - c->offset >= c->size ||
	    size > c->size - (f->offset - c->offset))
		return -EINVAL;
	if (!c->arch || !size || size > BODY_MOST)
		return -ENODATA;
	buf = malloc(size);
	if (!buf)
		return -ENOMEM;
	err = read_code(c, f->offset - c->offset, buf, size);
	if (!err)
		err = rp_body_read(c->arch, buf, (uint32_t)size,
				   f->is_go	? BODY_ONLY_CODE
				   : f->catches ? BODY_CATCHES
						: BODY_ANY,
				   body);
	if (err)
		free(buf);
	else
		*code = buf;
	return err;
}

/* 0; -EOPNOTSUPP if a probe on this instruction would break the program. */
static int check_instruction(const struct rp_code *c, uint64_t offset)
{
	const uint64_t left = c->size - (offset - c->offset);
	uint8_t code[16];
	const size_t n = left < sizeof(code) ? left : sizeof(code);
	int err;

	if (!c->arch || !c->arch->is_mistaken)
		return 0;
	err = read_code(c, offset - c->offset, code, n);
	return err ? err : c->arch->is_mistaken(code, n) ? -EOPNOTSUPP : 0;
}

int rp_code_entry(struct rp_code *c, const struct rp_function *f, struct rp_place *out)
{
	uint64_t outside = 0;
	struct rp_place place;
	struct body body;
	uint8_t *code;
	int err;

	err = read_function(c, f, &code, &body);
	if (err == -ENODATA) {
		err = check_instruction(c, f->offset);
		if (err)
			return err;
		*out = (struct rp_place){ .step = RP_STEP_UNKNOWN };
		strcpy(out->why, c->arch ? "+0: it is not known where the function ends"
					 : "+0: code of another machine");
		return 0;
	}
	if (err)
		return err;
	rp_place_choose(c->arch, &body, f, 0, c->nops, &place);
	/* The search through the whole segment is spared those that stay anyway. */
	if (place.offset) {
		err = entered_from_outside(c, f->offset - c->offset, body.size, &outside);
		if (!err && outside)
			rp_place_choose(c->arch, &body, f, outside, c->nops, &place);
	}
	if (!err)
		err = check_instruction(c, f->offset + place.offset);
	if (!err)
		*out = place;
	rp_body_free(&body);
	free(code);
	return err;
}

int rp_code_returns(struct rp_code *c, const struct rp_function *f, struct rp_returns *out)
{
	struct body body;
	uint8_t *code;
	int err;

	err = read_function(c, f, &code, &body);
	if (err == -ENODATA) {
		*out = (struct rp_returns){ .step = RP_STEP_UNKNOWN };
		strcpy(out->why, c->arch ? "it is not known where the function ends"
					 : "code of another machine");
		return 0;
	}
	if (err)
		return err;
	rp_returns_choose(&body, out);
	rp_body_free(&body);
	free(code);
	return 0;
}

void rp_returns_free(struct rp_returns *returns)
{
	free(returns->offsets);
	free(returns->jumps);
	*returns = (struct rp_returns){ 0 };
}
