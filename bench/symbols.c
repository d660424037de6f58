/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * symbols: how long it takes to name addresses; a Markdown table on standard output.
 *
 *	symbols [-n ROUNDS] [-a ADDRESSES] FILE…
 *
 *	load	from nothing to the first name: headers, symbols read and sorted
 *	named	ADDRESSES (100,000) addresses at random in the largest executable section, each
 *		asked for the first time: what the names of a profile cost
 *	again	the same addresses once more, when every name has been read
 *	memory	by how much the resident set grew until then
 *
 * and the same of /proc/kallsyms: read and sorted, then addresses of the kernel image. Each round
 * is a process of its own. CPU time, so that what else the machine does counts little; medians,
 * with the smallest and the largest.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rawprof/symbolize.h>

enum { MAX_ROUNDS = 99, PID = 1, TIME = 10 };
enum metric { LOAD_MS, NAMED_MS, AGAIN_MS, MEMORY_MB, NAMED_PERCENT, METRICS };

struct result {
	double value[METRICS];
};

/* A range of offsets in a file, or of kernel addresses. */
struct range {
	uint64_t start, size;
};

static size_t addresses = 100000;
static int rounds = 5;

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static double resident_mb(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static int find_code(int fd, struct range *out)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && (scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_flags & SHF_EXECINSTR &&
		    sh.sh_type == SHT_PROGBITS && sh.sh_size > out->size)
			*out = (struct range){ sh.sh_offset, sh.sh_size };
	elf_end(elf);
	return out->size ? 0 : -ENOEXEC;
}

static uint64_t *random_addresses(const struct range *r)
{
	uint64_t *addrs = malloc(addresses * sizeof(*addrs));

	srandom(1);
	for (size_t i = 0; addrs && i < addresses; i++)
		addrs[i] = r->start + ((uint64_t)random() << 20 ^ (uint64_t)random()) % r->size;
	return addrs;
}

static size_t look_up(struct sym_user *user, const uint64_t *addrs, size_t n)
{
	size_t named = 0;

	for (size_t i = 0; i < n; i++) {
		struct sym_frame f;

		sym_user_lookup(user, PID, TIME, addrs[i], false, &f);
		named += f.name != NULL;
	}
	return named;
}

/* Maps the file where its offsets are the addresses. */
static int measure_file(const char *path, struct result *out)
{
	struct sym_mmap m = { .time = TIME, .pid = PID, .prot = PROT_EXEC, .filename = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct sym_user *user = NULL;
	uint64_t *addrs = NULL;
	struct range code = { 0 };
	double before, t0, t1, t2;
	struct stat st;
	size_t named;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	err = find_code(fd, &code);
	close(fd);
	if (!err)
		addrs = random_addresses(&code);
	if (!addrs)
		return err ? err : -ENOMEM;
	m.len = ((uint64_t)st.st_size + 4095) & ~4095ULL;
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	m.inode = st.st_ino;

	before = resident_mb();
	t0 = cpu_ms();
	err = sym_user_open(&user, NULL);
	if (!err)
		err = sym_user_mmap(user, &m);
	if (!err) {
		look_up(user, addrs, 1);
		t1 = cpu_ms();
		named = look_up(user, addrs, addresses);
		t2 = cpu_ms();
		look_up(user, addrs, addresses);
		*out = (struct result){ { [LOAD_MS] = t1 - t0,
					  [NAMED_MS] = t2 - t1,
					  [AGAIN_MS] = cpu_ms() - t2,
					  [MEMORY_MB] = resident_mb() - before,
					  [NAMED_PERCENT] =
						  100.0 * (double)named / (double)addresses } };
	}
	sym_user_close(user);
	free(addrs);
	return err;
}

static size_t look_up_kernel(const struct sym_kallsyms *ks, const uint64_t *addrs)
{
	size_t named = 0;

	for (size_t i = 0; i < addresses; i++) {
		struct sym_ksym sym;

		named += !sym_kallsyms_lookup(ks, addrs[i], &sym);
	}
	return named;
}

static int measure_kernel(const char *path, struct result *out)
{
	double before = resident_mb(), t0 = cpu_ms(), t1, t2, t3;
	struct sym_kallsyms *ks;
	struct sym_ksym first, last;
	struct range image;
	uint64_t *addrs;
	size_t named;
	int err = sym_kallsyms_open(&ks, path);

	if (err)
		return err;
	t1 = cpu_ms();
	if (!sym_kallsyms_find(ks, "_stext", &first, 1) ||
	    !sym_kallsyms_find(ks, "_etext", &last, 1))
		first.addr = last.addr = 0;
	image = (struct range){ first.addr, last.addr - first.addr };
	addrs = image.size ? random_addresses(&image) : NULL;
	if (addrs) {
		t2 = cpu_ms();
		named = look_up_kernel(ks, addrs);
		t3 = cpu_ms();
		look_up_kernel(ks, addrs);
		*out = (struct result){ { [LOAD_MS] = t1 - t0,
					  [NAMED_MS] = t3 - t2,
					  [AGAIN_MS] = cpu_ms() - t3,
					  [MEMORY_MB] = resident_mb() - before,
					  [NAMED_PERCENT] =
						  100.0 * (double)named / (double)addresses } };
	}
	free(addrs);
	sym_kallsyms_close(ks);
	return addrs ? 0 : -ENODATA;
}

/* In a child, so that each round begins with the memory of none before it. */
static int measure(const char *path, struct result *out)
{
	int (*run)(const char *, struct result *) =
		strcmp(path, "/proc/kallsyms") ? measure_file : measure_kernel;
	struct result r = { 0 };
	int fds[2], status = 0;
	pid_t pid;

	if (pipe(fds))
		return -errno;
	pid = fork();
	if (!pid) {
		int err = run(path, &r);

		if (write(fds[1], &r, sizeof(r)) != sizeof(r))
			err = -EPIPE;
		_exit(-err);
	}
	close(fds[1]);
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || read(fds[0], out, sizeof(*out)) < 0)
		status = W_EXITCODE(errno, 0);
	close(fds[0]);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_row(const char *path, const struct result *results)
{
	double v[MAX_ROUNDS];

	printf("| %s |", path);
	for (int m = 0; m < METRICS; m++) {
		for (int i = 0; i < rounds; i++)
			v[i] = results[i].value[m];
		qsort(v, (size_t)rounds, sizeof(*v), by_value);
		if (m == MEMORY_MB || m == NAMED_PERCENT)
			printf(" %.1f |", v[rounds / 2]);
		else
			printf(" %.1f [%.1f-%.1f] |", v[rounds / 2], v[0], v[rounds - 1]);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	struct result results[MAX_ROUNDS];
	int opt, failed = 0;

	while ((opt = getopt(argc, argv, "n:a:")) != -1) {
		if (opt == 'n')
			rounds = atoi(optarg);
		else if (opt == 'a')
			addresses = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind == argc || rounds < 1 || rounds > MAX_ROUNDS || !addresses) {
		fprintf(stderr, "usage: symbols [-n ROUNDS] [-a ADDRESSES] FILE…\n");
		return 2;
	}
	printf("| %zu addresses | load, ms | named, ms | again, ms | memory, MB | have a name, %% "
	       "|\n",
	       addresses);
	printf("|---|---|---|---|---|---|\n");
	for (; optind < argc; optind++) {
		int err = 0;

		for (int i = 0; !err && i < rounds; i++)
			err = measure(argv[optind], &results[i]);
		if (err) {
			fprintf(stderr, "symbols: %s: %s\n", argv[optind], strerror(-err));
			failed = 1;
		} else {
			print_row(argv[optind], results);
		}
		fflush(stdout);
	}
	return failed;
}
