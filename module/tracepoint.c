// SPDX-License-Identifier: GPL-2.0-only
/*
 * The native tracepoint source: hangs our probes on the kernel's tracepoints.
 * Process context, under ktb_lock.
 */

#include <linux/netlink.h>
#include <linux/string.h>
#include <linux/trace_events.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "event.h"
#include "native/native.h"
#include "tracepoint.h"

/* The tracepoint of a trace event, NULL unless it is there to stay. */
static struct tracepoint *ktb_tracepoint_of(const struct trace_event_call *call)
{
	if (!(call->flags & TRACE_EVENT_FL_TRACEPOINT) ||
	    call->flags & TRACE_EVENT_FL_DYNAMIC || call->module)
		return NULL;
	return call->tp;
}

/**
 * ktb_tracepoint_find - the tracepoint behind a trace event
 * @name: "system:event"
 * @tp: set to the tracepoint, to NULL for an event of a module or without a
 *	tracepoint
 * @type: set to the id of the event
 *
 * Nothing is held on return. Process context, may sleep.
 *
 * Return: 0, or
 * * -ENOENT - no such event
 * * -EINVAL - @name is not of the form "system:event"
 */
int ktb_tracepoint_find(const char *name, struct tracepoint **tp, u16 *type)
{
	char system[KTRACE_BRIDGE_EVENT_NAME_LEN + 1];
	struct trace_event_file *file;
	const char *colon = strchr(name, ':');

	if (!colon || colon == name || !colon[1])
		return -EINVAL;
	if (colon - name >= sizeof(system))
		return -EINVAL;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);

	file = trace_get_event_file(NULL, system, colon + 1);
	if (IS_ERR(file))
		return -ENOENT;
	*tp = ktb_tracepoint_of(file->event_call);
	*type = file->event_call->event.type;
	trace_put_event_file(file);
	return 0;
}

/* Hang the probe on its tracepoint. Counterpart of perf_trace_event_reg(). */
static int ktb_tracepoint_attach(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	int err = tracepoint_probe_register(event->tp, event->native->probe, event);

	if (err)
		NL_SET_ERR_MSG(extack, "the kernel refused the probe");
	return err;
}

/* Counterpart of perf_trace_event_unreg(). */
static void ktb_tracepoint_detach(struct ktb_event *event)
{
	tracepoint_probe_unregister(event->tp, event->native->probe, event);
}

static const struct ktb_source ktb_tracepoint_source = {
	.path	= KTB_PATH_NATIVE,
	.attach	= ktb_tracepoint_attach,
	.detach	= ktb_tracepoint_detach,
};

/**
 * ktb_tracepoint_resolve - find tracepoint, type and probe for an event's name
 * @event: the event; its name is set
 * @extack: takes the reason of a refusal
 *
 * Sets the event's source if it has a native probe.
 *
 * Return: 0, or
 * * -EINVAL - the name is not of the form "system:event"
 * * -ENOENT - the running kernel has no such event
 */
int ktb_tracepoint_resolve(struct ktb_event *event, struct netlink_ext_ack *extack)
{
	int err = ktb_tracepoint_find(event->name, &event->tp, &event->type);

	if (err == -EINVAL)
		NL_SET_ERR_MSG(extack, "name: an event is named system:event");
	else if (err)
		NL_SET_ERR_MSG(extack, "name: this kernel has no such event to attach");
	if (err || !event->tp)
		return err;
	event->native = ktb_native_find(event->name);
	if (event->native)
		event->source = &ktb_tracepoint_source;
	return 0;
}

/**
 * ktb_tracepoint_sync - wait until every probe taken off has returned
 *
 * Good for the overflow handlers of perf events too.
 */
void ktb_tracepoint_sync(void)
{
	ktb_synchronize_probes();
}
