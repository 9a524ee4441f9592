// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/ktrace_bridge/: sessions, events and ledgers as text, for
 * people; programs use the control channel. The counterpart of ftrace's
 * per_cpu/cpuN/stats. Process context; each file is written under ktb_lock, so
 * that sessions and events stay while it is.
 *
 * An open file holds the module, as a descriptor of the device does.
 */

#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "debugfs.h"
#include "session.h"
#include "session_rings.h"

static struct dentry *ktb_debugfs;

static void ktb_show_ledger(struct seq_file *m, const char *indent,
			    const struct ktb_ledger *ledger)
{
	seq_printf(m, "%shits: %llu\n", indent, ledger->hits);
	seq_printf(m, "%swritten: %llu\n", indent, ledger->written);
	seq_printf(m, "%sfiltered: %llu\n", indent, ledger->filtered);
	seq_printf(m, "%snot sampled: %llu\n", indent, ledger->not_sampled);
	seq_printf(m, "%slost, ring full: %llu\n", indent, ledger->lost_full);
	seq_printf(m, "%slost, too big: %llu\n", indent, ledger->lost_big);
	seq_printf(m, "%slost, recursion: %llu\n", indent, ledger->lost_recursion);
	seq_printf(m, "%scount: %llu\n", indent, ledger->count);
}

static void ktb_show_event(struct seq_file *m, const struct ktb_event *event,
			   const struct ktb_ledger *ledger)
{
	seq_printf(m, "  event %s id %llu: %s\n", event->name, event->id,
		   event->enabled ? "enabled" : "disabled");
	ktb_show_ledger(m, "    ", ledger);
}

static void ktb_show_session(struct seq_file *m, const struct ktb_session *session)
{
	const struct ktb_reader *reader;

	seq_printf(m, "session %s id %u: %s%s%s%s\n", session->name, session->id,
		   session->enabled ? "enabled" : "disabled",
		   session->owner ? "" : ", persistent",
		   session->flags & KTB_SESSION_OVERWRITE ? ", overwrites" : "",
		   session->flags & KTB_SESSION_COUNT_ONLY ? ", only counts" : "");
	seq_printf(m, "  maker: %d\n", session->owner_pid);
	seq_printf(m, "  ring size: %lu\n", session->ring_size);
	seq_printf(m, "  watermark: %u\n", session->watermark);
	list_for_each_entry(reader, &session->readers, node) {
		seq_printf(m, "  reader: %d %s, ", reader->pid, reader->comm);
		if (reader->cpu == -1)
			seq_puts(m, "all CPUs\n");
		else
			seq_printf(m, "CPU %d\n", reader->cpu);
	}
}

/* sessions: each with its events, summed up over CPUs. */
static int ktb_sessions_show(struct seq_file *m, void *v)
{
	const struct ktb_session *session;
	struct ktb_event *event;
	struct ktb_ledger ledger;

	mutex_lock(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		ktb_show_session(m, session);
		list_for_each_entry(event, &session->events, node) {
			ktb_event_ledger(event, &ledger);
			ktb_show_event(m, event, &ledger);
		}
	}
	mutex_unlock(&ktb_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ktb_sessions);

/* What the reader may still take, by its own word: good for a look, no more. */
static unsigned long ktb_ring_unread(const struct ktb_ring *ring)
{
	unsigned long unread = READ_ONCE(ring->published) - READ_ONCE(ring->page->data_tail);

	return ring->overwrite ? 0 : min(unread, ring->size);
}

static void ktb_show_ring(struct seq_file *m, const struct ktb_ring *ring)
{
	if (!ring) {
		seq_puts(m, "  ring: none\n");
		return;
	}
	seq_printf(m, "  ring: %lu bytes\n", ring->size);
	seq_printf(m, "  unread: %lu bytes\n", ktb_ring_unread(ring));
	seq_printf(m, "  lost: %lu\n", local_read(&ring->lost));
	seq_printf(m, "  wake-ups: %ld\n", atomic_long_read(&ring->wakeups));
}

static int ktb_seq_cpu(const struct seq_file *m)
{
	return (uintptr_t)m->private;
}

/* per_cpu/cpuN/sessions: each with its ring of that CPU and its events there. */
static int ktb_cpu_sessions_show(struct seq_file *m, void *v)
{
	int cpu = ktb_seq_cpu(m);
	struct ktb_session *session;
	const struct ktb_event *event;

	mutex_lock(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		seq_printf(m, "session %s id %u\n", session->name, session->id);
		ktb_show_ring(m, ktb_session_ring(session, cpu));
		list_for_each_entry(event, &session->events, node) {
			struct ktb_ledger ledger = {};

			ktb_ledger_add(&ledger, per_cpu_ptr(event->cpu, cpu));
			ktb_show_event(m, event, &ledger);
		}
	}
	mutex_unlock(&ktb_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ktb_cpu_sessions);

/* per_cpu/cpuN/stats: all sessions and events together. */
static int ktb_cpu_stats_show(struct seq_file *m, void *v)
{
	int cpu = ktb_seq_cpu(m), sessions = 0, events = 0;
	unsigned long ring_bytes = 0, unread = 0;
	struct ktb_ledger ledger = {};
	struct ktb_session *session;
	const struct ktb_event *event;
	const struct ktb_ring *ring;

	mutex_lock(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		sessions++;
		ring = ktb_session_ring(session, cpu);
		if (ring) {
			ring_bytes += ring->size;
			unread += ktb_ring_unread(ring);
		}
		list_for_each_entry(event, &session->events, node) {
			events++;
			ktb_ledger_add(&ledger, per_cpu_ptr(event->cpu, cpu));
		}
	}
	mutex_unlock(&ktb_lock);

	seq_printf(m, "online: %d\n", cpu_online(cpu));
	seq_printf(m, "sessions: %d\n", sessions);
	seq_printf(m, "events: %d\n", events);
	seq_printf(m, "rings: %lu bytes\n", ring_bytes);
	seq_printf(m, "unread: %lu bytes\n", unread);
	ktb_show_ledger(m, "", &ledger);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(ktb_cpu_stats);

/**
 * ktb_debugfs_init - make the files
 *
 * Nothing depends on them: where debugfs is off or refuses, they are not there.
 */
void __init ktb_debugfs_init(void)
{
	struct dentry *per_cpu, *dir;
	char name[16];
	uintptr_t cpu;

	ktb_debugfs = debugfs_create_dir(KBUILD_MODNAME, NULL);
	debugfs_create_file("sessions", 0400, ktb_debugfs, NULL, &ktb_sessions_fops);
	per_cpu = debugfs_create_dir("per_cpu", ktb_debugfs);
	for_each_possible_cpu(cpu) {
		snprintf(name, sizeof(name), "cpu%d", (int)cpu);
		dir = debugfs_create_dir(name, per_cpu);
		debugfs_create_file("stats", 0400, dir, (void *)cpu, &ktb_cpu_stats_fops);
		debugfs_create_file("sessions", 0400, dir, (void *)cpu, &ktb_cpu_sessions_fops);
	}
}

/**
 * ktb_debugfs_exit - remove them
 */
void ktb_debugfs_exit(void)
{
	debugfs_remove(ktb_debugfs);
}
