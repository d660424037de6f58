/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For each function the table says how far the stack pointer is below where the function was
 * entered, as pairs of steps: of that number and of the address. Frames that are not empty have the
 * caller's rbp at their upper end.
 *
 * The first function of a goroutine or of a thread ends a walk, and so do those that go over to
 * another stack, where nothing but struct g says what is on the one before.
 */
#include <errno.h>
#include <string.h>

#include "go.h"

enum {
	FLAG_SP_WRITE = 2, /* it moves the stack pointer in ways that the table does not know */
	RETURN_BYTES = 8,
	/* What they cost, in bytes, beside the rows: one is looked for, and what its name is. */
	FUNCTION_WORK = 64,
	STEP_WORK = 2,
};

static bool is_named(const struct unwind_go *go, uint64_t at, const char *name)
{
	const size_t len = strlen(name) + 1;

	return at < go->size && len <= go->size - at && !memcmp(go->data + at, name, len);
}

static bool ends_walks(const struct unwind_go *go, uint64_t name)
{
	static const char *const ends[] = {
		"runtime.goexit",    "runtime.mstart",	    "runtime.rt0_go",	"runtime.mcall",
		"runtime.morestack", "runtime.systemstack", "_rt0_amd64_linux", "_rt0_amd64",
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (is_named(go, name, ends[i]))
			return true;
	return false;
}

/*
 * Calls C on another stack, to which the frame pointer does not move along: it is that of the
 * function which called this one, or of its caller in versions where this one has no frame.
 */
static bool calls_c(const struct unwind_go *go, uint64_t name)
{
	return is_named(go, name, "runtime.asmcgocall");
}

static struct unwind_rule rule_of(int32_t below, bool is_sp_known)
{
	struct unwind_rule r = { .kind = UNWIND_SP, .cfa_off = below + RETURN_BYTES, .ra_off = -8 };

	if (below > 0) {
		r.flags = UNWIND_FP_AT_CFA;
		r.fp_off = -2 * RETURN_BYTES;
		if (!is_sp_known) {
			r.kind = UNWIND_FP;
			r.cfa_off = 2 * RETURN_BYTES;
		}
	}
	return r;
}

static const struct unwind_rule nothing = { .kind = UNWIND_NO_ROW };
static const struct unwind_rule other_stack = { .kind = UNWIND_OTHER_STACK };

struct filling {
	const struct unwind_go *go;
	const struct unwind_go_layout *l;
	uint64_t at, end; /* rows are told from one to the other */
	struct rp_work *work;
	unwind_go_row_fn *row;
	void *ctx;
};

/* @rule holds from @start to @end, of which some may not be asked for. */
static int tell(struct filling *f, uint64_t start, uint64_t end, const struct unwind_rule *rule)
{
	int err = 0;

	if (start < f->at)
		start = f->at;
	if (end > f->end)
		end = f->end;
	if (start >= end)
		return 0;
	if (start > f->at) /* behind what was told before, which may have ended early */
		err = f->row(f->ctx, f->at, &nothing);
	if (!err)
		err = f->row(f->ctx, start, rule);
	f->at = end;
	return err;
}

static int run_function(struct filling *f, const struct unwind_go_function *fn)
{
	static const struct unwind_rule stop = { .kind = UNWIND_STOP };
	const struct unwind_go *go = f->go;
	const uint64_t flag = unwind_go_flags(f->l, fn) + 1,
		       name = f->l->names + unwind_go_number(go, fn->at + GO_NAME, 4);
	const bool is_sp_known = !(unwind_go_number(go, flag, 1) & FLAG_SP_WRITE);
	struct unwind_go_steps s =
		unwind_go_steps(f->l, fn, (uint32_t)unwind_go_number(go, fn->at + GO_PCSP, 4));
	int err = 0;

	if (ends_walks(go, name))
		return tell(f, fn->start, fn->end, &stop);
	if (calls_c(go, name))
		return tell(f, fn->start, fn->end, &other_stack);
	while (!err && s.pc < fn->end && unwind_go_step(go, f->l, &s)) {
		const bool is_depth = s.value >= 0 && s.value <= INT32_MAX - RETURN_BYTES;
		const struct unwind_rule rule = is_depth ? rule_of(s.value, is_sp_known) : nothing;

		/* Many gaps may lie in one function, and each begins with its first step. */
		if (!rp_work_spend(f->work, STEP_WORK))
			return -EFBIG;
		err = tell(f, s.start, s.pc < fn->end ? s.pc : fn->end, &rule);
	}
	return err;
}

int unwind_go_fill(const struct unwind_go *go, uint64_t start, uint64_t end, struct rp_work *work,
		   unwind_go_row_fn *row, void *ctx)
{
	struct unwind_go_layout l;
	struct filling f = { go, &l, start, end, work, row, ctx };
	struct unwind_go_function fn;
	int err = 0;

	if (!unwind_go_layout(go, &l))
		return row(ctx, start, &nothing);
	for (uint64_t i = unwind_go_first(go, &l, start); i < l.nfunc && !err; i++) {
		if (!rp_work_spend(work, FUNCTION_WORK))
			return -EFBIG;
		fn = unwind_go_function(go, &l, i);
		if (fn.start >= end)
			break;
		if (fn.start < fn.end && fn.end > f.at)
			err = run_function(&f, &fn);
	}
	return err || f.at >= end ? err : row(ctx, f.at, &nothing);
}
