// SPDX-License-Identifier: GPL-2.0-only
/*
 * A module with a tracepoint of its own, which is no native event of
 * ktrace_bridge, and two parameters:
 *
 *	fire	write a number: so many hits of ktb_test:ktb_test_hit
 *	users	read: the kernel's own tracepoints that have probes, and these
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/tracepoint.h>

#define CREATE_TRACE_POINTS
#include "ktb_test_events.h"

static int fire_set(const char *value, const struct kernel_param *param)
{
	unsigned int nr, of;
	int err = kstrtouint(value, 0, &of);

	for (nr = 0; !err && nr < of; nr++)
		trace_ktb_test_hit(nr, of);
	return err;
}

static const struct kernel_param_ops fire_ops = {
	.set = fire_set,
};

module_param_cb(fire, &fire_ops, NULL, 0200);
MODULE_PARM_DESC(fire, "make so many hits");

struct users {
	char *to;
	int len;
};

static void users_add(struct tracepoint *tp, void *priv)
{
	struct tracepoint_func *func;
	struct users *users = priv;

	rcu_read_lock_sched_notrace();
	func = rcu_dereference_sched(tp->funcs);
	for (; func && func->func; func++)
		users->len += scnprintf(users->to + users->len, PAGE_SIZE - users->len,
					"%s %ps\n", tp->name, func->func);
	rcu_read_unlock_sched_notrace();
}

static int users_get(char *buffer, const struct kernel_param *param)
{
	struct users users = { .to = buffer };

	for_each_kernel_tracepoint(users_add, &users);
	return users.len;
}

static const struct kernel_param_ops users_ops = {
	.get = users_get,
};

module_param_cb(users, &users_ops, NULL, 0400);
MODULE_PARM_DESC(users, "the kernel's tracepoints that have probes");

static int __init ktb_test_events_init(void)
{
	return 0;
}

static void __exit ktb_test_events_exit(void)
{
}

module_init(ktb_test_events_init);
module_exit(ktb_test_events_exit);

MODULE_DESCRIPTION("A module with a tracepoint, for ktrace_bridge's tests");
MODULE_AUTHOR("The ktrace_bridge developers");
MODULE_LICENSE("GPL");
