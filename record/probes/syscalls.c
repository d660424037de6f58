/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls by name. */
#include <errno.h>
#include <fnmatch.h>
#include <stddef.h>

#include <rawprof/loader.h>

#include "list.h"
#include "syscalls.h"

/* Those of kernels after Linux 6.1, whose numbers are the same on all machines. */
enum { NEWER = 451 };
static const char *const newer[] = {
	"cachestat",	     "fchmodat2",	  "map_shadow_stack", "futex_wake",
	"futex_wait",	     "futex_requeue",	  "statmount",	      "listmount",
	"lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules", "mseal",
	"setxattrat",	     "getxattrat",	  "listxattrat",      "removexattrat",
	"open_tree_attr",    "file_getattr",	  "file_setattr",
};

const char *record_syscall_name(uint32_t nr)
{
	if (nr < record_syscall_count && record_syscall_names[nr])
		return record_syscall_names[nr];
	if (nr >= NEWER && nr - NEWER < sizeof(newer) / sizeof(newer[0]))
		return newer[nr - NEWER];
	return NULL;
}

/* They do not return, or not where they were called: their time has no end. */
static bool returns(const char *name)
{
	return strcmp(name, "exit") != 0 && strcmp(name, "exit_group") != 0 &&
	       strcmp(name, "rt_sigreturn") != 0;
}

static int add(struct record_probes *list, size_t at, uint32_t nr, const char *name)
{
	struct record_probe p = { .kind = RECORD_PROBE_SYSCALL,
				  .pattern = at,
				  .name = name,
				  .symbol = name,
				  .syscall = { .nr = nr } };

	if (!returns(name) && !(list->scope.kinds & RECORD_PROBE_BIT(RECORD_PROBE_EVENT)))
		p.why_not = "a call that does not return";
	for (uint32_t i = 0; i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_SYSCALL &&
		    list->items[i]->syscall.nr == nr)
			return 0;
	return record_probes_add(list, &p, NULL);
}

int record_probes_find_syscalls(struct record_probes *list, size_t at)
{
	struct pattern *p = &list->patterns[at];
	struct nearest nearest;
	char hint[300];
	int err = 0;

	record_nearest_begin(&nearest, p->name);
	for (uint32_t nr = 0; !err && nr < RECORD_SYSCALLS; nr++) {
		const char *name = record_syscall_name(nr);

		if (!name)
			continue;
		record_nearest_try(&nearest, name, name);
		if (fnmatch(p->name, name, 0))
			continue;
		p->found++;
		err = add(list, at, nr, name);
	}
	if (err || p->found)
		return err;
	return rp_fail(-ENOENT, "'%s': this machine has no such system call%s", p->text,
		       record_nearest_hint(&nearest, hint, sizeof(hint)));
}
