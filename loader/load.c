/* SPDX-License-Identifier: BSD-2-Clause */
/* load.c: from a DSL program to a loaded one: kernel facts for the assembler, and the assembler's
 * lines for the kernel's messages. */
#include "internal.h"

#include <rawprof/asm.h>
#include <rawprof/verifier.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- what the assembler asks of the kernel */

static int say_why(char *why, int err, const char *text)
{
	if (why)
		snprintf(why, ASM_WHY_SIZE, "%s", text);
	return err;
}

/* The kernel's BTF, or why there is none. */
static int kernel_btf(const struct rp_btf **btf, char *why)
{
	const int err = rp_btf_kernel(btf);

	if (err == -ENOENT)
		return say_why(why, err,
			       "this kernel carries no BTF (/sys/kernel/btf/vmlinux, "
			       "CONFIG_DEBUG_INFO_BTF)");
	if (err)
		return say_why(
			why, err,
			err == -EMFILE || err == -ENFILE
				? "its BTF is not read: too many open files, raise `ulimit -n`"
				: "its BTF (/sys/kernel/btf/vmlinux) cannot be read");
	return 0;
}

int rp_bind_field(void *ctx, const char *type, const char *path, struct asm_access *out, char *why)
{
	const struct rp_btf *btf;
	const int err = kernel_btf(&btf, why);

	(void)ctx;
	return err ? err : rp_btf_access(btf, type, path, out, why);
}

int rp_bind_kfunc(void *ctx, const char *name, char *why)
{
	const struct rp_btf *btf;
	int id = kernel_btf(&btf, why);

	(void)ctx;
	if (id)
		return id;
	id = rp_btf_find(btf, name, BTF_KIND_FUNC);
	return id == -ENOENT ? say_why(why, id, "this kernel has no such function") : id;
}

int rp_bind_tp_field(void *ctx, const char *group, const char *event, const char *field,
		     struct asm_access *out, char *why)
{
	struct rp_tp_format format;
	const struct rp_tp_field *f;
	int err;

	(void)ctx;
	err = rp_tp_format_read(group, event, &format, why, ASM_WHY_SIZE);
	if (err)
		return err;
	f = rp_tp_format_field(&format, field);
	if (!f) {
		err = say_why(why, -ENOENT, "this kernel's tracepoint has no such field");
	} else if (f->common) {
		err = say_why(why, -EOPNOTSUPP,
			      "BPF programs may not read the first 8 bytes of the record");
	} else {
		*out = (struct asm_access){ .nhops = 1 };
		out->hop[0].offset = f->offset;
		/* Of a variable-length field the record holds a u32: length << 16 | offset. */
		out->hop[0].size = f->data_loc || f->rel_loc ? 4 : f->size;
		out->hop[0].is_signed = f->is_signed && !f->data_loc && !f->rel_loc;
	}
	rp_tp_format_free(&format);
	return err;
}

/* ---- loading */

static void report(void *ctx, const struct asm_diag *d)
{
	const bool error = d->severity == ASM_ERROR;
	char line[16] = "";

	(void)ctx;
	if (d->line)
		snprintf(line, sizeof(line), ":%u", d->line);
	if (d->text && *d->text)
		rp_log(error ? RP_ERROR : RP_WARN, "%s%s: %s: %s\n\t%s", d->file, line,
		       error ? "error" : "warning", d->message, d->text);
	else
		rp_log(error ? RP_ERROR : RP_WARN, "%s%s: %s: %s", d->file, line,
		       error ? "error" : "warning", d->message);
}

static const char *line_of(void *ctx, uint32_t insn)
{
	static char text[512];
	const struct asm_image *image = ctx;

	/* The second slot of a 64-bit constant has no text: its first has. */
	if (!image->text_of[insn] && insn > 0)
		insn--;
	if (!image->text_of[insn])
		return NULL;
	snprintf(text, sizeof(text), "%s:%u: %s", image->file_of[insn],
		 image->program->lines[image->line_of[insn]].line, image->text_of[insn]);
	return text;
}

void rp_prog_of_image(const struct asm_image *image, struct rp_prog *out)
{
	const struct asm_program *program = image->program;

	*out = (struct rp_prog){
		.name = program->name,
		.type = program->type,
		.attach_type = program->attach_type,
		.flags = program->flags,
		.license = program->license,
		.target = program->target,
		.insns = image->insns,
		.ninsns = image->ninsns,
		.btf = image->btf,
		.btf_size = image->btf_size,
		.func_info = image->func_info,
		.nfunc_info = image->nfunc_info,
		.line_info = image->line_info,
		.nline_info = image->nline_info,
		.line = line_of,
		.line_ctx = (void *)(uintptr_t)image,
	};
}

/* Without descriptors the assembler wrote numbers of maps in their place: 0, 1, 2 … of this
 * process. */
static int check_map_fds(const struct asm_image *image, const struct asm_bindings *bindings)
{
	for (uint32_t i = 0; !bindings->map_fds && i < image->ninsns; i++) {
		const struct asm_insn *line = &image->program->lines[image->line_of[i]];

		if (line->kind == ASM_LD_MAP || line->kind == ASM_LD_MAP_VALUE)
			return rp_fail(
				-EINVAL,
				"%s:%u: error: map '%s' has no descriptor: bindings.map_fds is "
				"missing (rp_maps_create() makes them)\n\t%s",
				image->file_of[i], line->line, line->sym, image->text_of[i]);
	}
	return 0;
}

/* Of what the lint finds in a program that the verifier refused without saying where. */
static void report_errors(void *ctx, const struct asm_diag *diag)
{
	if (diag->severity == ASM_ERROR)
		report(ctx, diag);
}

/*
 * With RAWPROF_EXPLAIN=1 in the environment every program that is loaded is explained; not with
 * file capabilities, where the environment is the user's own.
 */
static void explain_if_asked(const struct rp_prog *prog)
{
	const char *asked = secure_getenv("RAWPROF_EXPLAIN");
	char *log;
	int fd;

	if (!asked || !*asked || !strcmp(asked, "0"))
		return;
	fd = rp_prog_load_verbose(prog, 2, &log);
	if (fd >= 0)
		close(fd);
	if (log)
		rp_log_lines(RP_ERROR, log, "the verifier, of %s:\n", prog->name); /* -q too */
	free(log);
}

static int load_image(const struct asm_image *image, const struct asm_bindings *bindings)
{
	struct rp_prog prog;
	bool located;
	int fd;

	rp_prog_of_image(image, &prog);
	explain_if_asked(&prog);
	fd = rp_prog_load_located(&prog, &located);
	if (fd < 0 && !located)
		asm_lint(image, bindings, report_errors, NULL);
	return fd;
}

/* What the caller left out of the bindings is the running kernel's. */
static int assemble(const struct asm_program *program, const struct asm_bindings *bind,
		    struct asm_bindings *bindings, struct asm_image *image)
{
	int err;

	*bindings = bind ? *bind : (struct asm_bindings){ 0 };
	if (!bindings->field)
		bindings->field = rp_bind_field;
	if (!bindings->tp_field)
		bindings->tp_field = rp_bind_tp_field;
	if (!bindings->kfunc)
		bindings->kfunc = rp_bind_kfunc;
	err = asm_assemble(program, bindings, image, report, NULL);
	if (err)
		return err;
	err = check_map_fds(image, bindings);
	if (err)
		asm_image_free(image);
	return err;
}

int rp_program_load(const struct asm_program *program, const struct asm_bindings *bind)
{
	struct asm_bindings bindings;
	struct asm_image image;
	int fd = assemble(program, bind, &bindings, &image);

	if (fd)
		return fd;
	fd = load_image(&image, &bindings);
	asm_image_free(&image);
	return fd;
}

int rp_program_explain(const struct asm_program *program, const struct asm_bindings *bind,
		       char **log)
{
	struct asm_bindings bindings;
	struct asm_image image;
	struct rp_prog prog;
	int fd;

	*log = NULL;
	fd = assemble(program, bind, &bindings, &image);
	if (fd)
		return fd;
	rp_prog_of_image(&image, &prog);
	fd = rp_prog_load_verbose(&prog, 2, log);
	asm_image_free(&image);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}
