/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that looks like V8 11.3 and lies: its strings go round in circles, lead nowhere, or are
 * of enormous length; or lie where whoever reads waits for ever (for root, who may have a
 * userfaultfd that other processes meet too). Burns CPU time in burn() meanwhile. Then it executes
 * PROGRAM, which has nothing of V8.
 *
 *	fakenode circle|nowhere|huge|silent SECONDS [PROGRAM ARGUMENTS...]
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "work.h"

/* Offsets and types of 11.3, as record/v8_layouts.c has them. */
enum { TYPE_AT = 12, CONS = 41, SEQUENCE = 40, SHARED = 262, SCRIPT = 167, BYTECODE = 191 };
enum { FUNCTION_SHARED = 24, SHARED_DATA = 8, SHARED_NAME = 16, SHARED_SCRIPT = 32 };

int v8_major __asm__("_ZN2v88internal7Version6major_E") = 11;
int v8_minor __asm__("_ZN2v88internal7Version6minor_E") = 3;

struct object {
	uint64_t word[16];
};
static struct object maps[8], function, shared, script, string, bytecode;

static uint64_t tagged(const struct object *o)
{
	return (uintptr_t)o + 1;
}

static void make(struct object *o, struct object *map, uint16_t type)
{
	memcpy((char *)map + TYPE_AT, &type, sizeof(type));
	map->word[0] = tagged(map);
	o->word[0] = tagged(map);
}

NOINLINE static void burn(double seconds)
{
	burn_until(thread_cpu_ns() + (uint64_t)(seconds * 1e9));
}

static double seconds;
void burn_inside(void);
void burn_inside(void)
{
	burn(seconds);
}

#ifdef __x86_64__
/* A frame as V8 makes them, without unwind tables: context, function, -, bytecode, its offset. */
void call_frame(uint64_t function, uint64_t bytecode);
__asm__(".text\n"
	".type call_frame, @function\n"
	"call_frame:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rdi\n"
	"	push %rdi\n"
	"	push $0\n"
	"	push %rsi\n"
	"	movabs $0x4000000000, %rax\n"
	"	push %rax\n"
	"	push $0\n"
	"	call burn_inside\n"
	"	leave\n"
	"	ret\n"
	".size call_frame, . - call_frame\n");
#else
static void call_frame(uint64_t of_function, uint64_t of_bytecode)
{
	if (of_function != of_bytecode)
		burn_inside();
}
#endif

/* A page that nobody ever fills in; NULL: not here. */
static struct object *silence(void)
{
	const int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register all = { .range = { (uintptr_t)page, 4096 },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };

	return page == MAP_FAILED || fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
			       ioctl(fd, UFFDIO_REGISTER, &all)
		       ? NULL
		       : page;
}

static void lie(const char *how)
{
	const int32_t length = !strcmp(how, "huge") ? INT32_MAX : 8;

	make(&shared, &maps[0], SHARED);
	make(&script, &maps[1], SCRIPT);
	make(&string, &maps[2], strcmp(how, "circle") ? SEQUENCE : CONS);
	make(&bytecode, &maps[3], BYTECODE);
	function.word[FUNCTION_SHARED / 8] = tagged(&shared);
	shared.word[SHARED_DATA / 8] = tagged(&bytecode);
	shared.word[SHARED_NAME / 8] = tagged(&string);
	shared.word[SHARED_SCRIPT / 8] = tagged(&script);
	memcpy((char *)&string + 12, &length, sizeof(length));
	string.word[2] = string.word[3] = tagged(&string);
	script.word[1] = script.word[2] = tagged(&string);
	for (int i = 1; i < 16; i++)
		bytecode.word[i] = tagged(&bytecode);
	if (!strcmp(how, "nowhere")) {
		shared.word[SHARED_NAME / 8] = 0x123456789abd;
		shared.word[SHARED_SCRIPT / 8] = UINT64_MAX - 2;
	}
	if (!strcmp(how, "silent")) {
		struct object *page = silence();

		if (!page)
			exit(3);
		shared.word[SHARED_NAME / 8] = tagged(page);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	lie(argv[1]);
	seconds = atof(argv[2]);
	call_frame(tagged(&function), tagged(&bytecode));
	if (argc > 3)
		execv(argv[3], argv + 3);
	return v8_major + v8_minor != 14;
}
