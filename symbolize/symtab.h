/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions of one ELF file, by address. */
#ifndef SYMBOLIZE_SYMTAB_H
#define SYMBOLIZE_SYMTAB_H

#include "base/budget.h"
#include "base/hash.h"
#include "fdes.h"
#include "guide.h"
#include "object.h"
#include "spans.h"
#include "strings.h"
#include "unwind/go_table.h"

/*
 * A function's name is read from the file when it is first asked for, so the table of 100,000
 * functions is 24 bytes each and nothing more. What .name holds tells how far that went:
 *	0, table, offset	in the strings of this table (30 bits of offset)
 *	1, 0, index		one of the names ties[index] ..., the last one has SYM_LAST set;
 *				these aliases are equal in everything but the name
 *	1, 1, index		settled: names[index], which may be NULL
 */
struct sym_function {
	uint32_t addr; /* from the table's base */
	uint32_t name;
};

struct sym_symtab {
	const struct sym_object *object;
	const struct sym_object *from[SYM_TABLES]; /* whose symbols and strings are read */
	struct sym_strings *strings;
	uint64_t base; /* the lowest code section */
	struct sym_function *functions;
	struct sym_span *spans; /* .id is an index of functions */
	size_t span_count;
	struct sym_guide guide; /* to the spans */
	uint32_t *ties;
	size_t tie_count, tie_capacity;
	const char **names;
	size_t name_count, name_capacity;
	uint32_t reads[SYM_TABLES]; /* of single names */
	/*
	 * All strings, once many names were wanted, or NULL. Each ends with a NUL where its
	 * @VERSION began, so that a name is where its offset says.
	 */
	char *text[SYM_TABLES];
	size_t text_size[SYM_TABLES];
	struct hash_map plt;   /* stubs named so far */
	struct rp_work work;   /* bytes that may still be read to find names */
	uint64_t taken;	       /* of the memory of all files */
	struct sym_fdes *fdes; /* read when the first address without a symbol is asked for */
	bool fdes_read;
	struct unwind_go go; /* the same; no data: it is no program of Go */
	bool go_read;
	const char *
		*places; /* names of FDEs, by their index, in a file called places_in; or NULL */
	const char *places_in;
};

/* So many bytes belong to a symbol without size if no other one follows. */
enum { SYM_UNSIZED_MOST = 4096 };

/*
 * Reads .symtab and .dynsym of @object. @debug, unless NULL, is the object of the same code whose
 * .symtab is read instead. All must outlive the table, and so must @strings. No symbols at all is
 * no error. -ENOMEM.
 */
int sym_symtab_open(struct sym_symtab **out, const struct sym_object *object,
		    const struct sym_object *debug, struct sym_strings *strings);
void sym_symtab_close(struct sym_symtab *t);

/*
 * The function that contains @vaddr, and where it starts; "name@plt" for a stub of the procedure
 * linkage table. false if there is none or its name cannot be read.
 */
bool sym_symtab_lookup(struct sym_symtab *t, uint64_t vaddr, const char **name, uint64_t *start);

/*
 * The name of code without a symbol is its place, "[libc.so.6+0x27190]".
 * @path is what the file was called. false if .eh_frame tells of none
 * there.
 */
bool sym_symtab_place(struct sym_symtab *t, uint64_t vaddr, const char *path, const char **name,
		      uint64_t *start);

/* The same for a function of Go, which is named by its own table in a file without symbols. */
bool sym_symtab_go(struct sym_symtab *t, uint64_t vaddr, const char **name, uint64_t *start);

/* ---- between the files of the table */

/* Memory for what is kept of the file, given back with the table. False: there is no more. */
bool sym_symtab_take(struct sym_symtab *t, uint64_t bytes);

enum { SYM_NAME_OFFSET = (1 << 30) - 1, SYM_NAME_DYNSYM = 1 << 30 };
#define SYM_NAME_SPECIAL (1U << 31)
#define SYM_NAME_SETTLED (1U << 30)
#define SYM_LAST (1U << 31)

/* Reads the functions; fills .base, .functions, .spans and .ties. */
int sym_symtab_read(struct sym_symtab *t);

/*
 * The name at @offset in the strings of table @which without its @VERSION, followed by @suffix.
 * NULL if it is empty or out of bounds, or memory is.
 */
const char *sym_symtab_name(struct sym_symtab *t, int which, uint64_t offset, const char *suffix);

/*
 * Calls @fn on each symbol of table @which of @o, an Elf64_Sym even if the file is 32-bit, until it
 * returns non-zero, and returns that. -ENOMEM.
 */
int sym_symtab_each(const struct sym_object *o, int which,
		    int (*fn)(void *ctx, const void *elf64_sym), void *ctx);

/* A symbol that is asked for by its name, which has less than SYM_SOUGHT_NAME bytes. */
struct sym_sought {
	const char *name;
	unsigned char type; /* STT_*, */
	uint64_t least;	    /*   and so many bytes: of most others the name is not even read */
	bool found;
	uint64_t address, size; /* of STT_TLS the offset in the module's block */
};
enum { SYM_SOUGHT_NAME = 80 };
/*
 * So many symbols of a file are looked at, where a name that is read counts as several: those of
 * large programs with all that is for debuggers are a million.
 */
enum { SYM_MOST_SOUGHT = 4 << 20, SYM_NAME_COUNTS = 8 };

/*
 * Looks for these @n in .dynsym, and in .symtab if the first is not there. Without memory, or
 * behind so many others, they are not found.
 */
void sym_symtab_find(const struct sym_object *o, struct sym_sought *wanted, size_t n);

/* Symbol @index of table @which, widened if the file is 32-bit. */
bool sym_symtab_symbol(const struct sym_object *o, int which, uint64_t index, void *elf64_sym);

void sym_plt_prepare(struct sym_symtab *t);

/* As sym_symtab_lookup, for an address in a PLT section that no symbol covers. */
bool sym_plt_lookup(struct sym_symtab *t, const struct sym_section *plt, uint64_t vaddr,
		    const char **name, uint64_t *start);

#endif
