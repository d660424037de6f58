/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths of control groups, as container engines and systemd name them. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/agent/agent.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "1b2c3d4e-0000-4111-8222-333344445555"
#define UID_ "1b2c3d4e_0000_4111_8222_333344445555"

/* clang-format off */
static const struct {
	const char *path, *runtime, *container, *pod, *unit;
} paths[] = {
	{ "/", NULL, "", "", "" },
	{ "", NULL, "", "", "" },
	{ "/system.slice/nginx.service", NULL, "", "", "nginx.service" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", NULL, "", "", "app-x.scope" },
	{ "/system.slice/docker-" ID ".scope", "docker", ID, "", "" },
	{ "/docker/" ID, "docker", ID, "", "" },
	{ "/docker/" ID "/inner", "docker", ID, "", "" },
	{ "/system.slice/docker.service", NULL, "", "", "docker.service" },
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope",
	  "containerd", ID, UID, "" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "containerd", ID, UID, "" },
	{ "/kubepods/besteffort/pod" UID "/" ID, "kubernetes", ID, UID, "" },
	{ "/kubepods/pod" UID "/" ID, "kubernetes", ID, UID, "" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-" ID ".scope/container",
	  "cri-o", ID, UID, "" },
	{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_ ".slice/crio-conmon-" ID ".scope",
	  NULL, "", UID, "crio-conmon-" ID ".scope" },
	{ "/machine.slice/libpod-" ID ".scope/container", "podman", ID, "", "" },
	{ "/machine.slice/libpod-conmon-" ID ".scope", NULL, "", "", "libpod-conmon-" ID ".scope" },
	{ "/machine.slice/systemd-nspawn@web.service/payload", "systemd-nspawn", "web", "", "" },
	{ "/lxc.payload.web/init.scope", "lxc", "web", "", "" },
	/* what is nearly one */
	{ "/system.slice/docker-0123.scope", NULL, "", "", "docker-0123.scope" },
	{ "/docker/" ID "0", NULL, "", "", "" },
	{ "/kubepods/pod" UID "x/" ID, NULL, "", "", "" },
	{ "/systemd-nspawn@.service", NULL, "", "", "systemd-nspawn@.service" },
	{ "/.service", NULL, "", "", "" },
	{ "///a//b.service//", NULL, "", "", "b.service" },
};
/* clang-format on */

static void assert_place(const struct agent_place *p, const char *runtime, const char *container,
			 const char *pod, const char *unit)
{
	ck_assert_str_eq(p->runtime ? p->runtime : "", runtime ? runtime : "");
	ck_assert_str_eq(p->container, container);
	ck_assert_str_eq(p->pod, pod);
	ck_assert_str_eq(p->unit, unit);
}

START_TEST(of_a_path)
{
	struct agent_place p;

	agent_place_parse(paths[_i].path, &p);
	assert_place(&p, paths[_i].runtime, paths[_i].container, paths[_i].pod, paths[_i].unit);
}
END_TEST

START_TEST(of_a_file)
{
	struct agent_place p;

	agent_place_parse_file("0::/system.slice/docker-" ID ".scope\n", &p);
	assert_place(&p, "docker", ID, "", "");
	/* version 1: whichever hierarchy knows the most */
	agent_place_parse_file("12:pids:/docker/" ID "\n2:cpu,cpuacct:/docker/" ID
			       "\n1:name=systemd:/docker/" ID "\n0::/system.slice/a.service\n",
			       &p);
	assert_place(&p, "docker", ID, "", "");
	agent_place_parse_file("3:cpu:/\n1:name=systemd:/system.slice/a.service\n0::/\n", &p);
	assert_place(&p, NULL, "", "", "a.service");
	agent_place_parse_file("1:name=systemd:/system.slice/a.service\n3:pids:/docker/" ID, &p);
	assert_place(&p, "docker", ID, "", "");
	/* what no kernel writes */
	for (const char *const *text =
		     (const char *const[]){ "", ":", "::", "\n\n", "0:\n:/a.service", "x", NULL };
	     *text; text++) {
		agent_place_parse_file(*text, &p);
		ck_assert_ptr_null(p.runtime);
	}
}
END_TEST

/* clang-format off */
static const struct {
	const char *path, *slice;
} slices[] = {
	{ "/system.slice/nginx.service", "system.slice" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope", "app.slice" },
	{ "/system.slice/docker-" ID ".scope", "system.slice" },
	{ "/docker/" ID "/a.slice", "" },
	{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope", "kubepods-pod" UID_ ".slice" },
	{ "/machine.slice/systemd-nspawn@web.service/payload", "machine.slice" },
	{ "/.slice", "" },
};
/* clang-format on */

START_TEST(slices_of_a_path)
{
	struct agent_place p;

	agent_place_parse(slices[_i].path, &p);
	ck_assert_str_eq(p.slice, slices[_i].slice);
}
END_TEST

/* As kubelet names the directories, and what nearly is one. */
START_TEST(names_of_pods)
{
	static const char *const names[] = {
		"kube-system_coredns-5d78_" UID,
		"default_web_" UID "0",
		"default__2b2c3d4e-0000-4111-8222-333344445555",
		"_web_3b2c3d4e-0000-4111-8222-333344445555",
		"a_b_c_4b2c3d4e-0000-4111-8222-333344445555",
		"5b2c3d4e-0000-4111-8222-333344445555",
	};
	char dir[] = "/tmp/rawprof-pods-XXXXXX", path[256];
	struct agent_pod pod;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	agent_pod_find(dir, UID, &pod);
	ck_assert_str_eq(pod.namespace, "kube-system");
	ck_assert_str_eq(pod.name, "coredns-5d78");
	for (const char *number = "2345"; *number; number++) {
		char other[] = UID;

		other[0] = *number;
		agent_pod_find(dir, other, &pod);
		ck_assert_str_eq(pod.namespace, "");
		ck_assert_str_eq(pod.name, "");
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		rmdir(path);
	}
	ck_assert_int_eq(rmdir(dir), 0);
	agent_pod_find(dir, UID, &pod); /* no node of Kubernetes */
	ck_assert_str_eq(pod.name, "");
}
END_TEST

START_TEST(long_names_are_cut)
{
	char path[1024];
	struct agent_place p;

	memset(path, 'x', sizeof(path));
	strcpy(path + 600, ".service");
	path[0] = '/';
	agent_place_parse(path, &p);
	ck_assert_uint_eq(strlen(p.unit), AGENT_LABEL_BYTES - 1);
}
END_TEST

START_TEST(lists_of_labels)
{
	ck_assert(agent_labels_ok("none"));
	ck_assert(agent_labels_ok("container,exe"));
	ck_assert(!agent_labels_ok("containers"));
	ck_assert(!agent_labels_ok("exe,moon"));
	ck_assert(!agent_labels_ok("exe,none"));
}
END_TEST

/* Labels that a program publishes of its threads come with the sample. */
START_TEST(programs_do_not_say_where_they_are)
{
	static const char *const claimed[] = { "container", "unit", "exe", "pod", "build_id" };
	struct report_label labels[] = { { .key = "container", .str = "of-another" },
					 { .key = "route", .str = "/x" },
					 { .key = "unit", .str = "of-another" },
					 { .key = "exe", .str = "of-another" },
					 { .key = "pod", .str = "of-another" },
					 { .key = "build_id", .str = "of-another" } };
	struct report_sample sample = { .labels = labels, .nlabels = 6 };
	struct agent_labels *l;
	size_t routes = 0;

	for (size_t room = 0; room < 2; room++) { /* without room for more sets, too */
		l = agent_labels_new("exe,unit", room);
		sample.labels = labels;
		sample.nlabels = 6;
		ck_assert_int_eq(agent_labels_add(l, (uint32_t)getpid(), 1, &sample), 0);
		for (size_t i = 0; i < sample.nlabels; i++) {
			routes += !strcmp(sample.labels[i].key, "route");
			for (size_t k = 0; k < 5; k++)
				ck_assert(strcmp(sample.labels[i].key, claimed[k]) ||
					  strcmp(sample.labels[i].str, "of-another"));
		}
		agent_labels_free(l);
	}
	ck_assert_uint_eq(routes, 2);
}
END_TEST

/* As the label of a process that runs the file; generation: for l another process each time. */
static void build_id_of(struct agent_labels *l, const char *path, uint64_t generation,
			char out[AGENT_LABEL_BYTES])
{
	struct report_sample sample = { 0 };
	int started[2], status;
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execl(path, "sleep", "60", NULL);
		_exit(1);
	}
	close(started[1]);
	ck_assert_int_eq(read(started[0], &byte, 1), 0);
	close(started[0]);
	ck_assert_int_eq(agent_labels_add(l, (uint32_t)pid, generation, &sample), 0);
	ck_assert_uint_eq(sample.nlabels, 1);
	snprintf(out, AGENT_LABEL_BYTES, "%s", sample.labels[0].str);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
}

/* The times that its owner can set are not what a file is known by. */
START_TEST(build_id_of_a_file_that_changes)
{
	char path[] = "/tmp/test_agent_cgroupXXXXXX", command[96];
	char before[AGENT_LABEL_BYTES], after[AGENT_LABEL_BYTES];
	struct agent_labels *l = agent_labels_new("build_id", 10);
	unsigned char id[4], *data, *at;
	const int fd = mkstemp(path);
	struct timespec times[2];
	struct stat st;
	int writable;

	close(fd);
	snprintf(command, sizeof(command), "cat /bin/sleep >%s && chmod 700 %s", path, path);
	ck_assert_int_eq(system(command), 0);
	build_id_of(l, path, 1, before);
	usleep(50000); /* clocks of file systems are coarse */
	do
		writable = open(path, O_RDWR | O_CLOEXEC);
	while (writable < 0 && errno == ETXTBSY); /* somebody has its maps open, still */
	ck_assert_int_eq(fstat(writable, &st), 0);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, writable, 0);
	ck_assert_ptr_ne(data, MAP_FAILED);
	for (int i = 0; i < 4; i++)
		id[i] = (unsigned char)strtoul((char[3]){ before[2 * i], before[2 * i + 1], 0 },
					       NULL, 16);
	at = memmem(data, (size_t)st.st_size, id, sizeof(id));
	ck_assert_ptr_nonnull(at);
	*at ^= 1;
	ck_assert_int_eq(munmap(data, (size_t)st.st_size), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	ck_assert_int_eq(futimens(writable, times), 0);
	close(writable);
	build_id_of(l, path, 2, after);
	ck_assert_str_ne(after, before);
	ck_assert_str_eq(after + 2, before + 2);
	agent_labels_free(l);
	unlink(path);
}
END_TEST

/* What a recorder that was taken over may say. */
START_TEST(metrics_are_bounded)
{
	struct agent_metrics *m = agent_metrics_new();
	struct agent_text text = { .have = 0 };
	size_t size, lines = 0;
	char line[64], *page;
	FILE *f;

	for (int i = 0; i < 100000; i++) {
		const int n = snprintf(line, sizeof(line), "# TYPE x%d histogram\nx%d 1\n", i, i);

		agent_metrics_take(m, &text, line, (size_t)n);
	}
	f = open_memstream(&page, &size);
	agent_metrics_print(m, f);
	fclose(f);
	for (const char *c = page; (c = strstr(c, "# TYPE x")); c++)
		lines++;
	ck_assert_uint_eq(lines, 256);
	ck_assert_ptr_nonnull(strstr(page, "\nrawprof_agent_series 256\n"));
	free(page);
	agent_metrics_free(m);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("agent_cgroup");
	TCase *t = tcase_create("places");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_loop_test(t, of_a_path, 0, sizeof(paths) / sizeof(paths[0]));
	tcase_add_loop_test(t, slices_of_a_path, 0, sizeof(slices) / sizeof(slices[0]));
	tcase_add_test(t, names_of_pods);
	tcase_add_test(t, of_a_file);
	tcase_add_test(t, long_names_are_cut);
	tcase_add_test(t, lists_of_labels);
	tcase_add_test(t, metrics_are_bounded);
	tcase_add_test(t, programs_do_not_say_where_they_are);
	tcase_add_test(t, build_id_of_a_file_that_changes);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
