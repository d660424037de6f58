/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The user side of programs/shared/jvm.h: which processes have a virtual machine of HotSpot and
 * where it keeps what (jvm.c, jvm_layout.c), and the names of what ran (jvm_names.c, jvm_read.c).
 *
 * All of it is read from the process's memory, which the kernel has to allow us; it may have been
 * written to deceive, so sizes are bounded and nothing is believed to be there.
 */
#ifndef RECORD_JVM_H
#define RECORD_JVM_H

#include <stdbool.h>
#include <sys/types.h>

#include <rawprof/report.h>
#include "programs/shared/jvm.h"
#include "read_costs.h"

struct record_jvm;
struct name_owner;
struct name_share;
struct stack_record;
struct mapped_file;

/* processes: the descriptor of that map, which stays the caller's. -ENOMEM. */
int record_jvm_open(struct record_jvm **out, int processes, struct name_share *share);
void record_jvm_close(struct record_jvm *j);

/* Has the process one mapped, or can that not be known? */
bool record_jvm_may_run(uint32_t pid);
/* Does any process of this machine run one, or has it one that could be started? */
bool record_jvm_may_start(void);

/*
 * Code of a process is mapped, @bias above its addresses in the file: returns what struct
 * unwind_proc says of its virtual machine, 0 if this is none. The file is opened the first
 * time. *@early is set if it is one that has not begun: then the process is to be read again.
 */
uint32_t record_jvm_mapped(struct record_jvm *j, uint32_t pid, const struct mapped_file *file,
			   uint64_t bias, bool *early);
/* Was one found, so that code is known better than by what it does? @j may be NULL. */
bool record_jvm_has(const struct record_jvm *j, uint32_t pid);
/* Is a file of that name a Java virtual machine? */
bool record_jvm_is_named(const char *path);
/* The process has ended, or has executed something else. @j may be NULL. */
void record_jvm_ended(struct record_jvm *j, uint32_t pid);

/* Reads what names the frames of a record, while it is there. 0 or -ENOMEM. */
int record_jvm_saw(struct record_jvm *j, const struct stack_record *record);

/* Are they those of a method? Else of what the virtual machine brings along: a stub. */
bool record_jvm_is_method(const uint64_t words[2]);

/* The frames of two words of a record, innermost first, at least one; texts live with names. */
size_t record_jvm_frames(const struct record_jvm *j, const struct name_owner *owner,
			 const uint64_t words[2], struct report_frame *out, size_t max);

/* After record_name_share_settle(): names of processes that are gone. @j may be NULL. */
void record_jvm_forget(struct record_jvm *j);

/* ---- between the files */

/* Offsets in bytes, or addresses in libjvm.so. */
enum jvm_field {
	JVM_CODE_HEAPS, /* static: address of the variable, as the next ones */
	JVM_INTERPRETER,
	JVM_CALL_STUB,
	JVM_VERSION,
	JVM_ARRAY_LENGTH,
	JVM_ARRAY_DATA,
	JVM_HEAP_MEMORY,
	JVM_HEAP_SEGMENTS,
	JVM_HEAP_SHIFT,
	JVM_SPACE_LOW,
	JVM_SPACE_HIGH,
	JVM_QUEUE_BUFFER,
	JVM_QUEUE_LIMIT,
	JVM_BLOB_NAME,
	JVM_BLOB_CODE, /* of where it begins; of more below: see by_offset */
	JVM_BLOB_MUTABLE,
	JVM_BLOB_COMPLETE,
	JVM_BLOB_FRAME,
	JVM_COMPILED_METHOD,
	JVM_COMPILED_IMMUTABLE,
	JVM_COMPILED_SCOPES,
	JVM_COMPILED_DEOPT,
	JVM_COMPILED_METADATA,
	JVM_COMPILED_PCS,
	JVM_COMPILED_PCS_END,
	JVM_COMPILED_ORIG_PC,
	JVM_COMPILED_ID,
	JVM_METHOD_CONST,
	JVM_CONST_POOL,
	JVM_CONST_BYTES,
	JVM_CONST_FLAGS,
	JVM_CONST_CODE_BYTES,
	JVM_CONST_NAME,
	JVM_POOL_HOLDER,
	JVM_POOL_LENGTH,
	JVM_POOL_SOURCE,
	JVM_KLASS_NAME,
	JVM_SYMBOL_LENGTH,
	JVM_SYMBOL_TEXT,
	JVM_FIELDS
};
struct jvm_layout {
	uint64_t at[JVM_FIELDS];
	uint64_t block_bytes, const_bytes, pool_bytes; /* sizes of HeapBlock, ConstMethod, ... */
	uint32_t version;			       /* 17 */
	/*
	 * From 25 on a CodeBlob has no addresses in it but numbers of bytes from its beginning, and
	 * what describes its code lies elsewhere, at two addresses that it has.
	 */
	bool by_offset;
};
/* The tables that a file of HotSpot has of its own types, by their addresses in it. */
struct jvm_tables {
	uint64_t structs, types;
};
/* Are there any? Takes fd. */
bool record_jvm_find_tables(int fd, struct jvm_tables *out);

/* A process: its memory, open for reading, and the user whose it is. */
struct record_remote;
struct jvm_memory {
	struct record_remote *remote;
	uid_t uid;
	uint64_t bias;
	struct read_costs *costs;
};
/* How many of n bytes could be read. */
size_t record_jvm_read(const struct jvm_memory *m, uint64_t address, void *out, size_t n);
bool record_jvm_read_all(const struct jvm_memory *m, uint64_t address, void *out, size_t n);
/* The text at an address, cut to n - 1 bytes; "" if there is none. */
void record_jvm_read_text(const struct jvm_memory *m, uint64_t address, char *out, size_t n);

/* Reads the tables. -EAGAIN: they are not there yet, -ENOENT: @missing is not in them. */
int record_jvm_read_layout(const struct jvm_memory *m, const struct jvm_tables *tables,
			   struct jvm_layout *out, const char **missing);

/* A method: its texts, and the table of its lines. */
struct jvm_method {
	char *name, *file; /* file NULL: not known */
	uint8_t *lines;
	uint32_t nlines, code_bytes;
	unsigned int excluded;
};
int record_jvm_read_method(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t method,
			   uint64_t const_method, struct jvm_method *out);

/*
 * Where a pc of compiled code is, innermost first; in its method where no more is known, with a bci
 * of -1. Returns how many, 0: the code is gone.
 */
struct jvm_place {
	uint64_t method;
	int32_t bci;
};
size_t record_jvm_read_scopes(const struct jvm_memory *m, const struct jvm_layout *l,
			      uint64_t compiled, uint32_t id, uint32_t offset, bool is_return,
			      struct jvm_place *out, size_t max);

struct jvm_process_memory {
	struct jvm_memory memory;
	const struct jvm_layout *layout;
};
struct jvm_names;
int record_jvm_names_open(struct jvm_names **out, struct name_share *share);
void record_jvm_names_close(struct jvm_names *names);
void record_jvm_names_forget(struct jvm_names *names);
int record_jvm_names_add(struct jvm_names *names, const struct jvm_process_memory *p,
			 const struct name_owner *owner, const uint64_t words[2]);
size_t record_jvm_names_find(const struct jvm_names *names, const struct name_owner *owner,
			     const uint64_t words[2], struct report_frame *out, size_t max);

#endif
