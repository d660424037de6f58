/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include <rawprof/unwind.h>

#include "names.h"

/*
 * Frames that have been named: open addressing, at most half full. owner is 0 for the kernel. A slot is empty
 * while its address is 0.
 */
struct slot {
	uint64_t addr;
	uint64_t owner;
	uint32_t id;
	bool is_return;
};

struct names {
	struct session *session;
	struct report *report;
	struct slot *slots;
	size_t nslots, used;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;

	return h ^ h >> 32;
}

static struct slot *find(struct slot *slots, size_t nslots, const struct slot *wanted)
{
	size_t i = mix(wanted->addr, wanted->owner) & (nslots - 1);

	while (slots[i].addr && (slots[i].addr != wanted->addr || slots[i].owner != wanted->owner ||
				 slots[i].is_return != wanted->is_return))
		i = (i + 1) & (nslots - 1);
	return &slots[i];
}

static int grow(struct names *names)
{
	size_t nslots = names->nslots ? names->nslots * 2 : 1024;
	struct slot *slots = calloc(nslots, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < names->nslots; i++)
		if (names->slots[i].addr)
			*find(slots, nslots, &names->slots[i]) = names->slots[i];
	free(names->slots);
	names->slots = slots;
	names->nslots = nslots;
	return 0;
}

int names_open(struct names **out, struct session *s, struct report *report)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->session = s;
	names->report = report;
	*out = names;
	return 0;
}

void names_close(struct names *names)
{
	if (names)
		free(names->slots);
	free(names);
}

static enum report_frame_kind frame_kind(enum sym_kind kind)
{
	switch (kind) {
	case SYM_KERNEL:
	case SYM_MODULE:
	case SYM_BPF:
		return REPORT_KERNEL;
	case SYM_JIT:
		return REPORT_JIT;
	case SYM_UNKNOWN:
	case SYM_USER:
	case SYM_VDSO:
		break;
	}
	return REPORT_USER;
}

void names_frame(struct session *s, const struct name_owner *owner, uint64_t addr, bool is_return,
		 struct report_frame *out)
{
	struct sym_frame f;

	if (owner)
		sym_user_lookup(s->user, owner->pid, owner->time, addr, is_return, &f);
	else
		sym_kernel_lookup(s->kernel, addr, is_return, &f);
	if (f.name && !s->opt->keep_mangled)
		f.name = sym_demangle(s->demangler, f.name);
	*out = (struct report_frame){
		.name = f.name,
		.module = f.module,
		.build_id = f.build_id,
		.address = addr,
		.symbol_offset = f.offset,
		.map_start = f.map_start,
		.map_end = f.map_end,
		.map_offset = f.map_offset,
		.module_addr = f.module_addr,
		.kind = frame_kind(f.kind),
		.is_return = is_return,
	};
}

bool names_take_mark(const struct name_owner *owner, uint64_t *addr)
{
	if (!owner || !(*addr & UNWIND_PC_EXACT))
		return true;
	*addr &= ~UNWIND_PC_EXACT;
	return false;
}

/* The owner as one number that is never 0, which is the kernel. */
static uint64_t owner_number(const struct name_owner *owner)
{
	return owner ? mix(owner->pid, owner->generation) | 1 : 0;
}

static int intern_one(struct names *names, const struct name_owner *owner, struct slot wanted,
		      uint32_t *id)
{
	struct report_frame frame;
	struct slot *slot;
	int err = 0;

	if (names->used * 2 >= names->nslots)
		err = grow(names);
	if (err)
		return err;
	slot = find(names->slots, names->nslots, &wanted);
	if (slot->addr) {
		*id = slot->id;
		return 0;
	}
	names_frame(names->session, owner, wanted.addr, wanted.is_return, &frame);
	err = report_frame_add(names->report, &frame, id);
	if (!err && wanted.addr) { /* address 0, of a broken stack, is not worth remembering */
		*slot = wanted;
		slot->id = *id;
		names->used++;
	}
	return err;
}

int names_intern(struct names *names, const struct name_owner *owner, const uint64_t *addrs,
		 size_t n, bool innermost, uint32_t *ids)
{
	struct slot wanted = { .owner = owner_number(owner) };
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		wanted.addr = addrs[i];
		wanted.is_return = names_take_mark(owner, &wanted.addr) && (i || !innermost);
		err = intern_one(names, owner, wanted, &ids[i]);
	}
	return err;
}
