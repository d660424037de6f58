/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of pods, without the API server: each node's kubelet keeps the output of a pod's containers
 * in /var/log/pods/NAMESPACE_NAME_UID. Neither a namespace nor a name has a _ in it.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"

#define MAX_ENTRIES 10000

/* False: it is another's directory, or of no pod. */
static bool take_name(const char *name, const char *uid, struct agent_pod *out)
{
	const char *first = strchr(name, '_'), *last = strrchr(name, '_');
	size_t space, pod;

	if (!first || first == last || strcmp(last + 1, uid))
		return false;
	space = (size_t)(first - name);
	pod = (size_t)(last - first - 1);
	if (!space || !pod || space >= sizeof(out->namespace) || pod >= sizeof(out->name))
		return false;
	snprintf(out->namespace, sizeof(out->namespace), "%.*s", (int)space, name);
	snprintf(out->name, sizeof(out->name), "%.*s", (int)pod, first + 1);
	return !strchr(out->name, '_');
}

void agent_pod_find(const char *logs, const char *uid, struct agent_pod *out)
{
	DIR *dir = opendir(logs);
	struct dirent *entry;
	bool found = false;

	*out = (struct agent_pod){ "", "" };
	for (int i = 0; dir && !found && i < MAX_ENTRIES && (entry = readdir(dir)); i++)
		found = take_name(entry->d_name, uid, out);
	if (dir)
		closedir(dir);
	if (!found)
		*out = (struct agent_pod){ "", "" };
}
