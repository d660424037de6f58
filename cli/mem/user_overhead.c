/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rawprof mem --max-overhead: measures each second what the probes cost; if that is too much,
 * samples replace counting every call, and then the probes are taken off.
 *
 * The cost is the run time of the BPF programs, which the kernel measures, and for each hit of a
 * probe the way there and back, which is measured before, on a function of rawprof.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "symbolize/proc.h"

#include "base/clock.h"
#include "base/file.h"
#include "user.h"

#define SAMPLE_BYTES (512 << 10)
#define CALLS 2000	    /* to measure a probe by */
#define MIN_CPU_NS 50000000 /* in a second; less is not worth a look */
#define USUAL_HIT_NS 1000   /* where it could not be measured */

struct mem_overhead {
	struct recording *rec;
	double hit_ns; /* of a probe: the way there and back */
	uint64_t next_ns;
	uint64_t hits, bpf_ns, cpu_ns; /* at the last look */
	enum { EVERY_CALL, SAMPLES, OFF } tier;
};

/* ---- the cost of a probe */

/* Begins with an instruction that the kernel emulates, as most probed functions do. */
static __attribute__((noinline)) void probed(void)
{
#ifdef __x86_64__
	__asm__ volatile("push %%rax\n\tpop %%rax" ::: "memory");
#else
	__asm__ volatile("" ::: "memory");
#endif
}

struct place {
	uint64_t address, offset;
};

static int find_offset(void *ctx, const struct sym_proc_map *m)
{
	struct place *p = ctx;

	if (p->address < m->start || p->address >= m->end || !m->inode)
		return 0;
	p->offset = p->address - m->start + m->offset;
	return 1;
}

static double time_calls(void)
{
	const uint64_t begin = rp_thread_cpu_ns();

	for (int i = 0; i < CALLS; i++)
		probed();
	return (double)(rp_thread_cpu_ns() - begin) / CALLS;
}

static double measure_hit(struct recording *rec)
{
	const struct rp_program *idle = rp_program_of(rp_mem_user_programs, MEM_IDLES);
	struct place place = { .address = (uint64_t)(uintptr_t)probed };
	struct rp_uprobe_set set = { .way = rp_uprobe_way(getpid(), false),
				     .path = "/proc/self/exe",
				     .offsets = &place.offset,
				     .n = 1,
				     .pid = getpid(),
				     .nprogs = 1 };
	struct rp_uprobes *probes;
	double bare, hit;
	int fd;

	if (sym_proc_maps("/proc", (uint32_t)getpid(), find_offset, &place) != 1)
		return USUAL_HIT_NS;
	fd = record_load_probe(rec, idle, set.way, NULL);
	set.prog_fds = &fd;
	bare = time_calls();
	if (fd < 0 || rp_attach_uprobes(&set, &probes))
		return USUAL_HIT_NS;
	time_calls();
	hit = time_calls();
	rp_uprobes_close(probes);
	return hit > bare ? hit - bare : 0;
}

int mem_overhead_open(struct recording *rec, struct mem_overhead **out)
{
	const struct mem_user *m = rec->ctx;
	struct mem_overhead *o = calloc(1, sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->rec = rec;
	o->hit_ns = measure_hit(rec);
	o->tier = m->config.sample ? SAMPLES : EVERY_CALL;
	rp_log(RP_INFO, "a probe costs %.0f ns, without what is done there", o->hit_ns);
	*out = o;
	return 0;
}

void mem_overhead_close(struct mem_overhead *o)
{
	free(o);
}

/* ---- the cost of all of them */

/* CPU time of a process, user and kernel: fields 14 and 15 of /proc/PID/stat, in clock ticks. */
static uint64_t process_cpu_ns(uint32_t pid)
{
	char path[64], text[1024], *at;
	uint64_t user;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (rp_read_small_file(path, text, sizeof(text)) < 0)
		return 0;
	at = strrchr(text, ')'); /* a name may have anything in it */
	for (int field = 2; at && field < 14; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	user = strtoull(at, &at, 10);
	return (user + strtoull(at, NULL, 10)) * (NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK));
}

static int add_cpu(void *ctx, const void *key, const void *value)
{
	uint64_t *sum = ctx;
	uint32_t pid;

	(void)value;
	memcpy(&pid, key, sizeof(pid));
	*sum += process_cpu_ns(pid);
	return 0;
}

/* Per cent of the CPU time without probes, since the last look; negative: there is too little. */
static double overhead(struct mem_overhead *o)
{
	uint64_t cpu = 0, ran = record_runs(o->rec, NULL, RECORD_ALL_ROLES).ns, spent;
	struct mem_user_stats stats;
	double cost;

	if (record_stacks_stats(o->rec->stacks, &stats) ||
	    record_stacks_each(o->rec->stacks, STACK_MAP_PIDS, add_cpu, &cpu))
		return -1;
	spent = cpu > o->cpu_ns ? cpu - o->cpu_ns : 0;
	/* Half of the calls allocate, and hit a probe at the return too; few do with samples. */
	cost = (double)(stats.common.fired - stats.common.filtered - o->hits) *
		       (o->tier == EVERY_CALL ? 1.5 : 1) * o->hit_ns +
	       (double)(ran - o->bpf_ns);
	o->hits = stats.common.fired - stats.common.filtered;
	o->bpf_ns = ran;
	o->cpu_ns = cpu;
	if (spent < MIN_CPU_NS)
		return -1;
	return 100 * cost / ((double)spent > 2 * cost ? (double)spent - cost : (double)spent / 2);
}

/* ---- what to do about it */

static int probe_again(void *ctx, const void *key, const void *value)
{
	uint32_t pid;

	(void)value;
	memcpy(&pid, key, sizeof(pid));
	return mem_probes_process(ctx, pid);
}

/* New probes come before the old ones go: a call that hits both counts once, as a nested one. */
static int take_samples(struct recording *rec)
{
	struct mem_user *m = rec->ctx;
	struct mem_probes *probes = NULL;
	int err = mem_sample_fill(rec->stacks, SAMPLE_BYTES);

	m->mean = SAMPLE_BYTES;
	m->config.sample = 1;
	m->config.peak = 0;
	if (!err)
		err = mem_probes_open(rec, &m->config, &probes);
	if (!err && m->mem->obj)
		err = mem_probes_object(probes, m->mem->obj);
	if (!err)
		err = record_stacks_each(rec->stacks, STACK_MAP_PIDS, probe_again, probes);
	if (err) {
		mem_probes_close(probes);
		return err;
	}
	if (m->mmap) /* samples do not show what is inside the allocator */
		mem_mmap_detach(m->mmap);
	mem_probes_close(m->probes);
	m->probes = probes;
	return 0;
}

int mem_overhead_tick(struct mem_overhead *o)
{
	struct recording *rec = o->rec;
	struct mem_user *m = rec->ctx;
	const uint64_t now = rp_monotonic_ns();
	double percent;

	if (o->tier == OFF || now < o->next_ns)
		return 0;
	percent = overhead(o);
	if (!o->next_ns) /* of what was before there is nothing to say */
		percent = 0;
	o->next_ns = now + NS_PER_SECOND;
	if (percent <= (double)m->mem->max_overhead)
		return 0;
	if (o->tier == EVERY_CALL && m->config.follow && m->can_sample) {
		o->tier = SAMPLES;
		rp_log(RP_WARN,
		       "the probes cost %.0f %% (limit %llu %%): a sample every 512 KiB "
		       "from now on%s",
		       percent, (unsigned long long)m->mem->max_overhead,
		       m->mmap ? ", and no mappings" : "");
		return take_samples(rec);
	}
	o->tier = OFF;
	rp_log(RP_WARN,
	       "the probes cost %.0f %% (limit %llu %%): they are taken off; what was seen is "
	       "shown at the end (--growth costs next to nothing)",
	       percent, (unsigned long long)m->mem->max_overhead);
	if (m->mmap)
		mem_mmap_detach(m->mmap);
	mem_probes_detach(m->probes);
	return 0;
}
