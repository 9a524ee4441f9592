// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: attached to a session, enabled, accounted for, detached. Process
 * context, under ktb_lock.
 */

#include <linux/cpumask.h>
#include <linux/netlink.h>
#include <linux/slab.h>

#include "cgroup.h"
#include "perfcore.h"
#include "program.h"
#include "session.h"
#include "session_rings.h"
#include "tracepoint.h"

/* Sample ids begin far from those of perf, so that one file can hold both. */
static u64 ktb_last_event_id = 1ULL << 40;

static void ktb_event_notice(const struct ktb_event *event,
			     enum ktb_notice_kind kind)
{
	struct ktb_notice notice = {
		.session = event->session,
		.event = event,
	};

	blocking_notifier_call_chain(&ktb_notices, kind, &notice);
}

/**
 * ktb_event_find - an event of a session by id, name, or both
 * @session: the session
 * @id: sample id, 0 for any
 * @name: "system:event", NULL for any
 *
 * Return: the event, or NULL.
 */
struct ktb_event *ktb_event_find(struct ktb_session *session, u64 id,
				 const char *name)
{
	struct ktb_event *event;

	lockdep_assert_held(&ktb_lock);
	list_for_each_entry(event, &session->events, node)
		if ((!id || event->id == id) &&
		    (!name || !strcmp(event->name, name)))
			return event;
	return NULL;
}

/* What its source could not follow since it was last asked, if the event was enabled. */
static void ktb_event_look_missed(struct ktb_event *event)
{
	unsigned long missed = event->source->missed ? event->source->missed(event) : 0;

	if (!(event->mode & KTB_EVENT_DISABLED))
		event->missed += missed - event->missed_before;
	event->missed_before = missed;
}

/**
 * ktb_event_update_mode - tell the probe what its hits have to pass now
 * @event: the event, with its source
 */
void ktb_event_update_mode(struct ktb_event *event)
{
	unsigned int mode = 0;

	ktb_event_look_missed(event);
	if (!event->enabled || !event->session->enabled)
		mode |= KTB_EVENT_DISABLED;
	if (event->target)
		mode |= KTB_EVENT_TARGETED;
	if (event->cgroup)
		mode |= KTB_EVENT_IN_CGROUP;
	if (event->on_cpus)
		mode |= KTB_EVENT_ON_CPUS;
	if (event->session->flags & KTB_SESSION_COUNT_ONLY)
		mode |= KTB_EVENT_COUNT_ONLY;
	if (event->period > 1)
		mode |= KTB_EVENT_SAMPLED;
	if (event->program)
		mode |= KTB_EVENT_PROGRAM;
	WRITE_ONCE(event->mode, mode);
}

static int ktb_event_check(struct ktb_session *session,
			   const struct ktb_event_options *options,
			   struct netlink_ext_ack *extack)
{
	if (!options->period) {
		NL_SET_ERR_MSG(extack, "period: must be at least 1");
		return -EINVAL;
	}
	if (ktb_event_find(session, 0, options->name)) {
		NL_SET_ERR_MSG(extack, "name: the event is attached to this session");
		return -EEXIST;
	}
	if (session->nr_events >= KTB_EVENTS_MAX) {
		NL_SET_ERR_MSG(extack, "the limit is 1024 events per session");
		return -ENOSPC;
	}
	return 0;
}

static int ktb_event_set_target(struct ktb_event *event,
				const struct ktb_target_options *options,
				struct netlink_ext_ack *extack)
{
	struct ktb_target *target;

	if (!options->nr_pids && !options->nr_tids)
		return 0;
	target = ktb_target_get(options, extack);
	if (IS_ERR(target))
		return PTR_ERR(target);
	event->target = target;
	return 0;
}

static int ktb_event_set_cpus(struct ktb_event *event, const char *list,
			      struct netlink_ext_ack *extack)
{
	int err;

	if (!list)
		return 0;
	err = cpulist_parse(list, &event->cpus);
	if ((err && err != -ERANGE) || (!err && cpumask_empty(&event->cpus))) {
		NL_SET_ERR_MSG(extack, "cpus: must be a list of CPUs like 0-3,8");
		return -EINVAL;
	}
	if (err || !cpumask_subset(&event->cpus, cpu_possible_mask)) {
		NL_SET_ERR_MSG(extack, "cpus: this machine has no such CPU");
		return -EINVAL;
	}
	if (snprintf(NULL, 0, "%*pbl", cpumask_pr_args(&event->cpus)) > KTRACE_BRIDGE_CPUS_LEN) {
		NL_SET_ERR_MSG(extack, "cpus: the limit is 1023 characters, written out");
		return -EINVAL;
	}
	event->on_cpus = true;
	return 0;
}

/* What a counter counted since it last overflowed was not the task's that hits. */
static int ktb_event_set_cgroup(struct ktb_event *event,
				const struct ktb_event_options *options,
				struct netlink_ext_ack *extack)
{
	struct cgroup *cgroup;

	if (!options->cgroup)
		return 0;
	if (options->attr && options->attr->type != PERF_TYPE_TRACEPOINT) {
		NL_SET_ERR_MSG(extack, "cgroup: not for counters; perf stat -G has those");
		return -EOPNOTSUPP;
	}
	cgroup = ktb_cgroup_get(options->cgroup, extack);
	if (IS_ERR(cgroup))
		return PTR_ERR(cgroup);
	event->cgroup = cgroup;
	return 0;
}

/* What fires: functions, a perf event, or else the tracepoint of the name. */
static int ktb_event_set_source(struct ktb_event *event,
				const struct ktb_event_options *options,
				struct netlink_ext_ack *extack)
{
	const struct ktb_function_options *function = &options->function;
	int err;

	if (function->nr && function->graph)
		return ktb_graph_prepare(event, function, extack);
	if (function->nr)
		return ktb_function_prepare(event, function, extack);
	err = options->attr ? 0 : ktb_tracepoint_resolve(event, extack);
	if (err || event->source)
		return err;
	return ktb_perfcore_prepare(event, options->attr, extack);
}

static void ktb_event_free(struct ktb_event *event)
{
	if (event->source && event->source->destroy)
		event->source->destroy(event);
	ktb_program_clear(event);
	ktb_target_put(event->target);
	ktb_cgroup_put(event->cgroup);
	free_percpu(event->cpu);
	kfree(event);
}

static struct ktb_event *ktb_event_alloc(struct ktb_session *session,
					 const struct ktb_event_options *options)
{
	struct ktb_event *event = kzalloc(sizeof(*event), GFP_KERNEL_ACCOUNT);

	if (!event)
		return NULL;
	event->cpu = alloc_percpu_gfp(struct ktb_event_cpu,
				      GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!event->cpu) {
		kfree(event);
		return NULL;
	}
	event->session = session;
	event->enabled = !options->disabled;
	event->period = options->period;
	event->max_stack = session->max_stack;
	event->excluded_tgid = session->excluded_tgid;
	event->id = ++ktb_last_event_id;
	strscpy(event->name, options->name, sizeof(event->name));
	return event;
}

/**
 * ktb_event_attach - attach an event to a session
 * @session: the session, listed
 * @options: which event, and how
 * @extack: takes the reason of a refusal
 *
 * Counterpart of perf_trace_init() and perf_trace_add().
 *
 * Return: the event, held by the session, or
 * * ERR_PTR(-EINVAL) - name, period, CPUs or perf event out of range
 * * ERR_PTR(-EEXIST) - attached already
 * * ERR_PTR(-ENOSPC) - as many events as there can be
 * * ERR_PTR(-ENOENT) - no such event in this kernel
 * * ERR_PTR(-EOPNOTSUPP) - a control group, and the event is a counter
 * * ERR_PTR(-ESRCH) - no such target or control group
 * * ERR_PTR(-ENOMEM) - out of memory
 * * an error of ktb_program_set()
 * * another error of perf_event_create_kernel_counter()
 */
struct ktb_event *ktb_event_attach(struct ktb_session *session,
				   const struct ktb_event_options *options,
				   struct netlink_ext_ack *extack)
{
	struct ktb_event *event;
	int err;

	lockdep_assert_held(&ktb_lock);
	err = ktb_event_check(session, options, extack);
	if (err)
		return ERR_PTR(err);

	event = ktb_event_alloc(session, options);
	if (!event) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return ERR_PTR(-ENOMEM);
	}
	err = ktb_event_set_target(event, &options->target, extack) ?:
	      ktb_event_set_cpus(event, options->cpus, extack) ?:
	      ktb_event_set_cgroup(event, options, extack) ?:
	      ktb_event_set_source(event, options, extack) ?:
	      ktb_program_set(event, &options->program, extack);
	if (err)
		goto err_free;

	ktb_event_update_mode(event);
	ktb_event_rings_set(event);
	err = event->source->attach(event, extack);
	if (err)
		goto err_unset_rings;

	session->nr_events++;
	ktb_event_notice(event, KTB_NOTICE_EVENT_ATTACH);
	return event;

err_unset_rings:
	ktb_event_rings_unset(event);
err_free:
	ktb_event_free(event);
	return ERR_PTR(err);
}

/* The probe has returned for the last time. */
static void ktb_event_finish(struct ktb_event *event)
{
	event->session->nr_events--;
	ktb_event_notice(event, KTB_NOTICE_EVENT_DETACH);
	ktb_event_rings_unset(event);
	ktb_event_free(event);
}

/**
 * ktb_event_detach - detach an event and free it
 * @event: the event
 * @last: set to its final ledger
 *
 * Counterpart of perf_trace_del() and perf_trace_destroy().
 */
void ktb_event_detach(struct ktb_event *event, struct ktb_ledger *last)
{
	lockdep_assert_held(&ktb_lock);
	event->source->detach(event);
	ktb_tracepoint_sync();
	ktb_event_ledger(event, last);
	ktb_event_finish(event);
}

/**
 * ktb_events_choose - choose all events of a session, or none
 * @session: the session
 * @chosen: which
 *
 * For the calls below, which are about the chosen ones.
 */
void ktb_events_choose(struct ktb_session *session, bool chosen)
{
	struct ktb_event *event;

	lockdep_assert_held(&ktb_lock);
	list_for_each_entry(event, &session->events, node)
		event->chosen = chosen;
}

/**
 * ktb_events_detach - detach the chosen events of a session
 * @session: the session
 *
 * Waits once for all of them.
 */
void ktb_events_detach(struct ktb_session *session)
{
	struct ktb_event *event, *next;

	lockdep_assert_held(&ktb_lock);
	list_for_each_entry(event, &session->events, node)
		if (event->chosen)
			event->source->detach(event);
	if (session->nr_events)
		ktb_tracepoint_sync();
	list_for_each_entry_safe(event, next, &session->events, node)
		if (event->chosen)
			ktb_event_finish(event);
}

/**
 * ktb_events_enable - let the chosen events of a session write, or not
 * @session: the session
 * @enable: which
 *
 * Once disabled, their ledgers stand still when this returns.
 */
void ktb_events_enable(struct ktb_session *session, bool enable)
{
	struct ktb_event *event;

	lockdep_assert_held(&ktb_lock);
	list_for_each_entry(event, &session->events, node) {
		if (!event->chosen)
			continue;
		event->enabled = enable;
		ktb_event_update_mode(event);
	}
	if (!enable)
		ktb_session_settle(session);
}

/**
 * ktb_ledger_add - add what one CPU counted
 * @ledger: the sum
 * @cpu: of an event on that CPU
 */
void ktb_ledger_add(struct ktb_ledger *ledger, const struct ktb_event_cpu *cpu)
{
	u64 hits = local_read(&cpu->hits), filtered = local_read(&cpu->filtered);

	ledger->hits += hits;
	ledger->written += local_read(&cpu->written);
	ledger->filtered += filtered;
	ledger->not_sampled += local_read(&cpu->not_sampled);
	ledger->lost_full += local_read(&cpu->lost_full);
	ledger->lost_big += local_read(&cpu->lost_big);
	ledger->lost_recursion += local_read(&cpu->lost_recursion);
	ledger->count += hits - filtered + local_read(&cpu->extra);
	ledger->throttled += local_read(&cpu->throttled);
}

/**
 * ktb_event_ledger - what became of an event's hits on all CPUs
 * @event: the event
 * @ledger: set
 *
 * Exact when the event is quiet; while it is hit, each counter is exact at
 * some moment during the call.
 */
void ktb_event_ledger(struct ktb_event *event, struct ktb_ledger *ledger)
{
	int cpu;

	*ledger = (struct ktb_ledger) {};
	for_each_possible_cpu(cpu)
		ktb_ledger_add(ledger, per_cpu_ptr(event->cpu, cpu));
	ktb_event_look_missed(event);
	ledger->hits += event->missed;
	ledger->count += event->missed;
	ledger->lost_recursion += event->missed;
}
