/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running system says of itself, and what this process has cost it. */
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <rawprof/loader.h>

#include "base/clock.h"
#include "base/file.h"
#include "system.h"

const char *record_kernel_build_id(char text[41])
{
	_Alignas(Elf64_Nhdr) char notes[4096];
	int left = rp_read_small_file("/sys/kernel/notes", notes, sizeof(notes));
	const char *at = notes;

	while (left >= (int)sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t name, bytes;

		memcpy(&note, at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		bytes = sizeof(note) + name + (((size_t)note.n_descsz + 3) & ~(size_t)3);
		if (bytes > (size_t)left)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz <= 20 &&
		    !memcmp(at + sizeof(note), "GNU", 4)) {
			const unsigned char *id = (const unsigned char *)at + sizeof(note) + name;

			for (size_t i = 0; i < note.n_descsz; i++)
				snprintf(text + 2 * i, 3, "%02x", id[i]);
			return text;
		}
		at += bytes;
		left -= (int)bytes;
	}
	return NULL;
}

uint64_t record_busy_ns(void)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, FIELDS };
	char text[256], *at = text + 3;
	uint64_t ticks[FIELDS];

	if (rp_read_small_file("/proc/stat", text, sizeof(text)) < 0 || strncmp(text, "cpu ", 4))
		return 0;
	for (int i = 0; i < FIELDS; i++) {
		char *begin = at;

		ticks[i] = strtoull(begin, &at, 10);
		if (at == begin)
			return 0;
	}
	return (ticks[USER] + ticks[NICE] + ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) *
	       (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint32_t record_threads(void)
{
	char text[64];
	const char *slash;

	if (rp_read_small_file("/proc/loadavg", text, sizeof(text)) < 0)
		return 0;
	slash = strchr(text, '/'); /* "0.18 0.11 0.05 2/345 678": running / all, the last pid */
	return slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : 0;
}

uint32_t record_threads_most(void)
{
	char text[64];

	if (rp_read_small_file("/proc/sys/kernel/threads-max", text, sizeof(text)) < 0)
		return 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_usec * 1000;
}

void record_own_cost(struct report_cost *cost)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	cost->user_cpu_ns = timeval_ns(usage.ru_utime);
	cost->system_cpu_ns = timeval_ns(usage.ru_stime);
	cost->peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* How many directories lie between path and the root of its file system. */
static uint32_t depth_below_mount(const char *path)
{
	char walk[PATH_MAX];
	struct stat here, above;
	uint32_t depth = 0;

	snprintf(walk, sizeof(walk), "%s", path);
	while (!stat(walk, &here) && strlen(walk) + 4 < sizeof(walk)) {
		strcat(walk, "/..");
		if (stat(walk, &above) || above.st_dev != here.st_dev ||
		    above.st_ino == here.st_ino)
			break;
		depth++;
	}
	return depth;
}

int record_cgroup_find(const char *path, uint64_t *id, uint32_t *level)
{
	char full[PATH_MAX];
	struct statfs fs;
	struct stat st;

	snprintf(full, sizeof(full), "%s", path);
	if (stat(full, &st)) /* as systemd-cgls prints them: from the root of the hierarchy */
		snprintf(full, sizeof(full), "/sys/fs/cgroup/%s", path);
	if (stat(full, &st) || statfs(full, &fs))
		return rp_fail(-errno, "control group %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode) || fs.f_type != CGROUP2_SUPER_MAGIC)
		return rp_fail(-EINVAL, "%s is no directory of a version 2 control group hierarchy",
			       full);
	*id = st.st_ino;
	*level = depth_below_mount(full);
	return 0;
}
