/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The difference as one document: {"schema": "rawprof-diff", "version": 1,
 *   "a": {"name", "runs": how many, "total", "info": of the first}, "b": the same,
 *   "weight": {"type", "unit"},
 *   "scale": {"by": "stable", "factor": what B was divided by, "functions": that agree},
 *   "scatter": {"a", "b": how many times what chance has samples vary, 0 if no stream shows it},
 *   "between": how much runs of a side usually differ, of 1, 0 if there is one of each,
 *   "noise", "inflation", "tests", "certain": the p below which a change is one,
 *   "least": {"20", "1": percent by which a function that takes 20 or 1 % has to grow to be found
 *     nine times of ten, 0 if not by 1,000 either},
 *   "functions": [{"name", "kind", "module", "verdict": "self", "total", "carried" or "same",
 *     "self": {"a", "b", "points", "z", "p"}, "total": the same}]}
 * Functions are in the order of the table, all of them; p is corrected for how many there are.
 */
#include "diff.h"
#include "report/json_out.h"

static void put_real(struct json_out *j, const char *name, double v)
{
	report_json_key(j, name);
	report_out_printf(&j->out, "%.6g", v);
}

static void put_side(struct json_out *j, const struct report_diff *d, int side)
{
	report_json_key(j, side == SIDE_A ? "a" : "b");
	report_json_open(j);
	report_json_text(j, "name", side == SIDE_A ? d->options.name_a : d->options.name_b);
	report_json_number(j, "runs", d->runs[side].n);
	report_json_number(j, "total", d->whole.of[side].w);
	report_json_info(j, &d->r[side]->meta.info);
	report_json_close(j);
}

static void put_pair(struct json_out *j, const struct report_diff *d, const char *name,
		     const struct diff_pair *p, double z, double p_value)
{
	report_json_key(j, name);
	report_json_open(j);
	report_json_number(j, "a", p->of[SIDE_A].w);
	report_json_number(j, "b", p->of[SIDE_B].w);
	put_real(j, "points", diff_points(d, p));
	put_real(j, "z", z);
	put_real(j, "p", p_value);
	report_json_close(j);
}

static void put_function(struct json_out *j, const struct report_diff *d, uint32_t name)
{
	static const char *const verdicts[] = { "same", "self", "total", "carried" };
	static const char *const kinds[] = {
		"user", "kernel", "jit", "inlined", "mark", "process"
	};
	const struct diff_row *row = &d->rows[name];

	report_json_open(j);
	report_json_text(j, "name", diff_text(d, name));
	report_json_text(j, "kind", kinds[row->kind]);
	report_json_text(j, "module", row->module);
	report_json_text(j, "verdict", verdicts[row->verdict]);
	put_pair(j, d, "self", &row->self, row->z_self, row->p_self);
	put_pair(j, d, "total", &row->total, row->z_total, row->p_total);
	report_json_close(j);
}

static void put_scale(struct json_out *j, const struct report_diff *d)
{
	static const char *const scales[] = { "stable", "total", "time", "none" };

	report_json_key(j, "scale");
	report_json_open(j);
	report_json_text(j, "by", scales[d->options.scale]);
	put_real(j, "factor", d->scale);
	report_json_known(j, "functions", d->nstable);
	report_json_close(j);
}

int report_diff_write_json(const struct report_diff *d, FILE *file)
{
	struct json_out j = { .out = { .file = file } };
	const struct report *a = d->r[SIDE_A];

	report_json_open(&j);
	report_json_text(&j, "schema", "rawprof-diff");
	report_json_number(&j, "version", 1);
	put_side(&j, d, SIDE_A);
	put_side(&j, d, SIDE_B);
	report_json_key(&j, "weight");
	report_json_open(&j);
	report_json_text(&j, "type", text(a, a->types[d->weight[SIDE_A]].type));
	report_json_text(&j, "unit", text(a, a->types[d->weight[SIDE_A]].unit));
	report_json_close(&j);
	put_scale(&j, d);
	report_json_key(&j, "scatter");
	report_json_open(&j);
	put_real(&j, "a", d->scatter[SIDE_A]);
	put_real(&j, "b", d->scatter[SIDE_B]);
	report_json_close(&j);
	put_real(&j, "between", d->between);
	put_real(&j, "noise", d->noise);
	put_real(&j, "inflation", d->inflation);
	report_json_key(&j, "least");
	report_json_open(&j);
	put_real(&j, "20", 100 * report_diff_least(d, 0.2));
	put_real(&j, "1", 100 * report_diff_least(d, 0.01));
	report_json_close(&j);
	report_json_number(&j, "tests", d->ntests);
	put_real(&j, "certain", DIFF_CERTAIN);
	report_json_key(&j, "functions");
	report_out_putc(&j.out, '[');
	for (uint32_t i = 0; i < d->names.count; i++) {
		report_out_puts(&j.out, i ? ",\n" : "\n");
		put_function(&j, d, d->order[i]);
	}
	report_out_putc(&j.out, ']');
	j.first = false;
	report_json_close(&j);
	report_out_putc(&j.out, '\n');
	return report_out_end(&j.out);
}
