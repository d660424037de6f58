/* SPDX-License-Identifier: BSD-2-Clause */
/* Unwind tables are put into the cache by the keeper, as the recording may write no file. */
#ifndef RECORD_TABLE_KEEPER_H
#define RECORD_TABLE_KEEPER_H

#include "keeper.h"

/* For record_keeper_start(), at this place: what the recording asks for. */
enum { RECORD_DUTY_TABLES, RECORD_DUTIES };
extern const struct record_duty record_table_duty;

struct unwind_cache;
void record_tables_kept_by(struct unwind_cache *cache, struct record_keeper *keeper);

#endif
