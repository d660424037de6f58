/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.c: runs a fuzz target where there is no libFuzzer, with its options as far as needed:
 *
 *	TARGET -max_total_time=SECONDS -timeout=SECONDS -artifact_prefix=PATH FILES AND DIRECTORIES…
 *
 * Each seed as it is, then random changes of them, blindly. The same seeds give the same inputs. An
 * input that a sanitizer stops, or that takes longer than the timeout, is left in PATHcrash. What
 * the target prints is dropped, the sanitizers' reports are not.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "fuzz.h"

enum { INPUT_ROOM = 1 << 16, MAX_SEEDS = 1024 };

static struct seed {
	uint8_t *data;
	size_t size;
} seeds[MAX_SEEDS];
static size_t nseeds;

static uint8_t input[INPUT_ROOM];
static size_t input_size;
static const char *prefix = "";
static unsigned int timeout = 60;
static uint64_t random_state = 88172645463325252u;

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "hard_rss_limit_mb=2560:handle_abort=1";
}

static uint64_t random_below(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % n;
}

static void save_input(void)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%scrash", prefix);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd >= 0 && write(fd, input, input_size) == (ssize_t)input_size)
		dprintf(STDERR_FILENO, "the input is in %s\n", path);
}

static void too_long(int signal)
{
	(void)signal;
	dprintf(STDERR_FILENO, "one input takes longer than %u s\n", timeout);
	save_input();
	_exit(70);
}

static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (data != input && size)
		memcpy(input, data, size);
	input_size = size;
	copy = fuzz_copy(input, size);
	alarm(timeout);
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	free(copy);
}

static void add_seed(const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f || nseeds == MAX_SEEDS)
		return;
	seeds[nseeds].data = malloc(INPUT_ROOM);
	if (seeds[nseeds].data) {
		seeds[nseeds].size = fread(seeds[nseeds].data, 1, INPUT_ROOM, f);
		nseeds++;
	}
	fclose(f);
}

static void add_seeds(const char *path)
{
	struct dirent *entry;
	char file[512];
	struct stat st;
	DIR *d;

	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		add_seed(path);
		return;
	}
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		if (entry->d_name[0] != '.')
			add_seed(file);
	}
	if (d)
		closedir(d);
}

/* One change: a byte, a word of a kind that breaks arithmetic, a cut, a copied or repeated part. */
static void mutate(void)
{
	static const uint64_t bad[] = { 0,	    1,		0x7f,	   0x80,
					0xff,	    0x7fff,	0xffff,	   0x7fffffff,
					0x80000000, 0xffffffff, INT64_MAX, UINT64_MAX };
	size_t at = input_size ? random_below(input_size) : 0, other, n;
	uint64_t word;

	switch (random_below(5)) {
	case 0:
		if (input_size)
			input[at] ^= (uint8_t)(1 << random_below(8));
		break;
	case 1:
		if (input_size)
			input[at] = (uint8_t)random_below(256);
		break;
	case 2:
		n = (size_t)1 << random_below(4);
		word = bad[random_below(sizeof(bad) / sizeof(bad[0]))];
		if (at + n <= input_size)
			memcpy(input + at, &word, n);
		break;
	case 3:
		input_size = at;
		break;
	case 4:
		if (!input_size)
			break;
		other = random_below(input_size);
		n = random_below(64) + 1;
		if (at + n <= INPUT_ROOM && other + n <= input_size) {
			memmove(input + at, input + other, n);
			input_size = at + n > input_size ? at + n : input_size;
		}
		break;
	}
}

static void load(const struct seed *seed)
{
	if (seed->size)
		memcpy(input, seed->data, seed->size);
	input_size = seed->size;
}

/* The streams alone: the sanitizers write to the descriptor, UBSan whatever it is told. */
static void be_quiet(void)
{
	stdout = fopen("/dev/null", "w");
	stderr = fopen("/dev/null", "w");
}

int main(int argc, char **argv)
{
	long seconds = 10, runs = 0;
	struct seed none = { NULL, 0 };
	time_t end;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-max_total_time=", 16))
			seconds = atol(argv[i] + 16);
		else if (!strncmp(argv[i], "-timeout=", 9))
			timeout = (unsigned int)atol(argv[i] + 9);
		else if (!strncmp(argv[i], "-artifact_prefix=", 17))
			prefix = argv[i] + 17;
		else if (argv[i][0] != '-')
			add_seeds(argv[i]);
	}
	__sanitizer_set_death_callback(save_input);
	signal(SIGALRM, too_long);
	be_quiet();
	end = time(NULL) + seconds;
	for (size_t i = 0; i < nseeds; i++, runs++)
		run(seeds[i].data, seeds[i].size);
	for (; time(NULL) < end; runs++) {
		load(nseeds ? &seeds[random_below(nseeds)] : &none);
		for (uint64_t i = random_below(8) + 1; i; i--)
			mutate();
		run(input, input_size);
	}
	dprintf(STDERR_FILENO, "executed %ld inputs\n", runs);
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].data);
	return 0;
}
