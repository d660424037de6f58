/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of the variants of a program this kernel can run. */
#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <string.h>

#include <rawprof/loader.h>

#include "attach.h"

static int lacks_hook(const struct rp_hook *hook)
{
	const struct rp_btf *btf;
	char type[64];

	if (hook->kind == RP_HOOK_TP)
		return rp_tp_try(hook->group, hook->name);
	if (rp_btf_kernel(&btf))
		return -EOPNOTSUPP;
	snprintf(type, sizeof(type), "btf_trace_%s", hook->name);
	return rp_btf_find(btf, type, BTF_KIND_TYPEDEF) < 0 ? -ENOENT : 0;
}

static bool has_type(const struct rp_need *need)
{
	const struct rp_btf *btf;
	struct asm_access access;
	int takes;

	if (rp_btf_kernel(&btf))
		return false;
	if (need->kind == RP_NEEDS_FIELD && !need->name)
		return rp_btf_size(btf, need->type) > 0;
	if (need->kind == RP_NEEDS_FIELD)
		return !rp_btf_access(btf, need->type, need->name, &access, NULL);
	takes = rp_btf_tracepoint_takes(btf, need->name, (unsigned int)need->number, need->type);
	return takes == (need->kind == RP_NEEDS_ARGUMENT);
}

static int lacks(const struct rp_hook *hook, const struct rp_need *need)
{
	bool has;

	switch (need->kind) {
	case RP_NEEDS_HOOK:
		return lacks_hook(hook);
	case RP_NEEDS_FEATURE:
	case RP_NEEDS_LACK:
		has = rp_has((enum rp_feature)need->number) == (need->kind == RP_NEEDS_FEATURE);
		break;
	default:
		has = has_type(need);
	}
	return has ? 0 : -EOPNOTSUPP;
}

int record_lacks(const struct rp_program *program)
{
	int err = 0;

	if (program->hook.kind == RP_HOOK_TP_BTF && !rp_has(RP_HAS_TP_BTF))
		return -EOPNOTSUPP;
	if ((program->hook.kind == RP_HOOK_FENTRY || program->hook.kind == RP_HOOK_FEXIT) &&
	    !rp_has(RP_HAS_FENTRY))
		return -EOPNOTSUPP;
	for (const struct rp_need *need = program->needs; !err && need && need->kind; need++)
		err = lacks(&program->hook, need);
	return err;
}

int record_choose(const struct rp_program *list, uint32_t role, const struct rp_program **out)
{
	const char *absent = NULL;
	int err = -ENOENT;

	for (const struct rp_program *p = list; p->code.name; p++) {
		if (p->role != role || (absent && p->hook.name && !strcmp(absent, p->hook.name)))
			continue;
		err = record_lacks(p);
		if (!err) {
			*out = p;
			return 0;
		}
		if (err == -ENOENT)
			absent = p->hook.name;
	}
	return err;
}
