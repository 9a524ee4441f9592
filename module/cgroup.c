// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control group whose tasks' hits are taken. One of the version 2 hierarchy,
 * of which each task is in exactly one group at any time: a hit asks for that,
 * and nothing has to be kept true. Process context.
 */

#include <linux/err.h>
#include <linux/netlink.h>
#include <linux/nsproxy.h>

#include "cgroup.h"

#ifdef CONFIG_CGROUPS

/**
 * ktb_cgroup_get - find a control group
 * @path: in the version 2 hierarchy, from the root that the caller sees
 * @extack: takes the reason of a refusal
 *
 * Return: the group, a reference, or
 * * ERR_PTR(-ESRCH) - there is none
 * * ERR_PTR(-EOPNOTSUPP) - not in this kernel
 */
struct cgroup *ktb_cgroup_get(const char *path, struct netlink_ext_ack *extack)
{
	struct cgroup *cgroup = cgroup_get_from_path(path);

	if (!IS_ERR(cgroup))
		return cgroup;
	/* A path of no group can be -ENOTDIR too. */
	NL_SET_ERR_MSG(extack, "cgroup: no such group in the version 2 hierarchy");
	return ERR_PTR(-ESRCH);
}

/**
 * ktb_cgroup_put - drop the reference of ktb_cgroup_get()
 * @cgroup: the group, NULL is allowed
 */
void ktb_cgroup_put(struct cgroup *cgroup)
{
	if (cgroup)
		cgroup_put(cgroup);
}

/**
 * ktb_cgroup_path - where a group is
 * @cgroup: the group, which may have been removed
 * @path: set, from the root that the caller sees
 * @len: bytes of room at @path; what is longer is cut off
 */
void ktb_cgroup_path(struct cgroup *cgroup, char *path, size_t len)
{
	path[0] = 0;
	cgroup_path_ns(cgroup, path, len, current->nsproxy->cgroup_ns);
}

#else

struct cgroup *ktb_cgroup_get(const char *path, struct netlink_ext_ack *extack)
{
	NL_SET_ERR_MSG(extack, "cgroup: this kernel has no control groups");
	return ERR_PTR(-EOPNOTSUPP);
}

void ktb_cgroup_put(struct cgroup *cgroup)
{
}

void ktb_cgroup_path(struct cgroup *cgroup, char *path, size_t len)
{
	path[0] = 0;
}

#endif
