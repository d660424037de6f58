/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds .eh_frame: where PT_GNU_EH_FRAME says, as the program's own unwinder does, or else by the
 * section, as static programs of glibc have no such header. And what stands in for it where there
 * is none.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cfi.h"
#include "elf.h"
#include "frame.h"

/* Without .eh_frame, only the C library has a trampoline, and Go programs, which may be larger. */
#define TRAMPOLINE_TEXT_MAX (8ULL << 20)

/* An .eh_frame as short as this is the record that ends it. */
enum { EMPTY_EH_FRAME = 4 };

struct reader {
	int fd;
	const uint8_t *image;
	uint64_t size; /* of the file or image */
	Elf *elf;
	size_t nphdr;
};

/* Where a piece of the file lies; size 0: nowhere. */
struct extent {
	uint64_t addr, offset, size;
};

static size_t read_at(const struct reader *r, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	if (offset >= r->size)
		return 0;
	if (len > r->size - offset)
		len = r->size - offset;
	if (r->fd < 0) {
		memcpy(buf, r->image + offset, len);
		return len;
	}
	while (done < len) {
		ssize_t n = pread(r->fd, (char *)buf + done, len - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

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

static int read_code(struct unwind_source *s, const struct reader *r)
{
	size_t n = 0;
	GElf_Phdr ph;

	s->code = calloc(r->nphdr ? r->nphdr : 1, sizeof(*s->code));
	if (!s->code)
		return -ENOMEM;
	for (size_t i = 0; i < r->nphdr; i++) {
		uint64_t size;

		if (!gelf_getphdr(r->elf, i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    ph.p_offset >= r->size)
			continue;
		size = ph.p_filesz < r->size - ph.p_offset ? ph.p_filesz : r->size - ph.p_offset;
		if (size && ph.p_vaddr + size > ph.p_vaddr)
			s->code[n++] = (struct unwind_code){ ph.p_vaddr, ph.p_vaddr + size };
	}
	s->ncode = merge_ranges(s->code, n);
	return s->ncode ? 0 : -ENODATA;
}

/* ---- .eh_frame */

/* The rest of the segment that has @addr in the file. */
static struct extent extent_of(const struct reader *r, uint64_t addr)
{
	GElf_Phdr ph;

	for (size_t i = 0; i < r->nphdr; i++) {
		uint64_t into;

		if (!gelf_getphdr(r->elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		into = addr - ph.p_vaddr;
		if (addr >= ph.p_vaddr && into < ph.p_filesz)
			return (struct extent){ addr, ph.p_offset + into, ph.p_filesz - into };
	}
	return (struct extent){ 0 };
}

/*
 * The section called .eh_frame, wherever @at points into it, or the first one if that is 0. Its
 * type is SHT_PROGBITS or SHT_X86_64_UNWIND; in files of debug information it is SHT_NOBITS.
 */
static struct extent find_section(const struct reader *r, uint64_t at)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(r->elf, &names))
		return (struct extent){ 0 };
	while ((scn = elf_nextscn(r->elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(sh.sh_flags & SHF_ALLOC) || !sh.sh_size ||
		    (sh.sh_type != SHT_PROGBITS && sh.sh_type != SHT_X86_64_UNWIND))
			continue;
		name = elf_strptr(r->elf, names, sh.sh_name);
		if (name && !strcmp(name, ".eh_frame") && (!at || at == sh.sh_addr))
			return (struct extent){ sh.sh_addr, sh.sh_offset, sh.sh_size };
	}
	return (struct extent){ 0 };
}

/*
 * What .eh_frame_hdr points to (LSB Core 10.6.2): version 1, the encodings of the pointer, of the
 * count and of the table, and the pointer. The length is not there: up to the end of the segment,
 * or to the empty record before.
 */
static struct extent find_by_header(const struct reader *r)
{
	struct unwind_frames f = { 0 };
	struct unwind_bytes b = { 0 };
	uint8_t head[16];
	GElf_Phdr ph;
	uint64_t addr;

	for (size_t i = 0; i < r->nphdr; i++) {
		if (!gelf_getphdr(r->elf, i, &ph) || ph.p_type != PT_GNU_EH_FRAME)
			continue;
		f.data = head;
		f.size = read_at(r, ph.p_offset, head, sizeof(head));
		f.addr = ph.p_vaddr;
		break;
	}
	if (f.size < 4 || head[0] != 1)
		return (struct extent){ 0 };
	b.at = head + 4;
	b.end = head + f.size;
	addr = unwind_pointer(&f, &b, head[1], f.addr);
	return b.bad ? (struct extent){ 0 } : extent_of(r, addr);
}

static int read_eh_frame(struct unwind_source *s, const struct reader *r)
{
	struct extent e = find_by_header(r), section;

	section = find_section(r, e.addr);
	if (section.size)
		e = section;
	if (e.size <= EMPTY_EH_FRAME || e.offset >= r->size)
		return -ENODATA;
	if (e.size > r->size - e.offset)
		e.size = r->size - e.offset;
	if (e.size > UNWIND_FRAMES_MAX)
		return -EFBIG;
	s->data = malloc(e.size);
	if (!s->data)
		return -ENOMEM;
	s->addr = e.addr;
	s->size = read_at(r, e.offset, s->data, e.size);
	return s->size == e.size ? 0 : -EIO;
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

static int find_trampolines(struct unwind_source *s, const struct reader *r)
{
	for (size_t i = 0; i < r->nphdr; i++) {
		uint8_t *code;
		GElf_Phdr ph;

		if (!gelf_getphdr(r->elf, i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X) ||
		    ph.p_filesz > TRAMPOLINE_TEXT_MAX || !ph.p_filesz)
			continue;
		code = malloc(ph.p_filesz);
		if (!code)
			return -ENOMEM;
		take_trampolines(s, code, read_at(r, ph.p_offset, code, ph.p_filesz), ph.p_vaddr);
		free(code);
	}
	return 0;
}

static int read_source(struct unwind_source *s, struct reader *r)
{
	GElf_Ehdr eh;
	int err;

	if (!gelf_getehdr(r->elf, &eh) || eh.e_ident[EI_CLASS] != ELFCLASS64 ||
	    eh.e_ident[EI_DATA] != ELFDATA2LSB || !rp_machine(eh.e_machine))
		return -ENOEXEC;
	s->machine = eh.e_machine;
	if (elf_getphdrnum(r->elf, &r->nphdr))
		r->nphdr = 0;
	err = read_code(s, r);
	if (err)
		return err;
	err = read_eh_frame(s, r);
	if (err && err != -ENODATA)
		return err;
	/* Of a vdso .eh_frame tells all but this. */
	if (err || r->fd < 0) {
		int failed = find_trampolines(s, r);

		if (failed)
			return failed;
	}
	if (err)
		err = unwind_debug_frame_read(s, r->elf, r->fd);
	return err == -ENODATA && s->ntrampolines ? 0 : err;
}

int unwind_source_read(struct unwind_source *out, int fd, const void *image, size_t size)
{
	struct reader r = { .fd = fd, .image = image, .size = size };
	struct unwind_source s = { 0 };
	struct stat st;
	int err;

	if (fd >= 0) {
		if (fstat(fd, &st))
			return -errno;
		if (!S_ISREG(st.st_mode))
			return -ENOEXEC;
		r.size = st.st_size;
	}
	elf_version(EV_CURRENT);
	/* libelf takes memory without const, and writes to it only when asked to. */
	r.elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : elf_memory((char *)image, size);
	err = r.elf ? read_source(&s, &r) : -ENOEXEC;
	elf_end(r.elf);
	if (err)
		unwind_source_free(&s);
	else
		*out = s;
	return err;
}

void unwind_source_free(struct unwind_source *s)
{
	free(s->code);
	free(s->data);
	*s = (struct unwind_source){ 0 };
}
