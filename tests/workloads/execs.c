/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * execs N: N times a thread that is not the first of its process sleeps, waits for a lock, mallocs
 * and executes the program again; before that a child of it tries to execute what the kernel finds
 * broken when it is too late to go back. Then it says so and waits to be ended.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char **arguments;
static void *volatile block;
extern char **environ;

static void wait_for_lock(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec until;

	pthread_mutex_lock(&mutex);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 200000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_timedlock(&mutex, &until);
	usleep(100);
	block = malloc(100);
	free(block);
}

static void *execute(void *broken)
{
	wait_for_lock();
	if (broken)
		fexecve(*(int *)broken, arguments, environ);
	else
		execv(arguments[0], arguments);
	_exit(1);
}

static void in_a_thread(int *broken)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute, broken))
		_exit(1);
	for (;;)
		pause();
}

/* Its only segment is where the kernel is. */
static int broken_program(void)
{
	const struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} elf = { { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		    .e_type = ET_EXEC,
#ifdef __aarch64__
		    .e_machine = EM_AARCH64,
#else
		    .e_machine = EM_X86_64,
#endif
		    .e_version = EV_CURRENT,
		    .e_phoff = sizeof(Elf64_Ehdr),
		    .e_ehsize = sizeof(Elf64_Ehdr),
		    .e_phentsize = sizeof(Elf64_Phdr),
		    .e_phnum = 1 },
		  { .p_type = PT_LOAD,
		    .p_flags = PF_R | PF_X,
		    .p_vaddr = 0xffff800000000000,
		    .p_filesz = sizeof(elf),
		    .p_memsz = sizeof(elf) } };
	int fd = memfd_create("broken", MFD_CLOEXEC), readable;
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	readable =
		write(fd, &elf, sizeof(elf)) == sizeof(elf) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	close(fd); /* what can be written is not executed */
	return readable;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	char less[16];
	int fd, status;
	pid_t child;

	if (n <= 0) {
		puts("done");
		fflush(stdout);
		pause();
		return 0;
	}
	arguments = argv;
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	fd = broken_program();
	child = fork();
	if (!child)
		in_a_thread(&fd);
	if (fd < 0 || child < 0 || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		return 1;
	snprintf(less, sizeof(less), "%d", n - 1);
	argv[1] = less;
	in_a_thread(NULL);
}
