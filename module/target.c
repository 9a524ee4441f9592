// SPDX-License-Identifier: GPL-2.0-only
/*
 * The threads whose hits an event takes: a bitmap over thread numbers, so that
 * a hit costs one bit test, whoever is meant. Probes of our own on new tasks,
 * exec and exit keep it true: a number is in it from before its thread first runs
 * until it exits, as perf keeps events on a task.
 *
 * A thread that execs takes over the number of its group's leader, which exits
 * before: the leader's bit stays while its group lives.
 */

#include <linux/netlink.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>

#include "compat.h"
#include "session.h"
#include "target.h"
#include "tracepoint.h"

#define KTB_TARGET_BYTES	(PID_MAX_LIMIT / BITS_PER_BYTE)

/*
 * The probes run in task context with preemption disabled. That of exit comes
 * after all others: an event on the same tracepoint is still to be taken.
 */

/* Not sched_process_fork, which io_uring's and vhost's threads do not pass. */
static notrace void ktb_target_newtask(void *data, KTB_NEWTASK_PROTO)
{
	struct ktb_target *target = data;

	if (!task->pid) /* of a CPU that is brought up */
		return;
	if (target->asked.inherit && test_bit(current->pid, target->threads))
		set_bit(task->pid, target->threads);
	/* Left behind by an exec that failed with the number of the leader already taken. */
	else if (unlikely(test_bit(task->pid, target->threads)))
		clear_bit(task->pid, target->threads);
}

static notrace void ktb_target_exec(void *data, struct task_struct *task,
				    pid_t old_pid, struct linux_binprm *bprm)
{
	struct ktb_target *target = data;

	if (old_pid != task->pid && test_and_clear_bit(old_pid, target->threads))
		set_bit(task->pid, target->threads);
}

static notrace void ktb_target_exit(void *data, KTB_EXIT_PROTO)
{
	bool last = !atomic_read(&task->signal->live);
	struct ktb_target *target = data;

	if (last || !thread_group_leader(task))
		clear_bit(task->pid, target->threads);
	if (last)
		clear_bit(task->tgid, target->threads);
}

static const struct ktb_target_probe {
	const char *event;
	void *probe;
	int prio;
} ktb_target_probes[] = {
	{ "sched:sched_process_exit", ktb_target_exit, 0 },
	{ "sched:sched_process_exec", ktb_target_exec, TRACEPOINT_DEFAULT_PRIO },
	{ "task:task_newtask", ktb_target_newtask, TRACEPOINT_DEFAULT_PRIO },
};

/* A tracepoint whose prototype is another breaks the build here. */
static inline void ktb_target_check_probes(void)
{
	check_trace_callback_type_sched_process_exec(ktb_target_exec);
	check_trace_callback_type_sched_process_exit(ktb_target_exit);
	check_trace_callback_type_task_newtask(ktb_target_newtask);
}

/* Take off the first @nr probes, and wait until they have returned. */
static void ktb_target_unhook(struct ktb_target *target, unsigned int nr)
{
	struct tracepoint *tp;
	u16 type;

	while (nr--) {
		const struct ktb_target_probe *probe = &ktb_target_probes[nr];

		if (!ktb_tracepoint_find(probe->event, &tp, &type))
			tracepoint_probe_unregister(tp, probe->probe, target);
	}
	ktb_tracepoint_sync();
}

static int ktb_target_hook(struct ktb_target *target)
{
	unsigned int i;
	struct tracepoint *tp;
	u16 type;
	int err;

	for (i = 0; i < ARRAY_SIZE(ktb_target_probes); i++) {
		const struct ktb_target_probe *probe = &ktb_target_probes[i];

		err = ktb_tracepoint_find(probe->event, &tp, &type) ?:
		      tracepoint_probe_register_prio(tp, probe->probe, target,
						     probe->prio);
		if (err) {
			ktb_target_unhook(target, i);
			return err;
		}
	}
	return 0;
}

/* One that is still being made is nobody's for the probe, which is to come: wait. */
static struct task_struct *ktb_target_find(u32 nr)
{
	struct pid *pid = find_get_pid(nr);
	struct task_struct *task = get_pid_task(pid, PIDTYPE_PID);
	unsigned int tries = 100;

	put_pid(pid);
	while (task && READ_ONCE(task->__state) == TASK_NEW && tries--)
		schedule_timeout_uninterruptible(1);
	return task;
}

/* Whether its exit has been, or may have been, seen by the probe already. */
static bool ktb_target_is_gone(struct task_struct *task)
{
	return task->flags & PF_EXITING &&
	       !(thread_group_leader(task) && atomic_read(&task->signal->live));
}

static void ktb_target_add_task(struct ktb_target *target, struct task_struct *task)
{
	if (test_and_set_bit(task->pid, target->threads))
		return;
	/* Set first, then look: an exit in between clears it itself. */
	smp_mb__after_atomic();
	if (ktb_target_is_gone(task))
		clear_bit(task->pid, target->threads);
}

static int ktb_target_add_thread(struct ktb_target *target, u32 nr)
{
	struct task_struct *task = ktb_target_find(nr);
	bool gone;

	if (!task)
		return -ESRCH;
	ktb_target_add_task(target, task);
	gone = ktb_target_is_gone(task);
	put_task_struct(task);
	return gone ? -ESRCH : 0;
}

/*
 * A thread that is made meanwhile is put at the end of the list, and its maker is in
 * when we come there: either we see it, or the probe does, which comes after that.
 */
static int ktb_target_add_process(struct ktb_target *target, u32 nr)
{
	struct task_struct *task = ktb_target_find(nr), *thread;
	bool gone = true;

	if (!task)
		return -ESRCH;
	rcu_read_lock();
	for_each_thread(task, thread) {
		ktb_target_add_task(target, thread);
		gone &= ktb_target_is_gone(thread);
	}
	rcu_read_unlock();
	put_task_struct(task);
	return gone ? -ESRCH : 0;
}

static int ktb_target_add(struct ktb_target *target, struct netlink_ext_ack *extack)
{
	const struct ktb_target_options *asked = &target->asked;
	unsigned int i;

	for (i = 0; i < asked->nr_pids; i++) {
		if (ktb_target_add_process(target, asked->pids[i])) {
			NL_SET_ERR_MSG(extack, "pid: no such process");
			return -ESRCH;
		}
	}
	for (i = 0; i < asked->nr_tids; i++) {
		if (ktb_target_add_thread(target, asked->tids[i])) {
			NL_SET_ERR_MSG(extack, "tid: no such thread");
			return -ESRCH;
		}
	}
	return 0;
}

static LIST_HEAD(ktb_targets);	/* ktb_lock */

static void ktb_target_free(struct ktb_target *target)
{
	vfree(target->threads);
	kfree(target);
}

static struct ktb_target *ktb_target_alloc(const struct ktb_target_options *options)
{
	struct ktb_target *target = kzalloc(sizeof(*target), GFP_KERNEL_ACCOUNT);

	if (!target)
		return NULL;
	target->threads = __vmalloc(KTB_TARGET_BYTES, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!target->threads) {
		kfree(target);
		return NULL;
	}
	target->users = 1;
	target->asked = *options;
	return target;
}

/*
 * One for the same question that has the same threads now: they will go on
 * having the same, and need the probes and the memory once.
 */
static struct ktb_target *ktb_target_same(const struct ktb_target *target)
{
	struct ktb_target *other;

	list_for_each_entry(other, &ktb_targets, node)
		if (!memcmp(&other->asked, &target->asked, sizeof(target->asked)) &&
		    !memcmp(other->threads, target->threads, KTB_TARGET_BYTES))
			return other;
	return NULL;
}

/* Let the probes keep it true, and look anew at who is there. */
static int ktb_target_follow(struct ktb_target *target, struct netlink_ext_ack *extack)
{
	int err;

	memset(target->threads, 0, KTB_TARGET_BYTES);
	err = ktb_target_hook(target);
	if (err) {
		NL_SET_ERR_MSG(extack, "the kernel refused the probes that follow a target");
		return err;
	}
	err = ktb_target_add(target, extack);
	if (err)
		ktb_target_unhook(target, ARRAY_SIZE(ktb_target_probes));
	return err;
}

/**
 * ktb_target_get - the set of threads of processes and threads
 * @options: which; what is not used of it is zero
 * @extack: takes the reason of a refusal
 *
 * Under ktb_lock.
 *
 * Return: the set, or
 * * ERR_PTR(-ESRCH) - one of them is not there
 * * ERR_PTR(-ENOMEM) - out of memory
 */
struct ktb_target *ktb_target_get(const struct ktb_target_options *options,
				  struct netlink_ext_ack *extack)
{
	struct ktb_target *target, *same = NULL;
	int err;

	lockdep_assert_held(&ktb_lock);
	target = ktb_target_alloc(options);
	if (!target) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return ERR_PTR(-ENOMEM);
	}
	err = ktb_target_add(target, extack);
	if (!err)
		same = ktb_target_same(target);
	if (!err && !same)
		err = ktb_target_follow(target, extack);
	if (err || same) {
		ktb_target_free(target);
		if (err)
			return ERR_PTR(err);
		same->users++;
		return same;
	}
	list_add_tail(&target->node, &ktb_targets);
	return target;
}

/**
 * ktb_target_put - one event less has it
 * @target: the set, no probe of the event uses it any more; NULL is allowed
 */
void ktb_target_put(struct ktb_target *target)
{
	lockdep_assert_held(&ktb_lock);
	if (!target || --target->users)
		return;
	list_del(&target->node);
	ktb_target_unhook(target, ARRAY_SIZE(ktb_target_probes));
	ktb_target_free(target);
}
