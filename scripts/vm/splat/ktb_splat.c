// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deliberate faults, one for each thing that the debug kernel watches: does it
 * see them, and does the verdict? insmod ktb_splat.ko fault=NAME
 */

#include <linux/kmemleak.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

static char *fault;
module_param(fault, charp, 0);

static int shift = 40;
module_param(shift, int, 0);

static DEFINE_RAW_SPINLOCK(raw);
static DEFINE_SPINLOCK(sleeping);
static LIST_HEAD(head);

static void fault_kasan(void)
{
	char *p = kmalloc(64, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		WRITE_ONCE(p[8], 1);
}

static void fault_kasan_vmalloc(void)
{
	char *p = vmalloc(100);

	OPTIMIZER_HIDE_VAR(p);
	if (p)
		pr_info("%d\n", READ_ONCE(p[100]));
	vfree(p);
}

static void fault_ubsan(void)
{
	pr_info("%d\n", 1 << shift);
}

static void fault_atomic_sleep(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

static void fault_list(void)
{
	static LIST_HEAD(one);

	list_add(&one, &head);
	one.prev = &one;
	list_del(&one);
}

static void no_op(struct timer_list *t)
{
}

static void fault_debugobjects(void)
{
	struct timer_list *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	timer_setup(t, no_op, 0);
	mod_timer(t, jiffies + 60 * HZ);
	kfree(t);
}

static void fault_rcu(void)
{
	static int *p;

	pr_info("%p\n", rcu_dereference(p));
}

static void fault_leak(void)
{
	for (int i = 0; i < 10; i++)
		kmalloc(100, GFP_KERNEL);
}

/* What only PREEMPT_RT would trip over: a lock that sleeps there in a raw one. */
static void fault_lockdep(void)
{
	raw_spin_lock(&raw);
	spin_lock(&sleeping);
	spin_unlock(&sleeping);
	raw_spin_unlock(&raw);
}

static const struct {
	const char *name;
	void (*commit)(void);
} faults[] = {
	{ "kasan", fault_kasan },
	{ "kasan_vmalloc", fault_kasan_vmalloc },
	{ "ubsan", fault_ubsan },
	{ "atomic_sleep", fault_atomic_sleep },
	{ "list", fault_list },
	{ "debugobjects", fault_debugobjects },
	{ "rcu", fault_rcu },
	{ "leak", fault_leak },
	{ "lockdep", fault_lockdep },
};

static int __init ktb_splat_init(void)
{
	for (int i = 0; i < ARRAY_SIZE(faults); i++) {
		if (fault && !strcmp(fault, faults[i].name)) {
			faults[i].commit();
			return 0;
		}
	}
	return -EINVAL;
}
module_init(ktb_splat_init);

static void __exit ktb_splat_exit(void)
{
}
module_exit(ktb_splat_exit);

MODULE_DESCRIPTION("Deliberate faults");
MODULE_LICENSE("GPL");
