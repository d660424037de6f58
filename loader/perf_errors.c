/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_errors.c: why perf_event_open(2) refused, in words that lead on. */
#include "internal.h"

static int not_allowed(int err, const char *what, const char *where)
{
	long long paranoid = -1;

	rp_read_number("/proc/sys/kernel/perf_event_paranoid", &paranoid);
	if (rp_cap_has(RP_CAP_PERFMON) && !rp_cap_has(RP_CAP_SYS_ADMIN) && paranoid > 2)
		return rp_fail(
			err,
			"perf_event_open(%s) on %s: %s: kernel.perf_event_paranoid is %lld, and "
			"above 2 some distributions' kernels ask for CAP_SYS_ADMIN rather than "
			"CAP_PERFMON: `sysctl kernel.perf_event_paranoid=2`, or run as root",
			what, where, strerror(-err), paranoid);
	if (rp_cap_has(RP_CAP_PERFMON) && rp_in_user_namespace())
		return rp_fail(err, "perf_event_open(%s) on %s: %s: %s", what, where,
			       strerror(-err), RP_USER_NAMESPACE);
	if (rp_filtered(err, true))
		return rp_fail(err, "perf_event_open(%s) on %s: %s: %s", what, where,
			       strerror(-err), RP_FILTERED);
	if (rp_cap_has(RP_CAP_PERFMON))
		return rp_fail(
			err,
			"perf_event_open(%s) on %s: %s although CAP_PERFMON is there: the kernel "
			"is locked down, or a security module forbids the call",
			what, where, strerror(-err));
	return rp_fail(err, "perf_event_open(%s) on %s: %s: kernel.perf_event_paranoid is %lld. %s",
		       what, where, strerror(-err), paranoid, rp_cap_hint(RP_CAP_PERFMON));
}

int rp_perf_open_failed(int err, const struct perf_event_attr *attr, const char *what,
			const char *where)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return not_allowed(err, what, where);
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENODEV:
		return rp_fail(
			err, "perf_event_open(%s) on %s: this machine cannot measure that (%s)%s",
			what, where, strerror(-err),
			attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
					attr->type == PERF_TYPE_RAW
				? ": virtual machines often lack the hardware; cpu-clock is "
				  "always there"
				: "");
	case -EMFILE:
	case -ENFILE:
		return rp_fail(
			err,
			"perf_event_open(%s) on %s: too many open files; one is needed for each "
			"CPU: raise `ulimit -n`",
			what, where);
	case -ESRCH:
		return rp_fail(err, "perf_event_open(%s): there is no %s", what, where);
	case -EBUSY:
		return rp_fail(err, "perf_event_open(%s) on %s: another tool holds the counter",
			       what, where);
	case -ENOSYS:
		return rp_fail(err, "perf_event_open(%s) on %s: %s", what, where,
			       rp_filtered(err, true)
				       ? RP_FILTERED
				       : "this kernel was built without it (CONFIG_PERF_EVENTS)");
	case -EINVAL:
		if (attr->freq && rp_perf_max_rate() > 0 &&
		    attr->sample_freq > (uint64_t)rp_perf_max_rate())
			return rp_fail(
				err,
				"%llu samples a second are above the kernel's limit of %d: lower "
				"the frequency, or `sysctl "
				"kernel.perf_event_max_sample_rate=%llu`",
				(unsigned long long)attr->sample_freq, rp_perf_max_rate(),
				(unsigned long long)attr->sample_freq);
	}
	return rp_fail(err, "perf_event_open(%s) on %s: %s", what, where, strerror(-err));
}

int rp_perf_max_rate(void)
{
	long long rate;
	int err;

	err = rp_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &rate);
	return err ? err : (int)rate;
}
