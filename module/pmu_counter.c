// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only the kernel's own tracepoint PMU can do, done by counters of that PMU
 * which never count: to find the trace_event_call of an id, to say whether the
 * caller may have raw data, and to keep the buffers of perf_trace_buf_alloc().
 * Process context; making a counter takes the mutex of a CPU's perf context, so
 * none of this may be done where the mutex of a context may be held, but for
 * ktb_counter_buffers_put().
 */

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "perf_source.h"
#include "pmu.h"
#include "tracepoint.h"

/*
 * Fires while the kernel boots, and never again: a probe on it costs nothing. Its
 * raw data are for the privileged, as those of nearly all tracepoints.
 */
#define KTB_SILENT_EVENT	"initcall:initcall_level"

/* ftrace:function, of kernel/trace/trace.h: the first id there is. */
#define KTB_FUNCTION_ID		1

static u16 ktb_silent_id;
static struct cred *ktb_kernel_cred;

static DEFINE_MUTEX(ktb_buffers_lock);
static struct perf_event *ktb_buffers_keeper;	/* ktb_buffers_lock */
static atomic_t ktb_buffers_users;		/* from 0 under ktb_buffers_lock */

static struct perf_event *ktb_counter_open(u64 id, u64 sample_type, int cpu,
					   struct task_struct *task)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_TRACEPOINT,
		.size		= sizeof(attr),
		.config		= id,
		.sample_type	= sample_type,
		.disabled	= 1,
	};

	return perf_event_create_kernel_counter(&attr, cpu, task, NULL, NULL);
}

/* On this CPU: it counts nothing anywhere; but the CPU must not go away just now. */
static struct perf_event *ktb_counter_open_here(u64 id, u64 sample_type)
{
	unsigned int tries = KTB_PERF_TRIES;
	struct perf_event *counter;

	do {
		counter = ktb_counter_open(id, sample_type, raw_smp_processor_id(), NULL);
	} while (ktb_perf_cpu_went(PTR_ERR_OR_ZERO(counter), &tries));
	return counter;
}

/**
 * ktb_counter_create - a disabled counter of the kernel's tracepoint PMU
 * @id: tracepoint id
 * @sample_type: PERF_SAMPLE_* that it asks for
 *
 * In the caller's name: what he may not have is refused. On a CPU for those who may
 * have that, which is quick, else on the caller. To be released by
 * perf_event_release_kernel(), soon.
 *
 * Return: the counter, or
 * * ERR_PTR(-EINVAL) - no such tracepoint, or its module is going
 * * ERR_PTR(-EPERM) - raw data are not for the caller; or a security module's error
 * * ERR_PTR(-EOPNOTSUPP) - not a tracepoint, and one to keep away from
 * * ERR_PTR(-ENOMEM) - out of memory
 */
struct perf_event *ktb_counter_create(u64 id, u64 sample_type)
{
	struct perf_event *counter;

	/* Merely to open it has every function of the kernel patched. */
	if (id == KTB_FUNCTION_ID)
		return ERR_PTR(-EOPNOTSUPP);
	if (perfmon_capable())
		counter = ktb_counter_open_here(id, sample_type);
	else
		counter = ktb_counter_open(id, sample_type, -1, current);
	/* A synthetic event, which has no probe for perf. */
	return counter == ERR_PTR(-ENODEV) ? ERR_PTR(-EOPNOTSUPP) : counter;
}

/**
 * ktb_counter_allow_raw - may the caller see raw data of tracepoints
 *
 * perf_allow_tracepoint() reads a variable and calls a hook that are not
 * exported. So the kernel is asked by a counter.
 *
 * Return: 0, or an error of ktb_counter_create().
 */
int ktb_counter_allow_raw(void)
{
	struct perf_event *counter = ktb_counter_create(ktb_silent_id, PERF_SAMPLE_RAW);

	if (IS_ERR(counter))
		return PTR_ERR(counter);
	perf_event_release_kernel(counter);
	return 0;
}

/* In the kernel's name: not everybody who may count may have a counter on a CPU. */
static struct perf_event *ktb_counter_create_keeper(void)
{
	const struct cred *callers = override_creds(ktb_kernel_cred);
	struct perf_event *counter = ktb_counter_open_here(ktb_silent_id, 0);

	revert_creds(callers);
	return counter;
}

/**
 * ktb_counter_buffers_get - see to it that perf_trace_buf_alloc() has buffers
 *
 * They exist as long as any event of the kernel's tracepoint PMU does: without
 * them that function returns an address that is nobody's.
 *
 * Return: 0, then to be paired with ktb_counter_buffers_put(), or -ENOMEM.
 */
int ktb_counter_buffers_get(void)
{
	int err = 0;

	mutex_lock(&ktb_buffers_lock);
	if (!ktb_buffers_keeper)
		ktb_buffers_keeper = ktb_counter_create_keeper();
	if (IS_ERR(ktb_buffers_keeper)) {
		err = PTR_ERR(ktb_buffers_keeper);
		ktb_buffers_keeper = NULL;
	} else {
		atomic_inc(&ktb_buffers_users);
	}
	mutex_unlock(&ktb_buffers_lock);
	return err;
}

/**
 * ktb_counter_make_context - see to it that a task's perf context is not ours
 * @task: who is to get an event of our PMU
 *
 * Where a context belongs to a PMU, it is made for the kernel's: that stays. In the
 * kernel's name: whether the caller may have an event of @task, perf asks later on. The
 * buffers are there, so that nothing is waited for. Takes the mutex of that context; an
 * event that is inherited, under its parent's, finds the child's there.
 *
 * Return: 0, or
 * * -ESRCH - @task exits
 * * -ENOMEM - out of memory
 */
int ktb_counter_make_context(struct task_struct *task)
{
	const struct cred *callers;
	struct perf_event *counter;

	if (!ktb_task_lacks_context(task))
		return 0;
	callers = override_creds(ktb_kernel_cred);
	counter = ktb_counter_open(ktb_silent_id, 0, -1, task);
	revert_creds(callers);
	if (IS_ERR(counter))
		return PTR_ERR(counter);
	perf_event_release_kernel(counter);
	return 0;
}

static void ktb_counter_buffers_release(struct work_struct *work)
{
	mutex_lock(&ktb_buffers_lock);
	if (ktb_buffers_keeper && !atomic_read(&ktb_buffers_users)) {
		perf_event_release_kernel(ktb_buffers_keeper);
		ktb_buffers_keeper = NULL;
	}
	mutex_unlock(&ktb_buffers_lock);
}

static DECLARE_WORK(ktb_buffers_work, ktb_counter_buffers_release);

/**
 * ktb_counter_buffers_put - one less needs the buffers
 *
 * Its probes have returned for the last time. May be called under the mutex of a
 * context, which releasing a counter takes: so that is left to a work.
 */
void ktb_counter_buffers_put(void)
{
	if (atomic_dec_and_test(&ktb_buffers_users))
		schedule_work(&ktb_buffers_work);
}

/**
 * ktb_counter_init - find the event that never fires
 *
 * Return: 0, or
 * * -ENOENT - the kernel has no such event
 * * -ENOMEM - out of memory
 */
int __init ktb_counter_init(void)
{
	struct tracepoint *tp;
	int err = ktb_tracepoint_find(KTB_SILENT_EVENT, &tp, &ktb_silent_id);

	if (err)
		return err;
	ktb_kernel_cred = prepare_kernel_cred(&init_task);
	return ktb_kernel_cred ? 0 : -ENOMEM;
}

/**
 * ktb_counter_exit - wait until the buffers are given up
 *
 * Nobody uses them any more.
 */
void ktb_counter_exit(void)
{
	flush_work(&ktb_buffers_work);
	put_cred(ktb_kernel_cred);
}
