/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DWARF expressions of frames: what is read as reg + off, *(reg + off) + arg or a PLT stub's means
 * what a machine makes of the same bytes, which is the oracle here. The first byte says whether the
 * CFA is on the stack already.
 */
#include "unwind/cfi.h"
#include "fuzz.h"

enum { DEEP = 64, SP = 7, RIP = 16, RIP_VALUE = 0x4005d };

static uint64_t reg(uint32_t n)
{
	return n == RIP ? RIP_VALUE : 0x7000000000 + n * 0x1111110;
}

static uint64_t memory(uint64_t addr)
{
	return addr * 0x9e3779b97f4a7c15 + 11;
}

static bool constant(struct unwind_bytes *b, uint8_t op, uint64_t *v)
{
	if (op >= 0x30 && op <= 0x4f)
		*v = op - 0x30u;
	else if (op >= 0x08 && op <= 0x0d)
		*v = op & 1 ? (uint64_t)unwind_int(b, 1u << (op - 8) / 2)
			    : unwind_uint(b, 1u << (op - 8) / 2);
	else if (op == 0x10)
		*v = unwind_uleb(b);
	else if (op == 0x11)
		*v = (uint64_t)unwind_sleb(b);
	else if (op >= 0x70 && op <= 0x8f)
		*v = reg(op - 0x70u) + (uint64_t)unwind_sleb(b);
	else
		return false;
	return true;
}

static uint64_t binary(uint8_t op, uint64_t x, uint64_t y)
{
	switch (op) {
	case 0x1a:
		return x & y;
	case 0x1c:
		return x - y;
	case 0x24:
		return y < 64 ? x << y : 0;
	case 0x2a:
		return (int64_t)x >= (int64_t)y;
	default:
		return x + y;
	}
}

/* The machine of DWARF 5, 2.5, as far as what can be accepted needs. */
static uint64_t evaluate(struct unwind_bytes b, bool on_cfa)
{
	uint64_t stack[DEEP], v;
	size_t n = 0;

	if (on_cfa)
		stack[n++] = reg(UNWIND_VALUE_CFA);
	while (unwind_left(&b)) {
		const uint8_t op = (uint8_t)unwind_uint(&b, 1);

		if (op == 0x96)
			continue;
		if (constant(&b, op, &v)) {
			fuzz_check(n < DEEP);
			stack[n++] = v;
			continue;
		}
		fuzz_check(n);
		if (op == 0x06) {
			stack[n - 1] = memory(stack[n - 1]);
		} else if (op == 0x23) {
			stack[n - 1] += unwind_uleb(&b);
		} else {
			fuzz_check(n > 1 && (op == 0x1a || op == 0x1c || op == 0x22 || op == 0x24 ||
					     op == 0x2a));
			n--;
			stack[n - 1] = binary(op, stack[n - 1], stack[n]);
		}
	}
	fuzz_check(n && !b.bad);
	return stack[n - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_value v;
	struct unwind_bytes b;
	uint8_t *copy;
	uint64_t at;
	bool on_cfa;

	if (size < 2)
		return 0;
	on_cfa = data[0] & 1;
	copy = fuzz_copy(data + 1, size - 1);
	b = (struct unwind_bytes){ copy, copy + size - 1, false };
	v = unwind_expression(b, on_cfa, SP);
	at = reg(v.reg) + (uint64_t)v.off;
	if (v.kind == VALUE_REG)
		fuzz_check(at == evaluate(b, on_cfa));
	if (v.kind == VALUE_DEREF)
		fuzz_check(memory(at) + (uint64_t)v.arg == evaluate(b, on_cfa));
	if (v.kind == VALUE_PLT)
		fuzz_check(at + ((RIP_VALUE & 15) >= v.arg ? 8 : 0) == evaluate(b, on_cfa));
	free(copy);
	return 0;
}
