/* SPDX-License-Identifier: BSD-2-Clause */
/* System calls, all by the same two tracepoints; and tracepoints that were named. */
#include <errno.h>

#include "list.h"
#include "record/recording.h"

static bool is_new(const struct record_probes *list, uint32_t from, enum record_probe_kind kind)
{
	for (uint32_t i = from; i < list->count; i++)
		if (list->items[i]->kind == kind && !list->items[i]->why_not)
			return true;
	return false;
}

/* ---- system calls */

static int attach_calls(struct record_probes *list, enum probe_point point, const char **how)
{
	static const char *const events[] = { "sys_enter", "sys_exit" };
	const struct rp_program *const *at = list->programs.at[point];
	const bool raw = at[PROBE_ON_SYSCALL] && !record_lacks(at[PROBE_ON_SYSCALL]);
	const struct record_probe_use use = { .point = point,
					      .context = raw ? PROBE_ON_SYSCALL
							     : PROBE_ON_SYSCALL_RECORD,
					      .kind = RECORD_PROBE_SYSCALL };
	struct probe_link link = { .point = point };
	const int fd = record_probes_program(list, &use, 0, NULL);
	int err = fd < 0 ? fd : 0;

	if (fd > 0)
		err = raw ? rp_attach_raw_tracepoint(fd, NULL, &link.link)
			  : rp_attach_tracepoint(fd, "raw_syscalls", events[point], 0, &link.link);
	if (err || !fd)
		return err;
	*how = raw ? "tp_btf" : "tracepoint";
	return record_probes_keep_link(list, &link);
}

static int attach_syscalls(struct record_probes *list, uint32_t from)
{
	const char *how = NULL;
	int err = attach_calls(list, PROBE_RETURN, &how);

	if (!err)
		err = attach_calls(list, PROBE_ENTRY, &how);
	for (uint32_t i = from; !err && i < list->count; i++)
		if (list->items[i]->kind == RECORD_PROBE_SYSCALL)
			list->items[i]->how = how;
	return err;
}

/* ---- tracepoints */

static int attach_event(struct record_probes *list, const struct record_probe *p,
			enum probe_point point, const char *group, const char *event)
{
	const bool cookies = rp_has(RP_HAS_PERF_LINK);
	const struct record_probe_use use = { .point = point,
					      .context = PROBE_ON_RECORD,
					      .kind = p->kind,
					      .probe = cookies ? NULL : p,
					      .config = { .by_cookie = cookies,
							  .id = cookies ? 0 : p->id } };
	struct probe_link link = { .point = point };
	const int fd = record_probes_program(list, &use, 0, NULL);
	int err = fd <= 0 ? fd
			  : rp_attach_tracepoint(fd, group, event, cookies ? p->id : 0, &link.link);

	return err || !fd ? err : record_probes_keep_link(list, &link);
}

int record_probes_attach_events(struct record_probes *list, uint32_t from)
{
	int err = is_new(list, from, RECORD_PROBE_SYSCALL) ? attach_syscalls(list, from) : 0;

	for (uint32_t i = from; !err && i < list->count; i++) {
		struct record_probe *p = list->items[i];

		if (p->why_not || p->usdt ||
		    (p->kind != RECORD_PROBE_PAIR && p->kind != RECORD_PROBE_EVENT))
			continue;
		p->how = "tracepoint";
		if (p->kind == RECORD_PROBE_PAIR)
			err = attach_event(list, p, PROBE_RETURN, p->events.end_group,
					   p->events.end_event);
		if (!err)
			err = attach_event(list, p, PROBE_ENTRY, p->events.group, p->events.event);
	}
	return err;
}
