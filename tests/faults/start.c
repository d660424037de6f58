/* SPDX-License-Identifier: BSD-2-Clause */
/* start.c: the process that @pid stands for, and whether it is unharmed. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

pid_t target_start(const char *dir)
{
	char path[1024];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/faults/target", places.build);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(dir))
			_exit(125);
		execl(path, "target", "forever", NULL);
		_exit(126);
	}
	usleep(50000); /* until it does what it is there for */
	return pid;
}

const char *target_harmed(pid_t pid)
{
	static char why[64];
	char path[64], line[256];
	const char *found = "gone";
	siginfo_t end = { 0 };
	FILE *f;

	if (!waitid(P_PID, (id_t)pid, &end, WEXITED | WNOHANG | WNOWAIT) && end.si_pid) {
		snprintf(why, sizeof(why), "%s %d",
			 end.si_code == CLD_EXITED ? "gone: status" : "gone: signal",
			 end.si_status);
		return why;
	}
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "State:", 6)) {
			snprintf(why, sizeof(why), "in state %c", line[7]);
			found = strchr("RSDI", line[7]) ? NULL : why;
		}
		if (!strncmp(line, "TracerPid:", 10) && atoi(line + 10)) {
			snprintf(why, sizeof(why), "traced by %d", atoi(line + 10));
			found = why;
		}
	}
	if (f)
		fclose(f);
	return found;
}
