// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shadows of trace_event_calls: found by id, made with the first event, gone
 * with the last. Process context.
 *
 * ktb_calls_lock may be taken under the mutex of a perf context, by the last event
 * of all that goes with a task; so no counter is made or released under it.
 */

#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>

#include "pmu.h"

static DEFINE_MUTEX(ktb_calls_lock);
static LIST_HEAD(ktb_calls);	/* ktb_calls_lock; each one has its probe registered */

static struct ktb_call *ktb_call_find(u64 id)
{
	struct ktb_call *call;

	lockdep_assert_held(&ktb_calls_lock);
	list_for_each_entry(call, &ktb_calls, node)
		if (call->call.event.type == id) {
			refcount_inc(&call->ref);
			return call;
		}
	return NULL;
}

/*
 * The probe for our events: the one that the kernel made for its own, unless its
 * event is about a certain task. That one would look for the kernel's events of
 * the task and serve them a second time.
 */
static void *ktb_call_probe(const struct trace_event_call *kernels)
{
	void *probe = NULL;

	if (!kernels->module && !strcmp(kernels->class->system, "sched"))
		probe = ktb_task_probe_find(kernels->tp->name);
	return probe ?: kernels->class->perf_probe;
}

static void ktb_call_free(struct ktb_call *call)
{
	module_put(call->call.module);
	free_percpu(call->call.perf_events);
	kfree(call);
}

/* @kernels stays: the caller has a counter on it. */
static struct ktb_call *ktb_call_alloc(const struct trace_event_call *kernels)
{
	struct ktb_call *call;
	int cpu;

	/*
	 * kprobes, uprobes and system calls have events of another make, with no
	 * probe that would take our list; dynamic events have no module to hold.
	 */
	if (!(kernels->flags & TRACE_EVENT_FL_TRACEPOINT) ||
	    (kernels->flags & TRACE_EVENT_FL_DYNAMIC) || !kernels->class->perf_probe)
		return ERR_PTR(-EOPNOTSUPP);

	call = kzalloc(sizeof(*call), GFP_KERNEL);
	if (!call)
		return ERR_PTR(-ENOMEM);
	call->call.perf_events = alloc_percpu(struct hlist_head);
	if (!call->call.perf_events) {
		kfree(call);
		return ERR_PTR(-ENOMEM);
	}
	for_each_possible_cpu(cpu)
		INIT_HLIST_HEAD(per_cpu_ptr(call->call.perf_events, cpu));

	/* The counter holds the module of the tracepoint: this cannot fail. */
	__module_get(kernels->module);
	call->call.module = kernels->module;
	call->call.class = kernels->class;
	call->call.tp = kernels->tp;
	call->call.event.type = kernels->event.type;
	call->call.flags = kernels->flags;
	call->call.perf_perm = kernels->perf_perm;
	call->probe = ktb_call_probe(kernels);
	refcount_set(&call->ref, 1);
	return call;
}

static int ktb_call_register(struct ktb_call *call)
{
	int err = ktb_counter_buffers_get();

	if (err)
		return err;
	err = tracepoint_probe_register(call->call.tp, call->probe, &call->call);
	if (err)
		ktb_counter_buffers_put();
	return err;
}

static void ktb_call_unregister(struct ktb_call *call)
{
	tracepoint_probe_unregister(call->call.tp, call->probe, &call->call);
	tracepoint_synchronize_unregister();
	ktb_counter_buffers_put();
}

/*
 * Makes a shadow known, unless another caller was faster. Registered first: a
 * shadow on the list can be used.
 */
static struct ktb_call *ktb_call_publish(struct ktb_call *call)
{
	struct ktb_call *other;
	int err = ktb_call_register(call);

	if (err) {
		ktb_call_free(call);
		return ERR_PTR(err);
	}
	mutex_lock(&ktb_calls_lock);
	other = ktb_call_find(call->call.event.type);
	if (!other)
		list_add(&call->node, &ktb_calls);
	mutex_unlock(&ktb_calls_lock);
	if (!other)
		return call;
	ktb_call_unregister(call);
	ktb_call_free(call);
	return other;
}

/**
 * ktb_call_get - the shadow for a tracepoint id
 * @id: the id, perf_event_attr.config
 *
 * Not under the mutex of a perf context. Counterpart of perf_trace_init() and
 * perf_trace_event_reg().
 *
 * Return: the shadow, a reference, or
 * * ERR_PTR(-EINVAL) - no such event, or its module is going
 * * ERR_PTR(-EOPNOTSUPP) - the event is none of a tracepoint
 * * ERR_PTR(-ENOMEM) - out of memory
 */
struct ktb_call *ktb_call_get(u64 id)
{
	struct perf_event *counter;
	struct ktb_call *call;

	mutex_lock(&ktb_calls_lock);
	call = ktb_call_find(id);
	mutex_unlock(&ktb_calls_lock);
	if (call)
		return call;

	counter = ktb_counter_create(id, 0);
	if (IS_ERR(counter))
		return ERR_CAST(counter);
	call = ktb_call_alloc(counter->tp_event);
	if (!IS_ERR(call))
		call = ktb_call_publish(call);
	perf_event_release_kernel(counter);
	return call;
}

/**
 * ktb_call_put - an event goes
 * @call: its shadow
 *
 * With the last one, waits for probes under way. May be called under the mutex of
 * a perf context. Counterpart of perf_trace_destroy() and
 * perf_trace_event_unreg().
 */
void ktb_call_put(struct ktb_call *call)
{
	if (!refcount_dec_and_mutex_lock(&call->ref, &ktb_calls_lock))
		return;
	list_del(&call->node);
	mutex_unlock(&ktb_calls_lock);
	ktb_call_unregister(call);
	ktb_call_free(call);
}
