/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for what is remembered of the files that processes map. A process may map ever new ones, as
 * it may make names for memfd_create(2), so those of its user have a share of 64 MB. Root and we
 * pay nothing, nor does anyone for the first 4 MB, which is more than most machines ever map.
 */
#ifndef RECORD_FILE_ROOM_H
#define RECORD_FILE_ROOM_H

#include <rawprof/symbolize.h>

#include "whose.h"

void record_file_room_init(struct record_room *r, struct record_whose *whose);
/* For sym_user_set_room(). */
struct sym_user_room record_file_room(struct record_room *r);

#endif
