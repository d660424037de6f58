/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds .eh_frame: where PT_GNU_EH_FRAME says, as the program's own unwinder does, or else by the
 * section, as static programs of glibc have no such header. And what stands in for it where there
 * is none.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "elf.h"
#include "frame.h"
#include "gaps.h"
#include "image.h"

/*
 * Without .eh_frame, only the C library has a trampoline, and Go programs, which may be larger: so
 * much text of a file is searched.
 */
#define TRAMPOLINE_TEXT_MAX (8ULL << 20)

/* An .eh_frame as short as this is the record that ends it. */
enum { EMPTY_EH_FRAME = 4 };

/* Of the dynamic linker's tags, of which files have thirty, so many are looked at. */
enum { DYNAMIC_MAX = 128 };

/* Where a piece of the file lies; size 0: nowhere. */
struct extent {
	uint64_t addr, offset, size;
};

/* ---- code */

static int by_start(const void *a, const void *b)
{
	const struct unwind_code *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static size_t merge_ranges(struct unwind_code *v, size_t n)
{
	size_t kept = 0;

	qsort(v, n, sizeof(*v), by_start);
	for (size_t i = 0; i < n; i++) {
		if (kept && v[i].start <= v[kept - 1].end) {
			if (v[i].end > v[kept - 1].end)
				v[kept - 1].end = v[i].end;
		} else {
			v[kept++] = v[i];
		}
	}
	return kept;
}

static bool is_code(const Elf64_Phdr *ph)
{
	return ph->p_type == PT_LOAD && ph->p_flags & PF_X;
}

static int read_code(struct unwind_source *s, const struct unwind_image *m)
{
	size_t n = 0;

	s->code = calloc(m->nsegments ? m->nsegments : 1, sizeof(*s->code));
	if (!s->code)
		return -ENOMEM;
	for (size_t i = 0; i < m->nsegments; i++) {
		const Elf64_Phdr *ph = &m->segments[i];
		uint64_t size;

		if (!is_code(ph) || ph->p_offset >= m->size)
			continue;
		size = m->size - ph->p_offset;
		if (size > ph->p_filesz)
			size = ph->p_filesz;
		if (size && ph->p_vaddr + size > ph->p_vaddr)
			s->code[n++] = (struct unwind_code){ ph->p_vaddr, ph->p_vaddr + size };
	}
	s->ncode = merge_ranges(s->code, n);
	return s->ncode ? 0 : -ENODATA;
}

const struct unwind_code *unwind_source_code(const struct unwind_source *s, uint64_t addr)
{
	for (size_t lo = 0, hi = s->ncode; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr < s->code[mid].start)
			hi = mid;
		else if (addr >= s->code[mid].end)
			lo = mid + 1;
		else
			return &s->code[mid];
	}
	return NULL;
}

size_t unwind_source_text(const struct unwind_source *s, uint64_t addr, void *buf, size_t size)
{
	for (size_t i = 0; i < s->image.nsegments; i++) {
		const Elf64_Phdr *ph = &s->image.segments[i];
		const uint64_t into = addr - ph->p_vaddr;

		if (is_code(ph) && addr >= ph->p_vaddr && into < ph->p_filesz)
			return unwind_image_read(&s->image, ph->p_offset + into, buf,
						 size < ph->p_filesz - into ? size
									    : ph->p_filesz - into);
	}
	return 0;
}

/* ---- .eh_frame */

/* The rest of the segment that has @addr in the file. */
static struct extent extent_of(const struct unwind_image *m, uint64_t addr)
{
	for (size_t i = 0; i < m->nsegments; i++) {
		const Elf64_Phdr *ph = &m->segments[i];
		uint64_t into = addr - ph->p_vaddr;

		if (ph->p_type == PT_LOAD && addr >= ph->p_vaddr && into < ph->p_filesz)
			return (struct extent){ addr, ph->p_offset + into, ph->p_filesz - into };
	}
	return (struct extent){ 0 };
}

/*
 * The section called .eh_frame, wherever @at points into it, or the first one if that is 0. Its
 * type is SHT_PROGBITS or SHT_X86_64_UNWIND; in files of debug information it is SHT_NOBITS.
 */
static struct extent find_section(const struct unwind_image *m, uint64_t at)
{
	for (size_t i = 0; i < m->nsections; i++) {
		const Elf64_Shdr *sh = &m->sections[i];

		if ((sh->sh_flags & SHF_ALLOC) && sh->sh_size && (!at || at == sh->sh_addr) &&
		    (sh->sh_type == SHT_PROGBITS || sh->sh_type == SHT_X86_64_UNWIND) &&
		    !strcmp(unwind_image_name(m, sh), ".eh_frame"))
			return (struct extent){ sh->sh_addr, sh->sh_offset, sh->sh_size };
	}
	return (struct extent){ 0 };
}

/*
 * What .eh_frame_hdr points to (LSB Core 10.6.2): version 1, the encodings of the pointer, of the
 * count and of the table, and the pointer. The length is not there: up to the end of the segment,
 * or to the empty record before.
 */
static struct extent find_by_header(const struct unwind_image *m)
{
	struct unwind_frames f = { 0 };
	struct unwind_bytes b = { 0 };
	uint8_t head[16];
	uint64_t addr;

	for (size_t i = 0; i < m->nsegments; i++) {
		const Elf64_Phdr *ph = &m->segments[i];

		if (ph->p_type != PT_GNU_EH_FRAME)
			continue;
		f.data = head;
		f.size = unwind_image_read(m, ph->p_offset, head, sizeof(head));
		f.addr = ph->p_vaddr;
		break;
	}
	if (f.size < 4 || head[0] != 1)
		return (struct extent){ 0 };
	b.at = head + 4;
	b.end = head + f.size;
	addr = unwind_pointer(&f, &b, head[1], f.addr);
	return b.bad ? (struct extent){ 0 } : extent_of(m, addr);
}

int unwind_source_data(struct unwind_source *s, uint64_t size)
{
	if (size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	if (!rp_memory_take(size))
		return -ENOMEM;
	s->data = malloc(size);
	if (!s->data) {
		rp_memory_give(size);
		return -ENOMEM;
	}
	s->size = size;
	return 0;
}

static int read_eh_frame(struct unwind_source *s, const struct unwind_image *m)
{
	struct extent e = find_by_header(m), section;
	int err;

	section = find_section(m, e.addr);
	if (section.size)
		e = section;
	if (e.size <= EMPTY_EH_FRAME || e.offset >= m->size)
		return -ENODATA;
	if (e.size > m->size - e.offset)
		e.size = m->size - e.offset;
	err = unwind_source_data(s, e.size);
	if (err)
		return err;
	s->addr = e.addr;
	return unwind_image_read(m, e.offset, s->data, e.size) == e.size ? 0 : -EIO;
}

/* ---- signal trampolines */

static void take_trampolines(struct unwind_source *s, const uint8_t *code, size_t size,
			     uint64_t addr)
{
	size_t at = 0, start;

	while (s->ntrampolines < UNWIND_TRAMPOLINES &&
	       unwind_trampoline_next(s->machine, code, size, &at, &start))
		if (start) /* or no byte is before it */
			s->trampolines[s->ntrampolines++] = addr + start;
}

static int find_trampolines(struct unwind_source *s, const struct unwind_image *m)
{
	uint64_t left = TRAMPOLINE_TEXT_MAX;

	for (size_t i = 0; i < m->nsegments; i++) {
		const Elf64_Phdr *ph = &m->segments[i];
		uint8_t *code;

		if (!is_code(ph) || !ph->p_filesz || ph->p_filesz > left)
			continue;
		code = malloc(ph->p_filesz);
		if (!code)
			return -ENOMEM;
		left -= ph->p_filesz;
		take_trampolines(s, code, unwind_image_read(m, ph->p_offset, code, ph->p_filesz),
				 ph->p_vaddr);
		free(code);
	}
	return 0;
}

/* ---- hooks */

static void add_hook(struct unwind_source *s, uint64_t addr)
{
	struct unwind_hook h = { .addr = addr };

	if (s->nhooks == UNWIND_HOOKS || (s->nhooks && addr == s->hooks[0].addr))
		return;
	h.size = (uint32_t)unwind_source_text(s, addr, h.code, sizeof(h.code));
	if (!h.size)
		return;
	if (s->nhooks && addr < s->hooks[0].addr) {
		s->hooks[1] = s->hooks[0];
		s->hooks[0] = h;
	} else {
		s->hooks[s->nhooks] = h;
	}
	s->nhooks++;
}

static void find_hooks(struct unwind_source *s)
{
	const struct unwind_image *m = &s->image;
	Elf64_Dyn tags[DYNAMIC_MAX];
	size_t n = 0;

	for (size_t i = 0; i < m->nsegments && !n; i++)
		if (m->segments[i].p_type == PT_DYNAMIC)
			n = unwind_image_read(m, m->segments[i].p_offset, tags, sizeof(tags)) /
			    sizeof(tags[0]);
	for (size_t i = 0; i < n && tags[i].d_tag != DT_NULL; i++)
		if (tags[i].d_tag == DT_INIT || tags[i].d_tag == DT_FINI)
			add_hook(s, tags[i].d_un.d_ptr);
}

bool unwind_source_tells(const struct unwind_source *s)
{
	return s->size || s->ntrampolines || s->go.size;
}

static int read_source(struct unwind_source *s, const struct unwind_image *m)
{
	int err = read_code(s, m);

	s->machine = m->machine;
	if (!err)
		err = read_eh_frame(s, m);
	if (err && err != -ENODATA)
		return err;
	if (!s->ncode)
		return err;
	/* Of a vdso .eh_frame tells all but this. */
	if (err || m->fd < 0) {
		int failed = find_trampolines(s, m);

		if (failed)
			return failed;
	}
	/*
	 * Better than .debug_frame, which does not say where a goroutine's stack ends; beside
	 * .eh_frame if C was linked to it.
	 */
	if (m->machine == EM_X86_64) {
		int go = unwind_go_read(&s->go, m);

		if (!go || go == -ENOMEM) /* nor is the rest a table of the file then */
			return go;
	}
	if (err)
		err = unwind_debug_frame_read(s, m);
	/* Else the code itself says how the stack moves. */
	return err == -ENODATA && (s->ntrampolines || unwind_gaps_are_filled(s)) ? 0 : err;
}

int unwind_source_read(struct unwind_source *out, int fd, const void *image, size_t size)
{
	struct unwind_source s = { .is_computed = out->is_computed };
	int err = unwind_image_open(&s.image, fd, image, size);

	if (err)
		return err;
	err = read_source(&s, &s.image);
	if (!err)
		s.nplts = unwind_plts_find(s.plts, &s.image);
	if (!err && s.machine == EM_X86_64) {
		find_hooks(&s);
		s.entry_size =
			(uint32_t)unwind_source_text(&s, s.image.entry, s.entry, sizeof(s.entry));
	}
	if (err)
		unwind_source_free(&s);
	else
		*out = s;
	return err;
}

void unwind_source_free(struct unwind_source *s)
{
	if (s->data)
		rp_memory_give(s->size);
	unwind_go_free(&s->go);
	free(s->code);
	free(s->data);
	unwind_image_close(&s->image);
	*s = (struct unwind_source){ 0 };
}
