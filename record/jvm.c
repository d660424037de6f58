/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes have a virtual machine of HotSpot. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rawprof/loader.h>
#include "base/hash.h"
#include "symbolize/proc.h"

#include "jvm.h"
#include "languages.h"
#include "mapped_file.h"
#include "names.h"
#include "recording.h"
#include "remote.h"

/*
 * libjvm.so, of which the first process of a user that has it says how it is laid out. That is in
 * its memory, where it may say what it likes: it is believed of processes of that user alone.
 */
struct known_file {
	struct file_key key;
	uid_t uid;
	struct jvm_tables tables;
	struct jvm_layout layout;
	bool is_one, is_read, is_unknown;
	unsigned int tries;
};

/* So often the tables may be found incomplete. */
#define MOST_TRIES 50

/* A process, by its number in the map. */
struct known_process {
	uint32_t pid; /* 0: the number is free */
	struct jvm_memory memory;
};

struct record_jvm {
	int processes_fd;
	struct hash_map files; /* of struct known_file */
	struct known_process processes[JVM_PROCESSES];
	struct jvm_layout layouts[JVM_PROCESSES]; /* theirs: the files may be forgotten */
	struct jvm_names *names;
	struct read_costs costs;
	struct record_share numbers;
};

int record_jvm_open(struct record_jvm **out, int processes, struct name_share *share)
{
	struct record_jvm *j = calloc(1, sizeof(*j));
	int err = j ? record_jvm_names_open(&j->names, share) : -ENOMEM;

	if (err) {
		free(j);
		return err;
	}
	j->processes_fd = processes;
	j->files = HASH_MAP(struct known_file, uid);
	j->numbers = RECORD_SHARE(JVM_PROCESSES / 2, "places for processes of Java");
	j->costs = record_read_costs("time for names of Java");
	j->costs.owed.is_named = record_name_share_is_named(share);
	*out = j;
	return 0;
}

static void close_memory(struct jvm_memory *m)
{
	record_remote_close(m->remote);
	free(m->remote);
	m->remote = NULL;
}

static void forget(struct record_jvm *j, struct known_process *p)
{
	close_memory(&p->memory);
	record_share_add(&j->numbers, p->memory.uid, (uint64_t)-1);
	p->pid = 0;
}

void record_jvm_close(struct record_jvm *j)
{
	if (!j)
		return;
	for (size_t i = 0; i < JVM_PROCESSES; i++)
		if (j->processes[i].pid)
			forget(j, &j->processes[i]);
	record_jvm_names_close(j->names);
	rp_hash_free(&j->files);
	record_share_free(&j->costs.late);
	record_share_free(&j->numbers);
	free(j);
}

static struct known_process *find_process(const struct record_jvm *j, uint32_t pid)
{
	for (size_t i = 0; i < JVM_PROCESSES; i++)
		if (j->processes[i].pid == pid)
			return (struct known_process *)&j->processes[i];
	return NULL;
}

bool record_jvm_has(const struct record_jvm *j, uint32_t pid)
{
	return j && find_process(j, pid);
}

void record_jvm_ended(struct record_jvm *j, uint32_t pid)
{
	struct known_process *p = j ? find_process(j, pid) : NULL;

	if (p)
		forget(j, p);
}

/* ---- what the programs are to know of a process */

static uint64_t word_at(const struct jvm_memory *m, uint64_t address)
{
	uint64_t word;

	return record_jvm_read_all(m, address, &word, sizeof(word)) ? word : 0;
}

static uint32_t int_at(const struct jvm_memory *m, uint64_t address)
{
	uint32_t value;

	return record_jvm_read_all(m, address, &value, sizeof(value)) ? value : 0;
}

/* Where the heaps lie, the lowest first or not. */
static void find_bounds(struct jvm_process *p)
{
	uint64_t low = UINT64_MAX, end = 0;

	for (size_t i = 0; i < JVM_HEAPS && p->heap[i].bytes; i++) {
		const struct jvm_heap *h = &p->heap[i];

		low = h->low < low ? h->low : low;
		end = h->low + h->bytes > end ? h->low + h->bytes : end;
	}
	p->low = low;
	p->bytes = end - low;
}

static bool read_heap(const struct jvm_memory *m, const struct jvm_layout *l, uint64_t heap,
		      struct jvm_process *out, size_t i)
{
	const uint64_t memory = heap + l->at[JVM_HEAP_MEMORY];
	const uint64_t segments = heap + l->at[JVM_HEAP_SEGMENTS];
	const uint64_t low = word_at(m, memory + l->at[JVM_SPACE_LOW]);
	const uint64_t high = word_at(m, memory + l->at[JVM_SPACE_HIGH]);
	uint32_t shift;

	out->heap[i] = (struct jvm_heap){ .low = low,
					  .bytes = high - low,
					  .segments = word_at(m, segments + l->at[JVM_SPACE_LOW]) };
	shift = int_at(m, heap + l->at[JVM_HEAP_SHIFT]);
	out->segment_shift = (uint16_t)shift;
	return low && high > low && out->heap[i].segments && shift < 32;
}

/* false: it is not that far yet, or it lies. */
static bool read_process(const struct jvm_memory *m, const struct jvm_layout *l,
			 struct jvm_process *out)
{
	const uint64_t heaps = word_at(m, l->at[JVM_CODE_HEAPS] + m->bias);
	const uint64_t queue = word_at(m, l->at[JVM_INTERPRETER] + m->bias);
	const uint32_t n = heaps ? int_at(m, heaps + l->at[JVM_ARRAY_LENGTH]) : 0;
	const uint64_t array = n ? word_at(m, heaps + l->at[JVM_ARRAY_DATA]) : 0;

	*out = (struct jvm_process){
		.by_offset = l->by_offset,
		.block_bytes = (uint16_t)l->block_bytes,
		.blob_name = (uint16_t)l->at[JVM_BLOB_NAME],
		.blob_code = (uint16_t)l->at[JVM_BLOB_CODE],
		.blob_frame_complete = (uint16_t)l->at[JVM_BLOB_COMPLETE],
		.blob_frame_words = (uint16_t)l->at[JVM_BLOB_FRAME],
		.method_deopt = (uint16_t)l->at[JVM_COMPILED_DEOPT],
		.method_orig_pc = (uint16_t)l->at[JVM_COMPILED_ORIG_PC],
		.method_id = (uint16_t)l->at[JVM_COMPILED_ID],
		.method_const = (uint16_t)l->at[JVM_METHOD_CONST],
		.const_bytes = (uint16_t)l->const_bytes,
	};
	if (!queue || !n || n > JVM_HEAPS)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!read_heap(m, l, word_at(m, array + 8 * i), out, i))
			return false;
	find_bounds(out);
	out->interpreter = word_at(m, queue + l->at[JVM_QUEUE_BUFFER]);
	out->interpreter_bytes = int_at(m, queue + l->at[JVM_QUEUE_LIMIT]);
	return out->interpreter && out->interpreter_bytes;
}

/* ---- files and processes */

bool record_jvm_is_named(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, "libjvm.so");
}

static int is_machine(void *unused, const struct sym_proc_map *m)
{
	(void)unused;
	return record_jvm_is_named(m->path);
}

bool record_jvm_may_run(uint32_t pid)
{
	return sym_proc_maps("/proc", pid, is_machine, NULL) != 0;
}

/* "/usr/lib/jvm/java-17-openjdk-amd64/bin/java". */
static bool is_java(const void *ctx, const char *exe)
{
	const char *slash = strrchr(exe, '/');

	(void)ctx;
	return slash && !strcmp(slash, "/java");
}

static bool is_in_path(void)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];
	bool found = false;

	while (path && *path && !found) {
		const size_t n = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/java", (int)n, path);
		found = !access(file, X_OK);
		path += n + (path[n] == ':');
	}
	return found;
}

bool record_jvm_may_start(void)
{
	return !access("/usr/lib/jvm", F_OK) || getenv("JAVA_HOME") || is_in_path() ||
	       record_program_runs(is_java, NULL);
}

static struct known_file *find_file(struct record_jvm *j, const struct mapped_file *file, uid_t uid)
{
	const struct known_file key = { .key = file->key, .uid = uid };
	int fd;
	struct known_file *f = record_known_file(&j->files, &key, file, &fd);

	if (f && fd >= 0)
		f->is_one = record_jvm_find_tables(fd, &f->tables);
	return f && f->is_one ? f : NULL; /* or its frames stay native */
}

static bool read_layout(struct known_file *f, const struct jvm_memory *m, const char *path)
{
	const char *missing = NULL;
	const int err = record_jvm_read_layout(m, &f->tables, &f->layout, &missing);

	f->is_unknown = err == -ENOENT && m->remote->error != EBUSY && ++f->tries == MOST_TRIES;
	if (f->is_unknown)
		rp_log(record_unknown_level(),
		       "%s of user %u: Java %u does not say where it has %s (17 to 22, 25, 26 do): "
		       "its frames have no names, and its stacks may end early",
		       path, f->uid, f->layout.version, missing);
	return !err;
}

/*
 * The tables are filled after the library was mapped: what they say is believed when it has led to
 * a virtual machine that runs, and they have been read again after that.
 */
static bool read_machine(struct known_file *f, const struct jvm_memory *m, const char *path,
			 struct jvm_process *out)
{
	uint64_t began;

	if (!f->is_read && record_costs_begin(m->costs, m->uid, &began)) {
		if (read_layout(f, m, path) && read_process(m, &f->layout, out))
			f->is_read = read_layout(f, m, path);
		record_costs_end(m->costs, m->uid, began);
	}
	/* Not a matter of time: its frames would be gone as soon as the process maps something. */
	return f->is_read && read_process(m, &f->layout, out);
}

/*
 * Both of one process, whatever has its number by then. Whose it is comes first: one that has ended
 * is root's, and has no memory.
 */
static bool open_memory(struct jvm_memory *m, uint32_t pid)
{
	char path[32];
	int directory, err;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->remote = directory < 0 ? NULL : malloc(sizeof(*m->remote));
	if (m->remote) {
		*m->remote = (struct record_remote){ .pid = (pid_t)pid, .by_files = true };
		m->uid = record_share_owner(directory);
		err = record_remote_open_at(m->remote, directory);
		if (err)
			close_memory(m);
	}
	if (directory >= 0)
		close(directory);
	return m->remote;
}

/* Takes the memory. */
static struct known_process *add_process(struct record_jvm *j, uint32_t pid, struct jvm_memory *m)
{
	struct known_process *p;

	record_jvm_ended(j, pid); /* it may have executed another one */
	p = record_share_take(&j->numbers, m->uid, 1) ? find_process(j, 0) : NULL;
	if (p) {
		p->pid = pid;
		p->memory = *m;
	} else {
		close_memory(m);
	}
	return p;
}

uint32_t record_jvm_mapped(struct record_jvm *j, uint32_t pid, const struct mapped_file *file,
			   uint64_t bias, bool *early)
{
	const struct sym_proc_map *m = file->map;
	struct jvm_memory memory = { .bias = bias, .costs = &j->costs };
	struct jvm_process process;
	struct known_process *p;
	struct known_file *f;
	uint32_t number;

	if (!record_jvm_is_named(m->path) || !m->inode || !open_memory(&memory, pid))
		return 0;
	f = find_file(j, file, memory.uid);
	if (!f || f->is_unknown) {
		close_memory(&memory);
		return 0;
	}
	p = add_process(j, pid, &memory);
	if (!p)
		return 0;
	number = (uint32_t)(p - j->processes);
	if (read_machine(f, &memory, m->path, &process) &&
	    !rp_map_write(j->processes_fd, number * sizeof(process), &process, sizeof(process))) {
		j->layouts[number] = f->layout;
		return number + 1;
	}
	*early = !f->is_unknown;
	forget(j, p);
	return 0;
}

/* ---- names */

int record_jvm_saw(struct record_jvm *j, const struct stack_record *r)
{
	const uint64_t *at = r->frames + (r->kernel_bytes + r->user_bytes) / 8;
	const uint64_t *end = at + r->managed_bytes / 8;
	const struct name_owner owner = record_owner(r);
	const struct known_process *p = find_process(j, owner.pid);
	struct jvm_process_memory memory;
	int err = 0;

	if (!p || !p->pid)
		return 0;
	memory.memory = p->memory;
	memory.layout = &j->layouts[p - j->processes];
	/* They come first, and are three words each: programs/shared/jvm.c. */
	for (; !err && end - at >= 3; at += 3) {
		if (!(at[2] & MANAGED_PLACE) ||
		    (at[2] & (MANAGED_PLACE - 1)) >> MANAGED_LANGUAGE_SHIFT != MANAGED_JVM)
			break;
		err = record_jvm_names_add(j->names, &memory, &owner, at);
	}
	return err;
}

bool record_jvm_is_method(const uint64_t words[2])
{
	return (words[0] & (MANAGED_PLACE - 1)) >> JVM_KIND_SHIFT != JVM_STUB;
}

size_t record_jvm_frames(const struct record_jvm *j, const struct name_owner *owner,
			 const uint64_t words[2], struct report_frame *out, size_t max)
{
	return record_jvm_names_find(j->names, owner, words, out, max);
}

void record_jvm_forget(struct record_jvm *j)
{
	if (j)
		record_jvm_names_forget(j->names);
}
