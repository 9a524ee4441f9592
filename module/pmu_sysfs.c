// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/bus/event_source/devices/ktrace_bridge/: what perf's tools want to know of
 * a PMU before they take its name. Made once at load.
 *
 * Events are named "system:event", as in perf's own -e: ktrace_bridge/sched:sched_switch/.
 * Not "event" alone: perf 6.1 takes each such name, of any PMU, for a word of its
 * own, and then no longer understands -e sched:sched_switch. Who has a perf that does
 * not, as that of 6.12, may ask for the short names.
 */

#include <linux/device.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "native/native.h"
#include "pmu.h"
#include "tracepoint.h"

static bool ktb_pmu_short_names;
module_param_named(pmu_short_names, ktb_pmu_short_names, bool, 0444);
MODULE_PARM_DESC(pmu_short_names, "list the events of the PMU without their system too, which perf 6.1 cannot bear");

/**
 * struct ktb_pmu_event - a file of events/
 * @attr: the file; its name is @native's, or a part of it
 * @native: the event
 * @type: tracepoint id
 */
struct ktb_pmu_event {
	struct device_attribute attr;
	const struct ktb_native *native;
	u16 type;
};

static struct ktb_pmu_event *ktb_pmu_events;
static unsigned int ktb_pmu_nr_events;

PMU_FORMAT_ATTR(event, "config:0-63");

static struct attribute *ktb_pmu_format_attrs[] = {
	&format_attr_event.attr,
	NULL
};

static const struct attribute_group ktb_pmu_format = {
	.name	= "format",
	.attrs	= ktb_pmu_format_attrs,
};

static struct attribute_group ktb_pmu_events_group = {
	.name	= "events",	/* its attributes are made at load */
};

const struct attribute_group *ktb_pmu_groups[] = {
	&ktb_pmu_format,
	&ktb_pmu_events_group,
	NULL
};

static ssize_t ktb_pmu_event_show(struct device *dev, struct device_attribute *attr,
				  char *buf)
{
	const struct ktb_pmu_event *event = container_of(attr, struct ktb_pmu_event, attr);

	return sysfs_emit(buf, "event=0x%x\n", event->type);
}

static void __init ktb_pmu_event_add(const struct ktb_native *native, u16 type,
				     const char *name)
{
	unsigned int i = ktb_pmu_nr_events++;
	struct ktb_pmu_event *event = &ktb_pmu_events[i];

	event->native = native;
	event->type = type;
	sysfs_attr_init(&event->attr.attr);
	event->attr.attr.name = name;
	event->attr.attr.mode = 0444;
	event->attr.show = ktb_pmu_event_show;
	ktb_pmu_events_group.attrs[i] = &event->attr.attr;
}

/* The native events that this kernel has. */
static void __init ktb_pmu_add_names(void)
{
	const struct ktb_native *native;
	struct tracepoint *tp;
	u16 type;

	ktb_native_for_each(native)
		if (!ktb_tracepoint_find(native->name, &tp, &type) && tp)
			ktb_pmu_event_add(native, type, native->name);
}

static const char *ktb_short_name(const struct ktb_native *native)
{
	return strchr(native->name, ':') + 1;
}

static bool __init ktb_short_name_clashes(const struct ktb_native *native,
					  unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (ktb_pmu_events[i].native != native &&
		    !strcmp(ktb_short_name(ktb_pmu_events[i].native), ktb_short_name(native)))
			return true;
	return false;
}

/* A short name that two systems have is nobody's. */
static void __init ktb_pmu_add_short_names(void)
{
	unsigned int i, nr = ktb_pmu_nr_events;

	for (i = 0; i < nr; i++) {
		const struct ktb_pmu_event *event = &ktb_pmu_events[i];

		if (!ktb_short_name_clashes(event->native, nr))
			ktb_pmu_event_add(event->native, event->type,
					  ktb_short_name(event->native));
	}
}

/**
 * ktb_pmu_sysfs_init - make the files of events/
 *
 * Return: 0, or -ENOMEM.
 */
int __init ktb_pmu_sysfs_init(void)
{
	size_t most = (ktb_natives_end - ktb_natives) * (1 + ktb_pmu_short_names);

	ktb_pmu_events = kvcalloc(most, sizeof(*ktb_pmu_events), GFP_KERNEL);
	ktb_pmu_events_group.attrs = kvcalloc(most + 1, sizeof(struct attribute *), GFP_KERNEL);
	if (!ktb_pmu_events || !ktb_pmu_events_group.attrs) {
		ktb_pmu_sysfs_exit();
		return -ENOMEM;
	}
	ktb_pmu_add_names();
	if (ktb_pmu_short_names)
		ktb_pmu_add_short_names();
	return 0;
}

/**
 * ktb_pmu_sysfs_exit - free them
 *
 * The PMU is not registered.
 */
void ktb_pmu_sysfs_exit(void)
{
	kvfree(ktb_pmu_events_group.attrs);
	kvfree(ktb_pmu_events);
}
