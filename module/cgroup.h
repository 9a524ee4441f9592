/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_CGROUP_H
#define _KTB_CGROUP_H

#include <linux/cgroup.h>
#include <linux/sched.h>

struct cgroup;
struct netlink_ext_ack;

/*
 * Whether the current task is in a control group or below it. Any context, with
 * preemption disabled: that keeps the set of groups of a task that moves, and the
 * groups in it. task_dfl_cgroup() without its lockdep check, which knows other
 * ways to be safe, and takes locks of its own to look.
 */
static __always_inline bool ktb_cgroup_hit(struct cgroup *cgroup)
{
#ifdef CONFIG_CGROUPS
	const struct css_set *set = rcu_dereference_raw(current->cgroups);

	return cgroup_is_descendant(set->dfl_cgrp, cgroup);
#else
	return false;
#endif
}

struct cgroup *ktb_cgroup_get(const char *path, struct netlink_ext_ack *extack);
void ktb_cgroup_put(struct cgroup *cgroup);
void ktb_cgroup_path(struct cgroup *cgroup, char *path, size_t len);

#endif /* _KTB_CGROUP_H */
