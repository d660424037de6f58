/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Images: the ELF files that were opened, with their functions. Each holds a descriptor, its debug
 * file another one, in the share of the file's owner (held.c); and there may be very many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/subuid.h"

#include "debug.h"
#include "file.h"
#include "others.h"

static void close_debug(struct sym_files *fs, struct sym_image *image)
{
	if (image->debug)
		sym_held_give(fs, image->holder);
	sym_object_close(image->debug);
	image->debug = NULL;
}

static void free_image(struct sym_files *fs, struct sym_image *image)
{
	sym_source_free(&image->source);
	sym_data_close(image->data);
	sym_symtab_close(image->symtab);
	sym_strings_free(&image->names);
	sym_object_close(image->packed);
	close_debug(fs, image);
	sym_held_give(fs, image->holder);
	sym_held_has_read(fs, image->holder, 0, -(int64_t)image->bytes);
	sym_object_close(image->object);
	free(image);
}

void sym_images_free(struct sym_files *fs)
{
	while (fs->images) {
		struct sym_image *image = fs->images;

		fs->images = image->next;
		free_image(fs, image);
	}
	rp_hash_free(&fs->known);
}

/* ---- which they are */

/* All zeroes but for what is said: it is compared as bytes. */
struct image_key {
	uint64_t dev, inode, size, mtime;
	uid_t owner;
	char build_id[SYM_BUILD_ID_TEXT];
};

struct known_image {
	struct image_key key;
	struct sym_image *image;
};

static struct image_key key_of_file(int fd)
{
	struct image_key key;
	struct stat st;

	memset(&key, 0, sizeof(key));
	if (fstat(fd, &st))
		return key;
	key.dev = st.st_dev;
	key.inode = st.st_ino;
	key.size = (uint64_t)st.st_size;
	key.mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	return key;
}

/*
 * Copies of one file are one image, those of a container too, if their owner is the same: another
 * user's may say that it is the C library.
 */
static struct image_key key_of_copies(const struct sym_object *object)
{
	struct image_key key;

	memset(&key, 0, sizeof(key));
	key.size = object->size;
	key.owner = object->owner;
	memcpy(key.build_id, object->build_id, sizeof(key.build_id));
	return key;
}

static struct sym_image *find_by(const struct sym_files *fs, const struct image_key *key)
{
	const struct known_image *k = rp_hash_find(&fs->known, key);

	return k ? k->image : NULL;
}

struct sym_image *sym_image_known(const struct sym_files *fs, int fd)
{
	const struct image_key key = key_of_file(fd);

	return key.inode ? find_by(fs, &key) : NULL;
}

static struct sym_image *find_image(const struct sym_files *fs, const struct image_key *file,
				    const struct image_key *copies)
{
	struct sym_image *image = file->inode ? find_by(fs, file) : NULL;

	return image || !copies->build_id[0] ? image : find_by(fs, copies);
}

static int know(struct sym_files *fs, struct sym_image *image, const struct image_key *key)
{
	struct known_image *k;

	fs->known.key_size = sizeof(k->key);
	fs->known.size = sizeof(*k);
	k = rp_hash_add(&fs->known, key);
	if (!k)
		return -ENOMEM;
	k->image = image;
	return 0;
}

static bool stays(void *unused, void *entry)
{
	(void)unused;
	return !((struct known_image *)entry)->image->goes;
}

/* ---- what is in them */

static void open_debug(struct sym_files *fs, struct sym_image *image,
		       const struct sym_debug_place *place)
{
	if (place)
		sym_debug_open(&image->debug, image->object, place);
	else
		sym_debug_fetch(&image->debug, image->object, fs->server, image->holder);
	if (image->debug && sym_held_take_as(fs, image->holder)) {
		sym_object_close(image->debug);
		image->debug = NULL;
	}
}

/* Once, and if it has no debug file yet. */
static void ask_server(struct sym_files *fs, struct sym_image *image)
{
	if (!fs->server || image->was_asked_for || image->debug)
		return;
	image->was_asked_for = true;
	open_debug(fs, image, NULL);
}

const struct sym_object *sym_files_debug_data(struct sym_files *fs, struct sym_image *image)
{
	if (image->object->has_dwarf && !(image->debug && image->debug->has_dwarf))
		return image->object;
	ask_server(fs, image);
	return image->debug && image->debug->has_dwarf ? image->debug : NULL;
}

/* Reads the functions: of the file itself and of what belongs to it. */
static int fill_image(struct sym_files *fs, struct sym_image *image,
		      const struct sym_debug_place *place)
{
	struct sym_object *object = image->object, *symbols = object;
	const uint64_t began = rp_thread_cpu_ns();
	int err;

	open_debug(fs, image, place);
	if (!object->symbols[SYM_SYMTAB].count)
		ask_server(fs, image);
	if (image->debug && image->debug->symbols[SYM_SYMTAB].count)
		symbols = image->debug;
	if (!symbols->symbols[SYM_SYMTAB].count && !sym_debug_unpack(&image->packed, object))
		symbols = image->packed;
	err = sym_symtab_open(&image->symtab, object, symbols, &image->names);
	image->bytes = object->taken + (image->symtab ? image->symtab->taken : 0) +
		       (image->debug ? image->debug->taken : 0) +
		       (image->packed ? image->packed->taken : 0);
	sym_held_has_read(fs, image->holder, rp_thread_cpu_ns() - began, (int64_t)image->bytes);
	return err;
}

/* Takes @object. An image of its own, of which nobody knows yet. */
static int new_image(struct sym_files *fs, struct sym_object *object, struct sym_image **out)
{
	struct sym_image *image = calloc(1, sizeof(*image));
	int err = image ? 0 : -ENOMEM;

	if (!err) {
		image->holder = sym_held_payer(object->owner);
		err = sym_held_may_read(fs, image->holder) ? sym_held_take_as(fs, image->holder)
							   : -EDQUOT;
	}
	if (err) {
		sym_object_close(object);
		free(image);
		return err;
	}
	image->files = fs;
	image->object = object;
	*out = image;
	return 0;
}

int sym_image_get(struct sym_files *fs, struct sym_object *object,
		  const struct sym_debug_place *place, struct sym_image **out)
{
	const struct image_key file = key_of_file(object->fd), copies = key_of_copies(object);
	struct sym_image *image;
	int err;

	*out = find_image(fs, &file, &copies);
	if (*out) {
		sym_object_close(object);
		return 0;
	}
	err = new_image(fs, object, &image);
	if (err)
		return err;
	image->next = fs->images;
	fs->images = image;
	err = fill_image(fs, image, place);
	if (!err && file.inode)
		err = know(fs, image, &file);
	if (!err && copies.build_id[0])
		err = know(fs, image, &copies);
	if (err) {
		image->goes = true;
		sym_images_drop(fs);
		return err;
	}
	*out = image;
	return 0;
}

/* ---- when they go */

void sym_images_drop(struct sym_files *fs)
{
	struct sym_image **at = &fs->images;

	rp_hash_keep(&fs->known, stays, NULL);
	for (size_t i = 0; i < fs->count; i++) {
		struct sym_file *f = &fs->items[i];

		if (!f->image || !f->image->goes)
			continue;
		f->image = NULL;
		f->settled = f->reachable = false;
		f->tries = 0;
	}
	while (*at) {
		struct sym_image *image = *at;

		if (!image->goes) {
			at = &image->next;
			continue;
		}
		*at = image->next;
		free_image(fs, image);
	}
}

void sym_files_rest(struct sym_files *fs)
{
	fs->age++;
	sym_held_rest(fs);
	for (struct sym_image *i = fs->images; i; i = i->next)
		i->goes = fs->age - i->used > SYM_FILES_AGE;
	sym_images_drop(fs);
}
