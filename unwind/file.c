/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables in files: a header, the parts, and the arrays as they lie in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file.h"
#include "gaps.h"
#include "table.h"

/* Another format, or another way to make tables of the same .eh_frame, is another version. */
enum { FORMAT_VERSION = 26 };

struct file_part {
	uint64_t start;
	uint32_t npages, nrows;
};

struct file_header {
	char magic[8];
	uint32_t version, size; /* size of the header */
	struct unwind_key key;
	struct unwind_key code; /* see unwind_code_key() */
	struct unwind_key sum;	/* of all that follows, to the end of the file */
	struct unwind_counts counts;
	struct unwind_stats stats;
};

static const char magic[8] = "rpunwind";

/* ---- fingerprints */

struct unwind_key unwind_source_key(const struct unwind_source *s,
				    const struct unwind_secret *secret)
{
	struct unwind_sip sip;

	unwind_sip_begin(&sip, secret->sip);
	unwind_sip_word(&sip, s->machine | (uint64_t)s->is_debug_frame << 16 |
				      (uint64_t)s->is_computed << 17);
	unwind_sip_word(&sip, s->addr);
	unwind_sip_word(&sip, s->image.entry);
	unwind_sip_data(&sip, secret, s->code, s->ncode * sizeof(*s->code));
	unwind_sip_data(&sip, secret, s->trampolines, s->ntrampolines * sizeof(*s->trampolines));
	for (size_t i = 0; i < s->nhooks && !s->is_computed; i++) {
		unwind_sip_word(&sip, s->hooks[i].addr);
		unwind_sip_data(&sip, secret, s->hooks[i].code, s->hooks[i].size);
	}
	for (size_t i = 0; i < s->nplts; i++) {
		unwind_sip_word(&sip, s->plts[i].start);
		unwind_sip_word(&sip, s->plts[i].end);
		unwind_sip_data(&sip, secret, &s->plts[i].rule, sizeof(s->plts[i].rule));
	}
	unwind_sip_data(&sip, secret, s->entry, s->entry_size);
	unwind_sip_data(&sip, secret, s->data, s->size);
	unwind_sip_word(&sip, s->go.text);
	unwind_sip_data(&sip, secret, s->go.data, s->go.size);
	return unwind_sip_end(&sip, FORMAT_VERSION);
}

bool unwind_code_key(const struct unwind_source *s, const struct unwind_table *t,
		     const struct unwind_secret *secret, struct unwind_key *out)
{
	return unwind_gaps_key(s, t->gaps, t->ngaps, secret, out);
}

/*
 * Of what is in a file of ours, against accidents: two lanes of xor, rotate and multiply by an odd
 * number. Each step can be undone, so that a change of any one word always shows.
 */
static void add_to_sum(struct unwind_key *k, const void *data, size_t size)
{
	const uint8_t *p = data;
	uint64_t a = k->word[0] ^ size, b = k->word[1], w[2];

	for (; size; p += 16) {
		size_t n = size < 16 ? size : 16;

		if (n < 16)
			memset(w, 0, sizeof(w));
		memcpy(w, p, n);
		a = unwind_rotate(a ^ w[0], 29) * 0x9fb21c651e98df25;
		b = unwind_rotate(b ^ w[1], 31) * 0xd6e8feb86659fd93;
		size -= n;
	}
	k->word[0] = a ^ unwind_rotate(b, 32);
	k->word[1] = b * 0xa0761d6478bd642f + a;
}

/* The pieces of a file after the sum, in order. */
enum { PIECES = 4 };

static void pieces_of(struct file_header *h, struct file_part *parts, void *arrays,
		      struct iovec v[PIECES])
{
	v[0] = (struct iovec){ &h->counts, sizeof(h->counts) };
	v[1] = (struct iovec){ &h->stats, sizeof(h->stats) };
	v[2] = (struct iovec){ parts, h->counts.nparts * sizeof(*parts) };
	v[3] = (struct iovec){ arrays, unwind_counts_size(&h->counts) };
}

static struct unwind_key sum_of(const struct iovec v[PIECES])
{
	struct unwind_key k = { { 0 } };

	for (int i = 0; i < PIECES; i++)
		add_to_sum(&k, v[i].iov_base, v[i].iov_len);
	return k;
}

/* ---- writing */

static void count(const struct unwind_table *t, struct unwind_counts *c)
{
	memset(c, 0, sizeof(*c)); /* padding is written too */
	c->machine = t->machine;
	c->nparts = t->nparts;
	c->nrules = t->nrules;
	c->nfdes = t->nfdes;
	c->ngaps = t->ngaps;
	c->jumped_to = t->jumped_to;
	for (uint32_t i = 0; i < t->nparts; i++) {
		c->nindex += t->parts[i].npages + 1;
		c->nrows += t->parts[i].nrows;
	}
}

int unwind_file_make(const struct unwind_key *key, const struct unwind_key *code,
		     const struct unwind_table *t, void **bytes, size_t *size)
{
	struct file_header *h;
	struct unwind_counts counts;
	struct file_part *parts;
	struct iovec v[PIECES];
	size_t n = sizeof(*h) + t->nparts * sizeof(*parts);

	count(t, &counts);
	h = calloc(1, n + unwind_counts_size(&counts));
	if (!h)
		return -ENOMEM;
	parts = (struct file_part *)(h + 1);
	for (uint32_t i = 0; i < t->nparts; i++) {
		parts[i].start = t->parts[i].start;
		parts[i].npages = t->parts[i].npages;
		parts[i].nrows = t->parts[i].nrows;
	}
	memcpy((char *)h + n, t->rules, unwind_counts_size(&counts));
	memcpy(h->magic, magic, sizeof(magic));
	h->version = FORMAT_VERSION;
	h->size = sizeof(*h);
	h->key = *key;
	h->code = *code;
	h->stats = t->stats;
	h->counts = counts;
	pieces_of(h, parts, (char *)h + n, v);
	h->sum = sum_of(v);
	*bytes = h;
	*size = n + unwind_counts_size(&counts);
	return 0;
}

/* ---- reading */

static int read_all(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		p += n;
		len -= n;
	}
	return 0;
}

/* The counts are believed as soon as they explain the size of the file to the byte. */
static int read_header(int fd, const struct unwind_key *key, struct file_header *h)
{
	struct stat st;
	int err = read_all(fd, h, sizeof(*h));
	uint64_t size;

	if (err)
		return err;
	if (memcmp(h->magic, magic, sizeof(magic)) || h->version != FORMAT_VERSION ||
	    h->size != sizeof(*h) || memcmp(&h->key, key, sizeof(*key)))
		return -EBADMSG;
	if (fstat(fd, &st))
		return -errno;
	size = sizeof(*h) + (uint64_t)h->counts.nparts * sizeof(struct file_part) +
	       unwind_counts_size(&h->counts);
	return (uint64_t)st.st_size == size && h->counts.nparts ? 0 : -EBADMSG;
}

/* False if the parts do not add up to the arrays. */
static bool place_parts(const struct unwind_counts *c, const struct file_part *parts,
			const struct unwind_arrays *a)
{
	uint64_t index = 0, rows = 0;

	for (uint32_t i = 0; i < c->nparts; i++) {
		a->parts[i] = (struct unwind_part){ .start = parts[i].start,
						    .npages = parts[i].npages,
						    .nrows = parts[i].nrows,
						    .index = a->index + index,
						    .rows = a->rows + rows };
		index += parts[i].npages + 1ULL;
		rows += parts[i].nrows;
		if (index > c->nindex || rows > c->nrows)
			return false;
	}
	return index == c->nindex && rows == c->nrows;
}

static int read_table(int fd, struct file_header *h, struct unwind_table *t,
		      const struct unwind_arrays *a)
{
	struct file_part *parts = calloc(h->counts.nparts, sizeof(*parts));
	struct unwind_key sum;
	struct iovec v[PIECES];
	int err = -ENOMEM;

	if (!parts)
		return err;
	pieces_of(h, parts, a->rules, v);
	err = read_all(fd, parts, v[2].iov_len);
	if (!err)
		err = read_all(fd, a->rules, v[3].iov_len);
	if (err)
		goto out;
	sum = sum_of(v);
	t->stats = h->stats;
	if (memcmp(&sum, &h->sum, sizeof(sum)) || !place_parts(&h->counts, parts, a) ||
	    !unwind_table_is_sound(t))
		err = -EBADMSG;
out:
	free(parts);
	return err;
}

int unwind_file_read(int fd, const struct unwind_key *key, struct unwind_key *code,
		     struct unwind_table **out)
{
	struct file_header h;
	struct unwind_table *t;
	struct unwind_arrays a;
	int err = read_header(fd, key, &h);

	if (err)
		return err;
	t = unwind_table_new(&h.counts, &a);
	if (!t)
		return -ENOMEM;
	err = read_table(fd, &h, t, &a);
	if (err) {
		unwind_table_free(t);
		return err;
	}
	*code = h.code;
	*out = t;
	return 0;
}
