/* SPDX-License-Identifier: BSD-2-Clause */
/* What `io --syscalls` and `io --fsync` watch: which system calls, and the flushes of disks. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "io.h"

static const struct {
	int number;
	enum io_call_kind kind;
} calls[] = {
	{ SYS_read, IO_CALL_READ },	  { SYS_write, IO_CALL_WRITE },
	{ SYS_pread64, IO_CALL_PREAD },	  { SYS_pwrite64, IO_CALL_PWRITE },
	{ SYS_readv, IO_CALL_READV },	  { SYS_writev, IO_CALL_WRITEV },
	{ SYS_preadv, IO_CALL_PREADV },	  { SYS_preadv2, IO_CALL_PREADV },
	{ SYS_pwritev, IO_CALL_PWRITEV }, { SYS_pwritev2, IO_CALL_PWRITEV },
	{ SYS_fsync, IO_CALL_FSYNC },	  { SYS_fdatasync, IO_CALL_FDATASYNC },
	{ SYS_openat, IO_CALL_OPEN },	  { SYS_openat2, IO_CALL_OPEN },
#ifdef SYS_open
	{ SYS_open, IO_CALL_OPEN },
#endif
};

static const char *const names[IO_CALL_KINDS] = {
	[IO_CALL_READ] = "read",     [IO_CALL_WRITE] = "write",
	[IO_CALL_PREAD] = "pread",   [IO_CALL_PWRITE] = "pwrite",
	[IO_CALL_READV] = "readv",   [IO_CALL_WRITEV] = "writev",
	[IO_CALL_PREADV] = "preadv", [IO_CALL_PWRITEV] = "pwritev",
	[IO_CALL_FSYNC] = "fsync",   [IO_CALL_FDATASYNC] = "fdatasync",
	[IO_CALL_OPEN] = "open",
};

const char *io_call_name(uint32_t kind)
{
	return kind < IO_CALL_KINDS && names[kind] ? names[kind] : "-";
}

/* The programs look up each system call's number in a map. */
static int choose_calls(struct recording *rec)
{
	const struct io *io = rec->ctx;
	const int fd = record_stacks_map(rec->stacks, IO_MAP_CALLS);
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(calls) / sizeof(calls[0]); i++) {
		const uint32_t number = (uint32_t)calls[i].number, kind = calls[i].kind;

		if (io->own->fsync && kind != IO_CALL_FSYNC && kind != IO_CALL_FDATASYNC)
			continue;
		err = rp_map_update(fd, &number, &kind, BPF_ANY);
	}
	return err ? rp_fail(err, "choosing system calls: %s", strerror(-err)) : 0;
}

int io_calls_attach(struct recording *rec)
{
	const struct io *io = rec->ctx;
	int err;

	if (!rp_has(RP_HAS_TASK_BTF))
		return rp_fail(-EOPNOTSUPP,
			       "which file a system call is about is seen since Linux 5.11, "
			       "with BTF");
	err = choose_calls(rec);
	return err ? err
		   : record_load_list(rec, rp_io_call_programs,
				      IO_CALL_BEGINS | IO_CALL_ENDS |
					      (io->own->fsync ? IO_FLUSHES : 0),
				      &io->config);
}

/* ---- file systems */

const char *io_type_name(struct recording *rec, uint64_t address, char *text)
{
	if (!address || rp_map_lookup(record_stacks_map(rec->stacks, IO_MAP_TYPES), &address, text))
		return "-";
	text[15] = '\0';
	return text;
}
