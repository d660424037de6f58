/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From addresses to names: the kernel's by the kernel itself or by /proc/kallsyms, a process's by a
 * history of what was mapped where and when, and the ELF files and JIT maps behind it.
 *
 * Every function that can fail returns 0 or a negative errno and leaves its outputs untouched when
 * it fails. Nothing here is thread-safe. Times are CLOCK_MONOTONIC nanoseconds throughout.
 *
 *	sym_kernel_lookup(kernel, addr, true, &frame);	printf("%s\n", frame.name);
 */
#ifndef RAWPROF_SYMBOLIZE_H
#define RAWPROF_SYMBOLIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sym_kind {
	SYM_UNKNOWN, /* in no mapping that is known, or in anonymous memory without a JIT map */
	SYM_KERNEL,  /* the kernel image; module "[kernel]" */
	SYM_MODULE,  /* a loadable kernel module; module is its name without brackets */
	SYM_BPF,     /* a BPF program, trampoline or dispatcher; module "bpf" */
	SYM_USER,    /* a mapped file; module is its path as the process saw it */
	SYM_JIT,     /* named by /tmp/perf-PID.map; module is that path */
	SYM_VDSO,    /* the kernel's page in user space; module "[vdso]" */
};

/*
 * What an address means. Strings belong to the symbolizer that filled the frame in and live as
 * long as it does, a build-id until sym_user_unuse(). Any byte but NUL may occur in names and
 * paths: who prints them escapes them.
 */
struct sym_frame {
	enum sym_kind kind;
	/*
	 * As its file spells it, without @VERSION. Code without a symbol of which .eh_frame says
	 * where its function begins has that place for a name, "[libc.so.6+0x27190]", and is_place
	 * set. NULL: nothing is known.
	 */
	const char *name;
	bool is_place;
	uint64_t offset; /* bytes from the function's start to the address asked; 0 without name */
	const char *module; /* see enum sym_kind; "[anon]" or NULL where there is no file */
	/*
	 * The address in the file's own numbering (p_vaddr, what nm and addr2line use); the offset
	 * in the file if the file could not be read; where there is no file, the address itself.
	 */
	uint64_t module_addr;
	/* The mapping as the process made it, and where in the file it begins; 0: not known. */
	uint64_t map_start, map_end, map_offset;
	const char *build_id;	 /* GNU build-id in hex digits, or NULL */
	struct sym_image *image; /* for sym_user_source(); NULL: no file was found */
};

/* ---- kernel addresses */

/* Room for one text of sym_kernel_source.name; KSYM_NAME_LEN is 512 since 6.1, 128 before. */
enum { SYM_KERNEL_TEXT = 640 };

/* Where names of kernel addresses come from. A zeroed one means /proc/kallsyms alone. */
struct sym_kernel_source {
	/*
	 * Writes for each of the @n addresses, at texts + i * stride, the NUL-terminated text that
	 * the kernel's "%pS" makes of it: "name+0xoffset/0xsize", "name+0xoffset/0xsize [module]",
	 * or the bare address ("0x5") if it has no symbol. n is at most 256 and stride
	 * SYM_KERNEL_TEXT. Returns 0 or a negative errno, upon which /proc/kallsyms is used from
	 * then on. May be NULL.
	 */
	int (*name)(void *ctx, const uint64_t *addrs, size_t n, char *texts, size_t stride);
	void *ctx;
	const char *kallsyms; /* path of the second way; NULL: /proc/kallsyms */
};

struct sym_kernel;

/*
 * Reads nothing yet: files are opened when first needed. @source is copied, its strings too.
 * -ENOMEM
 */
int sym_kernel_open(struct sym_kernel **out, const struct sym_kernel_source *source);
void sym_kernel_close(struct sym_kernel *k);

/*
 * Names @n addresses at once, so that lookups of them cost nothing more. Duplicates and addresses
 * that are known already are asked for once only. @are_return_addresses as in sym_kernel_lookup.
 * Without a source, or when it fails, reads kallsyms: its errors are then those of
 * sym_kallsyms_open(). An error is never fatal: lookups answer SYM_KERNEL without a name.
 */
int sym_kernel_prepare(struct sym_kernel *k, const uint64_t *addrs, size_t n,
		       bool are_return_addresses);

/*
 * Fills @out, always. A return address is looked up one byte before it, where the call was, and its
 * offset is still counted from the address itself; say false for the innermost frame and for the
 * one that an interrupt or a signal stopped. Addresses not prepared are asked for one by one.
 */
void sym_kernel_lookup(struct sym_kernel *k, uint64_t addr, bool is_return_address,
		       struct sym_frame *out);

/* ---- /proc/kallsyms */

/*
 * Addresses to names where the kernel will not say them itself, and names to addresses.
 */
struct sym_kallsyms;

/* One function. Strings live as long as the sym_kallsyms. */
struct sym_ksym {
	const char *name;
	const char *module; /* NULL for the kernel image, "bpf" for BPF programs */
	uint64_t addr;
	uint64_t size; /* up to the next symbol or the end of its region; 0 if it is not known */
};

/*
 * Reads and sorts @path (NULL: /proc/kallsyms). -EACCES if all addresses read as zero, which is
 * what kernel.kptr_restrict, or the lack of CAP_SYSLOG, makes of them; -ENODATA if there is no text
 * symbol in it; -ENOMEM; or what open and read said.
 */
int sym_kallsyms_open(struct sym_kallsyms **out, const char *path);
void sym_kallsyms_close(struct sym_kallsyms *ks);

/*
 * The function that contains @addr. Of several names at one address it is the one that the kernel's
 * own "%pS" prints. -ENOENT beyond the ends of the kernel, of a module, or of the init text.
 */
int sym_kallsyms_lookup(const struct sym_kallsyms *ks, uint64_t addr, struct sym_ksym *out);

/*
 * The functions called @name, all modules included, in order of address: fills up to @max and
 * returns how many there are (static functions may share a name), 0 if none. Every alias counts.
 */
size_t sym_kallsyms_find(const struct sym_kallsyms *ks, const char *name, struct sym_ksym *out,
			 size_t max);

/*
 * Calls @fn on each function whose name matches the fnmatch(3) @pattern, in order of address, until
 * it returns non-zero, which is then returned; else 0.
 */
int sym_kallsyms_glob(const struct sym_kallsyms *ks, const char *pattern,
		      int (*fn)(void *ctx, const struct sym_ksym *sym), void *ctx);

/* The kallsyms of @k, opened on first use and closed with it. Errors of sym_kallsyms_open(). */
int sym_kernel_kallsyms(struct sym_kernel *k, const struct sym_kallsyms **out);

/* ---- processes */

/*
 * A history, told by the caller in any order of time (events come from one ring per CPU) and put in
 * order at a question: tell all there is before asking, as an event older than what was asked
 * about before has the history put together anew. A process is known by its pid and a time at which
 * it lived, so a pid that was reused, or that ran another program before exec, gets the names of
 * that time.
 */
struct sym_user;

/* @proc: where procfs is mounted, NULL for /proc. -ENOMEM. */
int sym_user_open(struct sym_user **out, const char *proc);
void sym_user_close(struct sym_user *u);

/*
 * From now on what this machine lacks is asked of the servers in $DEBUGINFOD_URLS, by build-id: the
 * debug file of a program without .symtab when its first function is named, of one without debug
 * data when its source is asked for; each once. This takes as long as the servers and the network
 * do. The library keeps what it was given (debuginfod_find_debuginfo(3)). -EDESTADDRREQ if that
 * variable is not set; -ELIBACC if libdebuginfod.so.1 cannot be loaded, -ENOSYS in a program that
 * can load none; -ENOMEM.
 */
int sym_user_use_debuginfod(struct sym_user *u);

struct sym_debuginfod_stats {
	uint32_t asked, found;
	int error; /* negative errno: the last that was not "there is no such file"; 0: none */
};

/* What came of it so far; all 0 if it is not in use. */
struct sym_debuginfod_stats sym_user_debuginfod_stats(const struct sym_user *u);

/* One mapping, as PERF_RECORD_MMAP2 tells it (include/uapi/linux/perf_event.h). */
struct sym_mmap {
	uint64_t time;
	uint32_t pid;
	uint32_t prot; /* PROT_*; 0 if it is not known */
	uint64_t start, len;
	uint64_t pgoff; /* in bytes, as in the record (not pages) */
	uint32_t dev_major, dev_minor;
	uint64_t inode; /* 0 if it is not known (build-id records do not carry it) */
	uint8_t build_id[20];
	uint8_t build_id_size; /* 0 if it is not known */
	const char *filename;  /* copied; "//anon", "[vdso]" and the like as in the record */
};

/*
 * Events. -ENOMEM is their only error, and -EINVAL for a mapping that is empty or wraps around.
 *
 * sym_user_comm: thread @tid of process @pid is called @comm from @time on; with @is_exec (misc bit
 *	PERF_RECORD_MISC_COMM_EXEC) it is an exec as well, as by sym_user_exec().
 * sym_user_fork: @pid was born of @ppid with a copy of its mappings and its name. A new thread
 *	(pid == ppid) changes nothing.
 * sym_user_exec: @pid dropped all its mappings. @time must precede the mappings of the new program,
 *	as that of the COMM record does and that of the sched_process_exec tracepoint does not.
 * sym_user_exit: the whole process ended (not: one of its threads). Its mappings and names stay.
 */
int sym_user_comm(struct sym_user *u, uint64_t time, uint32_t pid, uint32_t tid, const char *comm,
		  bool is_exec);
int sym_user_fork(struct sym_user *u, uint64_t time, uint32_t pid, uint32_t ppid);
int sym_user_mmap(struct sym_user *u, const struct sym_mmap *m);
int sym_user_exec(struct sym_user *u, uint64_t time, uint32_t pid);
int sym_user_exit(struct sym_user *u, uint64_t time, uint32_t pid);

/*
 * Reads the executable mappings, the name and the start time of a process that is already running,
 * as what holds at @time (now). They hold before @time as well wherever no event says otherwise,
 * back to the start of the process or its last exec. -ESRCH if there is no such process, -EACCES
 * or -EPERM if it is not ours to read, -ENOMEM.
 */
int sym_user_snapshot(struct sym_user *u, uint32_t pid, uint64_t time);
/* And hands each of the mappings to @also (NULL: none), which ends it by not returning 0. */
struct sym_proc_map;
typedef int (*sym_user_map_fn)(void *ctx, const struct sym_proc_map *m);
int sym_user_snapshot_with(struct sym_user *u, uint32_t pid, uint64_t time, sym_user_map_fn also,
			   void *ctx);

/*
 * Asked now and then while a process with very much mapped is looked at, by the functions above and
 * below: how many bytes have been kept of it since the last time. False: that is enough of it.
 */
typedef bool (*sym_user_patience_fn)(void *ctx, size_t bytes);
void sym_user_set_patience(struct sym_user *u, sym_user_patience_fn fn, void *ctx);

/*
 * Who pays for what is remembered of a file that was not mapped before, whether by an event or in a
 * process that is read: take() is asked first, and may refuse; then the mapping is one of anonymous
 * memory. give() follows once the file is forgotten, with what take() wrote to @payer. 0: nobody
 * pays, and nothing is given back.
 */
struct sym_user_room {
	bool (*take)(void *ctx, uint32_t pid, size_t bytes, uid_t *payer);
	void (*give)(void *ctx, uid_t payer, size_t bytes);
	void *ctx;
};
void sym_user_set_room(struct sym_user *u, const struct sym_user_room *room); /* copied */

/*
 * Takes hold of what will be out of reach once process @pid has ended: its JIT map, and the files
 * it has mapped that its death would delete, that lie where files come and go (outside of /usr,
 * /lib*, /bin, /sbin, /opt), or whose mount namespace it would take along. Call it now and then
 * while the process lives. 0, -ESRCH if it is gone, -ENOMEM.
 */
int sym_user_keep(struct sym_user *u, uint32_t pid);
/* Its perf map alone, which a compiler writes when the process has run for a while. */
int sym_user_keep_jit(struct sym_user *u, uint32_t pid);
/* The same, of one that was kept before: not if it has run for seconds with code of files alone. */
int sym_user_keep_again(struct sym_user *u, uint32_t pid);

/* What will be asked about a pid: nothing, anything, or only what sym_user_use() was told of. */
enum sym_wanted { SYM_NOT_WANTED, SYM_WANTED, SYM_WANTED_USED };

/*
 * Forgets what will not be asked about any more, for recordings that go on for days: processes that
 * ended before @before, and what living ones were before their last exec, unless @wanted says that
 * @pid will be asked about, or a process that goes on has its mappings from there. Of a living
 * process that has mapped thousands of times, what it mapped before its last snapshot goes as well.
 * All that happened before @before must have been told. -ENOMEM: nothing was forgotten.
 */
int sym_user_prune(struct sym_user *u, uint64_t before,
		   enum sym_wanted (*wanted)(void *ctx, uint32_t pid), void *ctx);
/*
 * After that, by who uses no string any more that was given out: files that nothing maps now are
 * forgotten as well.
 */
void sym_user_forget_files(struct sym_user *u);
/*
 * Applies the events that are new, of all processes: the next question does it else, whoever is
 * paying for that. -ENOMEM.
 */
int sym_user_settle(struct sym_user *u);
/* This will be asked: what @addr meant to the process that had @pid at @time. -ENOENT, -ENOMEM. */
int sym_user_use(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr);

/*
 * Nothing of all that sym_user_use() was told will be asked, and no string that was given out is
 * used any more, nor struct sym_mapped. What is kept of processes that have ended, of files that
 * nothing maps any more, or that were not asked about for some such times, is given back.
 */
void sym_user_unuse(struct sym_user *u);

/* How many events are remembered; a process that runs a program takes about ten, of 100 bytes. */
size_t sym_user_events(const struct sym_user *u);

/*
 * Fills @out, always: what @addr meant to the process that had @pid at @time.
 * @is_return_address as in sym_kernel_lookup(). Files are opened and read here, at their first
 * address, each build-id once, and stay open for the names asked later: one descriptor a file,
 * two if it has a separate debug file.
 */
void sym_user_lookup(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		     bool is_return_address, struct sym_frame *out);

/*
 * The two halves of sym_user_lookup(), for a caller that remembers names: first what was mapped at
 * an address, then, if that is new to the caller, its name.
 */
struct sym_mapped {
	/*
	 * Equal for equal places of one file, so that the name found for an address holds wherever
	 * address and number are these. 0: nothing is known.
	 */
	uint64_t number;
	/* For sym_user_name(): the mapping, and when the process was born. */
	uint64_t since, start, end, offset, born;
	uint32_t file, maker;
};

/* Fills @out, always: what @pid had mapped at @addr at @time. */
void sym_user_find(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		   struct sym_mapped *out);
/* As sym_user_lookup(); @at is what sym_user_find() said of @addr - @is_return_address. */
void sym_user_name(struct sym_user *u, uint32_t pid, uint64_t time, uint64_t addr,
		   bool is_return_address, const struct sym_mapped *at, struct sym_frame *out);

/*
 * Reads the @n bytes of code right before the address of @f, which sym_user_lookup() of @u has
 * filled in without is_return_address. -ENOENT if there is no file, or they are in none of its
 * code.
 */
int sym_user_code_before(struct sym_user *u, const struct sym_frame *f, void *code, size_t n);

enum { SYM_INLINE_MAX = 64 };

/* A place in source. Strings live as long as the symbolizer. */
struct sym_line {
	/*
	 * A function that was inlined, as the linker would know it ("_ZN3foo3barEv"), or without
	 * such a name as its source has it; NULL for the one that the symbol table knows.
	 */
	const char *function;
	const char *file; /* as the compiler was called; NULL: not known */
	uint32_t line;	  /* 0: not known, or of no line */
};

/*
 * Finds the source of @f, which sym_user_lookup() of @u has filled in with the same
 * @is_return_address. Without @inlined that is one line. With it there is one for each function
 * that was inlined there, innermost first, and last that of the function itself; each tells where
 * in it is the call of the one before. Returns how many were written to @out, at most @max and at
 * most SYM_INLINE_MAX + 1; 0 if nothing is known. Debug data is read here, from the file itself or
 * its separate debug file, and kept; each address is looked up once.
 */
size_t sym_user_source(struct sym_user *u, const struct sym_frame *f, bool is_return_address,
		       bool inlined, struct sym_line *out, size_t max);

/*
 * The variable at @addr, if it is in the file that has the code of @f, which sym_user_lookup() has
 * filled in for the address @code of the same process: name, offset and module of @out. Variables
 * of a file are read when the first one is asked for; those of threads (TLS) have no addresses of
 * their own. False, and @out untouched, if there is none.
 */
bool sym_user_data(const struct sym_frame *f, uint64_t code, uint64_t addr, struct sym_frame *out);

/*
 * How many files have debug data that could not be read so far, as it is damaged or packed in a way
 * that libdw does not know (zstd before 0.189); *@path, if there are any, is what one of them is
 * called.
 */
size_t sym_user_unreadable_source(const struct sym_user *u, const char **path);

/* False if this was built without libdw: sym_user_source() then finds nothing. */
bool sym_can_find_source(void);

/*
 * The name that thread (or process) @tid had at @time; a process that never said one has that of
 * its parent. NULL if nothing is known. Lives as long as @u.
 */
const char *sym_user_comm_at(struct sym_user *u, uint32_t tid, uint64_t time);

/* ---- functions by name */

/*
 * Where in a file the functions are that are to be probed.
 */

/* One function. Several names of one place are one function. */
struct sym_function_found {
	uint64_t offset; /* of its first instruction, in the file */
	uint64_t vaddr;	 /* the same in the file's own numbering */
	uint64_t size;	 /* in bytes; 0 if the file does not say */
	uint64_t alone;	 /* bytes from its start to the next symbol's, or to the segment's end */
	/*
	 * All of its names, without @VERSION and each once, asked for or not: first the one that
	 * the first pattern matched, then the others in the order of the alphabet.
	 */
	const char *const *names;
	size_t name_count;
	size_t pattern; /* the first that matched a name */
	/*
	 * The address is that of the resolver, which the dynamic linker calls to choose one of
	 * several functions (STT_GNU_IFUNC): a probe there does not see the calls.
	 */
	bool is_ifunc;
};

struct sym_functions {
	uint16_t machine; /* EM_* of elf.h */
	/* In the file: the executable segment that has most of them. */
	uint64_t text_offset, text_size;
	struct sym_function_found *items; /* by offset */
	size_t count;
};

/*
 * Finds the functions of the ELF file open as @fd, which stays the caller's, with a name that
 * matches one of the @n fnmatch(3) @patterns; one without * ? [ \ is a plain name, and many of
 * those are looked up at once. Looks at .symtab and .dynsym, which are read once. None is no error.
 * Names that are undefined here (in the PLT only) are left out. Free with sym_functions_free().
 * -ENOEXEC if it is no ELF file of this byte order, -ENOMEM.
 */
int sym_functions_find(int fd, const char *const *patterns, size_t n, struct sym_functions **out);
void sym_functions_free(struct sym_functions *f);

/* As sym_functions_find(), by any means; a file that was stripped also has the symbols of its
 * .gnu_debugdata or of its separate debug file, looked for as those of sym_user_lookup() are. */
struct sym_functions_query {
	int fd;
	const char *path; /* as process @pid sees it */
	uint32_t pid;	  /* or this one's own */
	const char *proc; /* NULL: /proc */
	/* Which pattern a name, without @VERSION, matches; SIZE_MAX: none. */
	size_t (*match)(void *ctx, const char *name);
	void *ctx;
};
int sym_functions_match(const struct sym_functions_query *q, struct sym_functions **out);

/* A file that a process has mapped, with the functions found in it. */
struct sym_mapped_functions {
	const char *path; /* as the process saw it; may end in " (deleted)" */
	int fd;		  /* open while the callback runs; duplicate it to keep it */
	uint64_t dev, inode;
	uint64_t start, offset; /* its first executable mapping: address, and place in the file */
	const struct sym_functions *functions;
};

/*
 * Looks through every file that process @pid executes from, each once (device and inode), and calls
 * @fn on each ELF file, whether it has some of the functions or none, until it returns non-zero,
 * which is returned. With no patterns any file is, and functions is NULL. Files that @skip, unless
 * NULL, says true to are not even opened: it sees their path and where they are mapped, fd is -1,
 * functions NULL. Files are opened by the mapping itself
 * (deleted ones too), else by their path below the process's root, so mount namespaces make no
 * difference; *@unread, unless NULL, is how many could not be opened, 0 if the process has ended
 * meanwhile. @proc: NULL for /proc. -ESRCH, -EACCES, -EPERM, -ENOMEM.
 */
int sym_functions_mapped(const char *proc, uint32_t pid, const char *const *patterns, size_t n,
			 bool (*skip)(void *ctx, const struct sym_mapped_functions *m),
			 int (*fn)(void *ctx, const struct sym_mapped_functions *m), void *ctx,
			 size_t *unread);

/* ---- USDT probes by name */

/* One place at which a program passes a probe. What was inlined, or written twice, has several. */
struct sym_usdt_site {
	const char *provider, *name; /* any byte but NUL may occur in them */
	const char *args;   /* where they are, as the note has it: "-4@%eax 8@-16(%rbp)"; or "" */
	uint64_t vaddr;	    /* of the instruction, a nop, in the file's own numbering */
	uint64_t offset;    /* the same in the file */
	uint64_t semaphore; /* in the file: 16 bits that count who listens; 0: it has none */
};

struct sym_usdt {
	uint16_t machine;	     /* EM_* of elf.h */
	struct sym_usdt_site *items; /* by provider, name and offset */
	size_t count;
	/* Notes that are damaged, or name an address that the file does not load. */
	size_t unusable;
};

/*
 * Reads .note.stapsdt of the ELF file open as @fd, which stays the caller's. None is no error.
 * Addresses are where the file has them now, also if prelink has moved it. Free with
 * sym_usdt_free(). -ENOEXEC if it is no ELF file of this byte order, -EFBIG, -ENOMEM.
 */
int sym_usdt_read(int fd, struct sym_usdt **out);
void sym_usdt_free(struct sym_usdt *usdt);

/*
 * The address of a variable that an argument of the probes names, "8@counter(%rip)", in the file's
 * own numbering. -ENOENT; -ENOTUNIQ: several static ones are called so; -E2BIG: so many were asked
 * for that it is not looked for any more; -ENOMEM.
 */
int sym_usdt_variable(struct sym_usdt *usdt, const char *name, uint64_t *vaddr);

/* ---- names as people wrote them */
struct sym_demangler;

enum { SYM_DEMANGLED_MAX = 4096 };

/* -ENOMEM */
int sym_demangler_open(struct sym_demangler **out);
void sym_demangler_close(struct sym_demangler *d);

/*
 * A C++ or Rust function as its source has it: "List<int>::add(int const&)", without the type that
 * it returns, "core::fmt::write" without the hash. What is longer than SYM_DEMANGLED_MAX bytes ends
 * in "...", and is not read if it is mangled; "@plt" stays behind it. Any other name comes back as
 * it is, the same pointer, as does every name if there is no memory. Each one is worked out once;
 * the result lives as long as @d.
 *
 * Names were made that take years. One that takes 20 ms of CPU time is given up, and comes back as
 * it is; so does what might take long once all together took a second and 20 us each. The clock is
 * ITIMER_VIRTUAL, whose SIGVTALRM has a handler from sym_demangler_open() on.
 */
const char *sym_demangle(struct sym_demangler *d, const char *name);
/* The name as it is, cut as above: it may be as long as the file that it is from. */
const char *sym_demangler_cut(struct sym_demangler *d, const char *name);
/* Forgets all of it if that is much: what sym_demangle() has returned holds no longer. */
void sym_demangler_rest(struct sym_demangler *d);
/* How many were given up. */
size_t sym_demangler_given_up(const struct sym_demangler *d);

/* False if this was built without a demangler: all names then stay as they are. */
bool sym_can_demangle(void);

#endif
