/* SPDX-License-Identifier: BSD-2-Clause */
/* What a process gives up before it reads what other users wrote. */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include <stdint.h>

#include <linux/capability.h>

struct capabilities {
	struct __user_cap_header_struct header;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

/* 0 or a negative errno. */
int rp_get_capabilities(struct capabilities *c);
/* Gives up all capabilities but those whose bits are set. 0 or a negative errno. */
int rp_keep_capabilities(uint64_t keep);
/* The same, and core dumps, being traced by its user, and to gain any again. */
int rp_give_up_rights(uint64_t keep);
/*
 * Root becomes user 65534, who owns nothing, and keeps its capabilities until they are given up.
 * Where there is no such user, and where the caller is not root, nothing happens. 0 or a negative
 * errno.
 */
int rp_leave_root(void);

#endif
