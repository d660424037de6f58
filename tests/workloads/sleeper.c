/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sleeper [SECONDS]: does nothing. A profile of it is empty, and that is a result, not an error.
 */
#include <unistd.h>

#include "work.h"

int main(int argc, char **argv)
{
	usleep((useconds_t)(seconds_arg(argc, argv, 1, 10) * 1e6));
	return 0;
}
