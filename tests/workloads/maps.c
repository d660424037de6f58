/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * maps PID: a line for each BPF map that the process holds: its name, type, sizes of key and value,
 * entries, flags, and the bytes that it takes in the kernel by its own account (fdinfo).
 * maps PID NAME: how many entries the maps of this name have, whose keys are of 64 bytes at most.
 */
#include <dirent.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_KEY 64

/* The number behind the name, in base 10 or 16; -1: there is none. */
static long long field(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoll(line + strlen(name), NULL, 0) : -1;
}

static unsigned int count_keys(int fd)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd };
	unsigned int n = 0;
	unsigned char key[MOST_KEY];

	attr.next_key = (uintptr_t)key;
	for (; !syscall(SYS_bpf, BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr)); n++)
		attr.key = (uintptr_t)key;
	return n;
}

static int print_map(const char *text, const char *name)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { 0 };
	bool is_known;
	int fd;

	attr.map_id = (uint32_t)field(text, "\nmap_id:\t");
	fd = (int)syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attr, sizeof(attr));
	if (fd < 0)
		return 1;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	is_known = !syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	if (is_known && name && !strcmp(info.name, name) && info.key_size <= MOST_KEY)
		printf("%u\n", count_keys(fd));
	else if (is_known && !name)
		printf("%s %u %u %u %u %u %lld\n", info.name, info.type, info.key_size,
		       info.value_size, info.max_entries, info.map_flags,
		       field(text, "\nmemlock:\t"));
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	char path[300], text[2048];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", argc > 1 ? argv[1] : "self");
	dir = opendir(path);
	if (!dir) {
		perror(path);
		return 1;
	}
	while ((entry = readdir(dir))) {
		FILE *file;
		size_t n = 0;

		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", argc > 1 ? argv[1] : "self",
			 entry->d_name);
		file = entry->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		n = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		text[n] = '\0';
		if (strstr(text, "\nmap_id:") && print_map(text, argc > 2 ? argv[2] : NULL))
			return 1;
	}
	closedir(dir);
	return 0;
}
