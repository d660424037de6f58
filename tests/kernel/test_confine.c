/* SPDX-License-Identifier: BSD-2-Clause */
/* What a recording can no longer do once it has begun, what it still can, and the keeper beside. */
#include "test_loader.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/openat2.h>

#include "record/confine.h"
#include "record/keeper.h"
#include "record/syscalls.h"
#include "symbolize/lines_confine.h"

/* ---- in a process of its own */

/* Runs @test confined. Its result is 0, or the line that went wrong: see EXPECT. */
static void confined_as(const struct record_confine *what, int (*test)(pid_t child))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(record_confine(what) ? 255 : test(what->child));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status),
		      "status %x: the expectation of line %d, modulo 255", status,
		      WEXITSTATUS(status));
}

static void confined(int (*test)(pid_t child), pid_t child)
{
	confined_as(&(struct record_confine){ .child = child }, test);
}

/* The status of a process has eight bits. */
#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what))                                                                       \
			return __LINE__ % 255 ? __LINE__ % 255 : 1;                                \
	} while (0)

static bool refused(long result)
{
	return result < 0 && (errno == EPERM || errno == EACCES);
}

static char existing[] = "/tmp/rawprof-confine-XXXXXX";

/* Its flags lie in memory, where no filter sees them. */
static long openat2(const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags, .mode = flags & O_CREAT ? 0600 : 0 };

	return syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

static int changes_nothing(pid_t child)
{
	char name[] = "true", *const arguments[] = { name, NULL };

	(void)child;
	EXPECT(refused(open(existing, O_WRONLY)));
	EXPECT(refused(open(existing, O_RDWR)));
	EXPECT(refused(open(existing, O_RDONLY | O_TRUNC)));
	EXPECT(refused(open("/tmp/rawprof-confine-new", O_RDONLY | O_CREAT, 0600)));
	EXPECT(refused(open("/tmp", O_RDWR | O_TMPFILE, 0600)));
	EXPECT(refused(openat2(existing, O_WRONLY)));
	EXPECT(refused(openat2("/tmp/rawprof-confine-new", O_WRONLY | O_CREAT)));
	EXPECT(refused(openat2("/proc/self/mem", O_RDWR)));
	EXPECT(refused(rename(existing, "/tmp/rawprof-confine-new")));
	EXPECT(refused(unlink(existing)));
	EXPECT(refused(chmod(existing, 0777)));
	EXPECT(refused(truncate(existing, 0)));
	EXPECT(refused(mkdir("/tmp/rawprof-confine-new", 0700)));
	EXPECT(refused(execv("/bin/true", arguments)));
	EXPECT(refused(fork()));
	EXPECT(refused(socket(AF_INET, SOCK_STREAM, 0)));
	EXPECT(refused(socket(AF_UNIX, SOCK_STREAM, 0)));
	EXPECT(refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)));
	EXPECT(refused(syscall(SYS_process_vm_writev, getppid(), NULL, 0, NULL, 0, 0)));
	EXPECT(refused(syscall(SYS_io_uring_setup, 1, NULL)));
	EXPECT(refused(kill(getppid(), 0)));
	EXPECT(refused(setuid(0)));
	EXPECT(refused(ioctl(STDIN_FILENO, TIOCSTI, "x")));
	EXPECT(refused(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, NULL, 0)));
#ifdef __x86_64__
	EXPECT(refused(syscall(0x40000000 + SYS_getpid))); /* x32 */
#endif
	return 0;
}

/* bpf_send_signal(9) in whatever calls it, which may be any process. */
static long load_that_kills(void)
{
	const struct bpf_insn code[] = { { BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, SIGKILL },
					 { BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_send_signal },
					 { BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0 },
					 { BPF_JMP | BPF_EXIT, 0, 0, 0, 0 } };
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT };

	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = sizeof(code) / sizeof(code[0]);
	attr.license = (uint64_t)(uintptr_t) "GPL";
	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* A breakpoint in @pid that sends it SIGTRAP (Linux 5.13). */
static long trap(pid_t pid)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_BREAKPOINT,
					.size = sizeof(attr),
					.sample_period = 1,
					.remove_on_exec = 1,
					.sigtrap = 1 };

	attr.bp_type = 3; /* HW_BREAKPOINT_RW */
	attr.bp_addr = (uint64_t)(uintptr_t)existing;
	attr.bp_len = 4;
	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Each of these is a kill(2) by another name. */
static int sends_no_signals(pid_t child)
{
	const int fd = memfd_create("signals", MFD_CLOEXEC);

	(void)child;
	EXPECT(refused(load_that_kills()));
	EXPECT(refused(trap(getppid())));
	EXPECT(fd >= 0);
	EXPECT(refused(fcntl(fd, F_SETOWN, getppid())));
	EXPECT(refused(fcntl(fd, F_SETSIG, SIGKILL)));
	EXPECT(refused(fcntl(fd, F_SETFL, O_ASYNC)));
	EXPECT(refused(fcntl(fd, F_SETLEASE, F_RDLCK)));
	EXPECT(refused(fcntl(fd, F_NOTIFY, DN_ACCESS)));
	EXPECT((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR);
	EXPECT(fcntl(fd, F_DUPFD_CLOEXEC, 0) >= 0);
	return 0;
}

/* What agent's sender is left with. A socket that nobody listens on answers, and that is all. */
static int speaks_and_no_more(void)
{
	char name[] = "true", *const arguments[] = { name, NULL };
	struct sockaddr_in none = { .sin_family = AF_INET, .sin_port = htons(1) };
	int fd;

	none.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	EXPECT(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !record_filter_sender());
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	EXPECT(fd >= 0 && !fcntl(fd, F_SETFL, O_NONBLOCK));
	EXPECT(connect(fd, (struct sockaddr *)&none, sizeof(none)) && !refused(-1));
	EXPECT(refused(socket(AF_PACKET, SOCK_RAW, 0)));
	EXPECT(refused(fcntl(fd, F_SETOWN, getppid())));
	EXPECT(refused(open(existing, O_WRONLY)));
	EXPECT(open(existing, O_RDONLY) >= 0);
	EXPECT(refused(openat2(existing, O_RDONLY)));
	EXPECT(refused(rename(existing, "/tmp/rawprof-confine-new")));
	EXPECT(refused(unlink(existing)));
	EXPECT(refused(execv("/bin/true", arguments)));
	EXPECT(refused(fork()));
	EXPECT(refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)));
	EXPECT(refused(kill(getppid(), 0)));
	EXPECT(refused(load_that_kills()));
	EXPECT(refused(trap(getppid())));
	EXPECT(refused(listen(fd, 1)));
	EXPECT(refused(syscall(SYS_io_uring_setup, 1, NULL)));
	return 0;
}

/* A line of /proc/self/status, as a number of that base. */
static unsigned long long status_of(const char *name, int base)
{
	char text[4096], *at;
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, base) : ~0ULL;
}

static int holds_little(pid_t child)
{
	const unsigned long long reads = 1ULL << CAP_BPF | 1ULL << CAP_PERFMON |
					 1ULL << CAP_SYS_PTRACE | 1ULL << CAP_DAC_READ_SEARCH |
					 1ULL << CAP_SYSLOG | 1ULL << CAP_CHECKPOINT_RESTORE;

	(void)child;
	EXPECT(!(status_of("CapPrm:", 16) & ~reads));
	EXPECT(!(status_of("CapInh:", 16)));
	EXPECT(!(status_of("CapAmb:", 16)));
	EXPECT(status_of("NoNewPrivs:", 10) == 1);
	EXPECT(status_of("Seccomp:", 10) == 2);
	EXPECT(getuid() && geteuid() && getgid());
	EXPECT(status_of("Uid:", 10) == 65534 && status_of("Groups:", 10) == 0);
	return 0;
}

static void *add(void *value)
{
	*(int *)value += 1;
	return NULL;
}

static int still_reads(pid_t child)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.disabled = 1 };
	const struct asm_map map = { "m", BPF_MAP_TYPE_HASH, 4, 8, 4 };
	uint32_t key = 1;
	uint64_t value = 2;
	char path[64], line[256];
	pthread_t thread;
	int fd, sum = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)child);
	f = fopen(path, "r");
	EXPECT(f && fgets(line, sizeof(line), f));
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/root/bin/true", (int)child);
	fd = open(path, O_RDONLY);
	EXPECT(fd >= 0 && read(fd, line, 4) == 4 && !memcmp(line, "\177ELF", 4));
	close(fd);
	fd = open(existing, O_RDONLY); /* 0600, root's */
	EXPECT(fd >= 0);
	close(fd);
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	EXPECT(fd >= 0 && !ioctl(fd, PERF_EVENT_IOC_ENABLE, 0));
	close(fd);
	fd = rp_map_create(&map);
	EXPECT(fd >= 0 && !rp_map_update(fd, &key, &value, BPF_ANY));
	EXPECT(!pthread_create(&thread, NULL, add, &sum) && !pthread_join(thread, NULL) && sum);
	EXPECT(!kill(child, 0));
	return 0;
}

/* ---- tests */

static void make_file(void)
{
	int fd = mkstemp(existing);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

static pid_t make_child(void)
{
	pid_t child = fork();

	if (!child)
		for (;;)
			pause();
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

START_TEST(nothing_can_be_changed)
{
	make_file();
	confined(changes_nothing, 0);
	ck_assert_int_eq(unlink(existing), 0);
}
END_TEST

static int does_no_more(void)
{
	char name[] = "true", *const arguments[] = { name, NULL };

	EXPECT(refused(execv("/bin/true", arguments)));
	EXPECT(refused(open(existing, O_WRONLY)));
	EXPECT(refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)));
	EXPECT(refused(kill(1, 0)));
	EXPECT(sym_lines_confine_calls());
	EXPECT(refused(open(existing, O_RDONLY)));
	EXPECT(refused(syscall(SYS_tgkill, getppid(), getppid(), 0)));
	return 0;
}

/* Lines are read in such a process: symbolize/lines_aside.c. */
static int forks(pid_t child)
{
	int status, pair[2];
	pid_t pid = fork();

	(void)child;
	if (!pid)
		_exit(does_no_more());
	EXPECT(waitpid(pid, &status, 0) == pid && !status);
	EXPECT(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	EXPECT(refused(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)));
	EXPECT(refused(socketpair(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)));
	EXPECT(refused(socket(AF_UNIX, SOCK_STREAM, 0)));
	EXPECT(refused(syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER, NULL, NULL, NULL, NULL)));
	EXPECT(refused(
		syscall(SYS_clone, SIGCHLD | CLONE_VFORK | CLONE_VM, NULL, NULL, NULL, NULL)));
	EXPECT(refused(syscall(SYS_clone, SIGKILL, NULL, NULL, NULL, NULL)));
	return 0;
}

START_TEST(a_process_of_its_own_can_do_no_more)
{
	make_file();
	confined_as(&(struct record_confine){ .forks = true }, forks);
	ck_assert_int_eq(unlink(existing), 0);
}
END_TEST

START_TEST(no_signal_is_sent_in_another_way)
{
	confined(sends_no_signals, 0);
}
END_TEST

START_TEST(a_sender_has_sockets_and_nothing_else)
{
	int status;
	pid_t pid;

	make_file();
	pid = fork();
	if (!pid)
		_exit(speaks_and_no_more());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status),
		      "status %x: the expectation of line %d, modulo 255", status,
		      WEXITSTATUS(status));
	ck_assert_int_eq(unlink(existing), 0);
}
END_TEST

START_TEST(rights_are_those_of_a_reader)
{
	confined(holds_little, 0);
}
END_TEST

START_TEST(what_others_have_can_be_read)
{
	pid_t child = make_child();

	make_file();
	confined(still_reads, child);
	unlink(existing);
	end_child(child);
}
END_TEST

struct kept {
	char *path; /* removed at the end */
	int asked;
};

static int write_to(void *ctx, const void *data, size_t size, int fd)
{
	struct kept *kept = ctx;

	kept->asked++; /* of the keeper's copy */
	if (fd < 0)
		return -kept->asked;
	return write(fd, data, size) == (ssize_t)size ? kept->asked : -EIO;
}

static void remove_path(void *ctx)
{
	const struct kept *kept = ctx;

	unlink(kept->path);
}

static int entries_of(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

START_TEST(keeper_does_what_it_is_asked)
{
	struct kept kept = { .path = existing };
	const struct record_duty duty = { write_to, remove_path, &kept };
	struct record_keeper *k;
	char text[8] = "", big[RECORD_KEEPER_DATA + 1] = "";
	int fd;

	make_file();
	ck_assert_int_eq(record_keeper_start(&duty, 1, &k), 0);
	fd = open(existing, O_RDWR);
	ck_assert_int_eq(record_keeper_ask(k, 0, "kept", 4, fd), 1);
	ck_assert_int_eq(pread(fd, text, sizeof(text), 0), 4);
	ck_assert_str_eq(text, "kept");
	ck_assert_int_eq(record_keeper_ask(k, 0, NULL, 0, -1), -2);
	ck_assert_int_eq(record_keeper_ask(k, 1, NULL, 0, -1), -EINVAL);
	ck_assert_int_eq(record_keeper_ask(k, 0, big, sizeof(big), -1), -EMSGSIZE);
	ck_assert_int_eq(record_keeper_ask(k, 0, NULL, 0, -1), -3);
	ck_assert_int_eq(kept.asked, 0);
	ck_assert_int_eq(access(existing, F_OK), 0);
	record_keeper_close(k);
	ck_assert_int_eq(access(existing, F_OK), -1);
	close(fd);
}
END_TEST

/* Two descriptors in one packet, as no request of ours has: the second is closed. */
START_TEST(keeper_takes_one_descriptor)
{
	struct kept kept = { .path = existing };
	const struct record_duty duty = { write_to, remove_path, &kept };
	char control[CMSG_SPACE(2 * sizeof(int))] = "", packet[8] = "", path[64];
	struct iovec part = { packet, 4 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct record_keeper *k;
	struct mine {
		pid_t pid;
		int socket;
	} * keeper;
	int two[2], before, result;

	make_file();
	two[0] = open(existing, O_RDWR);
	two[1] = dup(two[0]);
	ck_assert_int_eq(record_keeper_start(&duty, 1, &k), 0);
	keeper = (struct mine *)k; /* what struct record_keeper begins with */
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)keeper->pid);
	ck_assert_int_eq(record_keeper_ask(k, 0, "", 0, -1), -1);
	before = entries_of(path);
	ck_assert_int_gt(before, 0);
	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(two));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), two, sizeof(two));
	ck_assert_int_eq(sendmsg(keeper->socket, &m, 0), 4);
	ck_assert_int_eq(recv(keeper->socket, &result, sizeof(result), 0), sizeof(result));
	ck_assert_int_eq(result, 2);
	ck_assert_int_eq(entries_of(path), before);
	record_keeper_close(k);
}
END_TEST

static bool appears_within(const char *path, bool there, int ms)
{
	for (int waited = 0; waited < ms; waited += 10) {
		if (!access(path, F_OK) == there)
			return true;
		usleep(10000);
	}
	return false;
}

START_TEST(keeper_cleans_up_after_a_kill)
{
	struct kept kept = { .path = existing };
	const struct record_duty duty = { write_to, remove_path, &kept };
	struct record_keeper *k;
	pid_t pid;

	make_file();
	pid = fork();
	if (!pid) {
		if (record_keeper_start(&duty, 1, &k) || record_keeper_ask(k, 0, "", 0, -1) != -1)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	ck_assert(appears_within(existing, false, 20000));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("confine");
	TCase *t = tcase_create("confine");

	if (geteuid()) {
		printf("skip test_confine (not root)\n");
		return 0;
	}
	tcase_set_timeout(t, 60);
	tcase_add_test(t, nothing_can_be_changed);
	tcase_add_test(t, a_sender_has_sockets_and_nothing_else);
	tcase_add_test(t, a_process_of_its_own_can_do_no_more);
	tcase_add_test(t, no_signal_is_sent_in_another_way);
	tcase_add_test(t, rights_are_those_of_a_reader);
	tcase_add_test(t, what_others_have_can_be_read);
	tcase_add_test(t, keeper_does_what_it_is_asked);
	tcase_add_test(t, keeper_takes_one_descriptor);
	tcase_add_test(t, keeper_cleans_up_after_a_kill);
	suite_add_tcase(s, t);
	return run_suite(s);
}
