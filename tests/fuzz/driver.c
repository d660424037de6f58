/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.c: runs a fuzz target where there is no libFuzzer, with its options as far as needed:
 *
 *	TARGET -max_total_time=SECONDS -artifact_prefix=PATH FILES AND DIRECTORIES…
 *
 * Each seed as it is, then random changes of them, blindly. The same seeds give the same inputs. An
 * input that a sanitizer stops is left in PATHcrash.
 */
#include <dirent.h>
#include <sanitizer/common_interface_defs.h>
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
static uint64_t random_state = 88172645463325252u;

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
	FILE *f;

	snprintf(path, sizeof(path), "%scrash", prefix);
	f = fopen(path, "w");
	if (f) {
		fwrite(input, 1, input_size, f);
		fclose(f);
		fprintf(stderr, "the input is in %s\n", path);
	}
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
	memcpy(input, seed->data, seed->size);
	input_size = seed->size;
}

int main(int argc, char **argv)
{
	long seconds = 10, runs = 0;
	struct seed none = { input, 0 };
	time_t end;

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "-max_total_time=", 16))
			seconds = atol(argv[i] + 16);
		else if (!strncmp(argv[i], "-artifact_prefix=", 17))
			prefix = argv[i] + 17;
		else if (argv[i][0] != '-')
			add_seeds(argv[i]);
	}
	__sanitizer_set_death_callback(save_input);
	for (size_t i = 0; i < nseeds; i++, runs++) {
		load(&seeds[i]);
		LLVMFuzzerTestOneInput(input, input_size);
	}
	for (end = time(NULL) + seconds; time(NULL) < end; runs++) {
		load(nseeds ? &seeds[random_below(nseeds)] : &none);
		for (uint64_t i = random_below(8) + 1; i; i--)
			mutate();
		LLVMFuzzerTestOneInput(input, input_size);
	}
	printf("executed %ld inputs\n", runs);
	for (size_t i = 0; i < nseeds; i++)
		free(seeds[i].data);
	return 0;
}
