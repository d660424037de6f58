/* SPDX-License-Identifier: BSD-2-Clause */
/* Every program there is: the lists of all profilers. */
#include <string.h>

#include "programs/cpu.h"
#include "programs/io/io.h"
#include "programs/lock/lock.h"
#include "programs/mem/faults.h"
#include "programs/mem/kernel.h"
#include "programs/mem/user.h"
#include "programs/shared/asleep.h"
#include "programs/shared/follow.h"
#include "programs/shared/ksym.h"
#include "programs/threads/offcpu.h"
#include "programs/threads/runq.h"
#include "programs/threads/wall.h"

/* clang-format off */
const struct rp_program *const rp_program_lists[] = {
	rp_cpu_programs,
	rp_offcpu_programs,
	rp_offcpu_waking_programs,
	rp_runq_programs,
	rp_wall_programs,
	rp_wall_exec_programs,
	rp_asleep_programs,
	rp_io_programs,
	rp_io_bio_programs,
	rp_io_classic_programs,
	rp_io_call_programs,
	rp_lock_kernel_programs,
	rp_lock_user_programs,
	rp_lock_hold_programs,
	rp_mem_user_programs,
	rp_mem_free_programs,
	rp_mem_map_programs,
	rp_mem_kernel_programs,
	rp_mem_faults_programs,
	rp_mem_growth_programs,
	rp_follow_programs,
	rp_unwind_follow_programs,
	rp_ksym_programs,
	NULL,
};
/* clang-format on */

const struct rp_program *rp_program_of(const struct rp_program *list, uint32_t roles)
{
	while (list->code.name && !(list->role & roles))
		list++;
	return list->code.name ? list : NULL;
}

const struct rp_program *rp_program_number(size_t number)
{
	for (const struct rp_program *const *list = rp_program_lists; *list; list++)
		for (const struct rp_program *p = *list; p->code.name; p++)
			if (!number--)
				return p;
	return NULL;
}

const struct rp_program *rp_program_named(const char *name)
{
	const struct rp_program *p;
	size_t i = 0;

	while ((p = rp_program_number(i++)) && strcmp(p->code.name, name))
		;
	return p;
}
