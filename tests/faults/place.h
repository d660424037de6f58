/* SPDX-License-Identifier: BSD-2-Clause */
/* place.h: what a site is called: "base/grow.c:18 rp_grow < report/intern.c:50 report_...". */
#ifndef FAULTS_PLACE_H
#define FAULTS_PLACE_H

#include <stddef.h>

#include "sites.h"

/* First all sites are added, then all are looked up at once, since that takes long. */
void place_begin(void);
void place_add(const struct site *site);
void place_end(void);
void place_name(const struct site *site, char *out, size_t size);

#endif
