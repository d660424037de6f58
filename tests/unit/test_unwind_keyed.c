/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of tables: SipHash as published, and no two inputs alike that differ anywhere. */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/file.h"

static struct unwind_secret secret;

static void setup(void)
{
	uint64_t v = 1;

	for (int i = 0; i < UNWIND_BLOCK_WORDS; i++)
		secret.nh[i] = v = v * 6364136223846793005 + 1442695040888963407;
	secret.sip[0] = v * 3;
	secret.sip[1] = v * 5;
}

/* The authors' test vectors for 128 bits: key 00 01 02 ... 0f, message 00 01 02 ... */
START_TEST(test_siphash)
{
	static const struct {
		int size;
		uint8_t out[16];
	} v[] = {
		{ 0,
		  { 0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7,
		    0x55, 0x02, 0x93 } },
		{ 1,
		  { 0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b,
		    0x22, 0xfc, 0x45 } },
		{ 2,
		  { 0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6,
		    0x0a, 0xff, 0xe4 } },
		{ 15,
		  { 0x54, 0x93, 0xe9, 0x99, 0x33, 0xb0, 0xa8, 0x11, 0x7e, 0x08, 0xec, 0x0f, 0x97,
		    0xcf, 0xc3, 0xd9 } },
	};
	uint8_t bytes[16];
	uint64_t key[2];

	for (int i = 0; i < 16; i++)
		bytes[i] = i;
	memcpy(key, bytes, sizeof(key));
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		uint64_t last = (uint64_t)v[i].size << 56, word;
		struct unwind_sip s;
		struct unwind_key out;
		int at = 0;

		unwind_sip_begin(&s, key);
		for (; at + 8 <= v[i].size; at += 8) {
			memcpy(&word, bytes + at, 8);
			unwind_sip_word(&s, word);
		}
		for (int k = 0; at + k < v[i].size; k++)
			last |= (uint64_t)bytes[at + k] << 8 * k;
		out = unwind_sip_end(&s, last);
		ck_assert_mem_eq(&out, v[i].out, 16);
	}
}
END_TEST

static struct unwind_key key_of(const uint8_t *data, size_t size)
{
	struct unwind_code code = { 0x1000, 0x2000 };
	struct unwind_source s = { .machine = EM_X86_64,
				   .code = &code,
				   .ncode = 1,
				   .addr = 0x3000,
				   .data = (uint8_t *)data,
				   .size = size };

	return unwind_source_key(&s, &secret);
}

static bool same(struct unwind_key a, struct unwind_key b)
{
	return !memcmp(&a, &b, sizeof(a));
}

START_TEST(test_every_bit_counts)
{
	enum { SIZE = 2500 }; /* two blocks and a half */
	static uint8_t data[SIZE + 1];
	struct unwind_key k = key_of(data, SIZE);

	ck_assert(same(k, key_of(data, SIZE)));
	ck_assert(!same(k, key_of(data, SIZE + 1)));
	ck_assert(!same(k, key_of(data, SIZE - 1)));
	for (int bit = 0; bit < 8 * SIZE; bit++) {
		data[bit / 8] ^= 1 << bit % 8;
		ck_assert_msg(!same(k, key_of(data, SIZE)), "bit %d", bit);
		data[bit / 8] ^= 1 << bit % 8;
	}
	secret.nh[UNWIND_BLOCK_WORDS - 1]++;
	data[SIZE - 1]++;
	ck_assert(!same(k, key_of(data, SIZE)));
	data[SIZE - 1]--;
	secret.nh[UNWIND_BLOCK_WORDS - 1]--;
	secret.sip[1]++;
	ck_assert(!same(k, key_of(data, SIZE)));
}
END_TEST

static bool source_differs(void (*change)(struct unwind_source *))
{
	static uint8_t data[64];
	struct unwind_code code[2] = { { 0x1000, 0x2000 }, { 0x4000, 0x5000 } };
	struct unwind_source s = { .machine = EM_X86_64,
				   .code = code,
				   .ncode = 1,
				   .addr = 0x3000,
				   .data = data,
				   .size = sizeof(data) };
	struct unwind_key k = unwind_source_key(&s, &secret);

	change(&s);
	return !same(k, unwind_source_key(&s, &secret));
}

static void other_machine(struct unwind_source *s)
{
	s->machine = EM_AARCH64;
}

static void other_kind(struct unwind_source *s)
{
	s->is_debug_frame = true;
}

static void other_address(struct unwind_source *s)
{
	s->addr++;
}

static void more_code(struct unwind_source *s)
{
	s->ncode++;
}

static void less_code(struct unwind_source *s)
{
	s->code[0].end--;
}

static void trampoline(struct unwind_source *s)
{
	s->trampolines[s->ntrampolines++] = 0x1100;
}

/* All that a table is made from. */
START_TEST(test_all_of_the_source_counts)
{
	ck_assert(source_differs(other_machine));
	ck_assert(source_differs(other_kind));
	ck_assert(source_differs(other_address));
	ck_assert(source_differs(more_code));
	ck_assert(source_differs(less_code));
	ck_assert(source_differs(trampoline));
}
END_TEST

static uint64_t rotate(uint64_t v, int n)
{
	return v << n | v >> (64 - n);
}

/*
 * What could be undone step by step: after any first block, the second one that leads to the state
 * of another file is computed. So the key of libc's table was had by a file of anyone's.
 */
START_TEST(test_no_key_can_be_aimed_at)
{
	uint64_t key[2] = { 2, EM_X86_64 }, a[4] = { 1, 2, 3, 4 }, b[4] = { 5, 6 }, va, vb;
	const uint64_t before[] = { 0x3000, 0, 0x1000, 0x2000 }; /* the address, the code */
	const struct {
		int at, words;
	} pieces[] = { { 0, 1 }, { 2, 2 }, { 4, 0 } };

	for (int i = 0; i < 3; i++) {
		va = key[0] ^ 8 * pieces[i].words;
		vb = key[1];
		if (pieces[i].words) {
			va = rotate(va ^ before[pieces[i].at], 29) * 0x9fb21c651e98df25;
			vb = rotate(vb ^ before[pieces[i].at + 1], 31) * 0xd6e8feb86659fd93;
		}
		key[0] = va ^ rotate(vb, 32);
		key[1] = vb * 0xa0761d6478bd642f + va;
	}
	va = key[0] ^ sizeof(a);
	vb = key[1];
	b[2] = a[2] ^ rotate(va ^ a[0], 29) * 0x9fb21c651e98df25 ^
	       rotate(va ^ b[0], 29) * 0x9fb21c651e98df25;
	b[3] = a[3] ^ rotate(vb ^ a[1], 31) * 0xd6e8feb86659fd93 ^
	       rotate(vb ^ b[1], 31) * 0xd6e8feb86659fd93;
	ck_assert(!same(key_of((uint8_t *)a, sizeof(a)), key_of((uint8_t *)b, sizeof(b))));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("keys of unwind tables");
	TCase *t = tcase_create("keyed");
	SRunner *r = srunner_create(s);
	int failed;

	suite_add_tcase(s, t);
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_siphash);
	tcase_add_test(t, test_every_bit_counts);
	tcase_add_test(t, test_all_of_the_source_counts);
	tcase_add_test(t, test_no_key_can_be_aimed_at);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
