/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies where in an ELF file, which may be made to do harm: no part is larger than the file. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/budget.h"
#include "base/grow.h"
#include "base/lack.h"
#include "headers.h"

enum {
	LOADS_MAX = 256, /* segments: these are looked through for each address */
	RATIO_MAX = 128, /* symbols and strings are packed to a quarter */
	HOLES = 16,	 /* times what is on the disk: that may be packed as well */
	SMALL = 1 << 16,
};

/* Beyond this a table is taken for corrupt (or for a trap): no linker wrote that many symbols. */
#define TABLE_MAX (1ULL << 29)

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
		if (n < 0)
			rp_lack_file(-errno, o->fd);
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

size_t sym_object_read_at(const struct sym_object *o, uint64_t vaddr, void *buf, size_t len)
{
	for (size_t i = 0; i < o->segment_count; i++) {
		const struct sym_segment *s = &o->segments[i];
		const uint64_t at = vaddr - s->vaddr;

		if (vaddr >= s->vaddr && at < s->size && len <= s->size - at)
			return sym_object_read(o, s->offset + at, buf, len);
	}
	return 0;
}

/* ---- how much there is */

/* A file of 60 GB with a hole in it is as small as any. Some file systems tell no blocks. */
static void measure(struct sym_object *o)
{
	struct stat st;

	o->size = o->image_size;
	o->believed = o->size;
	if (o->fd < 0)
		return;
	if (fstat(o->fd, &st)) {
		rp_lack_file(-errno, o->fd);
		return;
	}
	o->size = o->believed = (uint64_t)st.st_size;
	o->owner = st.st_uid;
	if (st.st_blocks && o->believed > SMALL + st.st_blocks * 512ULL * HOLES)
		o->believed = SMALL + st.st_blocks * 512ULL * HOLES;
}

uint64_t sym_object_there(const struct sym_object *o, uint64_t offset, uint64_t size)
{
	const uint64_t end = offset >= SYM_UNPACKED ? SYM_UNPACKED + o->unpacked_size : o->size;

	if (offset >= end)
		return 0;
	if (size > end - offset)
		size = end - offset;
	return offset >= SYM_UNPACKED || size <= o->believed ? size : 0;
}

/* ---- what is kept of them */

static int read_segments(struct sym_object *o, const struct sym_headers *h)
{
	size_t n = h->phnum < LOADS_MAX ? h->phnum : LOADS_MAX, kept = 0;

	o->segments = calloc(n + 1, sizeof(*o->segments));
	if (!o->segments)
		return -ENOMEM;
	for (size_t i = 0; i < h->phnum && kept < n; i++) {
		const Elf64_Phdr *ph = &h->ph[i];

		if (ph->p_type == PT_GNU_EH_FRAME)
			o->eh_frame_hdr = (struct sym_bytes){ ph->p_offset, ph->p_filesz };
		if (ph->p_type != PT_LOAD)
			continue;
		o->segments[kept++] = (struct sym_segment){
			.offset = ph->p_offset,
			.size = ph->p_filesz,
			.vaddr = ph->p_vaddr,
			.exec = ph->p_flags & PF_X,
			.write = ph->p_flags & PF_W,
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
static void read_build_id(struct sym_object *o, const struct sym_headers *h)
{
	for (size_t i = 0; i < h->phnum; i++) {
		const Elf64_Phdr *ph = &h->ph[i];

		if (ph->p_type == PT_NOTE &&
		    take_build_id(o, ph->p_offset, ph->p_filesz, ph->p_align))
			return;
	}
	for (size_t i = 0; i < h->shnum; i++) {
		const Elf64_Shdr *sh = &h->sh[i];

		if (sh->sh_type == SHT_NOTE &&
		    take_build_id(o, sh->sh_offset, sh->sh_size, sh->sh_addralign))
			return;
	}
}

static int take_code(struct sym_object *o, const Elf64_Shdr *sh, const char *name)
{
	if (!sh->sh_size || sh->sh_addr + sh->sh_size < sh->sh_addr)
		return 0;
	return RP_PUSH(o->code, o->code_count, o->code_capacity,
		       (struct sym_section){
			       .addr = sh->sh_addr,
			       .size = sh->sh_size,
			       .offset = sh->sh_offset,
			       .entsize = sh->sh_entsize,
			       .is_plt = !strncmp(name, ".plt", 4),
		       });
}

bool sym_object_may_unpack(uint64_t packed, uint64_t size)
{
	return size && size <= SMALL + packed * RATIO_MAX && rp_memory_take(size);
}

/* The head of a section that is packed by zlib: how many bytes it takes, and of how many it is. */
static size_t read_packing(const struct sym_object *o, const Elf64_Shdr *sh, uint64_t *size)
{
	Elf64_Chdr ch = { 0 };
	Elf32_Chdr small = { 0 };

	if (o->is64) {
		sym_object_read(o, sh->sh_offset, &ch, sizeof(ch));
		*size = ch.ch_size;
		return ch.ch_type == ELFCOMPRESS_ZLIB ? sizeof(ch) : 0;
	}
	sym_object_read(o, sh->sh_offset, &small, sizeof(small));
	*size = small.ch_size;
	return small.ch_type == ELFCOMPRESS_ZLIB ? sizeof(small) : 0;
}

/* Unpacks it to behind what is unpacked already, where there is room. */
static bool inflate_section(struct sym_object *o, const Elf64_Shdr *sh, size_t head, uint64_t size)
{
	const uint64_t packed_size = sh->sh_size - head;
	uLongf done = size;
	char *packed;
	bool good;

	if (!rp_memory_take(packed_size))
		return false;
	packed = malloc(packed_size);
	good = packed &&
	       sym_object_read(o, sh->sh_offset + head, packed, packed_size) == packed_size;
	good = good && uncompress((Bytef *)o->unpacked + o->unpacked_size, &done, (Bytef *)packed,
				  packed_size) == Z_OK;
	free(packed);
	rp_memory_give(packed_size);
	return good && done == size;
}

/*
 * Keeps the contents of a section that is compressed (gABI, "Section Compression") and changes @sh
 * to tell where. Few are: what is packed, mostly, is DWARF.
 */
static bool unpack(struct sym_object *o, Elf64_Shdr *sh)
{
	uint64_t size;
	size_t head;
	char *p;

	if (!(sh->sh_flags & SHF_COMPRESSED))
		return true;
	head = read_packing(o, sh, &size);
	if (!head || sh->sh_size <= head || sh->sh_size > TABLE_MAX || size > TABLE_MAX ||
	    sym_object_there(o, sh->sh_offset, sh->sh_size) < sh->sh_size ||
	    !sym_object_may_unpack(sh->sh_size, size))
		return false;
	o->taken += size;
	p = realloc(o->unpacked, o->unpacked_size + size);
	if (!p)
		return false;
	o->unpacked = p;
	if (!inflate_section(o, sh, head, size))
		return false;
	sh->sh_offset = SYM_UNPACKED + o->unpacked_size;
	sh->sh_size = size;
	o->unpacked_size += size;
	return true;
}

/* Of several tables the first with symbols counts. */
static void take_symbols(struct sym_object *o, const struct sym_headers *h, Elf64_Shdr sh)
{
	struct sym_symbols *s = &o->symbols[sh.sh_type == SHT_SYMTAB ? SYM_SYMTAB : SYM_DYNSYM];
	size_t entsize = o->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	Elf64_Shdr str = { 0 };

	if (sh.sh_link < h->shnum)
		str = h->sh[sh.sh_link];
	if (s->entsize || !sh.sh_size || sh.sh_entsize != entsize || str.sh_type != SHT_STRTAB)
		return;
	s->entsize = entsize; /* it is tried once */
	if (!unpack(o, &sh) || !unpack(o, &str) || sh.sh_size > TABLE_MAX ||
	    str.sh_size > TABLE_MAX)
		return;
	s->offset = sh.sh_offset;
	s->count = sym_object_there(o, sh.sh_offset, sh.sh_size) / entsize;
	s->strings = str.sh_offset;
	s->strings_size = sym_object_there(o, str.sh_offset, str.sh_size);
}

/* What was compressed is no note that any tool reads. */
static void take_usdt(struct sym_object *o, const Elf64_Shdr *sh, const char *name)
{
	if (sh->sh_type == SHT_NOTE && !(sh->sh_flags & SHF_COMPRESSED) &&
	    !strcmp(name, ".note.stapsdt"))
		o->usdt = (struct sym_bytes){ sh->sh_offset, sh->sh_size };
	else if (sh->sh_flags & SHF_ALLOC && !strcmp(name, ".stapsdt.base"))
		o->usdt_base = sh->sh_addr;
}

static int take_section(struct sym_object *o, const struct sym_headers *h, const Elf64_Shdr *sh)
{
	const char *name = sym_headers_name(h, sh);

	take_usdt(o, sh, name);
	if (sh->sh_type == SHT_SYMTAB || sh->sh_type == SHT_DYNSYM) {
		take_symbols(o, h, *sh);
	} else if (sh->sh_type == SHT_PROGBITS && !(sh->sh_flags & SHF_ALLOC)) {
		if (!strcmp(name, ".gnu_debuglink"))
			o->debuglink = (struct sym_bytes){ sh->sh_offset, sh->sh_size };
		else if (!strcmp(name, ".gnu_debugdata"))
			o->debugdata = (struct sym_bytes){ sh->sh_offset, sh->sh_size };
		else if (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info"))
			o->has_dwarf = true;
	} else if (sh->sh_type == SHT_RELA && sh->sh_flags & SHF_ALLOC && sh->sh_size < TABLE_MAX &&
		   o->reloc_count < sizeof(o->relocs) / sizeof(o->relocs[0])) {
		o->relocs[o->reloc_count++] = (struct sym_relocs){
			.offset = sh->sh_offset,
			.size = sym_object_there(o, sh->sh_offset, sh->sh_size),
			.is_plt = !strcmp(name, ".rela.plt"),
		};
	} else if ((sh->sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR)) {
		/* In a separate debug file it is there without its bytes (SHT_NOBITS). */
		return take_code(o, sh, name);
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

static int read_headers(struct sym_object *o)
{
	struct sym_headers h;
	int err;

	measure(o);
	if (!sym_headers_read(o, &h))
		return -ENOEXEC;
	o->machine = h.eh.e_machine;
	err = read_segments(o, &h);
	for (size_t i = 1; !err && i < h.shnum; i++)
		err = take_section(o, &h, &h.sh[i]);
	order_code(o);
	read_build_id(o, &h);
	sym_headers_free(&h);
	return err;
}

static int open_object(struct sym_object **out, struct sym_object *o)
{
	int err = read_headers(o);

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

int sym_object_take_image(struct sym_object **out, void *image, size_t size)
{
	struct sym_object *o = calloc(1, sizeof(*o));

	if (!o) {
		free(image);
		rp_memory_give(size);
		return -ENOMEM;
	}
	o->fd = -1;
	o->image = image;
	o->image_size = size;
	o->taken = size;
	return open_object(out, o);
}

int sym_object_open_image(struct sym_object **out, const void *image, size_t size)
{
	void *copy;

	if (!rp_memory_take(size))
		return -ENOMEM;
	copy = malloc(size ? size : 1);
	if (!copy) {
		rp_memory_give(size);
		return -ENOMEM;
	}
	memcpy(copy, image, size);
	return sym_object_take_image(out, copy, size);
}

void sym_object_close(struct sym_object *o)
{
	if (!o)
		return;
	if (o->fd >= 0)
		close(o->fd);
	rp_memory_give(o->taken);
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
