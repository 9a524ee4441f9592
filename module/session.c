// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sessions: where events, rings and readers meet. Process context throughout,
 * but for the three callbacks of the rings.
 *
 * Locks, outermost first:
 *
 *   ktb_lock          control plane: the sessions, their events and readers
 *   cpu_hotplug_lock  taken by the kernel when a probe is registered, and here
 *                     to make the rings of a session
 *   ktb_rings_lock    which CPU has which ring in which event: all that CPU
 *                     hotplug, which comes with cpu_hotplug_lock held, changes
 *
 * Probes take none of them: an event is unregistered and waited for before
 * anything that its probe may touch goes away.
 */

#include <linux/cpu.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "callchain.h"
#include "session.h"
#include "session_rings.h"
#include "submit.h"
#include "tracepoint.h"

DEFINE_MUTEX(ktb_lock);	/* control plane, see above */
LIST_HEAD(ktb_sessions);
BLOCKING_NOTIFIER_HEAD(ktb_notices);

static unsigned int ktb_nr_sessions;	/* on the list; ktb_lock */
static u32 ktb_last_session_id;		/* ktb_lock */
static unsigned int ktb_nr_owned;	/* with an owner; ktb_lock to change */

#define KTB_SESSION_FLAGS	(KTB_SESSION_PERSISTENT | KTB_SESSION_OVERWRITE | \
				 KTB_SESSION_DISABLED | KTB_SESSION_COUNT_ONLY)

static void ktb_session_notice(const struct ktb_session *session,
			       enum ktb_notice_kind kind)
{
	struct ktb_notice notice = { .session = session };

	blocking_notifier_call_chain(&ktb_notices, kind, &notice);
}

/**
 * ktb_session_find - a session by number, name, or both
 * @id: number, 0 for any
 * @name: name, NULL for any
 *
 * Under ktb_lock.
 *
 * Return: the session, or NULL.
 */
struct ktb_session *ktb_session_find(u32 id, const char *name)
{
	struct ktb_session *session;

	lockdep_assert_held(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node)
		if ((!id || session->id == id) &&
		    (!name || !strcmp(session->name, name)))
			return session;
	return NULL;
}

static int ktb_session_check(const struct ktb_session_options *options,
			     struct netlink_ext_ack *extack)
{
	if (!options->name[0]) {
		NL_SET_ERR_MSG(extack, "name: must not be empty");
		return -EINVAL;
	}
	if (ktb_session_find(0, options->name)) {
		NL_SET_ERR_MSG(extack, "name: a session of this name exists");
		return -EEXIST;
	}
	if (options->flags & ~KTB_SESSION_FLAGS) {
		NL_SET_ERR_MSG(extack, "flags: unknown or unsupported flag");
		return -EOPNOTSUPP;
	}
	if (options->ring_size == 0) {
		NL_SET_ERR_MSG(extack, "ring-size: must be at least 1 byte");
		return -EINVAL;
	}
	if (options->ring_size > KTB_RING_SIZE_MAX) {
		NL_SET_ERR_MSG(extack, "ring-size: the limit is 1 GiB per CPU");
		return -EINVAL;
	}
	if (options->max_stack > KTB_STACK_MAX) {
		NL_SET_ERR_MSG(extack, "max-stack: the limit is 512 frames");
		return -EINVAL;
	}
	if (ktb_nr_sessions >= KTB_SESSIONS_MAX) {
		NL_SET_ERR_MSG(extack, "the limit is 64 sessions: remove one first");
		return -ENOSPC;
	}
	return 0;
}

/*
 * Looks once more after a reader went to sleep; see the second table in ring.c.
 * It was on its way for an earlier sleep perhaps: then once more again.
 */
static void ktb_session_linger(struct work_struct *work)
{
	struct ktb_session *session =
		container_of(to_delayed_work(work), struct ktb_session, linger);

	ktb_session_flush(session);
	if (time_before(jiffies, READ_ONCE(session->slept) + KTB_RING_LINGER))
		schedule_delayed_work(&session->linger, KTB_RING_LINGER);
}

/**
 * ktb_session_look_again - a reader goes to sleep
 * @session: the session, held
 *
 * Its rings are looked at once more, KTB_RING_LINGER to twice that from now.
 */
void ktb_session_look_again(struct ktb_session *session)
{
	WRITE_ONCE(session->slept, jiffies);
	schedule_delayed_work(&session->linger, KTB_RING_LINGER);
}

/**
 * ktb_session_settle - events of the session were disabled
 * @session: the session
 *
 * Waits for hits under way. One that was turned away in the middle of its record
 * may have published what nested there, and told nobody. Under ktb_lock.
 */
void ktb_session_settle(struct ktb_session *session)
{
	ktb_tracepoint_sync();
	ktb_session_look_again(session);
}

static void ktb_session_tell_loss(struct work_struct *work)
{
	struct ktb_session *session =
		container_of(work, struct ktb_session, loss);
	struct ktb_notice notice = { .session = session };

	for_each_possible_cpu(notice.cpu)
		if (cpumask_test_and_clear_cpu(notice.cpu, &session->lossy))
			blocking_notifier_call_chain(&ktb_notices,
						     KTB_NOTICE_LOST, &notice);
}

static struct ktb_session *
ktb_session_alloc(const struct ktb_session_options *options)
{
	struct ktb_session *session;

	session = kvzalloc(struct_size(session, ring, nr_cpu_ids),
			   GFP_KERNEL_ACCOUNT);
	if (!session)
		return NULL;

	kref_init(&session->ref);
	INIT_LIST_HEAD(&session->events);
	INIT_LIST_HEAD(&session->readers);
	init_waitqueue_head(&session->wait);
	INIT_DELAYED_WORK(&session->linger, ktb_session_linger);
	INIT_WORK(&session->loss, ktb_session_tell_loss);
	strscpy(session->name, options->name, sizeof(session->name));
	session->flags = options->flags;
	session->enabled = !(options->flags & KTB_SESSION_DISABLED);
	session->watermark = options->watermark;
	session->max_stack = options->max_stack;
	session->excluded_tgid = -1;
	if (!(options->flags & KTB_SESSION_PERSISTENT))
		session->owner = options->owner;
	session->owner_pid = task_tgid_nr(current);
	if (!(options->flags & KTB_SESSION_COUNT_ONLY))
		session->ring_size = roundup_pow_of_two(PAGE_ALIGN(options->ring_size));
	ktb_last_session_id = ktb_last_session_id + 1 ?: 1;
	session->id = ktb_last_session_id;
	return session;
}

static int ktb_session_get_buffers(const struct ktb_session *session,
				   struct netlink_ext_ack *extack)
{
	int err = session->max_stack ? ktb_callchain_get_buffers() : 0;

	if (err)
		NL_SET_ERR_MSG(extack, "max-stack: out of memory");
	return err;
}

static void ktb_session_put_buffers(const struct ktb_session *session)
{
	if (session->max_stack)
		ktb_callchain_put_buffers();
}

/**
 * ktb_session_create - make a session with one ring per online CPU
 * @options: what with
 * @extack: takes the reason of a refusal
 *
 * Under ktb_lock.
 *
 * Return: the session, held by the list, or
 * * ERR_PTR(-EINVAL) - name, ring size or callchain out of range
 * * ERR_PTR(-EEXIST) - a session of that name is there
 * * ERR_PTR(-EOPNOTSUPP) - a flag that is not known
 * * ERR_PTR(-ENOSPC) - as many sessions as there can be
 * * ERR_PTR(-ENOMEM) - out of memory, or over the module's ring_limit
 */
struct ktb_session *ktb_session_create(const struct ktb_session_options *options,
				       struct netlink_ext_ack *extack)
{
	struct ktb_session *session;
	int err;

	lockdep_assert_held(&ktb_lock);
	err = ktb_session_check(options, extack);
	if (err)
		return ERR_PTR(err);

	session = ktb_session_alloc(options);
	if (!session) {
		NL_SET_ERR_MSG(extack, "out of memory");
		return ERR_PTR(-ENOMEM);
	}
	err = ktb_session_get_buffers(session, extack);
	if (err)
		goto err_put_session;
	err = ktb_session_rings_create(session, extack);
	if (err)
		goto err_put_buffers;
	ktb_nr_sessions++;
	if (session->owner) {
		sock_hold(session->owner);
		WRITE_ONCE(ktb_nr_owned, ktb_nr_owned + 1);
	}
	ktb_session_notice(session, KTB_NOTICE_SESSION_NEW);
	return session;

err_put_buffers:
	ktb_session_put_buffers(session);
err_put_session:
	ktb_session_put(session);
	return ERR_PTR(err);
}

static void ktb_session_release(struct kref *ref)
{
	struct ktb_session *session = container_of(ref, struct ktb_session, ref);

	/* The rings, which queue the works too, were quieted when it was unlisted. */
	cancel_delayed_work_sync(&session->linger);
	cancel_work_sync(&session->loss);
	ktb_session_rings_destroy(session);
	kvfree(session);
}

/**
 * ktb_session_put - drop a reference
 * @session: the session; may be freed
 *
 * May sleep; with or without ktb_lock.
 */
void ktb_session_put(struct ktb_session *session)
{
	kref_put(&session->ref, ktb_session_release);
}

/**
 * ktb_session_destroy - detach all events and take the session off the list
 * @session: the session
 *
 * Readers keep what they mapped and see a hang-up. Under ktb_lock.
 */
void ktb_session_destroy(struct ktb_session *session)
{
	lockdep_assert_held(&ktb_lock);
	ktb_events_choose(session, true);
	ktb_events_detach(session);
	ktb_session_put_buffers(session);
	ktb_session_rings_unlist(session);
	ktb_nr_sessions--;
	if (session->owner) {
		WRITE_ONCE(ktb_nr_owned, ktb_nr_owned - 1);
		sock_put(session->owner);
	}

	/* What its events wrote comes first: pairs with ktb_session_dead(). */
	smp_store_release(&session->dead, true);
	ktb_session_rings_wake(session);
	ktb_session_notice(session, KTB_NOTICE_SESSION_DEL);
	ktb_session_put(session);
}

/**
 * ktb_sessions_destroy_owned - a netlink socket closed: end what it owned
 *
 * Called for every generic netlink socket of the system: the lock is taken only
 * if there is an owner at all. Not by its port: that may have a new owner by then.
 */
void ktb_sessions_destroy_owned(void)
{
	struct ktb_session *session, *next;

	if (!READ_ONCE(ktb_nr_owned))
		return;
	mutex_lock(&ktb_lock);
	list_for_each_entry_safe(session, next, &ktb_sessions, node)
		if (session->owner && sock_flag(session->owner, SOCK_DEAD))
			ktb_session_destroy(session);
	mutex_unlock(&ktb_lock);
}

/**
 * ktb_session_enable - let the session's events write, or not
 * @session: the session
 * @enable: which
 *
 * Once disabled, nothing more is written, and the ledgers stand still, when
 * this returns. Under ktb_lock.
 */
void ktb_session_enable(struct ktb_session *session, bool enable)
{
	struct ktb_event *event;

	lockdep_assert_held(&ktb_lock);
	session->enabled = enable;
	list_for_each_entry(event, &session->events, node)
		ktb_event_update_mode(event);
	if (!enable)
		ktb_session_settle(session);
}

static int ktb_reader_check(const struct ktb_reader *reader,
			    struct ktb_session *session,
			    const struct ktb_bind *bind)
{
	const struct ktb_reader *other;

	if (reader->session)
		return -EALREADY;
	if (bind->flags & ~KTB_BIND_EXCLUDE_SELF || bind->reserved)
		return -EINVAL;
	if (!session)
		return -ENOENT;
	if (session->flags & KTB_SESSION_COUNT_ONLY)
		return -ENODATA;
	if (bind->cpu != -1 && !ktb_session_ring(session, bind->cpu))
		return -ENXIO;
	list_for_each_entry(other, &session->readers, node)
		if (other->cpu == bind->cpu || other->cpu == -1 || bind->cpu == -1)
			return -EBUSY;
	if (bind->flags & KTB_BIND_EXCLUDE_SELF && session->excluded_tgid != -1 &&
	    session->excluded_tgid != current->tgid)
		return -EBUSY;
	return 0;
}

/* The session's readers, or what they ask for, have changed. */
static void ktb_session_update_excluded(struct ktb_session *session)
{
	struct ktb_reader *reader;
	struct ktb_event *event;

	session->excluded_tgid = -1;
	list_for_each_entry(reader, &session->readers, node)
		if (reader->excludes)
			session->excluded_tgid = reader->pid;
	list_for_each_entry(event, &session->events, node)
		WRITE_ONCE(event->excluded_tgid, session->excluded_tgid);
}

/**
 * ktb_reader_bind - let a descriptor read a session
 * @reader: not bound
 * @bind: what to
 *
 * Return: 0, or
 * * -EALREADY - @reader is bound
 * * -EINVAL - an unknown flag
 * * -ENOENT - no such session
 * * -ENODATA - it only counts
 * * -ENXIO - no such CPU, or it has no ring
 * * -EBUSY - another reader has one of these rings, or leaves itself out
 */
int ktb_reader_bind(struct ktb_reader *reader, const struct ktb_bind *bind)
{
	struct ktb_session *session;
	int err;

	mutex_lock(&ktb_lock);
	session = bind->session ? ktb_session_find(bind->session, NULL) : NULL;
	err = ktb_reader_check(reader, session, bind);
	if (err)
		goto out;

	ktb_session_rings_renew(session, bind->cpu);
	reader->cpu = bind->cpu;
	reader->excludes = bind->flags & KTB_BIND_EXCLUDE_SELF;
	reader->pid = task_tgid_nr(current);
	get_task_comm(reader->comm, current);
	kref_get(&session->ref);
	list_add_tail(&reader->node, &session->readers);
	ktb_session_update_excluded(session);
	/* Pairs with ktb_reader_session(): mmap, read and poll take no lock. */
	smp_store_release(&reader->session, session);
out:
	mutex_unlock(&ktb_lock);
	return err;
}

/**
 * ktb_reader_unbind - a descriptor is gone
 * @reader: bound or not
 */
void ktb_reader_unbind(struct ktb_reader *reader)
{
	struct ktb_session *session = reader->session;

	if (!session)
		return;
	mutex_lock(&ktb_lock);
	if (reader->frozen)
		ktb_session_rings_freeze(session, reader->cpu, false);
	list_del(&reader->node);
	ktb_session_update_excluded(session);
	mutex_unlock(&ktb_lock);
	ktb_session_put(session);
}

/**
 * ktb_reader_freeze - begin or end a snapshot
 * @reader: bound to an overwrite session
 * @freeze: which
 *
 * When this returns from freezing, the rings stand still and every record in
 * them is whole.
 *
 * Return: 0, or
 * * -EOPNOTSUPP - the session does not overwrite: read it along
 */
int ktb_reader_freeze(struct ktb_reader *reader, bool freeze)
{
	struct ktb_session *session = reader->session;

	if (!(session->flags & KTB_SESSION_OVERWRITE))
		return -EOPNOTSUPP;
	mutex_lock(&ktb_lock);
	reader->frozen = freeze;
	ktb_session_rings_freeze(session, reader->cpu, freeze);
	mutex_unlock(&ktb_lock);
	if (freeze)
		ktb_tracepoint_sync();
	return 0;
}

/**
 * ktb_sessions_exit - end every session
 *
 * Nobody makes sessions or reads any more.
 */
void ktb_sessions_exit(void)
{
	struct ktb_session *session, *next;

	mutex_lock(&ktb_lock);
	list_for_each_entry_safe(session, next, &ktb_sessions, node)
		ktb_session_destroy(session);
	mutex_unlock(&ktb_lock);
}
