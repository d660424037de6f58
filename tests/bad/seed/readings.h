/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tutorial writes (bpf/mov-reg :r1 (bpf/map-ref m)), and there is no map-ref. Three things it
 * may have meant, m having the descriptor 5:
 *
 *	register	mov-reg takes the number of a register: r1 = r5
 *	number		the descriptor itself: r1 = 5
 *	map		the instruction by which the kernel finds a map: two slots, marked as one
 */
#ifndef TESTS_BAD_SEED_READINGS_H
#define TESTS_BAD_SEED_READINGS_H

#define MAP_AS_REGISTER(dst, map) MOV_REG(dst, R5)
#define MAP_AS_NUMBER(dst, map) MOV(dst, 5)
#define MAP_AS_MAP(dst, map) LD_MAP(dst, map)

#endif
