/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens a recording: its target, the symbolizer, the side-band, maps and programs; and closes it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/aside.h"
#include "base/budget.h"
#include "base/clock.h"
#include "base/lack.h"
#include "programs/shared/follow.h"
#include "symbolize/others.h"
#include "recording.h"
#include "remote.h"
#include "system.h"

/*
 * The symbolizer holds every file that gave a name. Only after the program to be profiled has been
 * forked, which is to find the limits as they were.
 */
static void raise_file_limit(struct recording *rec)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	rec->files = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int use_debuginfod(struct recording *rec)
{
	int err = sym_user_use_debuginfod(rec->user);

	switch (err) {
	case -EDESTADDRREQ:
		return rp_fail(err, "--debuginfod: DEBUGINFOD_URLS names no server (sudo drops it: "
				    "sudo --preserve-env=DEBUGINFOD_URLS; with setcap it is not "
				    "read)");
	case -ELIBACC:
		return rp_fail(err, "--debuginfod: libdebuginfod.so.1 cannot be loaded; Debian and "
				    "Ubuntu have it in the package libdebuginfod1");
	case -ENOSYS:
		return rp_fail(err,
			       "--debuginfod: this rawprof is a static program, which can load "
			       "no library; use the other one, or debuginfod-find");
	}
	return err;
}

/* A name that no server has is no fault; a server that fails is, and a file that cannot be read. */
static void report_debug_files(const struct recording *rec)
{
	struct sym_debuginfod_stats stats;
	const char *path;
	size_t n;

	if (!rec->user)
		return;
	n = sym_user_unreadable_source(rec->user, &path);
	if (n)
		rp_log(RP_WARN,
		       "no source lines of %s%s: the debug data is damaged, takes too much "
		       "time or memory, or is packed as this libdw cannot read it (zstd needs "
		       "elfutils 0.189)",
		       path, n > 1 ? " and others" : "");
	n = rec->demangler ? sym_demangler_given_up(rec->demangler) : 0;
	if (n)
		rp_log(RP_WARN, "%zu names of functions are left mangled: they take too long", n);
	stats = sym_user_debuginfod_stats(rec->user);
	if (stats.asked)
		rp_log(stats.error ? RP_WARN : RP_INFO,
		       "debuginfod: %u files asked for, %u found%s%s", stats.asked, stats.found,
		       stats.error ? "; the last error: " : "",
		       stats.error ? strerror(-stats.error) : "");
}

static int open_symbolizer(struct recording *rec)
{
	const struct sym_kernel_source source = record_ksym_source(&rec->ksym);
	const struct sym_user_room room = record_file_room(&rec->file_room);
	int err = sym_kernel_open(&rec->kernel, &source);

	if (!err)
		err = sym_user_open(&rec->user, NULL);
	if (!err)
		err = sym_demangler_open(&rec->demangler);
	if (!err)
		sym_user_set_patience(rec->user, record_look_goes_on, &rec->looks);
	if (!err && !rec->looks.is_free) /* who named the processes answers for them */
		sym_user_set_room(rec->user, &room);
	if (err)
		return rp_fail(err, "cannot open the symbolizer: %s", strerror(-err));
	return rec->opt->debuginfod ? use_debuginfod(rec) : 0;
}

static int open_sideband(struct recording *rec)
{
	/*
	 * No build ids: as long as one event asks for them, the kernel (6.18 too) says of the mmap
	 * records of all other events that they have one, and a perf that records at the same time
	 * stumbles over its own data.
	 */
	const struct rp_side_options side = { .build_ids = false };

	return rp_sideband_open(&side, &rec->side);
}

/* ---- maps and programs */

#define RING_MOST_BYTES (1u << 26)
/* Three records of 30 frames: where a thread waits, and where others were let first. */
#define RING_THREAD_BYTES 1024u
/* Some dozens of stacks that are sent as they are. */
#define RING_COPIES_BYTES (1u << 21)

/*
 * The ring grows with the number of CPUs that fill it; and, where threads have stacks of their own,
 * so that those of all threads that there are fit in before user space has its turn.
 */
static uint32_t ring_bytes(const struct recording *rec, uint32_t threads)
{
	const unsigned int factor = rec->profiler->ring_factor;
	uint32_t bytes = (1 << 19) * (factor ? factor : 1);
	int cpus = rp_cpus_possible();

	for (int covered = 2; covered < cpus && bytes < RING_MOST_BYTES; covered *= 2)
		bytes *= 2;
	while (bytes / RING_THREAD_BYTES < threads && bytes < RING_MOST_BYTES)
		bytes *= 2;
	return rec->config.copies && bytes < RING_COPIES_BYTES ? RING_COPIES_BYTES : bytes;
}

static void saw(struct recording *rec, const struct stack_record *record)
{
	rec->seen++;
	record_languages_saw(rec, record);
	if (rec->side)
		record_saw_stack(rec, record);
}

static int on_record(void *ctx, const struct stack_record *record)
{
	struct recording *rec = ctx;
	int err = rec->v8 ? record_v8_saw(rec->v8, record) : 0;

	if (err)
		return err;
	if (rec->jvm && record->managed_bytes && record_jvm_saw(rec->jvm, record))
		return -ENOMEM;
	saw(rec, record);
	return rec->opt->samples ? record_samples_keep(rec, record)
				 : record_stream_record(rec, record);
}

static int on_moment(void *rec, const struct stack_moment *moment)
{
	return record_stream_moment(rec, moment);
}

static int on_python(void *ctx, const void *data, size_t size)
{
	struct recording *rec = ctx;

	return rec->python ? record_python_code(rec->python, data, size) : -EBADMSG;
}

static int on_script(void *ctx, const struct script_function *function)
{
	struct recording *rec = ctx;

	return rec->script ? record_script_function(rec->script, function) : -EBADMSG;
}

static int on_published(void *ctx, const void *published)
{
	struct recording *rec = ctx;

	return rec->published ? record_published_take(rec->published, published) : -EBADMSG;
}

static int on_call(void *rec, const struct during_slow *call)
{
	return record_during_call(rec, call);
}

static int on_copy(void *ctx, const void *data, size_t size)
{
	struct recording *rec = ctx;

	return record_rewalk_copy(rec->rewalk, data, size);
}

static int on_copied(void *ctx, const struct stack_record *record)
{
	struct recording *rec = ctx;
	const struct stack_record *plain;
	int err = record_rewalk_keep(rec->rewalk, record, &plain);

	if (err < 0)
		return err;
	saw(rec, plain);
	return err == RECORD_REWALK_KEPT ? 0 : record_rewalk_count(rec, plain);
}

static int open_stacks(struct recording *rec)
{
	const struct record_options *opt = rec->opt;
	const struct record_profiler *profiler = rec->profiler;
	const bool own_maps = profiler->maps != NULL;
	const uint32_t threads = profiler->thread_map ? record_threads() : 0;
	const struct stacks_options options = {
		.maps = own_maps ? profiler->maps : profiler->programs->maps,
		.nmaps = own_maps ? profiler->nmaps : profiler->programs->nmaps,
		.config = &rec->config,
		.nids = opt->program ? RECORD_FOLLOWED : opt->pids.n + opt->tids.n,
		.ring_bytes = ring_bytes(rec, threads),
		.most_frames = record_most_frames(opt),
		.whose = rec->looks.is_free ? NULL : &rec->whose,
		.threads = threads,
		.thread_map = profiler->thread_map,
		.on_moment = rec->stream ? on_moment : NULL,
		.on_python = on_python,
		.on_script = on_script,
		.on_published = on_published,
		.on_call = rec->during ? on_call : NULL,
		.on_copy = rec->config.copies ? on_copy : NULL,
		.on_copied = rec->config.copies ? on_copied : NULL,
	};

	return record_stacks_open(&options, on_record, rec, &rec->stacks);
}

/* What the walker needs beside the program: which process maps which tables. */
static int open_tables(struct recording *rec)
{
	const struct record_tables_maps maps = {
		.procs = record_stacks_map(rec->stacks, STACK_MAP_PROCS),
		.mappings = record_stacks_map(rec->stacks, STACK_MAP_MAPPINGS),
		.index = record_stacks_map(rec->stacks, STACK_MAP_INDEX),
		.rules = record_stacks_map(rec->stacks, STACK_MAP_RULES),
		.rows = record_stacks_map(rec->stacks, STACK_MAP_ROWS),
		.files = rec->config.vma ? record_stacks_map(rec->stacks, STACK_MAP_FILES) : -1,
		/* A walk that is not made again at the next sample has to find all of them. */
		.only_hit = !rec->opt->program && !rec->opt->pids.n && !rec->opt->tids.n &&
			    !rec->profiler->walk_again,
		.python = rec->python,
		.v8 = rec->v8,
		.jvm = rec->jvm,
		.script = rec->script,
		.published = rec->published,
		.keeper = rec->keeper,
		.looks = &rec->looks,
		.whose = rec->looks.is_free ? NULL : &rec->whose,
	};
	int err = record_tables_open(&rec->tables, &maps);
	uid_t uid;

	if (err)
		return rp_fail(err, "cannot map the tables of the unwinder: %s%s", strerror(-err),
			       err == -ENOMEM ? ": raise `ulimit -v`, or use --call-graph fp" : "");
	if (!rec->config.ns_inode)
		err = record_attach(rec, rp_unwind_follow_programs, RECORD_ALL_ROLES, &rec->config);

	if (!err && rec->opt->program)
		record_tables_expect(rec->tables, rec->target.program);
	/* What may keep us waiting is read when it is met. */
	for (uint32_t i = 0; !err && i < rec->opt->pids.n; i++)
		if (!sym_has_to_be_aside("/proc", rec->opt->pids.id[i], &uid))
			record_tables_publish(rec->tables, rec->opt->pids.id[i]);
	return err;
}

static int add_targets(struct recording *rec)
{
	const struct record_options *opt = rec->opt;
	int err = 0;

	for (uint32_t i = 0; !err && i < opt->pids.n; i++)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_PIDS, opt->pids.id[i]);
	for (uint32_t i = 0; !err && i < opt->tids.n; i++)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_TIDS, opt->tids.id[i]);
	if (!err && opt->program)
		err = record_stacks_add_id(rec->stacks, STACK_MAP_PIDS,
					   (uint32_t)rec->target.child);
	return err ? rp_fail(err, "cannot write down what is recorded: %s", strerror(-err)) : 0;
}

static int attach(struct recording *rec)
{
	if (rec->profiler->attach)
		return rec->profiler->attach(rec);
	return record_load_list(rec, rec->profiler->programs, RECORD_ALL_ROLES, &rec->config);
}

static int open_published(struct recording *rec)
{
	const struct record_options *opt = rec->opt;
	const struct published_wanted wanted = {
		.go = opt->go_labels || opt->goroutines,
		.goid = opt->goroutines,
		.context = rec->config.context,
		.ids = opt->trace_ids,
	};

	return record_published_open(
		&rec->published, record_stacks_map(rec->stacks, STACK_MAP_PUBLISHED_SEEN), &wanted);
}

static int open_programs(struct recording *rec)
{
	int err = open_stacks(rec);

	if (!err && rec->config.managed_bytes)
		err = record_name_share_open(&rec->name_share);
	record_remote_is_named(rec->looks.is_free);
	if (rec->name_share && rec->looks.is_free)
		record_name_share_named(rec->name_share);
	if (!err && rec->config.managed_bytes)
		err = record_python_open(&rec->python,
					 record_stacks_map(rec->stacks, STACK_MAP_PYTHON_LAYOUTS),
					 rec->name_share);
	if (!err && rec->config.managed_bytes)
		err = record_v8_open(&rec->v8, rec->name_share);
	if (!err && rec->config.jvm)
		err = record_jvm_open(&rec->jvm,
				      record_stacks_map(rec->stacks, STACK_MAP_JVM_PROCESSES),
				      rec->name_share);
	if (!err && rec->config.scripts)
		err = record_script_open(&rec->script,
					 record_stacks_map(rec->stacks, STACK_MAP_SCRIPT_LAYOUTS),
					 rec->name_share);
	if (!err && rec->config.published)
		err = open_published(rec);
	if (!err && rec->config.eh)
		err = open_tables(rec);
	if (!err && rec->config.copies)
		err = record_rewalk_open(&rec->rewalk, rec);
	if (!err)
		err = add_targets(rec);
	if (!err && rec->opt->program && !rec->config.ns_inode)
		err = record_attach(rec, rp_follow_programs, RECORD_ALL_ROLES, NULL);
	if (!err)
		err = attach(rec);
	if (!err && rec->during)
		err = record_during_attach(rec);
	rp_btf_kernel_release();
	return err;
}

/* ---- all together */

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void record_init(struct recording *rec, const struct record_profiler *profiler,
		 const struct record_options *opt, void *ctx)
{
	*rec = (struct recording){ .profiler = profiler, .ctx = ctx, .options = *opt };
	rec->opt = &rec->options;
	rec->signals = rec->wake = rec->rings = rec->stats = -1;
	rec->target.ready = rec->target.gate = rec->target.exec_error = -1;
	record_ksym_init(&rec->ksym);
	record_looks_init(&rec->looks);
	record_file_room_init(&rec->file_room, &rec->whose);
	rec->report_memory = RECORD_SHARE(rp_memory_most(), "memory for a report");
	rec->looks.is_free = opt->program || opt->pids.n || opt->tids.n;
}

/*
 * What all of it needs, so that what fails for want of it later is not said to lack something else.
 */
static int check_machine(void)
{
	static const struct asm_map smallest = { "smallest", BPF_MAP_TYPE_ARRAY, 4, 8, 1 };
	int fd;

	if (access("/proc/self/status", F_OK))
		return rp_fail(-ENOENT, "there is no /proc, where processes and what they map are "
					"listed: `mount -t proc proc /proc`");
	if (access("/sys/kernel", F_OK))
		rp_log(RP_WARN, "there is no /sys, where the kernel's types (BTF) and events are: "
				"`mount -t sysfs sysfs /sys`");
	fd = rp_map_create(&smallest);
	close_fd(fd);
	return fd < 0 ? fd : 0;
}

int record_open(struct recording *rec)
{
	int err = check_machine();

	if (err)
		return err;
	rp_aside_allow(!rec->opt->confine);
	rec->errors = rp_log_errors();
	rec->wall_offset = rp_wall_offset_ns();
	if (rec->profiler->ctx_size) {
		rec->ctx = calloc(1, rec->profiler->ctx_size);
		if (!rec->ctx)
			return rp_fail(-ENOMEM, "out of memory for a recording");
	}
	rec->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = rec->wake < 0 ? rp_fail(-errno, "eventfd: %s", strerror(errno))
			    : record_target_open(&rec->target, rec->opt);
	raise_file_limit(rec);
	if (!err)
		err = record_take_signals(rec);
	if (!err)
		err = open_symbolizer(rec);
	if (!err && !rec->profiler->no_names)
		err = open_sideband(rec);
	if (err)
		return err;
	rec->stats = rp_stats_enable();
	if ((rec->opt->stream || rec->opt->during) && !rec->profiler->no_stacks &&
	    record_stream_open(&rec->stream))
		return rp_fail(-ENOMEM, "out of memory for a recording");
	if (rec->opt->during)
		err = record_during_open(rec);
	if (!err)
		err = record_configure(rec);
	rec->languages_wait = !err && record_languages_may_wait(rec);
	if (err)
		return err;
	record_target_await(&rec->target);
	return open_programs(rec);
}

static const char *why_lacking(int err)
{
	return err == -EDQUOT ? "its user's share of time or memory is used up" : strerror(-err);
}

void record_report_lacks(unsigned long errors)
{
	const struct rp_lacks lacks = rp_lacks_take();

	if (lacks.n && rp_log_errors() == errors)
		rp_log(RP_WARN, "names, parts of stacks or of the text are missing: %s%s: %s",
		       lacks.what, lacks.n > 1 ? ", and more" : "", why_lacking(lacks.err));
}

void record_close(struct recording *rec)
{
	record_during_close(rec->during);
	record_detach_list(rec, NULL);
	rp_fds_close(rec->program, rec->nprograms);
	if (rec->profiler->close && rec->ctx)
		rec->profiler->close(rec);
	record_rewalk_close(rec->rewalk);
	record_tables_close(rec->tables);
	record_python_close(rec->python);
	record_v8_close(rec->v8);
	record_jvm_close(rec->jvm);
	record_script_close(rec->script);
	record_name_share_close(rec->name_share);
	record_published_close(rec->published);
	record_target_close(&rec->target);
	record_release_signals(rec);
	rp_sideband_close(rec->side);
	report_debug_files(rec);
	record_report_lacks(rec->errors);
	sym_user_close(rec->user);
	sym_kernel_close(rec->kernel);
	sym_demangler_close(rec->demangler);
	record_ksym_close(&rec->ksym);
	close_fd(rec->stats);
	close_fd(rec->wake);
	close_fd(rec->rings);
	record_processes_free(rec);
	record_samples_free(rec);
	record_stacks_close(rec->stacks);
	record_whose_free(&rec->whose);
	record_stream_free(rec->stream);
	free(rec->note);
	if (rec->profiler->ctx_size)
		free(rec->ctx);
	if (rec->files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &rec->files);
}

int record_finish(struct recording *rec)
{
	return record_target_finish(&rec->target);
}

int record_new(const struct record_profiler *profiler, const struct record_options *opt,
	       struct recording **out)
{
	int err = record_check(profiler, opt);
	struct recording *rec = err ? NULL : malloc(sizeof(*rec));

	if (!rec)
		return err ? err : -ENOMEM;
	record_init(rec, profiler, opt, NULL);
	err = record_open(rec);
	if (err)
		record_free(rec);
	else
		*out = rec;
	return err;
}

void record_free(struct recording *rec)
{
	if (rec)
		record_close(rec);
	free(rec);
}
