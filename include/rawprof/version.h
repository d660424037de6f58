/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RAWPROF_VERSION_H
#define RAWPROF_VERSION_H

#define RAWPROF_VERSION "0.1.0"

#endif
