/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attach_time.c: reads in a trace of system calls when a profiler had attached everything.
 *
 * That is the end of the last of these before the first pause of PAUSE seconds (a profiler that has
 * begun waits, and what it does at its end must not count): perf_event_open, ioctl SET_BPF and
 * ENABLE of a perf event, bpf LINK_CREATE and RAW_TRACEPOINT_OPEN. The trace costs every profiler
 * the same 0.1 us or so per call.
 */
#include "attach_time.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAUSE 0.3
enum { MAX_THREADS = 64 };

static char mount_point[] = "/tmp/measure-XXXXXX";
static char instance[64];

static int put(const char *file, const char *text)
{
	char path[160];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", instance, file);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0) {
		n = write(fd, text, strlen(text));
		close(fd);
	}
	return n < 0 ? -1 : 0;
}

void attach_time_close(void)
{
	int err = errno;

	rmdir(instance);
	umount(mount_point);
	rmdir(mount_point);
	errno = err;
}

int attach_time_open(void)
{
	static const char *const events[] = {
		"events/sched/sched_process_exec/enable",
		"events/syscalls/sys_enter_perf_event_open/enable",
		"events/syscalls/sys_exit_perf_event_open/enable",
		"events/syscalls/sys_enter_ioctl/enable",
		"events/syscalls/sys_exit_ioctl/enable",
		"events/syscalls/sys_enter_bpf/enable",
		"events/syscalls/sys_exit_bpf/enable",
	};
	int err;

	/* A mount of our own: nobody's tracing is disturbed, and none needs to be mounted. */
	if (!mkdtemp(mount_point))
		return -1;
	if (mount("measure", mount_point, "tracefs", 0, NULL)) {
		rmdir(mount_point);
		return -1;
	}
	snprintf(instance, sizeof(instance), "%s/instances/measure-%d", mount_point, getpid());
	err = mkdir(instance, 0700);
	err = err ? err : put("trace_clock", "mono");
	err = err ? err : put("options/event-fork", "1");
	err = err ? err : put("set_event_pid", "1"); /* nobody of ours yet */
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		err = err ? err : put(events[i], "1");
	if (err)
		attach_time_close();
	return err;
}

int attach_time_watch(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return put("trace", "") || put("set_event_pid", text) ? -1 : 0;
}

/* Is the call that begins on this line one that attaches? */
static bool attaches(const char *call)
{
	const char *cmd = strstr(call, "cmd: ");
	unsigned long n = cmd ? strtoul(cmd + 5, NULL, 16) : 0;

	if (!strncmp(call, "sys_perf_event_open(", 20))
		return true;
	if (!strncmp(call, "sys_ioctl(", 10))
		return n == PERF_EVENT_IOC_SET_BPF || n == PERF_EVENT_IOC_ENABLE;
	if (!strncmp(call, "sys_bpf(", 8))
		return n == BPF_LINK_CREATE || n == BPF_RAW_TRACEPOINT_OPEN;
	return false;
}

/*
 * Threads between the beginning and the end of such a call. A line reads
 * "           comm-123  [000] .....  2308.485305: rp_sys_ioctl(fd: 2, cmd: 0x5401, arg: 0x7ffc)".
 */
int attach_time_read(double *exec, double *attached)
{
	int threads[MAX_THREADS], nthreads = 0;
	bool begun = false, over = false;
	char path[160], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", instance);
	f = fopen(path, "r");
	if (!f)
		return -1;
	*attached = 0;
	while (!over && fgets(line, sizeof(line), f)) {
		char *bracket = strstr(line, " ["), *colon = bracket ? strstr(bracket, ": ") : NULL;
		char *dash, *stamp;
		double t;
		int tid;

		if (line[0] == '#' || !colon)
			continue;
		*bracket = *colon = 0;
		dash = strrchr(line, '-');
		stamp = strrchr(bracket + 1, ' ');
		if (!dash || !stamp)
			continue;
		tid = atoi(dash + 1);
		t = strtod(stamp, NULL);
		if (!begun && !strncmp(colon + 2, "sched_process_exec", 18)) {
			begun = true;
			*exec = t;
		} else if (attaches(colon + 2)) {
			over = *attached > 0 && t - *attached > PAUSE;
			if (nthreads < MAX_THREADS)
				threads[nthreads++] = tid;
		} else {
			for (int i = 0; i < nthreads; i++) {
				if (threads[i] != tid)
					continue;
				threads[i] = threads[--nthreads];
				*attached = t;
				break;
			}
		}
	}
	fclose(f);
	if (begun && *attached > 0)
		return 0;
	errno = ENODATA;
	return -1;
}
