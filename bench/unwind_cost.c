/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_cost FILE...: how long the program with the walker takes to load, and what the tables of
 * ELF files weigh by their text. Prints Markdown; see bench/unwind/run.sh.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include <rawprof/program.h>
#include <rawprof/unwind.h>

enum { ROUNDS = 9, MAX_MAPS = 32 };

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* ---- the program */

static int load_once(const struct rp_program *entry, double *ms)
{
	int fds[MAX_MAPS], program, err = rp_maps_create(entry->maps, entry->nmaps, fds);
	const struct asm_bindings bind = {
		.maps = entry->maps,
		.map_fds = fds,
		.nmaps = entry->nmaps,
		.config = entry->config,
		.config_size = entry->code.config_size,
	};
	double begin;

	if (err)
		return err;
	begin = now_ms();
	program = rp_program_load(&entry->code, &bind);
	*ms = now_ms() - begin;
	if (program >= 0)
		close(program);
	rp_fds_close(fds, entry->nmaps);
	return program < 0 ? program : 0;
}

static int print_load(void)
{
	const struct rp_program *entry = rp_program_named("cpu_sample");
	double ms[ROUNDS], first;
	int err = entry && entry->nmaps <= MAX_MAPS ? load_once(entry, &first) : -ENOENT;

	for (int i = 0; !err && i < ROUNDS; i++)
		err = load_once(entry, &ms[i]);
	if (err)
		return err;
	qsort(ms, ROUNDS, sizeof(*ms), by_value);
	printf("`cpu_sample` with the walker, assembled, verified and compiled: %.1f ms (%.1f to "
	       "%.1f in %d rounds; the\nvery first, which reads the kernel's BTF: %.1f ms).\n",
	       ms[ROUNDS / 2], ms[0], ms[ROUNDS - 1], ROUNDS, first);
	return 0;
}

/* ---- tables */

/* Bytes of the segments that are executable; 0 if the file is no ELF file. */
static uint64_t report_text_bytes(int fd)
{
	uint64_t bytes = 0;
	Elf64_Ehdr head;
	Elf64_Phdr part;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) || head.e_phentsize != sizeof(part))
		return 0;
	for (int i = 0; i < head.e_phnum; i++)
		if (pread(fd, &part, sizeof(part), (off_t)(head.e_phoff + i * sizeof(part))) ==
			    sizeof(part) &&
		    part.p_type == PT_LOAD && part.p_flags & PF_X)
			bytes += part.p_filesz;
	return bytes;
}

static double build_ms(int fd, struct unwind_cache *cache, struct unwind_table **out)
{
	double begin = now_ms();

	return unwind_cache_table(cache, out, fd, false, NULL) ? -1 : now_ms() - begin;
}

/* What the BPF program reads; the list of functions stays with user space. */
static uint64_t mapped_bytes(const struct unwind_table *t)
{
	uint64_t bytes = t->nrules * sizeof(*t->rules);

	for (uint32_t i = 0; i < t->nparts; i++)
		bytes += t->parts[i].nrows * sizeof(*t->parts[i].rows) +
			 (t->parts[i].npages + 1) * sizeof(*t->parts[i].index);
	return bytes;
}

static void print_table(const char *path, struct unwind_cache *cache)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t text = fd < 0 ? 0 : report_text_bytes(fd), rows = 0;
	struct unwind_table *t = NULL, *again = NULL;
	const char *slash = strrchr(path, '/');
	double build, cached;

	if (!text || build_ms(fd, cache, &t) < 0)
		goto out; /* not on this machine, or without a table */
	for (uint32_t i = 0; i < t->nparts; i++)
		rows += t->parts[i].nrows;
	unwind_table_free(t);
	t = NULL;
	build = build_ms(fd, NULL, &t);
	cached = build_ms(fd, cache, &again);
	if (build >= 0 && cached >= 0)
		printf("| %s | %.2f | %llu | %u | %.0f | %.0f | %.1f | %.1f |\n",
		       slash ? slash + 1 : path, (double)text / (1 << 20), (unsigned long long)rows,
		       t->nrules, (double)mapped_bytes(t) / 1024,
		       (double)mapped_bytes(t) / 1024 / ((double)text / (1 << 20)), build, cached);
out:
	unwind_table_free(t);
	unwind_table_free(again);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	struct unwind_cache *cache;
	int err = print_load();

	if (err) {
		fprintf(stderr, "unwind_cost: %s\n", strerror(-err));
		return 1;
	}
	if (unwind_cache_open(&cache, NULL, 0))
		cache = NULL;
	printf("\n| file | text, MB | rows | rules | table, KB | KB per MB of text | made in, ms | "
	       "from the cache, ms |\n"
	       "|---|---|---|---|---|---|---|---|\n");
	for (int i = 1; i < argc; i++)
		print_table(argv[i], cache);
	unwind_cache_close(cache);
	return 0;
}
