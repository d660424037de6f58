/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libs, and "shared": strings, stacks, frames, functions. Rows are numbered as they are first
 * needed, so the file depends on the content of the profile alone. What the columns mean:
 * src/types/profile.ts of github.com/firefox-devtools/profiler, version 66 of its format.
 */
#include <ctype.h>
#include <string.h>

#include "firefox.h"

#define LIB "path build_id"
#define RESOURCE "lib name host type"
#define SOURCE "id filename startLine startColumn sourceMapURL content"
#define FUNC "name isJS relevantForJS resource source lineNumber columnNumber originalLocation"
#define SYMBOL "libIndex address name functionSize"
#define FRAME                                                                                      \
	"address inlineDepth category subcategory func nativeSymbol innerWindowID line column "    \
	"originalLocation"
#define STACK "- frame prefixOffset"
enum { LIB_PATH, LIB_BUILD_ID };
enum { FRAME_ADDRESS, FRAME_DEPTH, FRAME_CATEGORY, FRAME_SUBCATEGORY, FRAME_FUNC, FRAME_SYMBOL };
#define RESOURCE_LIBRARY 1

/* JavaScript's numbers are exact up to here. */
#define MAX_NUMBER ((1ull << 53) - 1)

struct stack {
	uint32_t node;
	uint32_t leaf; /* category and subcategory instead of the leaf's own; 0: its own */
	int64_t frame, prefix_offset;
};
SET_ELEMENT(struct stack, 3 * 8);

int report_firefox_tables_init(struct firefox *f)
{
	int err = report_strings_init(&f->strings);

	if (!err)
		err = report_strings_init(&f->reasons);
	if (!err)
		err = report_strings_init(&f->keys);
	f->libs = COLUMNS(2);
	f->resources = f->symbols = COLUMNS(4);
	f->sources = COLUMNS(6);
	f->funcs = COLUMNS(8);
	f->frames = COLUMNS(10);
	f->stacks = HASH_MAP(struct stack, leaf);
	return err;
}

void report_firefox_tables_free(struct firefox *f)
{
	report_strings_free(&f->strings);
	report_strings_free(&f->reasons);
	report_strings_free(&f->keys);
	rp_hash_free(&f->libs);
	rp_hash_free(&f->resources);
	rp_hash_free(&f->sources);
	rp_hash_free(&f->funcs);
	rp_hash_free(&f->symbols);
	rp_hash_free(&f->frames);
	rp_hash_free(&f->stacks);
	report_buf_free(&f->scratch);
}

int64_t report_firefox_string(struct firefox *f, const char *s)
{
	uint32_t id = 1;

	if (!f->err)
		f->err = report_strings_add(&f->strings, s, &id);
	return (int64_t)id - 1;
}

static int64_t row(struct firefox *f, struct hash_map *table, const int64_t *cells)
{
	uint32_t number = 0;

	if (!f->err)
		f->err = rp_hash_number(table, cells, &number);
	return number;
}

/* -1: of no file. */
static int64_t lib_of(struct firefox *f, const struct report_frame *frame)
{
	if (!frame->module)
		return -1;
	return row(f, &f->libs,
		   (int64_t[]){ report_firefox_string(f, frame->module),
				frame->build_id ? report_firefox_string(f, frame->build_id)
						: CELL_NULL });
}

static int64_t func_of(struct firefox *f, const struct report_frame *frame, int64_t lib)
{
	int64_t name, resource = -1, source = CELL_NULL;

	report_buf_reset(&f->scratch);
	report_name_frame(&f->scratch, frame, &f->t.options, false);
	if (f->scratch.err)
		f->err = f->scratch.err;
	name = report_firefox_string(f, f->scratch.s);
	if (lib >= 0)
		resource = row(
			f, &f->resources,
			(int64_t[]){ lib, report_firefox_string(f, report_text_base(frame->module)),
				     CELL_NULL, RESOURCE_LIBRARY });
	if (frame->file)
		source = row(f, &f->sources,
			     (int64_t[]){ CELL_NULL, report_firefox_string(f, frame->file), 1, 1,
					  CELL_NULL, CELL_NULL });
	return row(f, &f->funcs,
		   (int64_t[]){ name, CELL_FALSE, CELL_FALSE, resource, source, CELL_NULL,
				CELL_NULL, CELL_NULL });
}

/* Where the function is that the code belongs to, whatever was inlined there. */
static int64_t symbol_of(struct firefox *f, const struct report_frame *frame, int64_t lib)
{
	if (lib < 0 || !frame->name || frame->module_addr > MAX_NUMBER ||
	    frame->symbol_offset > frame->module_addr)
		return CELL_NULL;
	return row(f, &f->symbols,
		   (int64_t[]){ lib, (int64_t)(frame->module_addr - frame->symbol_offset),
				report_firefox_string(f, frame->name), CELL_NULL });
}

/* outer: the cells of the caller's frame, NULL for the first. */
static int64_t frame_of_node(struct firefox *f, uint32_t node, const int64_t *outer,
			     uint32_t outer_node)
{
	const struct report *r = f->t.r;
	const struct report_frame frame =
		node ? report_frame_public(r, r->nodes[node].frame)
		     : (struct report_frame){ .name = "[unknown]", .kind = REPORT_MARK };
	const bool inlined = outer && frame.kind == REPORT_INLINED &&
			     frame_of(r, r->nodes[outer_node].frame)->address == frame.address;
	const int64_t depth = inlined ? outer[FRAME_DEPTH] + 1 : 0;
	const int64_t outer_symbol = inlined ? outer[FRAME_SYMBOL] : 0;
	const int64_t lib = lib_of(f, &frame);
	int64_t address = -1;

	if (lib >= 0 && frame.module_addr && frame.module_addr <= MAX_NUMBER)
		address = (int64_t)(frame.module_addr - frame.is_return);
	return row(f, &f->frames,
		   (int64_t[]){ address, depth, (int64_t)frame.kind, 0, func_of(f, &frame, lib),
				inlined ? outer_symbol : symbol_of(f, &frame, lib), 0,
				frame.line ? (int64_t)frame.line : CELL_NULL, CELL_NULL,
				CELL_NULL });
}

static struct stack *stack_at(const struct firefox *f, int64_t number)
{
	return (struct stack *)f->stacks.items + number;
}

/* The row of a node whose caller's row is `above`, -1 if it has none. */
static int64_t step(struct firefox *f, uint32_t node, int64_t above)
{
	const struct stack key = { .node = node };
	const uint32_t before = f->stacks.count;
	const int64_t number = row(f, &f->stacks, (const int64_t *)&key);
	const int64_t *outer = NULL;

	if (f->err || f->stacks.count == before)
		return number;
	if (above >= 0)
		outer = (const int64_t *)f->frames.items +
			stack_at(f, above)->frame * (f->frames.size / 8);
	stack_at(f, number)->frame =
		frame_of_node(f, node, outer, above < 0 ? 0 : stack_at(f, above)->node);
	stack_at(f, number)->prefix_offset = above < 0 ? 0 : number - above;
	return number;
}

/* The same stack, whose leaf has another category. */
static int64_t with_leaf(struct firefox *f, int64_t stack, enum firefox_category category,
			 uint32_t subcategory)
{
	const struct stack like = *stack_at(f, stack);
	const struct stack key = { .node = like.node,
				   .leaf = (uint32_t)category << 24 | (subcategory & 0xffffff) };
	const uint32_t before = f->stacks.count;
	const int64_t number = row(f, &f->stacks, (const int64_t *)&key);
	int64_t cells[MAX_COLUMNS];

	if (f->err || f->stacks.count == before)
		return number;
	memcpy(cells, (const char *)f->frames.items + like.frame * f->frames.size, sizeof(cells));
	cells[FRAME_CATEGORY] = category;
	cells[FRAME_SUBCATEGORY] = subcategory;
	stack_at(f, number)->frame = row(f, &f->frames, cells);
	stack_at(f, number)->prefix_offset =
		like.prefix_offset ? like.prefix_offset + number - stack : 0;
	return number;
}

int64_t report_firefox_stack(struct firefox *f, uint32_t node, enum firefox_category category,
			     uint32_t subcategory)
{
	uint32_t path[REPORT_MAX_STACK];
	const uint32_t n = report_timeline_path(f->t.r, node, path);
	int64_t at = n ? -1 : step(f, 0, -1);

	for (uint32_t i = 0; i < n && !f->err; i++)
		at = step(f, path[i], at);
	return category < CATEGORY_BLOCKED || f->err ? at : with_leaf(f, at, category, subcategory);
}

/* ---- writing */

/* The name that Breakpad has for a build id: its first 16 bytes as a GUID, and an age, 0. */
static void put_breakpad_id(struct out *o, const char *build_id)
{
	static const unsigned char order[] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15
	};

	report_out_putc(o, '"');
	if (build_id && strspn(build_id, "0123456789abcdefABCDEF") >= 2 * sizeof(order)) {
		for (size_t i = 0; i < 2 * sizeof(order); i++)
			report_out_putc(o, (char)toupper(build_id[2 * order[i / 2] + i % 2]));
		report_out_putc(o, '0');
	}
	report_out_putc(o, '"');
}

static const char *string_at(const struct firefox *f, int64_t index)
{
	return index == CELL_NULL ? NULL : strings_get(&f->strings, (uint32_t)index + 1);
}

static void put_libs(struct firefox *f)
{
	struct json_out j = { .out = f->out };

	report_out_puts(&j.out, "\"libs\":[");
	for (uint32_t i = 0; i < f->libs.count; i++) {
		const int64_t *cells = (const int64_t *)f->libs.items + 2 * (size_t)i;
		const char *path = string_at(f, cells[LIB_PATH]);
		const char *build_id = string_at(f, cells[LIB_BUILD_ID]);

		report_out_puts(&j.out, i ? ",\n" : "\n");
		report_json_open(&j);
		report_json_text(&j, "name", report_text_base(path));
		report_json_text(&j, "path", path);
		report_json_text(&j, "debugName", report_text_base(path));
		report_json_text(&j, "debugPath", path);
		report_out_puts(&j.out, ",\"arch\":null,\"codeId\":");
		report_out_json(&j.out, build_id);
		report_json_key(&j, "breakpadId");
		put_breakpad_id(&j.out, build_id);
		report_json_close(&j);
	}
	f->out = j.out;
	report_out_putc(&f->out, ']');
}

static void put_table(struct firefox *f, const char *name, const char *columns,
		      const struct hash_map *table)
{
	report_out_printf(&f->out, ",\n\"%s\":{", name);
	report_columns_put(&f->out, columns, table->items, table->count);
	report_out_putc(&f->out, '}');
}

void report_firefox_put_tables(struct firefox *f)
{
	put_libs(f);
	report_out_puts(&f->out, ",\n\"shared\":{\"stringArray\":[");
	for (uint32_t i = 1; i < f->strings.count; i++) {
		report_out_puts(&f->out, i > 1 ? ",\n" : "\n");
		report_out_json(&f->out, strings_get(&f->strings, i));
	}
	report_out_putc(&f->out, ']');
	put_table(f, "stackTable", STACK, &f->stacks);
	put_table(f, "frameTable", FRAME, &f->frames);
	put_table(f, "funcTable", FUNC, &f->funcs);
	put_table(f, "resourceTable", RESOURCE, &f->resources);
	put_table(f, "nativeSymbols", SYMBOL, &f->symbols);
	put_table(f, "sources", SOURCE, &f->sources);
	report_out_puts(&f->out, ",\n\"sourceLocationTable\":{\"length\":0,\"source\":[],"
				 "\"line\":[],\"column\":[]}}");
}
