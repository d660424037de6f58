/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel made of the instructions: it inlines look-ups, puts addresses in the place of
 * descriptors and helper numbers, takes out what cannot be reached, and compiles. Its source lines
 * survive all of that, and since every instruction of ours has one, they tell what came from what.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

#include "base/machine.h"
#include "explain.h"

/* ---- from ours to theirs */

static bool same_line(const struct bpf_line_info *a, const struct bpf_line_info *b)
{
	return a->file_name_off == b->file_name_off && a->line_off == b->line_off &&
	       a->line_col == b->line_col;
}

/* Lines keep their order; one that is missing was taken out with its instruction. */
static void match_lines(struct explained *e, const struct rp_prog_line *lines, uint32_t n)
{
	const struct asm_image *image = &e->image;
	uint32_t at = 0;

	for (uint32_t i = 0; i < image->nline_info && at < n; i++) {
		struct explained_insn *became = &e->insns[image->line_info[i].insn_off];
		uint32_t next = at + 1;

		if (!same_line(&image->line_info[i], &lines[at].info))
			continue;
		became->xlated = lines[at].info.insn_off;
		became->nxlated = (next < n ? lines[next].info.insn_off : e->nxlated) -
				  lines[at].info.insn_off;
		if (lines[at].jited != UINT32_MAX) {
			while (next < n && lines[next].jited == UINT32_MAX)
				next++;
			became->jited = lines[at].jited;
			became->njited =
				(next < n ? lines[next].jited : e->jited_size) - lines[at].jited;
		}
		at++;
	}
}

static int not_shown(int err, const char *what)
{
	rp_log(RP_WARN, "%s is not shown: %s", what,
	       err == -EPERM	? "the kernel hides it (kernel.kptr_restrict, CAP_SYSLOG, lockdown)"
	       : err == -ENOENT ? "there is none"
				: strerror(-err));
	return err == -ENOMEM ? err : 0;
}

int explain_what_became(struct explained *e)
{
	struct rp_prog_line *lines = NULL;
	uint32_t n = 0;
	int err = 0;

	if (e->loaded < 0 || !(e->opt->xlated || e->opt->jit))
		return 0;
	err = rp_prog_lines(e->loaded, &lines, &n);
	if (err)
		return not_shown(err, "what the kernel made of each line");
	err = rp_prog_xlated(e->loaded, &e->xlated, &e->nxlated);
	if (err)
		err = not_shown(err, "the rewritten program");
	if (!err && e->opt->jit) {
		err = rp_prog_jited(e->loaded, &e->jited, &e->jited_size);
		if (err)
			err = not_shown(err, "the machine code");
	}
	if (!err && e->xlated) {
		e->insns = calloc(e->image.ninsns, sizeof(*e->insns));
		if (e->insns)
			match_lines(e, lines, n);
		else
			err = -ENOMEM;
	}
	free(lines);
	return err;
}

/* ---- names in rewritten code */

struct xlated_names {
	const struct explained *e;
	struct sym_kallsyms *kallsyms; /* NULL: addresses are not to be had */
	uint64_t call_base;
};

/*
 * A call's number is how far its function lies from __bpf_call_base; that of a helper which the JIT
 * compiler writes out itself (Linux 6.10, arm64) is left as it was.
 */
static const char *name_of_call(void *ctx, uint32_t slot)
{
	const struct xlated_names *names = ctx;
	const struct bpf_insn *insn = &names->e->xlated[slot];
	const uint64_t addr = names->call_base + (uint64_t)(int64_t)insn->imm;
	struct sym_ksym sym;

	if (!names->kallsyms || insn->src_reg == BPF_PSEUDO_CALL ||
	    sym_kallsyms_lookup(names->kallsyms, addr, &sym) || sym.addr != addr)
		return NULL;
	return sym.name;
}

/* Maps have ids there; their names are in the line that they came from. */
static const char *name_of_map(void *ctx, uint32_t slot)
{
	const struct explained *e = ((const struct xlated_names *)ctx)->e;

	for (uint32_t i = 0; i < e->image.ninsns; i++) {
		const struct asm_insn *line = &e->image.program->lines[e->image.line_of[i]];

		if (slot < e->insns[i].xlated || slot - e->insns[i].xlated >= e->insns[i].nxlated)
			continue;
		if (line->kind == ASM_LD_MAP || line->kind == ASM_LD_MAP_VALUE)
			return line->sym;
	}
	return NULL;
}

int xlated_names_open(const struct explained *e, struct xlated_names **out)
{
	struct xlated_names *names = calloc(1, sizeof(*names));
	struct sym_ksym base;
	int err;

	if (!names)
		return -ENOMEM;
	names->e = e;
	err = sym_kallsyms_open(&names->kallsyms, NULL);
	if (err == -ENOMEM) {
		free(names);
		return err;
	}
	if (!err && sym_kallsyms_find(names->kallsyms, "__bpf_call_base", &base, 1)) {
		names->call_base = base.addr;
	} else {
		sym_kallsyms_close(names->kallsyms);
		names->kallsyms = NULL;
	}
	*out = names;
	return 0;
}

void xlated_names_close(struct xlated_names *names)
{
	if (names)
		sym_kallsyms_close(names->kallsyms);
	free(names);
}

void xlated_disasm(struct xlated_names *names, uint32_t at, char text[ASM_DISASM_SIZE])
{
	const struct asm_disasm_options options = { .dialect = ASM_DIALECT_XLATED,
						    .ctx = names,
						    .map = name_of_map,
						    .call = name_of_call };

	asm_disasm(&options, names->e->xlated, names->e->nxlated, at, text, ASM_DISASM_SIZE);
}

/* ---- machine code */

/* "   4:\t48 89 e5             \tmov    %rsp,%rbp" */
static int add_line(struct machine_code *code, const char *line)
{
	const char *tab = strchr(line, '\t');
	struct machine_line *more;
	char *end;
	unsigned long offset = strtoul(line, &end, 16);

	tab = tab ? strchr(tab + 1, '\t') : NULL;
	if (end == line || *end != ':' || !tab)
		return 0;
	more = realloc(code->lines, (code->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	code->lines = more;
	more[code->n].offset = (uint32_t)offset;
	more[code->n].text = strndup(tab + 1, strcspn(tab + 1, "\n"));
	return more[code->n++].text ? 0 : -ENOMEM;
}

static int read_objdump(FILE *in, struct machine_code *code)
{
	size_t capacity = 0;
	char *line = NULL;
	int err = 0;

	while (!err && getline(&line, &capacity, in) >= 0)
		err = add_line(code, line);
	free(line);
	return err;
}

/* objdump wants a file: one in memory, which it finds among our descriptors. */
int machine_code_read(const struct explained *e, struct machine_code *out)
{
	int fd = memfd_create("bpf", MFD_CLOEXEC), err = 0, status;
	char command[160];
	FILE *in;

	if (fd < 0)
		return -errno;
	if (write(fd, e->jited, e->jited_size) != (ssize_t)e->jited_size) {
		close(fd);
		return -EIO;
	}
	snprintf(command, sizeof(command), "objdump -D -b binary -m %s /proc/%d/fd/%d 2>/dev/null",
		 rp_machine_host()->objdump, (int)getpid(), fd);
	in = popen(command, "re");
	if (in) {
		err = read_objdump(in, out);
		status = pclose(in);
		if (!err && (!WIFEXITED(status) || WEXITSTATUS(status)))
			err = -ENOENT;
	} else {
		err = -errno;
	}
	close(fd);
	return err;
}

void machine_code_free(struct machine_code *code)
{
	for (size_t i = 0; i < code->n; i++)
		free(code->lines[i].text);
	free(code->lines);
	*code = (struct machine_code){ 0 };
}
