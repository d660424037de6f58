/* SPDX-License-Identifier: BSD-2-Clause */
/* base/lack.c: what is left out is counted, and the first of it has a name. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/lack.h"
#include "../../symbolize/object.h"

START_TEST(the_first_is_kept)
{
	struct rp_lacks l;

	rp_lacks_take();
	rp_lack(-EIO, "/lib/a.so");
	rp_lack(-ENOMEM, "/lib/b.so");
	l = rp_lacks_take();
	ck_assert_uint_eq(l.n, 2);
	ck_assert_int_eq(l.err, -EIO);
	ck_assert_str_eq(l.what, "/lib/a.so");
	ck_assert_uint_eq(rp_lacks_take().n, 0);
}
END_TEST

START_TEST(what_has_ended_is_no_lack)
{
	rp_lacks_take();
	rp_lack(0, "/lib/a.so");
	rp_lack(-ENOENT, "/lib/a.so");
	rp_lack(-ESRCH, "/proc/1");
	rp_lack(-ENOEXEC, "/lib/script");
	ck_assert_uint_eq(rp_lacks_take().n, 0);
}
END_TEST

START_TEST(a_file_is_named_by_its_path)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct rp_lacks l;
	char *path = realpath("/proc/self/exe", NULL);

	ck_assert_int_ge(fd, 0);
	rp_lacks_take();
	rp_lack_file(-ENOMEM, fd);
	l = rp_lacks_take();
	ck_assert_uint_eq(l.n, 1);
	ck_assert_str_eq(l.what, path);
	rp_lack_file(-EIO, -1);
	ck_assert_str_eq(rp_lacks_take().what, "a file");
	free(path);
	close(fd);
}
END_TEST

/* /proc/self/mem can be opened; at an address where nothing is, reading is an I/O error. */
START_TEST(an_object_that_cannot_be_read)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	struct sym_object *o;
	struct rp_lacks l;

	ck_assert_int_ge(fd, 0);
	rp_lacks_take();
	ck_assert_int_eq(sym_object_open(&o, fd), -ENOEXEC);
	l = rp_lacks_take();
	ck_assert_uint_ge(l.n, 1);
	ck_assert_int_eq(l.err, -EIO);
	ck_assert_ptr_nonnull(strstr(l.what, "/mem"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lack");
	TCase *tc = tcase_create("lack");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, the_first_is_kept);
	tcase_add_test(tc, what_has_ended_is_no_lack);
	tcase_add_test(tc, a_file_is_named_by_its_path);
	tcase_add_test(tc, an_object_that_cannot_be_read);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}
