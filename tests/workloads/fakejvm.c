/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks like HotSpot, where its file is called libjvm.so, and lies: all that it
 * knows of its code leads back to itself, nowhere, or is of enormous size. Burns CPU time in burn()
 * meanwhile, which its code heap has called.
 *
 *	libjvm.so circle|nowhere|huge SECONDS [offsets|lost|aside|empty] [PROGRAM ARGUMENTS...]
 *
 * offsets: its tables are those of Java 25, where a CodeBlob has offsets instead of addresses.
 * lost: its code has no frame pointer while it calls, so that stacks end there.
 * aside, empty: its tables are not those that its file has in other processes: they say that the
 * code heaps are where only it has some, or nothing. Then it is called liar.
 * In the end it executes PROGRAM, which has nothing of Java.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "work.h"

struct entry {
	const char *type, *field, *field_type;
	int32_t is_static, unused;
	uint64_t offset;
	void *address;
};
struct type_entry {
	const char *name, *super;
	int32_t is_oop, is_integer, is_unsigned, unused;
	uint64_t size;
};

enum { SHIFT = 7, SEGMENTS = 32, BLOCK = 16, BLOB_CODE = 256, HEAP_BYTES = SEGMENTS << SHIFT };
enum { SCOPE = 16, PCS = 512, METADATA = 640, NUMBERS = 576 };
enum { MUTABLE = 80, IMMUTABLE = 88 };

static uint64_t heaps_array[2], heap[32], queue[2], call_stub;
static uint64_t heaps_at[1];
static void *heaps = heaps_array, *interpreter = queue, *heaps_aside;
static int32_t version = 17;
static unsigned char interpreter_code[64];
static uint8_t segments[SEGMENTS];
static uint64_t itself[512]; /* an object, whatever is looked for */

#define MEMBER(type, field, offset)                                                                \
	{                                                                                          \
		type, field, NULL, 0, 0, offset, NULL                                              \
	}
#define STATIC(type, field, at)                                                                    \
	{                                                                                          \
		type, field, NULL, 1, 0, 0, at                                                     \
	}
static struct entry structs[] = {
	STATIC("CodeCache", "_heaps", &heaps),
	STATIC("AbstractInterpreter", "_code", &interpreter),
	STATIC("StubRoutines", "_call_stub_return_address", &call_stub),
	STATIC("Abstract_VM_Version", "_vm_major_version", &version),
	MEMBER("GrowableArrayBase", "_len", 0),
	MEMBER("GrowableArray<int>", "_data", 8),
	MEMBER("CodeHeap", "_memory", 0),
	MEMBER("CodeHeap", "_segmap", 64),
	MEMBER("CodeHeap", "_segmap ", 64), /* to be another one */
	MEMBER("CodeHeap", "_log2_segment_size", 128),
	MEMBER("VirtualSpace", "_low_boundary", 0),
	MEMBER("VirtualSpace", "_high_boundary", 8),
	MEMBER("StubQueue", "_stub_buffer", 0),
	MEMBER("StubQueue", "_buffer_limit", 8),
	MEMBER("CodeBlob", "_name", 8),
	MEMBER("CodeBlob", "_code_begin", 16),
	MEMBER("CodeBlob", "_frame_complete_offset", 24),
	MEMBER("CodeBlob", "_frame_size", 28),
	MEMBER("CompiledMethod", "_method", 32),
	MEMBER("CompiledMethod", "_scopes_data_begin", 40),
	MEMBER("CompiledMethod", "_deopt_handler_begin", 48),
	MEMBER("nmethod", "_metadata_offset", 56),
	MEMBER("nmethod", "_scopes_pcs_offset", 60),
	MEMBER("nmethod", "_dependencies_offset", 64),
	MEMBER("nmethod", "_orig_pc_offset", 68),
	MEMBER("nmethod", "_compile_id", 72),
	MEMBER("Method", "_constMethod", 8),
	MEMBER("ConstMethod", "_constants", 8),
	MEMBER("ConstMethod", "_constMethod_size", 16),
	MEMBER("ConstMethod", "_flags", 20),
	MEMBER("ConstMethod", "_code_size", 22),
	MEMBER("ConstMethod", "_name_index", 24),
	MEMBER("ConstantPool", "_pool_holder", 8),
	MEMBER("ConstantPool", "_length", 16),
	MEMBER("ConstantPool", "_source_file_name_index", 20),
	MEMBER("Klass", "_name", 8),
	MEMBER("Symbol", "_length", 16),
	MEMBER("Symbol", "_body[0]", 18),
	{ NULL, NULL, NULL, 0, 0, 0, NULL },
};
static struct type_entry types[] = {
	{ "HeapBlock", NULL, 0, 0, 0, 0, BLOCK },
	{ "ConstMethod", NULL, 0, 0, 0, 0, 48 },
	{ "ConstantPool", NULL, 0, 0, 0, 0, 64 },
	{ NULL, NULL, 0, 0, 0, 0, 0 },
};
void *gHotSpotVMStructs = structs, *gHotSpotVMTypes = types;

/* What Java 25 has, in the place of others. */
static const struct {
	const char *field;
	struct entry instead;
} by_offset[] = {
	{ "_code_begin", MEMBER("CodeBlob", "_code_offset", 16) },
	{ "_method", MEMBER("nmethod", "_method", 32) },
	{ "_scopes_data_begin", MEMBER("nmethod", "_scopes_data_offset", 64) },
	{ "_deopt_handler_begin", MEMBER("nmethod", "_deopt_handler_offset", 48) },
	{ "_metadata_offset", MEMBER("CodeBlob", "_relocation_size", 56) },
	{ "_dependencies_offset", MEMBER("CodeBlob", "_mutable_data", MUTABLE) },
	{ "_segmap ", MEMBER("nmethod", "_immutable_data", IMMUTABLE) },
};

static void take_offsets(unsigned char *blob)
{
	for (struct entry *e = structs; e->type; e++)
		for (size_t i = 0; i < sizeof(by_offset) / sizeof(by_offset[0]); i++)
			if (!strcmp(e->field, by_offset[i].field))
				*e = by_offset[i].instead;
	memset(blob + 16, 0, 8);
	blob[16 + 1] = BLOB_CODE >> 8;
	memcpy(blob + MUTABLE, &(uint64_t){ (uintptr_t)itself }, 8);
	memcpy(blob + IMMUTABLE, &(uint64_t){ (uintptr_t)blob }, 8);
	version = 25;
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

static double seconds;
NOINLINE static void burn_inside(void)
{
	burn(seconds);
}

static void put32(void *at, int32_t value)
{
	memcpy(at, &value, sizeof(value));
}

static void put64(void *at, uint64_t value)
{
	memcpy(at, &value, sizeof(value));
}

/*
 * push %rbp; mov %rsp, %rbp; movabs $burn_inside, %rax; call *%rax; leave; ret. Lost: %rbp is zero
 * (xor %ebp, %ebp; nop) and comes back by a pop instead of leave.
 */
static void make_code(unsigned char *at)
{
	static const unsigned char before[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8 };
	static const unsigned char after[] = { 0xff, 0xd0, 0xc9, 0xc3 };

	memcpy(at, before, sizeof(before));
	put64(at + sizeof(before), (uintptr_t)burn_inside);
	memcpy(at + sizeof(before) + 8, after, sizeof(after));
}

static void lose_frame_pointer(unsigned char *code)
{
	memcpy(code + 1, "\x31\xed\x90", 3);
	code[16] = 0x5d;
}

static void lie(unsigned char *blob, const char *how)
{
	const int is_huge = !strcmp(how, "huge");
	const uint64_t object = strcmp(how, "nowhere") ? (uintptr_t)itself : 0x123456789abc0;

	for (int i = 0; i < 512; i++)
		itself[i] = object;
	if (is_huge)
		memset(itself + 2, 0xff, 16); /* sizes and lengths */
	put64(blob + 8, strcmp(how, "nowhere") ? (uintptr_t) "nmethod" : object);
	put64(blob + 16, (uintptr_t)blob + BLOB_CODE);
	put32(blob + 24, 4);
	put32(blob + 28, is_huge ? INT32_MAX : 2);
	put64(blob + 32, object);
	put64(blob + 40, (uintptr_t)blob + NUMBERS);
	put32(blob + 56, METADATA);
	put32(blob + 60, PCS);
	put32(blob + 64, is_huge ? INT32_MAX : PCS + 32);
	put32(blob + 68, INT32_MAX);
	put32(blob + 72, 7);
	put32(blob + PCS, -1);
	put32(blob + PCS + 16, INT32_MAX);
	put32(blob + PCS + 20, SCOPE);
	memcpy(blob + NUMBERS + SCOPE, "\x10\x01\x01", 3); /* called by itself */
	put64(blob + METADATA, object);
}

static unsigned char *make_heap(const char *how)
{
	unsigned char *low = mmap(NULL, HEAP_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (low == MAP_FAILED)
		exit(2);
	heap[0] = (uintptr_t)low;
	heap[1] = (uintptr_t)low + HEAP_BYTES;
	heap[8] = (uintptr_t)segments;
	heap[16] = SHIFT;
	heaps_at[0] = (uintptr_t)heap;
	heaps_array[0] = 1;
	heaps_array[1] = (uintptr_t)heaps_at;
	queue[0] = (uintptr_t)interpreter_code;
	queue[1] = sizeof(interpreter_code);
	/* Each says how far behind the first one it is. */
	for (int i = 0; i < SEGMENTS; i++)
		segments[i] = (uint8_t)i;
	lie(low + BLOCK, how);
	make_code(low + BLOCK + BLOB_CODE);
	return low + BLOCK + BLOB_CODE;
}

static void tell_others_lies(const char *how)
{
	prctl(PR_SET_NAME, "liar");
	heaps_aside = heaps;
	if (!strcmp(how, "empty"))
		structs[0].type = NULL;
	else
		structs[0].address = &heaps_aside;
}

static void take_style(const char *style, unsigned char *code)
{
	if (!strcmp(style, "offsets"))
		take_offsets(code - BLOB_CODE);
	else if (!strcmp(style, "lost"))
		lose_frame_pointer(code);
	else
		tell_others_lies(style);
}

int main(int argc, char **argv)
{
	unsigned char *code;
	void (*call)(void);

	if (argc < 3)
		return 2;
	code = make_heap(argv[1]);
	if (argc > 3)
		take_style(argv[3], code);
	memcpy(&call, &code, sizeof(call));
	seconds = atof(argv[2]);
	call();
	if (argc > 4)
		execv(argv[4], argv + 4);
	return 0;
}
