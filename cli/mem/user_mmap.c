/* SPDX-License-Identifier: BSD-2-Clause */
/* rawprof mem: what a program has from the kernel by mmap, mremap and brk, without malloc. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranges.h"

#include "base/file.h"
#include "user.h"

struct mem_mmap {
	struct recording *rec;
	struct rp_ring *ring;
	struct mem_ranges *ranges;
};

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

const char *mem_mmap_missing(void)
{
	int err = rp_feature_errno(RP_HAS_KERNEL_BTF);

	if (!err)
		err = rp_feature_errno(RP_HAS_TASK_BTF);
	if (is_refusal(err))
		return "CAP_BPF and CAP_PERFMON are needed";
	if (err)
		return "Linux 5.11 with BTF is needed";
	err = rp_tp_try("syscalls", "sys_exit_mmap");
	if (err == -EMFILE)
		return "too many open files: raise `ulimit -n`";
	if (is_refusal(err))
		return "tracefs cannot be read: run as root, or with CAP_DAC_READ_SEARCH too";
	return err ? "this kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)"
		   : NULL;
}

/* The default size of huge pages; without any, none can be mapped. */
static uint32_t huge_page_bytes(uint32_t page_bytes)
{
	char text[8192];
	const char *line = NULL;

	if (rp_read_small_file("/proc/meminfo", text, sizeof(text)) > 0)
		line = strstr(text, "\nHugepagesize:");
	return line ? (uint32_t)strtoul(strchr(line, ':') + 1, NULL, 10) << 10 : page_bytes;
}

/* The context is a tracepoint's, and the target is checked by the program: there is no probe. */
static int load(struct mem_mmap *m, const struct mem_user_config *user)
{
	struct mem_user_config config = *user;

	config.common = m->rec->config;
	config.common.probe = 0;
	config.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	config.huge_bytes = huge_page_bytes(config.page_bytes);
	return record_load_list(m->rec, rp_mem_map_programs, RECORD_ALL_ROLES, &config);
}

int mem_mmap_open(struct recording *rec, const struct mem_user_config *config,
		  struct mem_mmap **out)
{
	struct mem_mmap *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;

	if (m) {
		m->rec = rec;
		m->ranges = mem_ranges_new();
	}
	if (m && m->ranges)
		err = rp_ring_open(record_stacks_map(rec->stacks, MEM_MAP_RANGES),
				   record_stacks_maps(rec->stacks)[MEM_MAP_RANGES].max_entries,
				   &m->ring);
	if (!err)
		err = load(m, config);
	if (err)
		mem_mmap_close(m);
	else
		*out = m;
	return err;
}

/* Ends of calls first, and unmapping before mapping: nothing is recorded whose end is not seen. */
int mem_mmap_start(struct mem_mmap *m)
{
	return record_attach_list(m->rec, rp_mem_map_programs);
}

void mem_mmap_detach(struct mem_mmap *m)
{
	record_detach_list(m->rec, rp_mem_map_programs);
}

static int take(void *ctx, const void *data, size_t size)
{
	struct mem_mmap *m = ctx;

	return size == sizeof(struct mem_range_event) ? mem_ranges_event(m->ranges, data)
						      : -EBADMSG;
}

int mem_mmap_drain(struct mem_mmap *m)
{
	int n = rp_ring_drain(m->ring, take, m);

	return n < 0 ? n : 0;
}

static int still_inside(void *ctx, const void *key, const void *value)
{
	const struct mem_thread *thread = value;
	uint32_t tid;

	memcpy(&tid, key, sizeof(tid));
	if (thread->map_call)
		mem_ranges_under_way(ctx, tid, thread->map_announced);
	return 0;
}

/* A stack that was lost on the way has no weights either. */
static int add_site(void *ctx, uint64_t hash, const uint64_t value[MEM_WEIGHTS])
{
	int err = record_stacks_add(ctx, hash, value);

	return err == -ENOENT ? 0 : err;
}

int mem_mmap_finish(struct mem_mmap *m)
{
	struct stacks *stacks = m->rec->stacks;
	int err = mem_mmap_drain(m);

	if (!err)
		err = record_stacks_each(stacks, MEM_MAP_THREADS, still_inside, m->ranges);
	return err ? err : mem_ranges_sites(m->ranges, add_site, stacks);
}

const struct mem_ranges *mem_mmap_ranges(const struct mem_mmap *m)
{
	return m->ranges;
}

void mem_mmap_close(struct mem_mmap *m)
{
	if (!m)
		return;
	rp_ring_close(m->ring);
	mem_ranges_free(m->ranges);
	free(m);
}
