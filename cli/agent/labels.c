/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Labels of processes: what they run in, and which file they run. Read when a process is first met,
 * since it may be gone when its window is named; kept by process and program, and forgotten when
 * there are many. One user but root has at most half of the sets that the others have left.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent.h"
#include "base/file.h"
#include "base/fuse.h"
#include "base/hash.h"
#include "base/grow.h"
#include "record/recording.h"
#include "record/whose.h"
#include "symbolize/object.h"

#define MAX_PROCESSES 16384
#define MAX_PROGRAMS 4096

enum { CONTAINER, RUNTIME, POD, POD_NAME, NAMESPACE, UNIT, SLICE, EXE, BUILD_ID };
static const char *const keys[AGENT_LABELS] = {
	[CONTAINER] = "container",
	[RUNTIME] = "runtime",
	[POD] = "pod",
	[POD_NAME] = "pod_name",
	[NAMESPACE] = "namespace",
	[UNIT] = "unit",
	[SLICE] = "slice",
	[EXE] = "exe",
	[BUILD_ID] = "build_id",
};
/* And what the program itself says: recorder.c. */
static const char *const of_programs[] = { AGENT_GO_LABELS, AGENT_CONTEXT, AGENT_GOROUTINES,
					   AGENT_TRACE_IDS };

/* Labels that some processes have in common. */
struct set {
	char text[AGENT_LABELS][AGENT_LABEL_BYTES]; /* "": it has none */
	uid_t payer;				    /* of the first process that had them */
	uint32_t number;			    /* forget_ended() */
};

struct process {
	struct process_key {
		uint64_t pid, generation;
	} key;
	uint32_t set; /* its number + 1; 0: no labels */
	bool ended;   /* when that was last asked */
};

/* A program's file, as stat(2) knows it, and what it says of itself. */
struct program {
	struct program_key {
		uint64_t dev, inode, size, seconds, ns;
	} key;
	char build_id[SYM_BUILD_ID_TEXT]; /* "": none */
	bool looked;
};

struct agent_labels {
	bool wanted[AGENT_LABELS];
	struct hash_map processes; /* of struct process */
	struct hash_map sets;	   /* of struct set */
	struct hash_map programs;  /* of struct program */
	struct record_share room;  /* sets, at a time */
	uint64_t dropped;
	bool is_full; /* for some process, which has no labels */
	struct report_label label[REPORT_MAX_LABELS];
};

bool agent_label_wanted(const char *list, const char *key)
{
	const size_t n = strlen(key);

	if (!list)
		return strcmp(key, AGENT_GOROUTINES) && strcmp(key, AGENT_TRACE_IDS);
	while (*list) {
		if (!strncmp(list, key, n) && (!list[n] || list[n] == ','))
			return true;
		list += strcspn(list, ",");
		list += *list == ',';
	}
	return false;
}

static bool is_word(const char *word, const char *text, size_t n)
{
	return strlen(word) == n && !strncmp(text, word, n);
}

bool agent_labels_ok(const char *list)
{
	if (!strcmp(list, "none"))
		return true;
	while (*list) {
		const size_t n = strcspn(list, ",");
		bool found = false;

		for (int i = 0; i < AGENT_LABELS; i++)
			found |= is_word(keys[i], list, n);
		for (size_t i = 0; i < sizeof(of_programs) / sizeof(of_programs[0]); i++)
			found |= is_word(of_programs[i], list, n);
		if (!found)
			return false;
		list += n;
		list += *list == ',';
	}
	return true;
}

struct agent_labels *agent_labels_new(const char *list, size_t max_sets)
{
	struct agent_labels *l = calloc(1, sizeof(*l));

	for (int i = 0; l && i < AGENT_LABELS; i++)
		l->wanted[i] = agent_label_wanted(list, keys[i]);
	if (l) {
		l->processes = HASH_MAP(struct process, key);
		l->sets = HASH_MAP(struct set, text);
		l->programs = HASH_MAP(struct program, key);
		l->room = RECORD_SHARE(2 * max_sets, "combinations of labels");
	}
	return l;
}

void agent_labels_free(struct agent_labels *l)
{
	if (!l)
		return;
	rp_hash_free(&l->processes);
	rp_hash_free(&l->sets);
	rp_hash_free(&l->programs);
	record_share_free(&l->room);
	free(l);
}

/* One user has at most half of all, so that root's count twice. */
static uint64_t cost_of(uid_t payer)
{
	return payer ? 1 : 2;
}

/* ---- what is forgotten */

/* One that has ended may have samples in the window that has just begun, but not in the next. */
static bool process_stays(void *ctx, void *entry)
{
	const struct agent_labels *l = ctx;
	struct process *p = entry;
	char path[32];
	bool ended;

	snprintf(path, sizeof(path), "/proc/%u", (uint32_t)p->key.pid);
	ended = access(path, F_OK);
	if (ended && p->ended)
		return false;
	p->ended = ended;
	if (p->set)
		((struct set *)l->sets.items)[p->set - 1].number = 1;
	return true;
}

static bool set_stays(void *ctx, void *entry)
{
	struct agent_labels *l = ctx;
	struct set *set = entry;
	const bool stays = set->number;

	if (!stays)
		record_share_give(&l->room, set->payer, cost_of(set->payer));
	set->number = 0;
	return stays;
}

static bool has_set(void *ctx, void *entry)
{
	(void)ctx;
	return ((struct process *)entry)->set;
}

/* Sets that nobody has any more go; then processes that were refused one are asked again. */
static void forget_ended(struct agent_labels *l)
{
	struct process *p;
	struct set *sets = l->sets.items;
	uint32_t n = 0, had;

	rp_hash_keep(&l->processes, process_stays, l);
	for (uint32_t i = 0; i < l->sets.count; i++)
		sets[i].number = sets[i].number ? ++n : 0;
	p = l->processes.items;
	for (uint32_t i = 0; i < l->processes.count; i++)
		p[i].set = p[i].set ? sets[p[i].set - 1].number : 0;
	had = l->sets.count;
	rp_hash_keep(&l->sets, set_stays, l);
	if (l->sets.count == had)
		return;
	rp_hash_keep(&l->processes, has_set, NULL);
	l->is_full = false;
}

uint64_t agent_labels_settle(struct agent_labels *l)
{
	if (l->is_full)
		forget_ended(l);
	return l->dropped;
}

/* ---- one process */

static void read_exe(uint32_t pid, char out[AGENT_LABEL_BYTES])
{
	char path[64], target[PATH_MAX];
	const char *name;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	name = strrchr(target, '/');
	snprintf(out, AGENT_LABEL_BYTES, "%.*s", AGENT_LABEL_BYTES - 1, name ? name + 1 : target);
}

/* fd becomes the object's, or is closed. */
static void read_object(int fd, struct program *program)
{
	struct sym_object *object;

	if (sym_object_open(&object, fd))
		return;
	snprintf(program->build_id, sizeof(program->build_id), "%s", object->build_id);
	sym_object_close(object);
}

static int open_exe(uint32_t pid)
{
	char path[64];
	int held, fd;

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	held = open(path, O_PATH | O_CLOEXEC);
	if (held < 0)
		return -errno;
	fd = rp_fuse_check("/proc", pid, held);
	fd = fd ? fd : rp_reopen_regular(held);
	close(held);
	return fd;
}

/* Of each file once: most processes run the same few. */
static void read_build_id(struct agent_labels *l, uint32_t pid, char out[AGENT_LABEL_BYTES])
{
	struct program_key key;
	struct program *program;
	struct stat st;
	const int fd = open_exe(pid);

	if (fd < 0)
		return;
	if (fstat(fd, &st)) {
		close(fd);
		return;
	}
	key = (struct program_key){ st.st_dev, st.st_ino, (uint64_t)st.st_size,
				    (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec };
	if (l->programs.count >= MAX_PROGRAMS && !rp_hash_find(&l->programs, &key))
		rp_hash_free(&l->programs);
	program = rp_hash_add(&l->programs, &key);
	if (program && !program->looked)
		read_object(fd, program);
	else
		close(fd);
	if (program)
		program->looked = true;
	if (program)
		snprintf(out, AGENT_LABEL_BYTES, "%s", program->build_id);
}

static void read_place(uint32_t pid, struct agent_place *place)
{
	char path[64], text[4096];

	*place = (struct agent_place){ 0 };
	snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
	if (rp_read_small_file(path, text, sizeof(text)) > 0)
		agent_place_parse_file(text, place);
}

static void read_labels(struct agent_labels *l, uint32_t pid, struct set *set)
{
	struct agent_pod pod = { "", "" };
	struct agent_place place;

	memset(set, 0, sizeof(*set));
	read_place(pid, &place);
	if (*place.pod && (l->wanted[POD_NAME] || l->wanted[NAMESPACE]))
		agent_pod_find(AGENT_POD_LOGS, place.pod, &pod);
	const char *const text[AGENT_LABELS] = {
		[CONTAINER] = place.container, [RUNTIME] = place.runtime,   [POD] = place.pod,
		[POD_NAME] = pod.name,	       [NAMESPACE] = pod.namespace, [UNIT] = place.unit,
		[SLICE] = place.slice,
	};

	for (int i = 0; i < AGENT_LABELS; i++)
		if (l->wanted[i] && text[i])
			snprintf(set->text[i], AGENT_LABEL_BYTES, "%s", text[i]);
	if (l->wanted[EXE])
		read_exe(pid, set->text[EXE]);
	if (l->wanted[BUILD_ID])
		read_build_id(l, pid, set->text[BUILD_ID]);
}

/* Who is the first to have a set pays for it. */
static uint32_t number_of(struct agent_labels *l, uint32_t pid, const struct set *read)
{
	struct set *set = rp_hash_find(&l->sets, read);
	const uid_t payer = set ? 0 : record_payer(pid);

	if (!set && !record_share_take(&l->room, payer, cost_of(payer))) {
		l->dropped++;
		l->is_full = true;
		return 0;
	}
	if (!set) {
		set = rp_hash_add(&l->sets, read);
		if (!set)
			return 0;
		set->payer = payer;
	}
	return (uint32_t)(set - (struct set *)l->sets.items) + 1;
}

static uint32_t set_of(struct agent_labels *l, uint32_t pid, uint64_t generation)
{
	const struct process_key key = { pid, generation };
	struct process *p = rp_hash_find(&l->processes, &key);
	struct set set;

	if (p)
		return p->set;
	if (l->processes.count >= MAX_PROCESSES) {
		rp_hash_free(&l->processes);
		rp_hash_free(&l->sets);
		record_share_empty(&l->room);
	}
	read_labels(l, pid, &set);
	p = rp_hash_add(&l->processes, &key);
	return p ? p->set = number_of(l, pid, &set) : 0;
}

void agent_labels_meet(struct agent_labels *l, uint32_t pid, uint64_t generation)
{
	set_of(l, pid, generation);
}

static bool is_ours(const char *key)
{
	for (int i = 0; i < AGENT_LABELS; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

/* A program that says of itself that it is in another's container is not believed. */
static size_t take_others(struct agent_labels *l, const struct report_sample *sample)
{
	size_t n = 0;

	for (size_t i = 0; i < sample->nlabels; i++)
		if (!is_ours(sample->labels[i].key))
			l->label[n++] = sample->labels[i];
	return n;
}

int agent_labels_add(struct agent_labels *l, uint32_t pid, uint64_t generation,
		     struct report_sample *sample)
{
	const uint32_t number = set_of(l, pid, generation);
	const struct set *set = (const struct set *)l->sets.items + (number ? number - 1 : 0);
	size_t n = take_others(l, sample);

	for (int i = 0; number && i < AGENT_LABELS && n < REPORT_MAX_LABELS; i++)
		if (*set->text[i])
			l->label[n++] =
				(struct report_label){ .key = keys[i], .str = set->text[i] };
	sample->labels = l->label;
	sample->nlabels = n;
	return 0;
}
