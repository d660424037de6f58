/* SPDX-License-Identifier: BSD-2-Clause */
/* Values larger than the BPF stack: a new one is copied from a map that has one of them. */
#ifndef PROGRAMS_SHARED_NEW_VALUE_H
#define PROGRAMS_SHARED_NEW_VALUE_H

#include <rawprof/macros.h>

/* clang-format off */
/* The new key has a copy of the only element of the array zeros. R0 = 0 or an error. */
#define MAP_PUT_NEW(map, key, zeros)                                                               \
	SCOPE("MAP_PUT_NEW(" #map ", " #key ", " #zeros ")"),                                      \
		LD_MAP(R1, map),                                                                   \
		FRAME_PTR(R2, key),                                                                \
		LD_MAP_VALUE(R3, zeros, 0),                                                        \
		MOV(R4, BPF_NOEXIST),                                                              \
		CALL(map_update_elem),                                                             \
	END
/*
 * R0 = address of the value under the key, which is new: a copy of the only element of the array
 * zeros. 0 when the map is full. NOEXIST: on another CPU it may have come meanwhile, and then it is
 * that one.
 */
#define MAP_NEW_VALUE(map, key, zeros)                                                             \
	SCOPE("MAP_NEW_VALUE(" #map ", " #key ", " #zeros ")"),                                    \
		MAP_PUT_NEW(map, key, zeros),                                                      \
		MAP_LOOKUP(map, key),                                                              \
	END
/* clang-format on */

#endif
