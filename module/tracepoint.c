// SPDX-License-Identifier: GPL-2.0-only
/*
 * The native tracepoint source: hangs our probes on the kernel's tracepoints.
 * Process context, under ktb_lock.
 */

#include <linux/netlink.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#include "event.h"
#include "native/native.h"
#include "tracepoint.h"

/**
 * ktb_tracepoint_find - the tracepoint behind a trace event
 * @name: "system:event"
 * @tp: set to the tracepoint, unless NULL
 * @type: set to the tracepoint id
 *
 * Good for events that are built into the kernel: nothing is held on return.
 * Process context, may sleep.
 *
 * Return: 0, or
 * * -ENOENT - no such event, or its event is not a tracepoint's
 * * -EINVAL - @name is not of the form "system:event"
 */
int ktb_tracepoint_find(const char *name, struct tracepoint **tp, u16 *type)
{
	char system[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	struct trace_event_file *file;
	struct trace_event_call *call;
	const char *colon = strchr(name, ':');
	int err = 0;

	if (!colon || colon == name || !colon[1])
		return -EINVAL;
	if (colon - name >= sizeof(system))
		return -EINVAL;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);

	file = trace_get_event_file(NULL, system, colon + 1);
	if (IS_ERR(file))
		return -ENOENT;
	call = file->event_call;
	if (call->flags & TRACE_EVENT_FL_TRACEPOINT) {
		if (tp)
			*tp = call->tp;
		*type = call->event.type;
	} else {
		err = -ENOENT;
	}
	trace_put_event_file(file);
	return err;
}

/**
 * ktb_tracepoint_resolve - find probe, tracepoint and type for an event's name
 * @event: the event; its name is set
 * @extack: takes the reason of a refusal
 *
 * Return: 0, or
 * * -EINVAL - the name is not of the form "system:event"
 * * -ENOENT - the running kernel has no such event
 * * -EOPNOTSUPP - the event has no native probe
 */
int ktb_tracepoint_resolve(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	int err = ktb_tracepoint_find(event->name, &event->tp, &event->type);

	if (err == -EINVAL) {
		NL_SET_ERR_MSG(extack, "name: an event is named system:event");
		return err;
	}
	if (err) {
		NL_SET_ERR_MSG(extack, "name: this kernel has no such event");
		return err;
	}
	event->native = ktb_native_find(event->name);
	if (!event->native) {
		NL_SET_ERR_MSG(extack, "name: the event has no native probe");
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * ktb_tracepoint_attach - hang the event's probe on its tracepoint
 * @event: complete: hits may come before this returns
 * @extack: takes the reason of a refusal
 *
 * Counterpart of perf_trace_event_reg().
 *
 * Return: 0, or -ENOMEM.
 */
int ktb_tracepoint_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	int err = tracepoint_probe_register(event->tp, event->native->probe, event);

	if (err)
		NL_SET_ERR_MSG(extack, "the kernel refused the probe");
	return err;
}

/**
 * ktb_tracepoint_detach - take the probe off
 * @event: the event; may still be hit until ktb_tracepoint_sync()
 *
 * Counterpart of perf_trace_event_unreg().
 */
void ktb_tracepoint_detach(struct ktb_event *event)
{
	tracepoint_probe_unregister(event->tp, event->native->probe, event);
}

/**
 * ktb_tracepoint_sync - wait until every probe taken off has returned
 */
void ktb_tracepoint_sync(void)
{
	tracepoint_synchronize_unregister();
}
