/* SPDX-License-Identifier: BSD-2-Clause */
/* map.c: making maps, and one entry at a time. Walks over whole maps are in map_walk.c. */
#include "internal.h"

#include <rawprof/asm.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_per_cpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

size_t rp_map_cpu_stride(const struct asm_map *map)
{
	return is_per_cpu(map->type) ? round_up(map->value_size, 8) : 0;
}

size_t rp_map_value_bytes(const struct asm_map *map)
{
	const size_t stride = rp_map_cpu_stride(map);

	return stride ? stride * (size_t)rp_cpus_possible() : map->value_size;
}

uint64_t rp_map_cpu_sum(const struct asm_map *map, const void *value, unsigned i)
{
	const size_t stride = rp_map_cpu_stride(map);
	const size_t bytes = rp_map_value_bytes(map);
	uint64_t sum = 0, one;

	for (size_t at = i * sizeof(one); at + sizeof(one) <= bytes; at += stride) {
		memcpy(&one, (const char *)value + at, sizeof(one));
		sum += one;
		if (!stride)
			break;
	}
	return sum;
}

static const char *what_is_invalid(const struct asm_map *map)
{
	if (map->type != BPF_MAP_TYPE_RINGBUF)
		return "this kernel does not know the type or a flag, or a size is out of its "
		       "range";
	if (!rp_has(RP_HAS_RINGBUF))
		return "this kernel is too old: ring buffers exist since Linux 5.8, and nothing "
		       "stands in for them";
	return "a ring buffer's size must be a power of two and whole pages";
}

static const char *why_not_permitted(void)
{
	if (!rp_cap_has(RP_CAP_BPF))
		return rp_cap_hint(RP_CAP_BPF);
	if (rp_in_user_namespace())
		return RP_USER_NAMESPACE;
	return rp_filtered(-EPERM, false)
		       ? RP_FILTERED
		       : "not permitted: the memory limit (ulimit -l) is too low, or the kernel is "
			 "locked down";
}

static int creation_failed(int err, const struct asm_map *map)
{
	const char *type = rp_map_type_name(map->type), *name = map->name ? map->name : "";
	const char *why = strerror(-err);

	switch (err) {
	case -EPERM:
		why = why_not_permitted();
		break;
	case -EMFILE:
	case -ENFILE:
		why = "too many open files: raise `ulimit -n`";
		break;
	case -EINVAL:
		why = what_is_invalid(map);
		break;
	case -E2BIG:
		why = "larger than the kernel allows";
		break;
	case -ENOMEM:
		why = "the kernel has no memory for it";
		break;
	case -ENOSYS:
		why = rp_filtered(err, false)
			      ? RP_FILTERED
			      : "this kernel was built without bpf(2) (CONFIG_BPF_SYSCALL)";
		break;
	}
	return rp_fail(err, "cannot create map %s (%s, key %u, value %u bytes, %u entries): %s",
		       name, type, map->key_size, map->value_size, map->max_entries, why);
}

static int create(const struct asm_map *map, int inner_fd)
{
	union rp_attr attr = { 0 };
	int fd;

	attr.map.type = map->type;
	attr.map.key_size = map->key_size;
	attr.map.value_size = map->value_size;
	attr.map.max_entries = map->max_entries;
	attr.map.flags = map->flags;
	attr.map.inner_fd = inner_fd < 0 ? 0 : (uint32_t)inner_fd;
	rp_kernel_name(attr.map.name, map->name);
	fd = rp_sys_bpf(BPF_MAP_CREATE, &attr);
	/* Before 5.11 maps counted against the memory lock limit, and EPERM was how it said so. */
	if (fd == -EPERM && rp_cap_has(RP_CAP_BPF) && rp_raise_memlock())
		fd = rp_sys_bpf(BPF_MAP_CREATE, &attr);
	return fd < 0 ? creation_failed(fd, map) : fd;
}

int rp_map_create(const struct asm_map *map)
{
	int inner_fd = -1, fd;

	if (map->inner) {
		/* A template: the kernel keeps its shape, not the map. */
		inner_fd = rp_map_create(map->inner);
		if (inner_fd < 0)
			return inner_fd;
	}
	fd = create(map, inner_fd);
	if (inner_fd >= 0)
		close(inner_fd);
	return fd;
}

int rp_maps_create(const struct asm_map *maps, size_t n, int *fds)
{
	for (size_t i = 0; i < n; i++) {
		fds[i] = rp_map_create(&maps[i]);
		if (fds[i] < 0) {
			const int err = fds[i];

			rp_fds_close(fds, i);
			return err;
		}
	}
	return 0;
}

void rp_fds_close(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

static int elem(int cmd, int fd, const void *key, const void *value, uint64_t flags)
{
	union rp_attr attr = { 0 };

	attr.elem.map_fd = (uint32_t)fd;
	attr.elem.key = ptr64(key);
	attr.elem.value = ptr64(value);
	attr.elem.flags = flags;
	return rp_sys_bpf(cmd, &attr);
}

int rp_map_lookup(int fd, const void *key, void *value)
{
	return elem(BPF_MAP_LOOKUP_ELEM, fd, key, value, 0);
}

int rp_map_update(int fd, const void *key, const void *value, uint64_t flags)
{
	return elem(BPF_MAP_UPDATE_ELEM, fd, key, value, flags);
}

int rp_map_delete(int fd, const void *key)
{
	return elem(BPF_MAP_DELETE_ELEM, fd, key, NULL, 0);
}

int rp_map_next_key(int fd, const void *key, void *next)
{
	return elem(BPF_MAP_GET_NEXT_KEY, fd, key, next, 0);
}

int rp_map_take(int fd, const void *key, void *value)
{
	int err;

	err = elem(BPF_MAP_LOOKUP_AND_DELETE_ELEM, fd, key, value, 0);
	if (err != -EOPNOTSUPP && err != -EINVAL)
		return err;
	err = rp_map_lookup(fd, key, value);
	return err ? err : rp_map_delete(fd, key);
}

int rp_map_freeze(int fd)
{
	union rp_attr attr = { 0 };
	int err;

	attr.elem.map_fd = (uint32_t)fd;
	err = rp_sys_bpf(BPF_MAP_FREEZE, &attr);
	if (err == -EPERM || err == -EBUSY)
		return rp_fail(err,
			       "cannot freeze a map that is frozen already or mapped writable");
	return err ? rp_fail(err, "cannot freeze a map: %s (that needs Linux 5.2)", strerror(-err))
		   : 0;
}

int rp_map_mmap(int fd, const struct asm_map *map, void **out, size_t *size)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes =
		round_up(round_up(map->value_size, 8) * (size_t)map->max_entries, page);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED) {
		const int err = -errno;

		return rp_fail(
			err,
			"cannot map the values of %s into memory: %s (it needs BPF_F_MMAPABLE, "
			"Linux 5.5)",
			map->name ? map->name : "a map", strerror(-err));
	}
	madvise(at, bytes, MADV_DONTFORK);
	*out = at;
	*size = bytes;
	return 0;
}

int rp_map_write(int fd, uint64_t offset, const void *data, size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t before = offset % page;
	unsigned char *at;

	if (!bytes)
		return 0;
	at = mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  (off_t)(offset - before));
	if (at == MAP_FAILED)
		return -errno;
	memcpy(at + before, data, bytes);
	munmap(at, before + bytes);
	return 0;
}
