/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers of an ELF file, by libelf, which is given back at once. */
#include <endian.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "object.h"

/* Beyond this a table is taken for corrupt (or for a trap): no linker wrote that many symbols. */
#define TABLE_MAX (1ULL << 30)

static size_t read_memory(const char *bytes, size_t size, uint64_t offset, void *buf, size_t len)
{
	if (offset >= size)
		return 0;
	if (len > size - offset)
		len = size - offset;
	memcpy(buf, bytes + offset, len);
	return len;
}

size_t sym_object_read(const struct sym_object *o, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	if (offset >= SYM_UNPACKED)
		return read_memory(o->unpacked, o->unpacked_size, offset - SYM_UNPACKED, buf, len);
	if (o->fd < 0)
		return read_memory(o->image, o->image_size, offset, buf, len);
	while (done < len && offset + done <= INT64_MAX) {
		ssize_t n = pread(o->fd, (char *)buf + done, len - done, offset + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

static int read_segments(struct sym_object *o, Elf *elf)
{
	size_t n, kept = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n) || !n)
		return 0;
	o->segments = calloc(n, sizeof(*o->segments));
	if (!o->segments)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD)
			continue;
		o->segments[kept++] = (struct sym_segment){
			.offset = ph.p_offset,
			.size = ph.p_filesz,
			.vaddr = ph.p_vaddr,
			.exec = ph.p_flags & PF_X,
		};
	}
	o->segment_count = kept;
	return 0;
}

static bool take_build_id(struct sym_object *o, uint64_t offset, uint64_t size, uint64_t align)
{
	uint8_t notes[8192], id[SYM_BUILD_ID_MAX];
	size_t n = sym_object_read(o, offset, notes, size < sizeof(notes) ? size : sizeof(notes));

	n = sym_note_build_id(notes, n, align == 8 ? 8 : 4, id);
	if (n)
		sym_note_hex(id, n, o->build_id);
	return n;
}

/* In PT_NOTE where there are program headers; separate and object files have sections alone. */
static void read_build_id(struct sym_object *o, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Phdr ph;
	GElf_Shdr sh;
	size_t n = 0;

	if (elf_getphdrnum(elf, &n))
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(elf, i, &ph) && ph.p_type == PT_NOTE &&
		    take_build_id(o, ph.p_offset, ph.p_filesz, ph.p_align))
			return;
	}
	while ((scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    take_build_id(o, sh.sh_offset, sh.sh_size, sh.sh_addralign))
			return;
	}
}

static int take_code(struct sym_object *o, const GElf_Shdr *sh, const char *name)
{
	struct sym_section *p;

	if (!sh->sh_size || sh->sh_addr + sh->sh_size < sh->sh_addr)
		return 0;
	p = realloc(o->code, (o->code_count + 1) * sizeof(*p));
	if (!p)
		return -ENOMEM;
	o->code = p;
	p[o->code_count++] = (struct sym_section){
		.addr = sh->sh_addr,
		.size = sh->sh_size,
		.offset = sh->sh_offset,
		.entsize = sh->sh_entsize,
		.is_plt = !strncmp(name, ".plt", 4),
	};
	return 0;
}

/*
 * Keeps the contents of a section that is compressed (gABI, "Section Compression") and changes @sh
 * to tell where. libelf knows zlib, and zstd from 0.189 on.
 */
static bool unpack(struct sym_object *o, Elf_Scn *scn, GElf_Shdr *sh)
{
	GElf_Chdr ch;
	Elf_Data *data;
	char *p;

	if (!(sh->sh_flags & SHF_COMPRESSED))
		return true;
	if (!gelf_getchdr(scn, &ch) || ch.ch_size > TABLE_MAX || elf_compress(scn, 0, 0) < 0)
		return false;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_size)
		return false;
	p = realloc(o->unpacked, o->unpacked_size + data->d_size);
	if (!p)
		return false;
	memcpy(p + o->unpacked_size, data->d_buf, data->d_size);
	sh->sh_offset = SYM_UNPACKED + o->unpacked_size;
	sh->sh_size = data->d_size;
	o->unpacked = p;
	o->unpacked_size += data->d_size;
	return true;
}

static void take_symbols(struct sym_object *o, Elf *elf, Elf_Scn *scn, GElf_Shdr *sh)
{
	struct sym_symbols *s = &o->symbols[sh->sh_type == SHT_SYMTAB ? SYM_SYMTAB : SYM_DYNSYM];
	size_t entsize = o->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	Elf_Scn *strings = elf_getscn(elf, sh->sh_link);
	GElf_Shdr str;

	if (s->count || sh->sh_entsize != entsize || !strings || !gelf_getshdr(strings, &str) ||
	    str.sh_type != SHT_STRTAB || !unpack(o, scn, sh) || !unpack(o, strings, &str) ||
	    sh->sh_size > TABLE_MAX || str.sh_size > TABLE_MAX)
		return;
	*s = (struct sym_symbols){
		.offset = sh->sh_offset,
		.count = sh->sh_size / entsize,
		.entsize = entsize,
		.strings = str.sh_offset,
		.strings_size = str.sh_size,
	};
}

static int take_section(struct sym_object *o, Elf *elf, Elf_Scn *scn, size_t names)
{
	const char *name;
	GElf_Shdr sh;

	if (!gelf_getshdr(scn, &sh))
		return 0;
	name = elf_strptr(elf, names, sh.sh_name);
	if (!name)
		name = "";
	if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) {
		take_symbols(o, elf, scn, &sh);
	} else if (sh.sh_type == SHT_PROGBITS && !(sh.sh_flags & SHF_ALLOC)) {
		if (!strcmp(name, ".gnu_debuglink"))
			o->debuglink = (struct sym_bytes){ sh.sh_offset, sh.sh_size };
		else if (!strcmp(name, ".gnu_debugdata"))
			o->debugdata = (struct sym_bytes){ sh.sh_offset, sh.sh_size };
		else if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			o->has_dwarf = true;
	} else if (sh.sh_type == SHT_RELA && sh.sh_flags & SHF_ALLOC && sh.sh_size < TABLE_MAX &&
		   o->reloc_count < sizeof(o->relocs) / sizeof(o->relocs[0])) {
		o->relocs[o->reloc_count++] = (struct sym_relocs){
			.offset = sh.sh_offset,
			.size = sh.sh_size,
			.is_plt = !strcmp(name, ".rela.plt"),
		};
	} else if (sh.sh_type != SHT_NOBITS &&
		   (sh.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR)) {
		return take_code(o, &sh, name);
	}
	return 0;
}

static int compare_sections(const void *a, const void *b)
{
	const struct sym_section *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* No linker makes sections that overlap; each then ends where the next begins. */
static void order_code(struct sym_object *o)
{
	if (!o->code_count)
		return;
	qsort(o->code, o->code_count, sizeof(*o->code), compare_sections);
	for (size_t i = 0; i + 1 < o->code_count; i++) {
		uint64_t capacity = o->code[i + 1].addr - o->code[i].addr;

		if (o->code[i].size > capacity)
			o->code[i].size = capacity;
	}
}

static int read_headers(struct sym_object *o, Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	size_t names;
	int err;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &eh) ||
	    eh.e_ident[EI_DATA] != (BYTE_ORDER == LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB))
		return -ENOEXEC;
	o->machine = eh.e_machine;
	o->is64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
	err = read_segments(o, elf);
	if (elf_getshdrstrndx(elf, &names))
		names = 0;
	while (!err && (scn = elf_nextscn(elf, scn)))
		err = take_section(o, elf, scn, names);
	order_code(o);
	read_build_id(o, elf);
	return err;
}

static int open_object(struct sym_object **out, struct sym_object *o)
{
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	elf = o->fd >= 0 ? elf_begin(o->fd, ELF_C_READ, NULL) : elf_memory(o->image, o->image_size);
	err = elf ? read_headers(o, elf) : -ENOEXEC;
	elf_end(elf);
	if (err) {
		sym_object_close(o);
		return err;
	}
	*out = o;
	return 0;
}

int sym_object_open(struct sym_object **out, int fd)
{
	struct sym_object *o = calloc(1, sizeof(*o));

	if (!o) {
		close(fd);
		return -ENOMEM;
	}
	o->fd = fd;
	return open_object(out, o);
}

int sym_object_open_image(struct sym_object **out, const void *image, size_t size)
{
	struct sym_object *o = calloc(1, sizeof(*o));

	if (o)
		o->image = malloc(size ? size : 1);
	if (!o || !o->image) {
		free(o);
		return -ENOMEM;
	}
	memcpy(o->image, image, size);
	o->fd = -1;
	o->image_size = size;
	return open_object(out, o);
}

void sym_object_close(struct sym_object *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	free(o->image);
	free(o->unpacked);
	free(o->segments);
	free(o->code);
	free(o);
}

/*
 * Segments are mapped in whole pages: two may claim an offset in the page they share, and the rest
 * of a segment's last page belongs to it too. The executable one is meant, as the address was that
 * of an instruction; among equals, the one that has the byte.
 */
int sym_object_vaddr(const struct sym_object *o, uint64_t offset, uint64_t *vaddr)
{
	uint64_t page = sysconf(_SC_PAGESIZE);
	const struct sym_segment *best = NULL;
	int best_score = 0;

	for (size_t i = 0; i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];
		uint64_t first = s->offset & -page;
		uint64_t pages = (s->offset - first + s->size + page - 1) & -page;
		int score;

		if (!s->size || offset - first >= pages)
			continue;
		score = 1 + (offset - s->offset < s->size) + 2 * s->exec;
		if (score > best_score) {
			best = s;
			best_score = score;
		}
	}
	if (!best)
		return -ENOENT;
	*vaddr = offset - best->offset + best->vaddr;
	return 0;
}

const struct sym_section *sym_object_code(const struct sym_object *o, uint64_t vaddr)
{
	size_t lo = 0, hi = o->code_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (o->code[mid].addr <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && vaddr - o->code[lo - 1].addr < o->code[lo - 1].size ? &o->code[lo - 1] : NULL;
}
