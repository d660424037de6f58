/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The walk as one JSON object; docs/explain.md describes it. What comes again and again stands in
 * tables: values, frames of them, states of those.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json_write.h"
#include "step.h"

static void put_values(struct json *all, struct stepping *s)
{
	struct json values, object;
	struct asm_walk_value v;
	char bits[80];

	json_open(all, "values", &values, '[');
	for (uint32_t i = 0; i < s->walk.nvalues && !asm_walk_value(&s->walk, i, &v); i++) {
		json_next(&values, NULL);
		fputs("\n {", s->out);
		object = (struct json){ .out = s->out };
		json_string(&object, "raw", v.raw);
		json_string(&object, "text", v.text);
		if (v.is_number && v.umin != v.umax) {
			char range[120];

			snprintf(range, sizeof(range), "%" PRId64 "..%" PRId64, v.smin, v.smax);
			json_string(&object, "signed", range);
			snprintf(range, sizeof(range), "%" PRIu64 "..%" PRIu64, v.umin, v.umax);
			json_string(&object, "unsigned", range);
			snprintf(range, sizeof(range), "%" PRId32 "..%" PRId32, v.smin32, v.smax32);
			json_string(&object, "signed32", range);
			snprintf(range, sizeof(range), "%" PRIu32 "..%" PRIu32, v.umin32, v.umax32);
			json_string(&object, "unsigned32", range);
		}
		if (step_bits(s, i, bits))
			json_string(&object, "bits", bits);
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

static void put_frame(struct json *frames, const struct asm_walk_frame *f)
{
	struct json object;
	char place[32];

	json_next(frames, NULL);
	fputs("\n {", frames->out);
	object = (struct json){ .out = frames->out };
	if (f->callsite != ASM_WALK_NONE)
		json_number(&object, "callsite", f->callsite);
	for (uint32_t i = 0; i < f->nplaces; i++) {
		step_place(place, 0, f->places[i].where);
		json_number(&object, place, f->places[i].value);
	}
	fputc('}', frames->out);
}

/* Frames have numbers, and come with the first state that has them: collected, then written. */
static int put_states(struct json *all, struct stepping *s)
{
	struct asm_walk_frame *by_number = calloc(s->walk.nframes + 1, sizeof(*by_number)), f;
	struct json frames, states, state;

	if (!by_number)
		return -ENOMEM;
	json_open(all, "states", &states, '[');
	for (uint32_t i = 0; i < s->walk.nstates; i++) {
		json_open(&states, NULL, &state, '[');
		for (uint32_t k = 0; k < asm_walk_frames(&s->walk, i); k++) {
			asm_walk_frame(&s->walk, i, k, &f);
			by_number[f.number] = f;
			json_number(&state, NULL, f.number);
		}
		fputc(']', s->out);
	}
	fputc(']', s->out);
	json_open(all, "frames", &frames, '[');
	for (uint32_t i = 0; i < s->walk.nframes; i++)
		put_frame(&frames, &by_number[i]);
	fputc(']', s->out);
	free(by_number);
	return 0;
}

static void put_steps(struct json *all, struct stepping *s)
{
	struct json steps, step;

	json_open(all, "steps", &steps, '[');
	for (uint32_t i = 0; i < s->walk.nsteps; i++) {
		const struct asm_walk_step *at = &s->walk.steps[i];

		json_next(&steps, NULL);
		fputs("\n {", s->out);
		step = (struct json){ .out = s->out };
		json_number(&step, "insn", at->insn);
		json_number(&step, "path", at->path);
		json_number(&step, "before", at->state);
		if (asm_walk_after(&s->walk, i) != ASM_WALK_NONE)
			json_number(&step, "after", asm_walk_after(&s->walk, i));
		if (at->pushed != ASM_WALK_NONE)
			json_number(&step, "pushed", at->pushed);
		if (at->safe)
			json_truth(&step, "safe", true);
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

static void put_verdicts(struct json *match, struct stepping *s, const struct asm_walk_match *m,
			 enum asm_walk_how how, const char *key)
{
	struct json list;
	char place[32];

	json_open(match, key, &list, '[');
	for (uint32_t i = 0; i < m->n; i++) {
		const struct asm_walk_verdict *v = &s->walk.verdicts[m->first + i];

		if (v->how != how)
			continue;
		step_place(place, v->frame, v->where);
		json_string(&list, NULL, place);
	}
	fputc(']', s->out);
}

static void put_paths(struct json *all, struct stepping *s)
{
	static const char *const ends[] = { "log", "exit", "safe" };
	const struct asm_walk *w = &s->walk;
	struct json paths, path, match;

	json_open(all, "paths", &paths, '[');
	for (uint32_t i = 0; i < w->npaths; i++) {
		const struct asm_walk_path *p = &w->paths[i];
		const struct asm_walk_match *m = step_match(s, p->last);

		json_next(&paths, NULL);
		fputs("\n {", s->out);
		path = (struct json){ .out = s->out };
		json_number(&path, "first", p->first);
		json_number(&path, "last", p->last);
		if (p->from != ASM_WALK_NONE)
			json_number(&path, "pushed_at", p->from);
		json_string(&path, "end", ends[p->end]);
		if (m) {
			json_open(&path, "covered", &match, '{');
			json_number(&match, "by", m->step);
			json_truth(&match, "loop", m->loop);
			put_verdicts(&match, s, m, ASM_WALK_SAME, "same");
			put_verdicts(&match, s, m, ASM_WALK_WITHIN, "within");
			put_verdicts(&match, s, m, ASM_WALK_IMPRECISE, "imprecise");
			put_verdicts(&match, s, m, ASM_WALK_UNUSED, "unused");
			fputc('}', s->out);
		}
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

static void put_marks(struct json *chain, struct stepping *s, const struct asm_walk_chain *c)
{
	struct json list, mark;
	char place[32];

	json_open(chain, "marks", &list, '[');
	for (uint32_t i = 0; i < c->n; i++) {
		const struct asm_walk_mark *m = &s->walk.marks[c->first + i];

		json_open(&list, NULL, &mark, '[');
		json_number(&mark, NULL, m->step);
		for (int r = 0; r < 11; r++)
			if (m->regs >> r & 1) {
				step_place(place, m->frame, r);
				json_string(&mark, NULL, place);
			}
		for (int b = 0; b < 64; b++)
			if (m->slots >> b & 1) {
				step_place(place, m->frame, -8 * (b + 1));
				json_string(&mark, NULL, place);
			}
		fputc(']', s->out);
	}
	fputc(']', s->out);
}

static void put_chains(struct json *all, struct stepping *s)
{
	struct json chains, chain;

	json_open(all, "precise", &chains, '[');
	for (uint32_t i = 0; i < s->walk.nchains; i++) {
		json_open(&chains, NULL, &chain, '{');
		json_number(&chain, "step", s->walk.chains[i].step);
		put_marks(&chain, s, &s->walk.chains[i]);
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

/* ---- what it walks over */

static void put_became(struct json *insn, const struct explained *e, uint32_t slot,
		       struct xlated_names *names, const struct machine_code *code)
{
	const struct explained_insn *became = &e->insns[slot];
	char text[ASM_DISASM_SIZE];
	struct json list;

	json_open(insn, "xlated", &list, '[');
	for (uint32_t i = 0; i < became->nxlated && names; i++) {
		const uint32_t at = became->xlated + i;

		if (at && e->xlated[at - 1].code == (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		xlated_disasm(names, at, text);
		json_string(&list, NULL, text);
	}
	fputc(']', insn->out);
	json_open(insn, "machine", &list, '[');
	for (size_t i = 0; i < code->n; i++)
		if (code->lines[i].offset >= became->jited &&
		    code->lines[i].offset - became->jited < became->njited)
			json_string(&list, NULL, code->lines[i].text);
	fputc(']', insn->out);
}

static void put_insns(struct json *all, struct stepping *s, struct xlated_names *names,
		      const struct machine_code *code)
{
	const struct explained *e = s->e;
	struct json insns, insn, from;
	char text[ASM_DISASM_SIZE], name[600];

	json_open(all, "instructions", &insns, '[');
	for (uint32_t slot = 0; slot < explained_count(e); slot++) {
		const struct asm_vlog_insn *met = explained_met(e, slot);

		if (!explained_slots(e, slot))
			continue;
		json_next(&insns, NULL);
		fputs("\n {", s->out);
		insn = (struct json){ .out = s->out };
		explained_disasm(e, slot, text);
		explained_name(e, slot, name, sizeof(name));
		json_number(&insn, "insn", slot);
		json_string(&insn, "text", text);
		json_string(&insn, "source", name);
		json_number(&insn, "visits", met ? met->visits : 0);
		json_open(&insn, "from", &from, '[');
		for (uint32_t i = 0; met && i < met->nfrom; i++)
			json_number(&from, NULL, met->from[i]);
		fputc(']', s->out);
		for (uint32_t i = 0; e->has_image && i < e->image.nlabels; i++)
			if (e->image.labels[i].insn == slot)
				json_string(&insn, "label", e->image.labels[i].name);
		for (uint32_t i = 0; e->has_image && i < e->image.nfuncs; i++)
			if (e->image.funcs[i].insn == slot)
				json_string(&insn, "function", e->image.funcs[i].name);
		if (e->insns)
			put_became(&insn, e, slot, names, code);
		fputc('}', s->out);
	}
	fputc(']', s->out);
}

int step_json(struct stepping *s)
{
	struct json all = { .out = s->out };
	struct xlated_names *names = NULL;
	struct machine_code code = { 0 };
	struct asm_refusal refusal;
	int err = 0;

	if (s->e->xlated && s->e->insns)
		err = xlated_names_open(s->e, &names);
	if (!err && s->e->jited)
		err = machine_code_read(s->e, &code);
	err = err == -ENOENT ? 0 : err; /* no objdump */
	if (err)
		goto done;
	fputc('{', s->out);
	json_string(&all, "program", s->e->entry ? s->e->entry->code.name : "a log");
	if (!(s->e->asked && s->e->loaded >= 0) && !explained_refusal(s->e, &refusal)) {
		json_string(&all, "refused", refusal.message);
		json_string(&all, "why", refusal.why);
		asm_refusal_free(&refusal);
	}
	json_number(&all, "left_out", s->walk.left_out);
	put_insns(&all, s, names, &code);
	put_values(&all, s);
	err = put_states(&all, s);
	put_steps(&all, s);
	put_paths(&all, s);
	put_chains(&all, s);
	fputs("}\n", s->out);
done:
	xlated_names_close(names);
	machine_code_free(&code);
	return err;
}
