/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that lie where we do not see them: namespaces, layers, other roots, nowhere. */
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "sym_process.h"

/* A file that only the process can see, at a path where we see another. */
static int own_mounts(void)
{
	char command[1024];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", in_dir("mnt"), "tmpfs", 0, NULL))
		return -1;
	snprintf(command, sizeof(command), "cp %s %s", in_dir("inside"), in_dir("mnt/prog"));
	return system(command);
}

START_TEST(test_mount_namespace)
{
	struct child c;

	build("inside", "");
	ck_assert_int_eq(mkdir(in_dir("mnt"), 0755), 0);
	build("mnt/prog", "-O0 -Dknown=other");
	c = start(in_dir("mnt/prog"), own_mounts);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", in_dir("mnt/prog"));
	ck_assert_int_eq(sym_user_keep(user, c.pid), 0);
	stop(&c);
	ck_frame(&c, c.qsort, "qsort", NULL);
}
END_TEST

/*
 * A file system of two layers: its files may have one device and inode in mappings, another in
 * stat.
 */
static int own_overlay(void)
{
	char options[1200];

	snprintf(options, sizeof(options), "lowerdir=%s:%s", in_dir("low"), in_dir("lower"));
	return unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	       mount("none", in_dir("merged"), "overlay", 0, options);
}

static bool have_overlay(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(own_overlay() ? 1 : 0);
	return waitpid(pid, &status, 0) == pid && !status;
}

START_TEST(test_overlay)
{
	struct child c;

	mkdir(in_dir("low"), 0755); /* the first round did */
	mkdir(in_dir("lower"), 0755);
	mkdir(in_dir("merged"), 0755);
	if (!have_overlay()) {
		printf("skip: no overlayfs here\n");
		return;
	}
	build("lower/prog", _i ? "-Wl,--build-id=none" : "");
	c = start(in_dir("merged/prog"), own_overlay);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", in_dir("merged/prog"));
	stop(&c);
}
END_TEST

static int own_root(void)
{
	return chroot(in_dir("jail")) || chdir("/");
}

START_TEST(test_chroot)
{
	struct child c;

	ck_assert_int_eq(mkdir(in_dir("jail"), 0755), 0);
	build("jail/in_jail", "-static");
	c = start("/in_jail", own_root);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", in_dir("jail/in_jail")); /* as we see it */
	ck_frame(&c, c.qsort, "qsort", NULL);
	stop(&c);
}
END_TEST

/* A program that was never in a directory. */
static int run_memfd(void)
{
	char *const args[] = { (char *)"prog", NULL };
	int from = open(in_dir("nowhere"), O_RDONLY | O_CLOEXEC), fd = memfd_create("nowhere", 0);
	char buf[4096];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(fd, buf, n) != n)
			return -1;
	return fexecve(fd, args, environ);
}

START_TEST(test_memfd)
{
	struct child c;

	build("nowhere", "");
	c = start("", run_memfd);
	ck_assert_int_eq(sym_user_snapshot(user, c.pid, now()), 0);
	ck_frame(&c, c.known, "known", "/memfd:nowhere (deleted)");
	ck_assert_int_eq(sym_user_keep(user, c.pid), 0);
	stop(&c);
	ck_frame(&c, c.known, "known", "/memfd:nowhere (deleted)");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("places, live");
	TCase *t = tcase_create("places, live");

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	tcase_add_test(t, test_mount_namespace);
	tcase_add_loop_test(t, test_overlay, 0, 2);
	tcase_add_test(t, test_chroot);
	tcase_add_test(t, test_memfd);
	return run_all(s, t);
}
