/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source lines and inlined functions (DWARF 5, sections 2.17, 3.3.8 and 6.2).
 *
 * libdw finds the unit of an address by .debug_aranges, which clang does not write, and the
 * functions around it by walking over the unit each time. Here both are found by search: units by
 * their ranges, read once; functions of a unit by theirs, read when the unit is first met.
 *
 * libdw believes what it reads. So the sections are measured before libdw gets to see them, a
 * unit's line table is before it is unfolded, what is walked over is counted, and the time is
 * taken: a file that takes too long has no lines from then on. What a file can do all the same is
 * done in a process of its own, if another user wrote it: lines_aside.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#endif

#include "lines.h"
#include "lines_budget.h"
#include "lines_image.h"
#include "base/grow.h"
#include "spans.h"

bool sym_can_find_source(void)
{
#ifdef HAVE_LIBDW
	return true;
#else
	return false;
#endif
}

#ifdef HAVE_LIBDW

enum {
	NESTING_MAX = 64, /* of namespaces, classes, blocks */
	/* Of a unit's line program; libdw makes some 80 bytes of each. Large ones have 1 MB. */
	LINES_MAX = 8 << 20,
	WORK_FOR = 64 << 20, /* no more work than a file of that size may be */
	WORK_TIMES = 16,
	DIE_COSTS = 4,
	RANGE_COSTS = sizeof(struct sym_span)
};
/* Debug sections of all files together, unpacked: libdw reads each that it needs as a whole. */
#define SECTIONS_MAX (1ULL << 30)

static uint64_t sections_taken; /* of all files */

/* Ranges on their way to spans. */
struct ranges {
	struct sym_span *item;
	size_t count, capacity;
};

struct unit {
	Dwarf_Die die;	/* has the lines */
	Dwarf_Die tree; /* has the functions: of the .dwo file if it was split off, else the same */
	Dwarf_Die *functions;
	size_t function_count, function_capacity;
	struct sym_span *spans; /* .id is an index of functions */
	size_t span_count;
	bool read;
};

struct sym_dwarf {
	const struct sym_object *code;
	struct sym_lines_image image; /* in which elf lies; empty: in the file */
	Elf *elf;
	Dwarf *dwarf;
	struct unit *units;
	size_t unit_count, unit_capacity;
	struct sym_span *spans; /* .id is an index of units */
	size_t span_count;
	uint64_t taken;		/* of sections_taken */
	Elf_Scn *line_programs; /* .debug_line */
	struct sym_lines_budget budget;
};

/* ---- what it may cost */

/* What is packed in the way of old: "ZLIB", and the size, the highest byte first. */
static uint64_t unpacked_size_of_old(Elf_Scn *scn)
{
	const Elf_Data *data = elf_rawdata(scn, NULL);
	uint64_t size = 0;

	for (int i = 4; data && data->d_buf && data->d_size >= 12 && i < 12; i++)
		size = size << 8 | ((const uint8_t *)data->d_buf)[i];
	return size;
}

/* The bytes of a section as libdw will have it. */
static uint64_t unpacked_size(Elf_Scn *scn, const GElf_Shdr *sh)
{
	GElf_Chdr packed;

	return sh->sh_flags & SHF_COMPRESSED && gelf_getchdr(scn, &packed) ? packed.ch_size
									   : sh->sh_size;
}

static bool take(struct sym_dwarf *d, uint64_t size)
{
	if (size > SECTIONS_MAX - sections_taken)
		return false;
	d->taken += size;
	sections_taken += size;
	return true;
}

/* Takes what the sections of the file need; false: there is not so much. */
static bool take_sections(struct sym_dwarf *d)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(d->elf, &names))
		return false;
	while ((scn = elf_nextscn(d->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(d->elf, names, sh.sh_name) : NULL;
		const bool old = name && !strncmp(name, ".z", 2);

		/* It takes more names than .debug_*: .gnu.debuglto_.debug_*, .gnu_debugaltlink. */
		if (!name || sh.sh_type == SHT_NOBITS || !strstr(name, "debug"))
			continue;
		if (!take(d, unpacked_size(scn, &sh)) ||
		    (old && !take(d, unpacked_size_of_old(scn))))
			return false;
		if (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line"))
			d->line_programs = scn;
	}
	d->budget.work = rp_work_for(d->taken < WORK_FOR ? d->taken : WORK_FOR, WORK_TIMES);
	return true;
}

/* Whether the unit's line table is of a size that linkers and compilers make. */
static bool may_read_lines(const struct sym_dwarf *d, Dwarf_Die *die)
{
	Elf_Data *data = d->line_programs ? elf_rawdata(d->line_programs, NULL) : NULL;
	Dwarf_Attribute attr;
	Dwarf_Word at;
	uint32_t size;

	if (!data || !data->d_buf || dwarf_formudata(dwarf_attr(die, DW_AT_stmt_list, &attr), &at))
		return true; /* it has none, or in a file of its own */
	if (data->d_size < sizeof(size) || at > data->d_size - sizeof(size))
		return false;
	memcpy(&size, (const char *)data->d_buf + at, sizeof(size));
	return size <= LINES_MAX; /* of 64 bits: 4 GB and more */
}

/* ---- ranges of units and functions */

/* What the linker dropped lies where no code is. */
static int add_range(struct ranges *r, const struct sym_object *code, uint64_t start, uint64_t end,
		     uint32_t id)
{
	uint64_t len = end - start;

	if (end <= start || !sym_object_code(code, start))
		return 0;
	return RP_PUSH(r->item, r->count, r->capacity,
		       (struct sym_span){ start, len < UINT32_MAX ? len : UINT32_MAX, id });
}

/* The ranges of @die, be they many or one. */
static int add_ranges(struct ranges *r, struct sym_dwarf *d, Dwarf_Die *die, uint32_t id)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		err = rp_work_spend(&d->budget.work, RANGE_COSTS)
			      ? add_range(r, d->code, start, end, id)
			      : -E2BIG;
	return err;
}

static bool contains(struct sym_dwarf *d, Dwarf_Die *die, uint64_t vaddr)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (!rp_work_spend(&d->budget.work, DIE_COSTS))
			return false;
		if (vaddr >= start && vaddr < end)
			return true;
	}
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct sym_span *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes the ranges. */
static int make_spans(struct ranges *r, struct sym_span **spans, size_t *count)
{
	int err;

	if (r->count)
		qsort(r->item, r->count, sizeof(*r->item), by_start);
	err = sym_spans_flatten(r->item, r->count, spans, count);
	free(r->item);
	return err;
}

/* ---- units */

/* What libdw found, unless it is longer than any path and any name that is shown. */
static const char *unless_long(const char *text)
{
	return text && strnlen(text, SYM_DEMANGLED_MAX + 1) <= SYM_DEMANGLED_MAX ? text : NULL;
}

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return unless_long(dwarf_formstring(dwarf_attr_integrate(die, name, &attr)));
}

/* Leaves *out as it is if this unit is not split, or what it names is not ours. */
static void find_split(const struct sym_object *data, Dwarf_CU *cu, Dwarf_Die *die, Dwarf_Die *out)
{
	const char *name = string_of(die, DW_AT_dwo_name);

	name = name ? name : string_of(die, DW_AT_GNU_dwo_name);
	if (sym_lines_may_split(data, string_of(die, DW_AT_comp_dir), name))
		dwarf_cu_info(cu, NULL, NULL, NULL, out, NULL, NULL, NULL);
}

static int read_units(struct sym_dwarf *d, const struct sym_object *may_split)
{
	struct ranges r = { 0 };
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	int err = 0;

	while (!err && !dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, &die, NULL)) {
		int tag = dwarf_tag(&die);

		if (!rp_work_spend(&d->budget.work, DIE_COSTS))
			err = -E2BIG;
		if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
			continue;
		split.cu = NULL;
		if (may_split)
			find_split(may_split, cu, &die, &split);
		if (!err)
			err = RP_PUSH(d->units, d->unit_count, d->unit_capacity,
				      (struct unit){ .die = die, .tree = split.cu ? split : die });
		if (!err)
			err = add_ranges(&r, d, &die, d->unit_count - 1);
	}
	if (!err && !d->unit_count)
		err = -ENODATA;
	if (err)
		free(r.item);
	return err ? err : make_spans(&r, &d->spans, &d->span_count);
}

/*
 * libdw takes it for granted that sections of strings end with one. In a file that is damaged, or
 * made to harm, that is seen to here, in libelf's copy.
 */
static void end_strings(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(elf, names, sh.sh_name) : NULL;
		Elf_Data *data;

		if (!name || (strcmp(name, ".debug_str") && strcmp(name, ".debug_line_str")))
			continue;
		if (sh.sh_flags & SHF_COMPRESSED)
			elf_compress(scn, 0, 0);
		data = elf_rawdata(scn, NULL);
		if (data && data->d_buf && data->d_size)
			((char *)data->d_buf)[data->d_size - 1] = '\0';
	}
}

static int open_elf(struct sym_dwarf *d, const struct sym_object *data, bool trusted, uint64_t most)
{
	int err = trusted ? 0
			  : sym_lines_image_read(data,
						 most < SECTIONS_MAX - sections_taken
							 ? most
							 : SECTIONS_MAX - sections_taken,
						 &d->image);

	if (err)
		return err;
	/* Not mapped: a file that is cut off meanwhile must be an error and no signal. */
	d->elf = trusted ? elf_begin(data->fd, ELF_C_READ, NULL)
			 : elf_memory(d->image.bytes, d->image.size);
	return d->elf ? 0 : -ENODATA;
}

int sym_dwarf_open(struct sym_dwarf **out, const struct sym_object *data,
		   const struct sym_object *code, uint64_t most, bool (*ready)(void))
{
	const bool trusted = !ready && sym_lines_may_name_others(data);
	struct sym_dwarf *d = calloc(1, sizeof(*d));
	struct sym_lines_mark began;
	int err;

	if (!d)
		return -ENOMEM;
	if (ready)
		sym_lines_begin_anew();
	began = sym_lines_mark(&d->budget);
	d->code = code;
	elf_version(EV_CURRENT);
	err = open_elf(d, data, trusted, most);
	if (!err && (!ready || ready()) && take_sections(d) && sym_lines_may_go_on(&d->budget)) {
		end_strings(d->elf);
		d->dwarf = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	}
	err = err ? err : -ENODATA;
	/* One that has another is not asked where that lies; it finds nothing of use in itself. */
	if (d->dwarf && !trusted)
		dwarf_setalt(d->dwarf, d->dwarf);
	if (d->dwarf)
		err = read_units(d, trusted ? data : NULL);
	sym_lines_charge(&d->budget, began);
	if (err) {
		sym_dwarf_close(d);
		return err;
	}
	*out = d;
	return 0;
}

void sym_dwarf_close(struct sym_dwarf *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->unit_count; i++) {
		free(d->units[i].functions);
		free(d->units[i].spans);
	}
	free(d->units);
	free(d->spans);
	dwarf_end(d->dwarf);
	elf_end(d->elf);
	sym_lines_image_free(&d->image);
	sections_taken -= d->taken;
	rp_hash_free(&d->budget.askers);
	free(d);
}

/* ---- functions of a unit */

static int add_function(struct sym_dwarf *d, struct unit *u, struct ranges *r, Dwarf_Die *die)
{
	size_t before = r->count;
	int err = add_ranges(r, d, die, u->function_count);

	if (err || r->count == before)
		return err;
	return RP_PUSH(u->functions, u->function_count, u->function_capacity, *die);
}

/*
 * Functions are defined at the top, in namespaces and classes, and, lambdas above all, in the
 * blocks of other functions.
 */
static bool may_hold_functions(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
	       tag == DW_TAG_module || tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
}

static int add_functions(struct sym_dwarf *d, struct unit *u, struct ranges *r, Dwarf_Die *parent,
			 int nesting)
{
	Dwarf_Die die;
	int more = dwarf_child(parent, &die), err = 0;

	for (; !err && !more; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (!rp_work_spend(&d->budget.work, DIE_COSTS))
			return -E2BIG;
		if (tag == DW_TAG_subprogram)
			err = add_function(d, u, r, &die);
		if (!err && may_hold_functions(tag) && nesting < NESTING_MAX)
			err = add_functions(d, u, r, &die, nesting + 1);
	}
	return err;
}

static int read_functions(struct sym_dwarf *d, struct unit *u)
{
	struct ranges r = { 0 };
	int err;

	if (u->read)
		return 0;
	u->read = true;
	err = add_functions(d, u, &r, &u->tree, 0);
	if (err)
		free(r.item);
	return err ? err : make_spans(&r, &u->spans, &u->span_count);
}

/* ---- questions */

/* The name that the linker would know it by, which tells overloads apart; else the plain one. */
static const char *name_of(Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
					      DW_AT_name };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *name = string_of(die, names[i]);

		if (name && *name)
			return name;
	}
	return NULL;
}

static uint64_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &value) ? 0 : value;
}

/* Where the function @die was called that was inlined there. */
static void read_call(struct sym_dwarf *d, struct unit *u, Dwarf_Die *die, struct sym_line *out)
{
	uint64_t file = number_of(die, DW_AT_call_file), line = number_of(die, DW_AT_call_line);
	Dwarf_Files *files;
	size_t count;

	if (!dwarf_hasattr(die, DW_AT_call_file) || !may_read_lines(d, &u->die) ||
	    dwarf_getsrcfiles(&u->tree, &files, &count) || file >= count)
		return;
	out->file = unless_long(dwarf_filesrc(files, file, NULL, NULL));
	out->line = line <= INT32_MAX ? line : 0;
}

static void read_line(struct sym_dwarf *d, struct unit *u, uint64_t vaddr, struct sym_line *out)
{
	Dwarf_Line *line = may_read_lines(d, &u->die) ? dwarf_getsrc_die(&u->die, vaddr) : NULL;
	int number;

	if (!line)
		return;
	out->file = unless_long(dwarf_linesrc(line, NULL, NULL));
	if (!dwarf_lineno(line, &number) && number > 0)
		out->line = number;
}

/* The child of @die, a function or what was inlined into it or a block, that contains @vaddr. */
static bool step_in(struct sym_dwarf *d, Dwarf_Die *die, uint64_t vaddr)
{
	Dwarf_Die child;

	for (int more = dwarf_child(die, &child); !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		if (!rp_work_spend(&d->budget.work, DIE_COSTS))
			return false;
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    contains(d, &child, vaddr)) {
			*die = child;
			return true;
		}
	}
	return false;
}

/*
 * The functions that were inlined at @vaddr, the innermost last: their names, and for each, in the
 * one that it was inlined into, the line of the call. Of more than there is room for the innermost
 * are left out. @lines has one element, that of the function itself. Returns how many there are.
 */
static size_t add_inlined(struct sym_dwarf *d, struct unit *u, uint64_t vaddr,
			  struct sym_line *lines, size_t max)
{
	const struct sym_span *span;
	Dwarf_Die die;
	size_t n = 1;

	if (read_functions(d, u))
		return n;
	span = sym_spans_find(u->spans, u->span_count, vaddr);
	if (!span)
		return n;
	die = u->functions[span->id];
	while (n < max && step_in(d, &die, vaddr)) {
		if (dwarf_tag(&die) != DW_TAG_inlined_subroutine)
			continue;
		read_call(d, u, &die, &lines[n - 1]);
		lines[n++] = (struct sym_line){ .function = name_of(&die) };
	}
	return n;
}

bool sym_dwarf_may_find(const struct sym_dwarf *d)
{
	return sym_lines_may_ask(&d->budget);
}

size_t sym_dwarf_find(struct sym_dwarf *d, uint64_t vaddr, bool inlined, struct sym_line *out,
		      size_t max)
{
	const struct sym_span *span = sym_spans_find(d->spans, d->span_count, vaddr);
	struct unit *u = span ? &d->units[span->id] : NULL;
	const struct sym_lines_mark began = sym_lines_mark(&d->budget);
	size_t n = 1;

	if (!u || !max || !sym_dwarf_may_find(d))
		return 0;
	out[0] = (struct sym_line){ 0 };
	if (inlined)
		n = add_inlined(d, u, vaddr, out, max);
	read_line(d, u, vaddr, &out[n - 1]);
	sym_lines_charge(&d->budget, began);
	for (size_t i = 0; i < n / 2; i++) { /* the innermost first */
		struct sym_line swap = out[i];

		out[i] = out[n - 1 - i];
		out[n - 1 - i] = swap;
	}
	return n > 1 || out[0].file ? n : 0;
}

#endif
