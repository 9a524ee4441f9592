// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rings of sessions: one for each CPU that is or was online, following CPU
 * hotplug. What a CPU wrote before it went away stays readable.
 */

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/netlink.h>
#include <linux/poll.h>

#include "session_rings.h"
#include "submit.h"

static unsigned long ktb_ring_limit;
module_param_named(ring_limit, ktb_ring_limit, ulong, 0644);
MODULE_PARM_DESC(ring_limit,
		 "bytes that all rings may take together; a quarter of memory by default");

static DEFINE_MUTEX(ktb_rings_lock);
static unsigned long ktb_rings_charged;	/* bytes; ktb_rings_lock */
static enum cpuhp_state ktb_rings_prepare_state;
static enum cpuhp_state ktb_rings_online_state;

static void ktb_rings_wake(struct ktb_ring *ring)
{
	struct ktb_session *session = ring->owner;

	wake_up_poll(&session->wait, EPOLLIN | EPOLLRDNORM);
}

static void ktb_rings_linger(struct ktb_ring *ring)
{
	struct ktb_session *session = ring->owner;

	schedule_delayed_work(&session->linger, KTB_RING_LINGER);
}

static void ktb_rings_lost(struct ktb_ring *ring)
{
	struct ktb_session *session = ring->owner;

	cpumask_set_cpu(ring->cpu, &session->lossy);
	schedule_work(&session->loss);
}

static const struct ktb_ring_ops ktb_rings_ops = {
	.wake	= ktb_rings_wake,
	.linger	= ktb_rings_linger,
	.lost	= ktb_rings_lost,
};

static int ktb_session_ring_create(struct ktb_session *session, int cpu)
{
	struct ktb_ring_config config = {
		.size		= session->ring_size,
		.watermark	= session->watermark,
		.session	= session->id,
		.flags		= session->flags,
		.sample_type	= ktb_sample_type(session->max_stack),
		.frozen		= session->frozen,
		.direct		= !session->max_stack,
		.quiet		= !cpu_online(cpu),
		.ops		= &ktb_rings_ops,
		.owner		= session,
	};
	struct ktb_ring *ring;

	lockdep_assert_held(&ktb_rings_lock);
	if (ktb_rings_charged + session->ring_size > READ_ONCE(ktb_ring_limit))
		return -EDQUOT;
	ring = ktb_ring_create(cpu, &config);
	if (IS_ERR(ring))
		return PTR_ERR(ring);

	session->charged += session->ring_size;
	ktb_rings_charged += session->ring_size;
	smp_store_release(&session->ring[cpu], ring); /* ktb_session_ring() */
	return 0;
}

/**
 * ktb_session_rings_create - make the rings of a new session, and list it
 * @session: not listed; takes what was made with it when it goes
 * @extack: takes the reason of a refusal
 *
 * Listed in the same breath, so that no CPU comes online unseen in between.
 * Under ktb_lock.
 *
 * Return: 0, or -ENOMEM.
 */
int ktb_session_rings_create(struct ktb_session *session,
			     struct netlink_ext_ack *extack)
{
	int cpu, err = 0;

	cpus_read_lock();
	mutex_lock(&ktb_rings_lock);
	if (session->ring_size) {
		for_each_online_cpu(cpu) {
			err = ktb_session_ring_create(session, cpu);
			if (err)
				break;
		}
	}
	if (!err)
		list_add_tail(&session->node, &ktb_sessions);
	mutex_unlock(&ktb_rings_lock);
	cpus_read_unlock();

	if (err == -EDQUOT) {
		NL_SET_ERR_MSG(extack,
			       "ring-size: all rings together would pass the module's ring_limit");
		return -ENOMEM;
	}
	if (err)
		NL_SET_ERR_MSG(extack, "ring-size: out of memory, ask for less");
	return err;
}

/**
 * ktb_session_rings_unlist - take a session off the list
 * @session: a listed session, without events
 *
 * No ring calls the session any more afterwards, and CPU hotplug leaves it alone:
 * in one go, as a wake-up that a CPU leaves behind cannot be waited for. Under
 * ktb_lock.
 */
void ktb_session_rings_unlist(struct ktb_session *session)
{
	int cpu;

	mutex_lock(&ktb_rings_lock);
	for_each_possible_cpu(cpu)
		if (session->ring[cpu])
			ktb_ring_quiesce(session->ring[cpu]);
	list_del(&session->node);
	mutex_unlock(&ktb_rings_lock);
}

/**
 * ktb_session_rings_destroy - free the rings
 * @session: not listed, without readers
 */
void ktb_session_rings_destroy(struct ktb_session *session)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (session->ring[cpu])
			ktb_ring_destroy(session->ring[cpu]);

	mutex_lock(&ktb_rings_lock);
	ktb_rings_charged -= session->charged;
	mutex_unlock(&ktb_rings_lock);
}

/**
 * ktb_session_rings_wake - wake every sleeping reader, data or not
 * @session: the session
 */
void ktb_session_rings_wake(struct ktb_session *session)
{
	struct ktb_ring *ring;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = ktb_session_ring(session, cpu);
		if (ring)
			wake_up_all(&ring->wait);
	}
	wake_up_all(&session->wait);
}

/**
 * ktb_session_rings_renew - make the control pages right for a new reader
 * @session: the session
 * @only: the CPU whose ring is meant, -1 for all
 *
 * Under ktb_lock.
 */
void ktb_session_rings_renew(struct ktb_session *session, int only)
{
	struct ktb_ring *ring;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = ktb_session_ring(session, cpu);
		if (ring && (only == -1 || only == cpu))
			ktb_ring_renew(ring);
		cond_resched(); /* it may be long */
	}
}

/**
 * ktb_session_rings_freeze - stop overwrite rings, or let them go on
 * @session: the session
 * @only: the CPU whose ring is meant, -1 for all, those to come included
 * @freeze: which
 *
 * Under ktb_lock.
 */
void ktb_session_rings_freeze(struct ktb_session *session, int only, bool freeze)
{
	int cpu;

	mutex_lock(&ktb_rings_lock);
	if (only == -1)
		session->frozen = freeze;
	for_each_possible_cpu(cpu)
		if (session->ring[cpu] && (only == -1 || only == cpu))
			ktb_ring_freeze(session->ring[cpu], freeze);
	mutex_unlock(&ktb_rings_lock);
}

/**
 * ktb_session_flush - let readers have what is there, whatever the watermark
 * @session: the session, held
 */
void ktb_session_flush(struct ktb_session *session)
{
	struct ktb_ring *ring;
	int cpu;

	for_each_possible_cpu(cpu) {
		ring = ktb_session_ring(session, cpu);
		if (ring)
			ktb_ring_ripen(ring);
	}
}

/**
 * ktb_session_set_watermark - how much makes it worth to wake a reader
 * @session: the session
 * @watermark: unread bytes
 *
 * Under ktb_lock.
 */
void ktb_session_set_watermark(struct ktb_session *session, u32 watermark)
{
	int cpu;

	mutex_lock(&ktb_rings_lock);
	session->watermark = watermark;
	for_each_possible_cpu(cpu)
		if (session->ring[cpu])
			ktb_ring_set_watermark(session->ring[cpu], watermark);
	mutex_unlock(&ktb_rings_lock);
	ktb_session_flush(session);
}

/**
 * ktb_event_rings_set - give a new event its rings, and list it
 * @event: not hit yet
 *
 * Under ktb_lock.
 */
void ktb_event_rings_set(struct ktb_event *event)
{
	struct ktb_session *session = event->session;
	int cpu;

	mutex_lock(&ktb_rings_lock);
	for_each_possible_cpu(cpu)
		per_cpu_ptr(event->cpu, cpu)->ring =
			session->ring[cpu] ?: &ktb_ring_none;
	list_add_tail(&event->node, &session->events);
	mutex_unlock(&ktb_rings_lock);
}

/**
 * ktb_event_rings_unset - take an event off its session's list
 * @event: a listed event
 *
 * Under ktb_lock.
 */
void ktb_event_rings_unset(struct ktb_event *event)
{
	mutex_lock(&ktb_rings_lock);
	list_del(&event->node);
	mutex_unlock(&ktb_rings_lock);
}

/*
 * A CPU is about to come up, for the first time perhaps. A session that has no
 * memory for one more ring goes without: hits there are counted as lost. The
 * CPU comes up in any case.
 */
static int ktb_rings_cpu_prepare(unsigned int cpu)
{
	struct ktb_session *session;
	struct ktb_event *event;

	mutex_lock(&ktb_rings_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		if (!session->ring_size || session->ring[cpu] ||
		    ktb_session_ring_create(session, cpu))
			continue;
		list_for_each_entry(event, &session->events, node)
			WRITE_ONCE(per_cpu_ptr(event->cpu, cpu)->ring,
				   session->ring[cpu]);
	}
	mutex_unlock(&ktb_rings_lock);
	return 0;
}

static void ktb_rings_of_cpu(int cpu, void (*act)(struct ktb_ring *ring))
{
	struct ktb_session *session;

	mutex_lock(&ktb_rings_lock);
	list_for_each_entry(session, &ktb_sessions, node)
		if (session->ring[cpu])
			act(session->ring[cpu]);
	mutex_unlock(&ktb_rings_lock);
}

static int ktb_rings_notice(int cpu, enum ktb_notice_kind kind)
{
	struct ktb_notice notice = { .cpu = cpu };
	struct ktb_session *session;

	mutex_lock(&ktb_rings_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		notice.session = session;
		if (session->ring[cpu])
			blocking_notifier_call_chain(&ktb_notices, kind, &notice);
	}
	mutex_unlock(&ktb_rings_lock);
	return 0;
}

/* On the CPU itself, which is up but for these last steps, or the first ones down. */
static int ktb_rings_cpu_online(unsigned int cpu)
{
	ktb_rings_of_cpu(cpu, ktb_ring_speak);
	return ktb_rings_notice(cpu, KTB_NOTICE_CPU_ONLINE);
}

static int ktb_rings_cpu_offline(unsigned int cpu)
{
	ktb_rings_of_cpu(cpu, ktb_ring_hush);
	return ktb_rings_notice(cpu, KTB_NOTICE_CPU_OFFLINE);
}

/* What it wrote on its way down is announced from here. */
static int ktb_rings_cpu_dead(unsigned int cpu)
{
	ktb_rings_of_cpu(cpu, ktb_ring_ripen);
	return 0;
}

/**
 * ktb_session_rings_init - follow CPU hotplug
 *
 * Return: 0 or an error of the hotplug core.
 */
int ktb_session_rings_init(void)
{
	int state;

	if (!ktb_ring_limit)
		ktb_ring_limit = totalram_pages() / 4 * PAGE_SIZE;

	/* Before the CPU runs anything. */
	state = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN,
					  "ktrace_bridge:prepare",
					  ktb_rings_cpu_prepare, ktb_rings_cpu_dead);
	if (state < 0)
		return state;
	ktb_rings_prepare_state = state;

	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN,
					  "ktrace_bridge:online",
					  ktb_rings_cpu_online,
					  ktb_rings_cpu_offline);
	if (state < 0) {
		cpuhp_remove_state_nocalls(ktb_rings_prepare_state);
		return state;
	}
	ktb_rings_online_state = state;
	return 0;
}

/** ktb_session_rings_exit - stop following CPU hotplug */
void ktb_session_rings_exit(void)
{
	cpuhp_remove_state_nocalls(ktb_rings_online_state);
	cpuhp_remove_state_nocalls(ktb_rings_prepare_state);
}
