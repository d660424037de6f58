/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the path of a control group says of who runs in it. Container engines and systemd name their
 * groups by rules of their own, which are known here; everything else is a path and no more. Who
 * may make groups may make such names, too: what is said is what the group is called.
 *
 *	/system.slice/docker-ID.scope			Docker with systemd
 *	/docker/ID					Docker without
 *	/kubepods.slice/.../kubepods-burstable-podUID.slice/cri-containerd-ID.scope
 *	/kubepods/besteffort/podUID/ID			Kubernetes without systemd
 *	.../crio-ID.scope/container			CRI-O
 *	/machine.slice/libpod-ID.scope/container	Podman
 *	/lxc.payload.NAME/init.scope			LXC
 *	/machine.slice/systemd-nspawn@NAME.service/payload
 *	/system.slice/nginx.service			a unit of systemd
 */
#include <stdio.h>
#include <string.h>

#include "agent.h"

#define ID_CHARS 64 /* of a container, in hexadecimal */
#define UID_CHARS 36

/* A part of a path: not ended by NUL. */
struct part {
	const char *at;
	size_t n;
};

static bool begins(struct part *p, const char *with)
{
	const size_t n = strlen(with);

	if (p->n <= n || memcmp(p->at, with, n))
		return false;
	p->at += n;
	p->n -= n;
	return true;
}

static bool ends(struct part *p, const char *with)
{
	const size_t n = strlen(with);

	if (p->n <= n || memcmp(p->at + p->n - n, with, n))
		return false;
	p->n -= n;
	return true;
}

static void copy(char *to, size_t size, struct part p)
{
	snprintf(to, size, "%.*s", (int)(p.n < size ? p.n : size - 1), p.at);
}

static bool is_id(struct part p)
{
	for (size_t i = 0; i < p.n; i++)
		if (!strchr("0123456789abcdef", p.at[i]))
			return false;
	return p.n == ID_CHARS;
}

/* Before the id of a container, and what made it. conmon watches one, and is none. */
static const struct {
	const char *prefix, *runtime;
} engines[] = {
	{ "docker-", "docker" }, { "cri-containerd-", "containerd" }, { "crio-", "cri-o" },
	{ "libpod-", "podman" }, { "nerdctl-", "containerd" },
};

static bool is_scope(struct part p, struct agent_place *out)
{
	if (!ends(&p, ".scope"))
		return false;
	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		struct part id = p;

		if (!begins(&id, engines[i].prefix) || !is_id(id))
			continue;
		copy(out->container, sizeof(out->container), id);
		out->runtime = engines[i].runtime;
		return true;
	}
	return false;
}

/* Containers that have a name: of systemd-nspawn, LXC. */
static bool is_machine(struct part p, struct agent_place *out)
{
	struct part nspawn = p, lxc = p;

	if (begins(&nspawn, "systemd-nspawn@") && ends(&nspawn, ".service")) {
		copy(out->container, sizeof(out->container), nspawn);
		out->runtime = "systemd-nspawn";
		return true;
	}
	if (begins(&lxc, "lxc.payload.")) {
		copy(out->container, sizeof(out->container), lxc);
		out->runtime = "lxc";
		return true;
	}
	return false;
}

/* "kubepods-burstable-podUID.slice", where UID has _ in place of -; "podUID". */
static void find_pod(struct part p, struct agent_place *out)
{
	struct part uid = { 0 };

	ends(&p, ".slice");
	for (size_t i = 0; i + 3 < p.n && !uid.n; i++)
		if (!memcmp(p.at + i, "pod", 3) && p.n - i - 3 == UID_CHARS &&
		    (!i || p.at[i - 1] == '-'))
			uid = (struct part){ p.at + i + 3, UID_CHARS };
	if (!uid.n)
		return;
	copy(out->pod, sizeof(out->pod), uid);
	for (char *c = out->pod; *c; c++)
		*c = *c == '_' ? '-' : *c;
}

static bool is_unit(struct part p)
{
	return ends(&p, ".service") || ends(&p, ".scope");
}

static bool is_slice(struct part p)
{
	return ends(&p, ".slice");
}

/* Without systemd only the parent tells whose the id is. */
static const char *runtime_of(struct part parent, const struct agent_place *place)
{
	if (parent.n == 6 && !memcmp(parent.at, "docker", 6))
		return "docker";
	return *place->pod ? "kubernetes" : NULL;
}

void agent_place_parse(const char *path, struct agent_place *out)
{
	struct part part = { 0 };

	*out = (struct agent_place){ 0 };
	while (*(path += strspn(path, "/"))) {
		const struct part parent = part;

		part = (struct part){ path, strcspn(path, "/\n") };
		path += part.n;
		if (*path == '\n')
			path += strlen(path);
		if (is_scope(part, out) || is_machine(part, out))
			continue;
		find_pod(part, out);
		if (is_slice(part) && !out->runtime)
			copy(out->slice, sizeof(out->slice), part);
		if (is_id(part) && runtime_of(parent, out)) {
			copy(out->container, sizeof(out->container), part);
			out->runtime = runtime_of(parent, out);
		} else if (is_unit(part) && !out->runtime) {
			copy(out->unit, sizeof(out->unit), part);
		}
	}
}

/* "0::PATH" is version 2; before it each hierarchy has a line, one of them systemd's. */
void agent_place_parse_file(const char *text, struct agent_place *out)
{
	*out = (struct agent_place){ 0 };
	for (const char *line = text; *line; line += strspn(line, "\n")) {
		const char *first = strchr(line, ':');
		const char *path = first ? strchr(first + 1, ':') : NULL;
		struct agent_place place;

		if (!path || path > line + strcspn(line, "\n"))
			return;
		agent_place_parse(path + 1, &place);
		/* What says more: a container before a unit, whichever hierarchy knows it. */
		if ((place.runtime && !out->runtime) ||
		    (!out->runtime && !*out->unit && (*place.unit || *place.slice)))
			*out = place;
		line += strcspn(line, "\n");
	}
}
