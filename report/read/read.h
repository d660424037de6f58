/* SPDX-License-Identifier: BSD-2-Clause */
/* Profiles that others wrote to files. */
#ifndef REPORT_READ_READ_H
#define REPORT_READ_READ_H

#include "report/file.h"

report_reader report_read_pprof;  /* pprof.c: proto/profile.proto, unpacked */
report_reader report_read_folded; /* folded.c */
report_reader report_read_gzip;	  /* gzip.c: one of these, packed */
report_reader report_read_others; /*   or not */

#endif
