/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What packets name by number: names, files, frames, stacks, threads. Ids count from 1 in the order
 * of need; the packet that needs one first defines it. A mapping is a file, without addresses:
 * places in it are those of its own symbol table.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "perfetto.h"

struct file {
	uint32_t path, build_id; /* strings of the report */
};
SET_ELEMENT(struct file, 2 * 4);

struct execution {
	uint32_t cpu, mode;
};
SET_ELEMENT(struct execution, 2 * 4);

int report_perfetto_intern_init(struct perfetto *p)
{
	p->mappings = HASH_SET(struct file);
	p->frames = p->callstacks = p->tasks = HASH_SET(uint32_t);
	p->executions = HASH_SET(struct execution);
	return report_strings_init(&p->strings);
}

void report_perfetto_intern_free(struct perfetto *p)
{
	report_strings_free(&p->strings);
	free(p->seen);
	rp_hash_free(&p->mappings);
	rp_hash_free(&p->frames);
	rp_hash_free(&p->callstacks);
	rp_hash_free(&p->tasks);
	rp_hash_free(&p->executions);
}

static void fail(struct perfetto *p, int err)
{
	if (!p->err)
		p->err = err;
}

/* Its id; *is_new: it has none yet. */
static uint64_t number(struct perfetto *p, struct hash_map *map, const void *key, bool *is_new)
{
	const uint32_t before = map->count;
	uint32_t n = 0;

	if (!p->err)
		fail(p, rp_hash_number(map, key, &n));
	*is_new = !p->err && map->count != before;
	return (uint64_t)n + 1;
}

void report_perfetto_add_text(struct perfetto *p, struct buf *b, unsigned int field, const char *s)
{
	report_buf_reset(&p->scratch);
	report_buf_clean(&p->scratch, s, 0, 0);
	report_proto_add_message(b, field, &p->scratch);
}

/* ---- strings */

enum kind { EVENT_NAMES = 1, FUNCTION_NAMES = 2, BUILD_IDS = 4, PATHS = 8, SOURCES = 16 };

static void define(struct perfetto *p, unsigned int field, const struct buf *message)
{
	report_proto_add_message(&p->interned, field, message);
}

/* The build id is bytes, in hexadecimal here. */
static void add_bytes(struct buf *b, unsigned int field, const char *hex)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[64];
	size_t n = 0;

	for (; n < sizeof(bytes) && hex[0] && hex[1]; hex += 2) {
		const char *high = strchr(digits, hex[0] | 0x20);
		const char *low = strchr(digits, hex[1] | 0x20);

		if (!high || !low)
			break;
		bytes[n++] = (unsigned char)((high - digits) << 4 | (low - digits));
	}
	report_proto_add_bytes(b, field, bytes, n);
}

static uint64_t string(struct perfetto *p, enum kind kind, unsigned int field, const char *s)
{
	const uint32_t had = p->seen_cap;
	uint32_t id = 0;

	if (!s)
		return 0;
	fail(p, p->err ? 0 : report_strings_add(&p->strings, s, &id));
	fail(p, p->err ? 0 : RP_GROW(p->seen, id, p->seen_cap));
	if (p->err)
		return 0;
	memset(p->seen + had, 0, p->seen_cap - had);
	if (p->seen[id] & kind)
		return id;
	p->seen[id] |= kind;
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, IID, id);
	if (kind == BUILD_IDS)
		add_bytes(&p->part, INTERNED_STRING_TEXT, s);
	else
		report_perfetto_add_text(p, &p->part, INTERNED_STRING_TEXT, s);
	define(p, field, &p->part);
	return id;
}

uint64_t report_perfetto_event_name(struct perfetto *p, const char *name)
{
	return string(p, EVENT_NAMES, INTERNED_EVENT_NAMES, name);
}

/* ---- stacks */

static uint64_t mapping(struct perfetto *p, const struct report_frame *frame, struct file file)
{
	const char *path = frame->module;
	bool is_new;
	uint64_t id, path_id, build_id;

	if (!path)
		return 0;
	id = number(p, &p->mappings, &file, &is_new);
	if (!is_new)
		return id;
	/* The reader puts a slash in front. */
	path_id = string(p, PATHS, INTERNED_MAPPING_PATHS, path + (*path == '/'));
	build_id = string(p, BUILD_IDS, INTERNED_BUILD_IDS, frame->build_id);
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, IID, id);
	report_proto_add_uint(&p->part, MAPPING_BUILD_ID_IID, build_id);
	report_proto_add_uint(&p->part, MAPPING_PATH_IIDS, path_id);
	define(p, INTERNED_MAPPINGS, &p->part);
	return id;
}

/* frame: of the report; NONE: the stack of which nothing is known. */
static uint64_t frame_id(struct perfetto *p, uint32_t frame)
{
	static const unsigned int kinds[] = { [REPORT_USER] = KIND_NATIVE,
					      [REPORT_KERNEL] = KIND_OF_KERNEL,
					      [REPORT_JIT] = KIND_OF_JIT,
					      [REPORT_INLINED] = KIND_NATIVE,
					      [REPORT_MARK] = 0,
					      [REPORT_PYTHON] = KIND_OF_INTERPRETER,
					      [REPORT_JS] = KIND_OF_JIT,
					      [REPORT_JVM] = KIND_OF_JIT,
					      [REPORT_PHP] = KIND_OF_INTERPRETER,
					      [REPORT_RUBY] = KIND_OF_INTERPRETER,
					      [REPORT_PERL] = KIND_OF_INTERPRETER };
	const struct report *r = p->t.r;
	struct report_frame f = { .name = "[unknown]", .kind = REPORT_MARK };
	struct file file = { 0 };
	struct buf name = { 0 };
	bool is_new;
	uint64_t id = number(p, &p->frames, &frame, &is_new), name_id, mapping_id, source_id;

	if (!is_new)
		return id;
	if (frame != NONE) {
		f = report_frame_public(r, frame);
		file.path = mapping_of(r, frame_of(r, frame)->mapping)->path;
		file.build_id = mapping_of(r, frame_of(r, frame)->mapping)->build_id;
	}
	report_name_frame(&name, &f, &p->t.options, false);
	fail(p, name.err);
	name_id = string(p, FUNCTION_NAMES, INTERNED_FUNCTION_NAMES, name.s);
	report_buf_free(&name);
	mapping_id = mapping(p, &f, file);
	source_id = string(p, SOURCES, INTERNED_SOURCE_PATHS, f.file);
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, IID, id);
	report_proto_add_uint(&p->part, FRAME_FUNCTION_IID, name_id);
	report_proto_add_uint(&p->part, FRAME_MAPPING_IID, mapping_id);
	report_proto_add_uint(&p->part, FRAME_REL_PC,
			      f.module_addr - (f.is_return && f.module_addr));
	report_proto_add_uint(&p->part, FRAME_SOURCE_IID, source_id);
	report_proto_add_uint(&p->part, FRAME_LINE, f.line);
	report_proto_add_uint(&p->part, FRAME_KIND, kinds[f.kind]);
	define(p, INTERNED_FRAMES, &p->part);
	return id;
}

uint64_t report_perfetto_callstack(struct perfetto *p, uint32_t node)
{
	uint32_t path[REPORT_MAX_STACK];
	bool is_new;
	const uint64_t id = number(p, &p->callstacks, &node, &is_new);
	struct buf stack = { 0 };
	uint32_t n;

	if (!is_new)
		return id;
	n = report_timeline_path(p->t.r, node, path);
	report_proto_add_uint(&stack, IID, id);
	for (uint32_t i = 0; i < n; i++)
		report_proto_add_uint(&stack, CALLSTACK_FRAME_IIDS,
				      frame_id(p, p->t.r->nodes[path[i]].frame));
	if (!n)
		report_proto_add_uint(&stack, CALLSTACK_FRAME_IIDS, frame_id(p, NONE));
	fail(p, stack.err);
	if (!p->err)
		define(p, INTERNED_CALLSTACKS, &stack);
	report_buf_free(&stack);
	return id;
}

/* ---- where */

uint64_t report_perfetto_task(struct perfetto *p, const struct timeline_thread *thread)
{
	const uint32_t key = (uint32_t)(thread - p->t.threads);
	bool is_new;
	const uint64_t id = number(p, &p->tasks, &key, &is_new);

	if (!is_new)
		return id;
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, IID, id);
	report_proto_add_value(&p->part, TASK_PID, (uint32_t)thread->pid);
	report_proto_add_value(&p->part, TASK_TID, (uint32_t)thread->tid);
	define(p, INTERNED_TASKS, &p->part);
	return id;
}

uint64_t report_perfetto_execution(struct perfetto *p, const struct span *span)
{
	const struct report *r = p->t.r;
	const uint32_t node = sample_of(r, span->sample)->node;
	const bool in_kernel =
		node &&
		function_of(r, frame_of(r, r->nodes[node].frame)->function)->kind == REPORT_KERNEL;
	const struct execution key = { span->cpu, in_kernel ? MODE_KERNEL : MODE_USER };
	bool is_new;
	uint64_t id;

	if (span->cpu == REPORT_NO_CPU)
		return 0;
	id = number(p, &p->executions, &key, &is_new);
	if (!is_new)
		return id;
	report_buf_reset(&p->part);
	report_proto_add_uint(&p->part, IID, id);
	report_proto_add_value(&p->part, EXECUTION_CPU, key.cpu);
	report_proto_add_uint(&p->part, EXECUTION_MODE, key.mode);
	define(p, INTERNED_EXECUTIONS, &p->part);
	return id;
}
