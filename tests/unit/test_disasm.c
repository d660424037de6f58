/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disassembler against what the verifier of Linux 6.18 printed, for every opcode; bytes that
 * are no instruction; names. tests/kernel/test_disasm.c asks the running kernel and bpftool again.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rawprof/asm.h>

struct golden {
	struct bpf_insn insn;
	const char *text;
};

static const struct golden golden[] = {
	{ { 0x20, 0, 0, 0, 4 }, "(20) r0 = *(u32 *)skb[4]" },
	{ { 0x28, 0, 0, 0, 4 }, "(28) r0 = *(u16 *)skb[4]" },
	{ { 0x30, 0, 0, 0, -4 }, "(30) r0 = *(u8 *)skb[-4]" },
	{ { 0x40, 0, 8, 0, 4 }, "(40) r0 = *(u32 *)skb[r8 + 4]" },
	{ { 0x48, 0, 8, 0, 4 }, "(48) r0 = *(u16 *)skb[r8 + 4]" },
	{ { 0x50, 0, 8, 0, -4 }, "(50) r0 = *(u8 *)skb[r8 + -4]" },
	{ { 0x61, 3, 10, -16, 0 }, "(61) r3 = *(u32 *)(r10 -16)" },
	{ { 0x81, 3, 10, -16, 0 }, "(81) r3 = *(s32 *)(r10 -16)" },
	{ { 0x69, 3, 10, -16, 0 }, "(69) r3 = *(u16 *)(r10 -16)" },
	{ { 0x89, 3, 10, -16, 0 }, "(89) r3 = *(s16 *)(r10 -16)" },
	{ { 0x71, 3, 10, -16, 0 }, "(71) r3 = *(u8 *)(r10 -16)" },
	{ { 0x91, 3, 10, -16, 0 }, "(91) r3 = *(s8 *)(r10 -16)" },
	{ { 0x79, 3, 10, -16, 0 }, "(79) r3 = *(u64 *)(r10 -16)" },
	{ { 0x62, 10, 0, -16, -3 }, "(62) *(u32 *)(r10 -16) = -3" },
	{ { 0x6a, 10, 0, -16, -3 }, "(6a) *(u16 *)(r10 -16) = -3" },
	{ { 0x72, 10, 0, -16, -3 }, "(72) *(u8 *)(r10 -16) = -3" },
	{ { 0x7a, 10, 0, -16, -1 }, "(7a) *(u64 *)(r10 -16) = -1" },
	{ { 0x62, 10, 0, -8, 0 }, "(62) *(u32 *)(r10 -8) = 0" },
	{ { 0x63, 10, 8, -16, 0 }, "(63) *(u32 *)(r10 -16) = r8" },
	{ { 0xc3, 3, 10, -16, 256 }, "(c3) r3 = load_acquire((u32 *)(r10 -16))" },
	{ { 0xc3, 10, 8, -16, 272 }, "(c3) store_release((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 0 }, "(c3) lock *(u32 *)(r10 -16) += r8" },
	{ { 0xc3, 10, 8, -16, 64 }, "(c3) lock *(u32 *)(r10 -16) |= r8" },
	{ { 0xc3, 10, 8, -16, 80 }, "(c3) lock *(u32 *)(r10 -16) &= r8" },
	{ { 0xc3, 10, 8, -16, 160 }, "(c3) lock *(u32 *)(r10 -16) ^= r8" },
	{ { 0xc3, 10, 8, -16, 1 }, "(c3) r8 = atomic_fetch_add((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 65 }, "(c3) r8 = atomic_fetch_or((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 81 }, "(c3) r8 = atomic_fetch_and((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 161 }, "(c3) r8 = atomic_fetch_xor((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 225 }, "(c3) r8 = atomic_xchg((u32 *)(r10 -16), r8)" },
	{ { 0xc3, 10, 8, -16, 241 }, "(c3) r0 = atomic_cmpxchg((u32 *)(r10 -16), r0, r8)" },
	{ { 0x6b, 10, 8, -16, 0 }, "(6b) *(u16 *)(r10 -16) = r8" },
	{ { 0xcb, 3, 10, -16, 256 }, "(cb) r3 = load_acquire((u16 *)(r10 -16))" },
	{ { 0xcb, 10, 8, -16, 272 }, "(cb) store_release((u16 *)(r10 -16), r8)" },
	{ { 0x73, 10, 8, -16, 0 }, "(73) *(u8 *)(r10 -16) = r8" },
	{ { 0xd3, 3, 10, -16, 256 }, "(d3) r3 = load_acquire((u8 *)(r10 -16))" },
	{ { 0xd3, 10, 8, -16, 272 }, "(d3) store_release((u8 *)(r10 -16), r8)" },
	{ { 0x7b, 10, 8, -16, 0 }, "(7b) *(u64 *)(r10 -16) = r8" },
	{ { 0xdb, 3, 10, -16, 256 }, "(db) r3 = load_acquire((u64 *)(r10 -16))" },
	{ { 0xdb, 10, 8, -16, 272 }, "(db) store_release((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 0 }, "(db) lock *(u64 *)(r10 -16) += r8" },
	{ { 0xdb, 10, 8, -16, 64 }, "(db) lock *(u64 *)(r10 -16) |= r8" },
	{ { 0xdb, 10, 8, -16, 80 }, "(db) lock *(u64 *)(r10 -16) &= r8" },
	{ { 0xdb, 10, 8, -16, 160 }, "(db) lock *(u64 *)(r10 -16) ^= r8" },
	{ { 0xdb, 10, 8, -16, 1 }, "(db) r8 = atomic64_fetch_add((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 65 }, "(db) r8 = atomic64_fetch_or((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 81 }, "(db) r8 = atomic64_fetch_and((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 161 }, "(db) r8 = atomic64_fetch_xor((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 225 }, "(db) r8 = atomic64_xchg((u64 *)(r10 -16), r8)" },
	{ { 0xdb, 10, 8, -16, 241 }, "(db) r0 = atomic64_cmpxchg((u64 *)(r10 -16), r0, r8)" },
	{ { 0x04, 3, 0, 0, 7 }, "(04) w3 += 7" },
	{ { 0x04, 4, 0, 0, -7 }, "(04) w4 += -7" },
	{ { 0x0c, 3, 8, 0, 0 }, "(0c) w3 += w8" },
	{ { 0x14, 3, 0, 0, 7 }, "(14) w3 -= 7" },
	{ { 0x14, 4, 0, 0, -7 }, "(14) w4 -= -7" },
	{ { 0x1c, 3, 8, 0, 0 }, "(1c) w3 -= w8" },
	{ { 0x24, 3, 0, 0, 7 }, "(24) w3 *= 7" },
	{ { 0x24, 4, 0, 0, -7 }, "(24) w4 *= -7" },
	{ { 0x2c, 3, 8, 0, 0 }, "(2c) w3 *= w8" },
	{ { 0x34, 3, 0, 0, 7 }, "(34) w3 /= 7" },
	{ { 0x34, 4, 0, 0, -7 }, "(34) w4 /= -7" },
	{ { 0x3c, 3, 8, 0, 0 }, "(3c) w3 /= w8" },
	{ { 0x34, 3, 0, 1, 7 }, "(34) w3 s/= 7" },
	{ { 0x34, 3, 0, 1, -7 }, "(34) w3 s/= -7" },
	{ { 0x3c, 3, 8, 1, 0 }, "(3c) w3 s/= w8" },
	{ { 0x44, 3, 0, 0, 7 }, "(44) w3 |= 7" },
	{ { 0x44, 4, 0, 0, -7 }, "(44) w4 |= -7" },
	{ { 0x4c, 3, 8, 0, 0 }, "(4c) w3 |= w8" },
	{ { 0x54, 3, 0, 0, 7 }, "(54) w3 &= 7" },
	{ { 0x54, 4, 0, 0, -7 }, "(54) w4 &= -7" },
	{ { 0x5c, 3, 8, 0, 0 }, "(5c) w3 &= w8" },
	{ { 0x64, 3, 0, 0, 5 }, "(64) w3 <<= 5" },
	{ { 0x6c, 3, 8, 0, 0 }, "(6c) w3 <<= w8" },
	{ { 0x74, 3, 0, 0, 5 }, "(74) w3 >>= 5" },
	{ { 0x7c, 3, 8, 0, 0 }, "(7c) w3 >>= w8" },
	{ { 0x94, 3, 0, 0, 7 }, "(94) w3 %= 7" },
	{ { 0x94, 4, 0, 0, -7 }, "(94) w4 %= -7" },
	{ { 0x9c, 3, 8, 0, 0 }, "(9c) w3 %= w8" },
	{ { 0x94, 3, 0, 1, 7 }, "(94) w3 s%= 7" },
	{ { 0x94, 3, 0, 1, -7 }, "(94) w3 s%= -7" },
	{ { 0x9c, 3, 8, 1, 0 }, "(9c) w3 s%= w8" },
	{ { 0xa4, 3, 0, 0, 7 }, "(a4) w3 ^= 7" },
	{ { 0xa4, 4, 0, 0, -7 }, "(a4) w4 ^= -7" },
	{ { 0xac, 3, 8, 0, 0 }, "(ac) w3 ^= w8" },
	{ { 0xb4, 3, 0, 0, 7 }, "(b4) w3 = 7" },
	{ { 0xb4, 4, 0, 0, -7 }, "(b4) w4 = -7" },
	{ { 0xbc, 3, 8, 0, 0 }, "(bc) w3 = w8" },
	{ { 0xbc, 3, 8, 8, 0 }, "(bc) w3 = (s8)w8" },
	{ { 0xbc, 3, 8, 16, 0 }, "(bc) w3 = (s16)w8" },
	{ { 0xc4, 3, 0, 0, 5 }, "(c4) w3 s>>= 5" },
	{ { 0xcc, 3, 8, 0, 0 }, "(cc) w3 s>>= w8" },
	{ { 0x84, 3, 0, 0, 0 }, "(84) w3 = -w3" },
	{ { 0xd4, 3, 0, 0, 16 }, "(d4) r3 = le16 r3" },
	{ { 0xdc, 3, 0, 0, 16 }, "(dc) r3 = be16 r3" },
	{ { 0xd4, 3, 0, 0, 32 }, "(d4) r3 = le32 r3" },
	{ { 0xdc, 3, 0, 0, 32 }, "(dc) r3 = be32 r3" },
	{ { 0xd4, 3, 0, 0, 64 }, "(d4) r3 = le64 r3" },
	{ { 0xdc, 3, 0, 0, 64 }, "(dc) r3 = be64 r3" },
	{ { 0x85, 0, 0, 0, 7 }, "(85) call bpf_get_prandom_u32#7" },
	{ { 0x15, 0, 0, 1, 77 }, "(15) if r0 == 0x4d goto pc+1" },
	{ { 0x15, 0, 0, 1, -77 }, "(15) if r0 == 0xffffffb3 goto pc+1" },
	{ { 0x1d, 0, 7, 1, 0 }, "(1d) if r0 == r7 goto pc+1" },
	{ { 0x25, 0, 0, 1, 77 }, "(25) if r0 > 0x4d goto pc+1" },
	{ { 0x25, 0, 0, 1, -77 }, "(25) if r0 > 0xffffffb3 goto pc+1" },
	{ { 0x2d, 0, 7, 1, 0 }, "(2d) if r0 > r7 goto pc+1" },
	{ { 0x35, 0, 0, 1, 77 }, "(35) if r0 >= 0x4d goto pc+1" },
	{ { 0x35, 0, 0, 1, -77 }, "(35) if r0 >= 0xffffffb3 goto pc+1" },
	{ { 0x3d, 0, 7, 1, 0 }, "(3d) if r0 >= r7 goto pc+1" },
	{ { 0x45, 0, 0, 1, 77 }, "(45) if r0 & 0x4d goto pc+1" },
	{ { 0x45, 0, 0, 1, -77 }, "(45) if r0 & 0xffffffb3 goto pc+1" },
	{ { 0x4d, 0, 7, 1, 0 }, "(4d) if r0 & r7 goto pc+1" },
	{ { 0x55, 0, 0, 1, 77 }, "(55) if r0 != 0x4d goto pc+1" },
	{ { 0x55, 0, 0, 1, -77 }, "(55) if r0 != 0xffffffb3 goto pc+1" },
	{ { 0x5d, 0, 7, 1, 0 }, "(5d) if r0 != r7 goto pc+1" },
	{ { 0x65, 0, 0, 1, 77 }, "(65) if r0 s> 0x4d goto pc+1" },
	{ { 0x65, 0, 0, 1, -77 }, "(65) if r0 s> 0xffffffb3 goto pc+1" },
	{ { 0x6d, 0, 7, 1, 0 }, "(6d) if r0 s> r7 goto pc+1" },
	{ { 0x75, 0, 0, 1, 77 }, "(75) if r0 s>= 0x4d goto pc+1" },
	{ { 0x75, 0, 0, 1, -77 }, "(75) if r0 s>= 0xffffffb3 goto pc+1" },
	{ { 0x7d, 0, 7, 1, 0 }, "(7d) if r0 s>= r7 goto pc+1" },
	{ { 0xa5, 0, 0, 1, 77 }, "(a5) if r0 < 0x4d goto pc+1" },
	{ { 0xa5, 0, 0, 1, -77 }, "(a5) if r0 < 0xffffffb3 goto pc+1" },
	{ { 0xad, 0, 7, 1, 0 }, "(ad) if r0 < r7 goto pc+1" },
	{ { 0xb5, 0, 0, 1, 77 }, "(b5) if r0 <= 0x4d goto pc+1" },
	{ { 0xb5, 0, 0, 1, -77 }, "(b5) if r0 <= 0xffffffb3 goto pc+1" },
	{ { 0xbd, 0, 7, 1, 0 }, "(bd) if r0 <= r7 goto pc+1" },
	{ { 0xc5, 0, 0, 1, 77 }, "(c5) if r0 s< 0x4d goto pc+1" },
	{ { 0xc5, 0, 0, 1, -77 }, "(c5) if r0 s< 0xffffffb3 goto pc+1" },
	{ { 0xcd, 0, 7, 1, 0 }, "(cd) if r0 s< r7 goto pc+1" },
	{ { 0xd5, 0, 0, 1, 77 }, "(d5) if r0 s<= 0x4d goto pc+1" },
	{ { 0xd5, 0, 0, 1, -77 }, "(d5) if r0 s<= 0xffffffb3 goto pc+1" },
	{ { 0xdd, 0, 7, 1, 0 }, "(dd) if r0 s<= r7 goto pc+1" },
	{ { 0x05, 0, 0, 1, 0 }, "(05) goto pc+1" },
	{ { 0x85, 0, 1, 0, 5 }, "(85) call pc+5" },
	{ { 0xe5, 0, 0, 0, 0 }, "(e5) may_goto pc+0" },
	{ { 0x95, 0, 0, 0, 0 }, "(95) exit" },
	{ { 0x16, 0, 0, 1, 77 }, "(16) if w0 == 0x4d goto pc+1" },
	{ { 0x16, 0, 0, 1, -77 }, "(16) if w0 == 0xffffffb3 goto pc+1" },
	{ { 0x1e, 0, 7, 1, 0 }, "(1e) if w0 == w7 goto pc+1" },
	{ { 0x26, 0, 0, 1, 77 }, "(26) if w0 > 0x4d goto pc+1" },
	{ { 0x26, 0, 0, 1, -77 }, "(26) if w0 > 0xffffffb3 goto pc+1" },
	{ { 0x2e, 0, 7, 1, 0 }, "(2e) if w0 > w7 goto pc+1" },
	{ { 0x36, 0, 0, 1, 77 }, "(36) if w0 >= 0x4d goto pc+1" },
	{ { 0x36, 0, 0, 1, -77 }, "(36) if w0 >= 0xffffffb3 goto pc+1" },
	{ { 0x3e, 0, 7, 1, 0 }, "(3e) if w0 >= w7 goto pc+1" },
	{ { 0x46, 0, 0, 1, 77 }, "(46) if w0 & 0x4d goto pc+1" },
	{ { 0x46, 0, 0, 1, -77 }, "(46) if w0 & 0xffffffb3 goto pc+1" },
	{ { 0x4e, 0, 7, 1, 0 }, "(4e) if w0 & w7 goto pc+1" },
	{ { 0x56, 0, 0, 1, 77 }, "(56) if w0 != 0x4d goto pc+1" },
	{ { 0x56, 0, 0, 1, -77 }, "(56) if w0 != 0xffffffb3 goto pc+1" },
	{ { 0x5e, 0, 7, 1, 0 }, "(5e) if w0 != w7 goto pc+1" },
	{ { 0x66, 0, 0, 1, 77 }, "(66) if w0 s> 0x4d goto pc+1" },
	{ { 0x66, 0, 0, 1, -77 }, "(66) if w0 s> 0xffffffb3 goto pc+1" },
	{ { 0x6e, 0, 7, 1, 0 }, "(6e) if w0 s> w7 goto pc+1" },
	{ { 0x76, 0, 0, 1, 77 }, "(76) if w0 s>= 0x4d goto pc+1" },
	{ { 0x76, 0, 0, 1, -77 }, "(76) if w0 s>= 0xffffffb3 goto pc+1" },
	{ { 0x7e, 0, 7, 1, 0 }, "(7e) if w0 s>= w7 goto pc+1" },
	{ { 0xa6, 0, 0, 1, 77 }, "(a6) if w0 < 0x4d goto pc+1" },
	{ { 0xa6, 0, 0, 1, -77 }, "(a6) if w0 < 0xffffffb3 goto pc+1" },
	{ { 0xae, 0, 7, 1, 0 }, "(ae) if w0 < w7 goto pc+1" },
	{ { 0xb6, 0, 0, 1, 77 }, "(b6) if w0 <= 0x4d goto pc+1" },
	{ { 0xb6, 0, 0, 1, -77 }, "(b6) if w0 <= 0xffffffb3 goto pc+1" },
	{ { 0xbe, 0, 7, 1, 0 }, "(be) if w0 <= w7 goto pc+1" },
	{ { 0xc6, 0, 0, 1, 77 }, "(c6) if w0 s< 0x4d goto pc+1" },
	{ { 0xc6, 0, 0, 1, -77 }, "(c6) if w0 s< 0xffffffb3 goto pc+1" },
	{ { 0xce, 0, 7, 1, 0 }, "(ce) if w0 s< w7 goto pc+1" },
	{ { 0xd6, 0, 0, 1, 77 }, "(d6) if w0 s<= 0x4d goto pc+1" },
	{ { 0xd6, 0, 0, 1, -77 }, "(d6) if w0 s<= 0xffffffb3 goto pc+1" },
	{ { 0xde, 0, 7, 1, 0 }, "(de) if w0 s<= w7 goto pc+1" },
	{ { 0x06, 0, 0, 0, 2 }, "(06) gotol pc+2" },
	{ { 0xb7, 0, 0, 0, 1 }, "(b7) r0 = 1" },
	{ { 0xbf, 6, 1, 0, 0 }, "(bf) r6 = r1" },
	{ { 0x07, 3, 0, 0, 7 }, "(07) r3 += 7" },
	{ { 0x07, 4, 0, 0, -7 }, "(07) r4 += -7" },
	{ { 0x0f, 3, 8, 0, 0 }, "(0f) r3 += r8" },
	{ { 0x17, 3, 0, 0, 7 }, "(17) r3 -= 7" },
	{ { 0x17, 4, 0, 0, -7 }, "(17) r4 -= -7" },
	{ { 0x1f, 3, 8, 0, 0 }, "(1f) r3 -= r8" },
	{ { 0x27, 3, 0, 0, 7 }, "(27) r3 *= 7" },
	{ { 0x27, 4, 0, 0, -7 }, "(27) r4 *= -7" },
	{ { 0x2f, 3, 8, 0, 0 }, "(2f) r3 *= r8" },
	{ { 0x37, 3, 0, 0, 7 }, "(37) r3 /= 7" },
	{ { 0x37, 4, 0, 0, -7 }, "(37) r4 /= -7" },
	{ { 0x3f, 3, 8, 0, 0 }, "(3f) r3 /= r8" },
	{ { 0x37, 3, 0, 1, 7 }, "(37) r3 s/= 7" },
	{ { 0x37, 3, 0, 1, -7 }, "(37) r3 s/= -7" },
	{ { 0x3f, 3, 8, 1, 0 }, "(3f) r3 s/= r8" },
	{ { 0x47, 3, 0, 0, 7 }, "(47) r3 |= 7" },
	{ { 0x47, 4, 0, 0, -7 }, "(47) r4 |= -7" },
	{ { 0x4f, 3, 8, 0, 0 }, "(4f) r3 |= r8" },
	{ { 0x57, 3, 0, 0, 7 }, "(57) r3 &= 7" },
	{ { 0x57, 4, 0, 0, -7 }, "(57) r4 &= -7" },
	{ { 0x5f, 3, 8, 0, 0 }, "(5f) r3 &= r8" },
	{ { 0x67, 3, 0, 0, 5 }, "(67) r3 <<= 5" },
	{ { 0x6f, 3, 8, 0, 0 }, "(6f) r3 <<= r8" },
	{ { 0x77, 3, 0, 0, 5 }, "(77) r3 >>= 5" },
	{ { 0x7f, 3, 8, 0, 0 }, "(7f) r3 >>= r8" },
	{ { 0x97, 3, 0, 0, 7 }, "(97) r3 %= 7" },
	{ { 0x97, 4, 0, 0, -7 }, "(97) r4 %= -7" },
	{ { 0x9f, 3, 8, 0, 0 }, "(9f) r3 %= r8" },
	{ { 0x97, 3, 0, 1, 7 }, "(97) r3 s%= 7" },
	{ { 0x97, 3, 0, 1, -7 }, "(97) r3 s%= -7" },
	{ { 0x9f, 3, 8, 1, 0 }, "(9f) r3 s%= r8" },
	{ { 0xa7, 3, 0, 0, 7 }, "(a7) r3 ^= 7" },
	{ { 0xa7, 4, 0, 0, -7 }, "(a7) r4 ^= -7" },
	{ { 0xaf, 3, 8, 0, 0 }, "(af) r3 ^= r8" },
	{ { 0xb7, 4, 0, 0, -7 }, "(b7) r4 = -7" },
	{ { 0xbf, 3, 8, 8, 0 }, "(bf) r3 = (s8)r8" },
	{ { 0xbf, 3, 8, 16, 0 }, "(bf) r3 = (s16)r8" },
	{ { 0xbf, 3, 8, 32, 0 }, "(bf) r3 = (s32)r8" },
	{ { 0xc7, 3, 0, 0, 5 }, "(c7) r3 s>>= 5" },
	{ { 0xcf, 3, 8, 0, 0 }, "(cf) r3 s>>= r8" },
	{ { 0x87, 3, 0, 0, 0 }, "(87) r3 = -r3" },
	{ { 0xd7, 3, 0, 0, 16 }, "(d7) r3 = bswap16 r3" },
	{ { 0xd7, 3, 0, 0, 32 }, "(d7) r3 = bswap32 r3" },
	{ { 0xd7, 3, 0, 0, 64 }, "(d7) r3 = bswap64 r3" },
};

/* One instruction by itself, in the log's dialect. */
static const char *text_of(const struct bpf_insn *insn)
{
	static char out[ASM_DISASM_SIZE];

	ck_assert_int_eq(asm_disasm(NULL, insn, 1, 0, out, sizeof(out)), 1);
	return out;
}

START_TEST(every_opcode_as_the_verifier_prints_it)
{
	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++)
		ck_assert_str_eq(text_of(&golden[i].insn), golden[i].text);
}
END_TEST

/* The table knows every opcode that there is: all others are said to be unknown. */
START_TEST(every_other_opcode_is_unknown)
{
	int known = 0;

	for (int code = 0; code < 256; code++) {
		struct bpf_insn insn = { .code = (uint8_t)code };
		char unknown[32];
		size_t i = 0;

		snprintf(unknown, sizeof(unknown), "unknown opcode %02x", code);
		while (i < sizeof(golden) / sizeof(golden[0]) && golden[i].insn.code != code)
			i++;
		if (i < sizeof(golden) / sizeof(golden[0]))
			known++;
		else if (code == (BPF_LD | BPF_IMM | BPF_DW))
			ck_assert_str_eq(text_of(&insn), "invalid bpf_ld_imm64 insn");
		else
			ck_assert_str_eq(text_of(&insn), unknown);
	}
	ck_assert_int_eq(known, 127);
}
END_TEST

START_TEST(imm64_takes_two_slots)
{
	const struct bpf_insn insns[] = { { 0x18, 2, 0, 0, 0x11223344 },
					  { 0, 0, 0, 0, 0x55667788 },
					  { 0x18, 3, 0, 0, -1 },
					  { 0, 0, 0, 0, 0 } };
	char out[ASM_DISASM_SIZE];

	ck_assert_int_eq(asm_disasm(NULL, insns, 4, 0, out, sizeof(out)), 2);
	ck_assert_str_eq(out, "(18) r2 = 0x5566778811223344");
	ck_assert_int_eq(asm_disasm(NULL, insns, 4, 2, out, sizeof(out)), 2);
	ck_assert_str_eq(out, "(18) r3 = 0xffffffff");
}
END_TEST

START_TEST(imm64_without_its_second_half)
{
	const struct bpf_insn insns[] = { { 0x18, 2, 0, 0, 1 }, { 0xb7, 0, 0, 0, 0 } };
	const struct bpf_insn dirty[][2] = { { { 0x18, 2, 0, 0, 1 }, { 0, 1, 0, 0, 0 } },
					     { { 0x18, 2, 0, 0, 1 }, { 0, 0, 1, 0, 0 } },
					     { { 0x18, 2, 0, 0, 1 }, { 0, 0, 0, 1, 0 } } };
	struct bpf_insn *last = malloc(sizeof(*last)); /* the sanitizer sees a read behind it */
	char out[ASM_DISASM_SIZE];

	ck_assert_int_eq(asm_disasm(NULL, insns, 2, 0, out, sizeof(out)), 1);
	ck_assert_str_eq(out, "invalid bpf_ld_imm64 insn");
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(asm_disasm(NULL, dirty[i], 2, 0, out, sizeof(out)), 1);
		ck_assert_str_eq(out, "invalid bpf_ld_imm64 insn");
	}
	*last = insns[0];
	ck_assert_int_eq(asm_disasm(NULL, last, 1, 0, out, sizeof(out)), 1);
	ck_assert_str_eq(out, "invalid bpf_ld_imm64 insn");
	free(last);
}
END_TEST

START_TEST(atomic_operations_that_do_not_exist)
{
	static const int32_t none[] = { 2,    0x10,  0x20,  0x30,	0xe0,
					0xf0, 0x101, 0x111, 0x7fffffff, -1 };
	static const uint8_t codes[] = { 0xc3, 0xcb, 0xd3, 0xdb };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		for (size_t c = 0; c < sizeof(codes); c++) {
			struct bpf_insn insn = { codes[c], 1, 2, 0, none[i] };
			char bug[16];

			snprintf(bug, sizeof(bug), "BUG_%02x", codes[c]);
			ck_assert_str_eq(text_of(&insn), bug);
		}
}
END_TEST

START_TEST(calls)
{
	static const struct golden seen[] = {
		{ { 0x85, 0, 0, 0, 27 }, "(85) call bpf_get_stackid#27" },
		{ { 0x85, 0, 0, 0, 9999 }, "(85) call unknown#9999" },
		{ { 0x85, 0, 0, 0, -5 }, "(85) call unknown#-5" },
		{ { 0x85, 0, 1, 0, -5 }, "(85) call pc-5" },
		{ { 0x85, 0, 2, 0, 0 }, "(85) call #0" },
		{ { 0x85, 0, 3, 0, 1 }, "(85) call unknown#1" },
	};
	static const struct asm_disasm_options xlated = { .dialect = ASM_DIALECT_XLATED };
	static const struct golden hidden[] = {
		{ { 0x85, 0, 0, 0, 0 }, "(85) call bpf_unspec#0" },
		{ { 0x85, 0, 1, 2, 1 }, "(85) call pc+2#0x0" },
		{ { 0x85, 0, 2, 0, 0 }, "(85) call 0x0#0" },
	};
	char out[ASM_DISASM_SIZE];

	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		ck_assert_str_eq(text_of(&seen[i].insn), seen[i].text);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		ck_assert_int_eq(asm_disasm(&xlated, &hidden[i].insn, 1, 0, out, sizeof(out)), 1);
		ck_assert_str_eq(out, hidden[i].text);
	}
}
END_TEST

/* Fields that the verifier refuses to see set do not change what it prints. */
START_TEST(reserved_fields)
{
	static const struct golden odd[] = {
		{ { 0x84, 3, 1, 5, 7 }, "(84) w3 = -w3" },
		{ { 0x04, 3, 1, 1, 7 }, "(04) w3 += 7" },
		{ { 0x0c, 15, 15, 1, 7 }, "(0c) w15 += w15" },
		{ { 0xbc, 3, 1, 32, 0 }, "(bc) w3 = (s32)w1" },
		{ { 0xbc, 3, 1, 1, 0 }, "(bc) w3 = w1" },
		{ { 0xbf, 3, 1, 7, 0 }, "(bf) r3 = r1" },
		{ { 0xbf, 3, 1, 1, 0x20001 }, "(bf) r3 = addr_space_cast(r1, 2, 1)" },
		{ { 0xbf, 3, 1, -1, 0 }, "(bf) r3 = &(void __percpu *)(r1)" },
		{ { 0xd4, 3, 0, 0, -5 }, "(d4) r3 = le-5 r3" },
		{ { 0x05, 0, 0, -32768, 0 }, "(05) goto pc-32768" },
		{ { 0x06, 0, 0, 0, -2147483647 - 1 }, "(06) gotol pc-2147483648" },
		{ { 0xe5, 0, 0, -2, 0 }, "(e5) may_goto pc-2" },
		{ { 0x61, 3, 1, -32768, 0 }, "(61) r3 = *(u32 *)(r1 -32768)" },
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		ck_assert_str_eq(text_of(&odd[i].insn), odd[i].text);
}
END_TEST

START_TEST(xlated_maps)
{
	static const struct asm_disasm_options xlated = { .dialect = ASM_DIALECT_XLATED };
	const struct bpf_insn insns[] = { { 0x18, 2, 1, 0, 45 }, { 0, 0, 0, 0, 0 },
					  { 0x18, 2, 2, 0, 44 }, { 0, 0, 0, 0, 16 },
					  { 0x18, 2, 4, 0, 10 }, { 0, 0, 0, 0, 0 } };
	char out[ASM_DISASM_SIZE];

	asm_disasm(&xlated, insns, 6, 0, out, sizeof(out));
	ck_assert_str_eq(out, "(18) r2 = map[id:45]");
	asm_disasm(&xlated, insns, 6, 2, out, sizeof(out));
	ck_assert_str_eq(out, "(18) r2 = map[id:44][0]+16");
	asm_disasm(&xlated, insns, 6, 4, out, sizeof(out));
	ck_assert_str_eq(out, "(18) r2 = subprog[+10]");
	asm_disasm(NULL, insns, 6, 4, out, sizeof(out));
	ck_assert_str_eq(out, "(18) r2 = 0xa");
}
END_TEST

static const struct asm_map maps[] = {
	{ .name = "counts",
	  .type = BPF_MAP_TYPE_HASH,
	  .key_size = 4,
	  .value_size = 8,
	  .max_entries = 8 },
	{ .name = "state",
	  .type = BPF_MAP_TYPE_ARRAY,
	  .key_size = 4,
	  .value_size = 64,
	  .max_entries = 1 },
};
static const struct asm_insn named_lines[] = {
	LD_MAP(R1, counts),
	LD_MAP_VALUE(R2, state, 16),
	JEQ(R2, 0, out),
	LD_FUNC(R2, step),
	CALL_FUNC(step),
	JA(out),
	LABEL(out),
	MOV(R0, 0),
	EXIT(),
	FUNC(step),
	MOV(R0, 0),
	EXIT(),
};

START_TEST(names_of_an_image)
{
	static const char *const want[] = {
		"(18) r1 = map[name:counts]",
		"(18) r2 = map[name:state][0]+16",
		"(15) if r2 == 0x0 goto pc+4 <out>",
		"(18) r2 = 0x5 <step>",
		"(85) call pc+3 <step>",
		"(05) goto pc+0 <out>",
		"(b7) r0 = 0",
		"(95) exit",
		"(b7) r0 = 0",
		"(95) exit",
	};
	const struct asm_program program = { .name = "named", ASM_LINES(named_lines) };
	const struct asm_bindings bindings = { .maps = maps, .nmaps = 2 };
	struct asm_disasm_options options;
	char out[ASM_DISASM_SIZE];
	struct asm_image image;
	size_t line = 0;

	ck_assert_int_eq(asm_assemble(&program, &bindings, &image, asm_diag_print, NULL), 0);
	options = asm_disasm_options(&image);
	for (uint32_t at = 0; at < image.ninsns; line++) {
		int slots = asm_disasm(&options, image.insns, image.ninsns, at, out, sizeof(out));

		ck_assert_int_gt(slots, 0);
		ck_assert_uint_lt(line, sizeof(want) / sizeof(want[0]));
		ck_assert_str_eq(out, want[line]);
		at += (uint32_t)slots;
	}
	ck_assert_uint_eq(line, sizeof(want) / sizeof(want[0]));
	asm_image_free(&image);
}
END_TEST

static const char *called(void *ctx, uint32_t slot)
{
	return slot == *(uint32_t *)ctx ? "__htab_map_lookup_elem" : NULL;
}

START_TEST(names_of_what_is_called)
{
	uint32_t slot = 1;
	const struct asm_disasm_options options = { .dialect = ASM_DIALECT_XLATED,
						    .ctx = &slot,
						    .call = called };
	const struct bpf_insn insns[] = { { 0x85, 0, 0, 0, 1 },
					  { 0x85, 0, 0, 0, 330864 },
					  { 0x85, 0, 0, 0, -16 } };
	char out[ASM_DISASM_SIZE];

	asm_disasm(&options, insns, 3, 0, out, sizeof(out));
	ck_assert_str_eq(out, "(85) call bpf_map_lookup_elem#1");
	asm_disasm(&options, insns, 3, 1, out, sizeof(out));
	ck_assert_str_eq(out, "(85) call __htab_map_lookup_elem#330864");
	asm_disasm(&options, insns, 3, 2, out, sizeof(out));
	ck_assert_str_eq(out, "(85) call 0xfffffffffffffff0#-16");
}
END_TEST

START_TEST(capacity)
{
	const struct bpf_insn exit_insn = { .code = 0x95 };
	char out[16] = "untouched";

	ck_assert_int_eq(asm_disasm(NULL, &exit_insn, 1, 1, out, sizeof(out)), -EINVAL);
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(asm_disasm(NULL, &exit_insn, 0, 0, out, sizeof(out)), -EINVAL);
	ck_assert_int_eq(asm_disasm(NULL, &exit_insn, 1, 0, out, 9), -ENOSPC);
	ck_assert_str_eq(out, "(95) exi");
	ck_assert_int_eq(asm_disasm(NULL, &exit_insn, 1, 0, out, 10), 1);
	ck_assert_str_eq(out, "(95) exit");
	ck_assert_int_eq(asm_disasm(NULL, &exit_insn, 1, 0, NULL, 0), -ENOSPC);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("disasm");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tests, every_opcode_as_the_verifier_prints_it);
	tcase_add_test(tests, every_other_opcode_is_unknown);
	tcase_add_test(tests, imm64_takes_two_slots);
	tcase_add_test(tests, imm64_without_its_second_half);
	tcase_add_test(tests, atomic_operations_that_do_not_exist);
	tcase_add_test(tests, calls);
	tcase_add_test(tests, reserved_fields);
	tcase_add_test(tests, xlated_maps);
	tcase_add_test(tests, names_of_an_image);
	tcase_add_test(tests, names_of_what_is_called);
	tcase_add_test(tests, capacity);
	suite_add_tcase(suite, tests);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
