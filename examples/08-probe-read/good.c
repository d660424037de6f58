/* SPDX-License-Identifier: BSD-2-Clause */
/* What is being executed? Reads strings of the process, and an array of pointers to more. */
#include <spawn.h>
#include <sys/wait.h>

#include "../lesson.h"

enum { TEXT = 64 };
struct exec {
	int64_t file_bytes;  /* what probe_read_user_str returned: bytes with the NUL, or an errno */
	int64_t kernel_read; /* what probe_read_kernel says to the same address */
	char file[TEXT];
	char argument[TEXT];
};
struct frame {
	struct exec exec;
	uint64_t pointer;
	uint32_t pad;
	uint32_t pid;
};
enum {
	EXEC = FRAME(struct frame, exec),
	FILE_BYTES = FRAME(struct frame, exec.file_bytes),
	KERNEL_READ = FRAME(struct frame, exec.kernel_read),
	FILE_NAME = FRAME(struct frame, exec.file),
	ARGUMENT = FRAME(struct frame, exec.argument),
	POINTER = FRAME(struct frame, pointer),
	PID = FRAME(struct frame, pid),
};

static const struct asm_map execs = { "execs", BPF_MAP_TYPE_LRU_HASH, 4, sizeof(struct exec), 64 };

/* R0 = length of the string in the process at the address in R3, of which at most 64 bytes are
 * copied to the frame offset. */
#define READ_STRING(to)                                                  \
	SCOPE("READ_STRING(" #to ")"), FRAME_PTR(R1, to), MOV(R2, TEXT), \
		CALL(probe_read_user_str), END

static const struct asm_insn on_execve_lines[] = {
	ZERO_FRAME(struct frame),
	LD_TP(R6, R1, "syscalls", "sys_enter_execve", "filename"),
	LD_TP(R7, R1, "syscalls", "sys_enter_execve", "argv"),

	MOV_REG(R3, R6),
	READ_STRING(FILE_NAME),
	STX(DW, R10, FILE_BYTES, R0),

	/* argv[1]: first the pointer, then what it points to. */
	ADD(R7, 8),
	READ_USER(POINTER, 8, R7),
	LDX(DW, R3, R10, POINTER),
	READ_STRING(ARGUMENT),

	/* The same address, taken for one of the kernel's. */
	READ_KERNEL(POINTER, 8, R6),
	STX(DW, R10, KERNEL_READ, R0),

	CALL(get_current_pid_tgid),
	RSH(R0, 32),
	STX(W, R10, PID, R0),
	MAP_UPDATE(execs, PID, EXEC, BPF_ANY),
	MOV(R0, 0),
	EXIT(),
};
static const struct asm_program on_execve = {
	.name = "on_execve",
	.type = BPF_PROG_TYPE_TRACEPOINT,
	.license = "GPL",
	ASM_LINES(on_execve_lines),
};

const struct lesson_program lesson_good[] = {
	{ &on_execve, &execs, 1, "file and first argument of everything that is executed" },
	{ 0 },
};

extern char **environ;

static void run_and_show(int map, const char *file, const char *argument)
{
	char *argv[] = { (char *)file, (char *)argument, NULL };
	struct exec exec;
	pid_t pid;

	if (posix_spawn(&pid, file, NULL, NULL, argv, environ))
		pid = 0;
	if (pid)
		waitpid(pid, NULL, 0);
	if (!pid || rp_map_lookup(map, &pid, &exec)) {
		printf("nothing was seen of %s\n", file);
		return;
	}
	printf("process %d: \"%s\" \"%s\"; the file's name took %lld bytes\n", pid, exec.file,
	       exec.argument, (long long)exec.file_bytes);
	printf("    read as a kernel address: %lld (%s)\n", (long long)exec.kernel_read,
	       strerror((int)-exec.kernel_read));
}

int main(void)
{
	struct rp_link *link;
	int map;

	lesson_begin("A program gets the address of a string. How does it get the string?");
	map = must(rp_map_create(&execs), "map");
	lesson_refused(&map);

	link = lesson_attach(&lesson_good[0], &map, "syscalls", "sys_enter_execve");
	run_and_show(map, "/bin/true", "read me");
	run_and_show(map, "/bin/true",
		     "an argument of more than sixty-four bytes is cut, and ends in a zero byte");
	rp_link_close(link);
	close(map);
	return 0;
}
