/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_TARGET_H
#define _KTB_TARGET_H

#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/types.h>

struct netlink_ext_ack;

/* Most processes and threads that one event is told to take. */
#define KTB_TARGETS_MAX		64

/**
 * struct ktb_target_options - the threads whose hits are taken
 * @pids: processes, by number in the caller's pid namespace: all their threads
 * @nr_pids: how many
 * @tids: single threads
 * @nr_tids: how many
 * @inherit: the threads and children that they make, too
 */
struct ktb_target_options {
	u32 pids[KTB_TARGETS_MAX];
	unsigned int nr_pids;
	u32 tids[KTB_TARGETS_MAX];
	unsigned int nr_tids;
	bool inherit;
};

/**
 * struct ktb_target - a set of threads
 *
 * Kept true by probes of its own on new tasks, exec and exit.
 *
 * @node: in the list of all; ktb_lock
 * @users: events that have it; ktb_lock
 * @threads: a bit for each thread's number in the initial pid namespace
 * @asked: what it was made for
 */
struct ktb_target {
	struct list_head node;
	unsigned int users;
	unsigned long *threads;
	struct ktb_target_options asked;
};

/* Whether the current task is one of them. Any context. */
static __always_inline bool ktb_target_hit(const struct ktb_target *target)
{
	return test_bit(current->pid, target->threads);
}

struct ktb_target *ktb_target_get(const struct ktb_target_options *options,
				  struct netlink_ext_ack *extack);
void ktb_target_put(struct ktb_target *target);

#endif /* _KTB_TARGET_H */
