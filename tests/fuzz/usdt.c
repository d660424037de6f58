/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * USDT probes: any bytes can be an ELF file with notes, any text the arguments of a probe. What is
 * found in a file lies within it; arguments that were understood become lines that run, and have
 * the value that the arguments' description says.
 */
#include <elf.h>

#include <rawprof/symbolize.h>

#include "../unit/usdt_machine.h"
#include "fuzz.h"

static uint64_t usdt_bytes(uint64_t address, uint32_t n)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value |= (uint64_t)usdt_memory(address + i) << 8 * i;
	return value;
}

static uint64_t address_of(const struct rp_usdt_arg *a)
{
	uint64_t at = (uint64_t)a->value, index = a->index >= 0 ? usdt_reg(a->index) : 0;

	if (a->index_bits == 32)
		index = a->index_signed ? (uint64_t)(int32_t)index : (uint32_t)index;
	at += index << a->scale;
	at += a->base >= 0 ? usdt_reg(a->base) : 0;
	at += a->from_ip ? usdt_reg(128) : 0;
	return a->address_bits == 32 ? (uint32_t)at : at;
}

static uint64_t value_of(const struct rp_usdt_arg *a)
{
	const int unused = 64 - 8 * a->size;
	uint64_t value = 0;

	if (a->kind == RP_USDT_CONSTANT)
		value = (uint64_t)a->value + (a->from_ip ? usdt_reg(128) : 0);
	else if (a->kind == RP_USDT_REGISTER)
		value = usdt_reg(a->base) >> a->shift;
	else
		value = usdt_bytes(address_of(a), a->size);
	value <<= unused;
	return a->is_signed ? (uint64_t)((int64_t)value >> unused) : value >> unused;
}

static void check_args(uint16_t machine, const char *text, uint32_t strings)
{
	const struct rp_usdt_place place = { .machine = machine, .vaddr = 0x1000, .args = text };
	struct rp_usdt_args args;
	struct usdt_result r;

	rp_usdt_parse(&place, &args);
	fuzz_check(rp_usdt_same(&args, &args));
	if (!args.n)
		return;
	usdt_run(&args, 1, 0, strings & ((1U << (args.n < 12 ? args.n : 12)) - 1), &r);
	for (uint32_t i = 0; i < args.n && i < RP_USDT_ARGS; i++) {
		const struct rp_usdt_arg *a = &args.arg[i];

		fuzz_check(a->text >= text && a->text + a->length <= text + strlen(text));
		fuzz_check((a->kind == RP_USDT_UNKNOWN) == (a->why != NULL));
		fuzz_check((r.failed >> i & 1) == (a->kind == RP_USDT_UNKNOWN));
		if (a->why)
			fuzz_check(!r.values[i]);
		else
			fuzz_check(r.values[i] == value_of(a));
	}
}

static void check_file(const uint8_t *data, size_t size)
{
	const int fd = fuzz_file(data, size);
	struct sym_usdt *u;

	if (!sym_usdt_read(fd, &u)) {
		for (size_t i = 0; i < u->count; i++) {
			const struct sym_usdt_site *s = &u->items[i];

			fuzz_check(*s->provider && *s->name && s->offset < size &&
				   s->semaphore < size);
			check_args(u->machine, s->args, 0);
		}
		sym_usdt_free(u);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64, EM_386, EM_RISCV };
	char *text;

	if (size > 4 && !memcmp(data, ELFMAG, SELFMAG)) {
		check_file(data, size);
		return 0;
	}
	if (size < 2)
		return 0;
	text = malloc(size);
	if (!text)
		exit(1);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	check_args(machines[data[0] & 3], text, data[0] >> 2);
	free(text);
	return 0;
}
