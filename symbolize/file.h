/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that processes have mapped: which file it was, and its functions when they are wanted. */
#ifndef SYMBOLIZE_FILE_H
#define SYMBOLIZE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data.h"
#include "source.h"
#include "space.h"
#include "strings.h"
#include "symtab.h"

enum sym_file_kind {
	SYM_FILE,
	SYM_FILE_ANON, /* anonymous memory, devices, and whatever else holds no ELF file */
	SYM_FILE_VDSO,
};

/* One ELF file with its functions: one for each build-id of an owner, else for each file. */
struct sym_image {
	struct sym_image *next;
	struct sym_files *files; /* that it is one of */
	struct sym_object *object;
	struct sym_object *debug;  /* its separate debug file, or NULL */
	struct sym_object *packed; /* its .gnu_debugdata, if there is no .symtab; or NULL */
	struct sym_symtab *symtab;
	struct sym_data *data;	  /* read when the first variable is asked for */
	struct sym_strings names; /* which go when it does */
	struct sym_source source;
	bool was_asked_for; /* its debug file, of a server */
	uint32_t used;	    /* sym_files.age when it was last asked for */
	bool goes;	    /* sym_images_drop() */
	uid_t holder;	    /* in whose share its descriptors are (held.c), */
	uint64_t bytes;	    /*   and so much memory */
};

/*
 * What a mapping said of its file. Names are given from no other file than that: the one found must
 * have the build-id, or else the device and inode, that the mapping had.
 */
struct sym_file {
	const char *path; /* as the process saw it, maybe with " (deleted)"; kept in the strings */
	uint64_t dev, inode;
	uint8_t build_id[SYM_BUILD_ID_MAX];
	uint8_t build_id_size;
	uid_t finder;	/* of whose processes alone it is; 0: of all */
	bool elsewhere; /* one was found that is it but for its device (file.c): */
	uid_t only;	/*   by processes of this user; 0: of none */
	bool many;	/*   and of others */
	enum sym_file_kind kind;
	bool settled;		 /* .image is all that will ever be known */
	bool reachable;		 /* by its path, when last looked at */
	uint8_t tries;		 /* at opening it */
	uint32_t last_pid;	 /* through which it was tried */
	int fd;			 /* held for a process that may be gone when it is needed; -1 */
	uid_t holder;		 /* in whose share that is (held.c) */
	uid_t payer;		 /* for being remembered (struct sym_user_room) */
	struct sym_image *image; /* the owner's; NULL: not ELF, or not found yet */
};

struct sym_files {
	struct sym_file *items;
	size_t count, capacity;
	struct hash_index index; /* of their numbers */
	struct sym_image *images;
	struct hash_map known; /* by what they are found (image.c) */
	uint32_t age;	       /* how often it had a rest */
	uint32_t left;	       /* files, when some were forgotten last, */
	uint32_t left_strings;
	struct sym_strings *strings; /* the owner's, like proc */
	const char *proc;
	struct sym_debuginfod *server; /* where to ask for debug files; or NULL */
	struct hash_map holders;       /* users whose processes have files that are held open */
	uint32_t held;		       /* of all but root, */
	uint64_t held_bytes;	       /*   of their files' functions */
	struct sym_user_room room;     /* whom to ask for new ones; take is NULL: nobody */
};

void sym_files_init(struct sym_files *fs, struct sym_strings *strings, const char *proc);
void sym_files_free(struct sym_files *fs);

/*
 * One descriptor more is held for a process: in whose share that is, 0: in nobody's. -EMFILE: its
 * user has too many; -ENOMEM.
 */
int sym_held_take(struct sym_files *fs, uint32_t pid, uid_t *uid);
/* In whose share what costs something of a file of @owner is; 0: in nobody's. */
uid_t sym_held_payer(uid_t owner);
/* The same of a user whom it was in the share of before; or of whoever owns a file. */
int sym_held_take_as(struct sym_files *fs, uid_t uid);
void sym_held_give(struct sym_files *fs, uid_t uid);
/*
 * Opening a user's files, their functions, variables and names, and perf maps, take four seconds
 * between two rests at most, and of the memory half of what the others have left. What was read
 * goes with a negative @bytes.
 */
bool sym_held_has_memory(const struct sym_files *fs, uid_t uid);
bool sym_held_may_read(const struct sym_files *fs, uid_t uid);
void sym_held_has_read(struct sym_files *fs, uid_t uid, uint64_t ns, int64_t bytes);
void sym_held_rest(struct sym_files *fs);
/* Holds @fd, which it takes, unless the user of the process has too many. */
void sym_file_hold(struct sym_files *fs, struct sym_file *f, uint32_t pid, int fd);
/* The descriptor that is held, which is the caller's from then on; -1: none. */
int sym_file_release(struct sym_files *fs, struct sym_file *f);

/*
 * The number of the file that a mapping of process @pid is of: one for each file, or, if there is
 * no room for it, that of anonymous memory. @key.path is copied. -ENOMEM.
 */
int sym_files_add(struct sym_files *fs, uint32_t pid, const struct sym_file *key, uint32_t *number);
/* One goes: whoever paid for it need not any longer. */
void sym_file_give(const struct sym_files *fs, const struct sym_file *f);

/*
 * The functions of the file behind @m, mapped by process @pid, looked for in the process itself, in
 * its root, and at its path, in this order. NULL if that file cannot be found or is no ELF file.
 */
struct sym_image *sym_files_image(struct sym_files *fs, uint32_t pid, const struct sym_mapping *m);

/*
 * Between two times that much is asked: images that were not asked for in the last SYM_FILES_AGE of
 * them are closed; they are opened again when they are.
 */
enum { SYM_FILES_AGE = 6 };
void sym_files_rest(struct sym_files *fs);

/*
 * Opens the file behind @m, mapped by process @pid, in the process itself or in its root, for that
 * process alone: it is the same device and inode, or on an overlay the same inode. Returns a
 * descriptor or a negative errno.
 */
int sym_files_open(const struct sym_files *fs, uint32_t pid, const struct sym_mapping *m);

/* The object with the debug data of @image, which a server may have; NULL if there is none. */
const struct sym_object *sym_files_debug_data(struct sym_files *fs, struct sym_image *image);

/*
 * Opens the file behind @m if its path alone would not lead to it. Its number from then on, which
 * may be another one.
 */
uint32_t sym_files_keep(struct sym_files *fs, uint32_t pid, const struct sym_mapping *m);

/*
 * Files that no mapping of @h is of any more are forgotten, their functions too, and so is every
 * string that neither they nor @h have, if that may be many: numbers of files, and strings, that
 * were given out hold no longer. -ENOMEM: nothing was forgotten.
 */
struct sym_history;
int sym_files_forget(struct sym_files *fs, struct sym_history *h);

/* ---- between the parts: file.c, image.c, forget.c */

/*
 * The image of @object, which it takes: one for all copies. -EMFILE: its owner has too many;
 * -EDQUOT: those have taken too long, or too much memory; -ENOMEM.
 */
struct sym_debug_place;
int sym_image_get(struct sym_files *fs, struct sym_object *object,
		  const struct sym_debug_place *place, struct sym_image **out);
/* That of the file that @fd is, if it is known; NULL. */
struct sym_image *sym_image_known(const struct sym_files *fs, int fd);
/* Those that have .goes, which files are without then, as if nobody had asked. */
void sym_images_drop(struct sym_files *fs);
void sym_images_free(struct sym_files *fs);
/* By its key. */
uint32_t sym_file_hash(const struct sym_file *f);

#endif
