/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_SESSION_RINGS_H
#define _KTB_SESSION_RINGS_H

#include "session.h"

struct ktb_event;

int ktb_session_rings_init(void);
void ktb_session_rings_exit(void);

int ktb_session_rings_create(struct ktb_session *session,
			     struct netlink_ext_ack *extack);
void ktb_session_rings_unlist(struct ktb_session *session);
void ktb_session_rings_destroy(struct ktb_session *session);
void ktb_session_rings_wake(struct ktb_session *session);
void ktb_session_rings_freeze(struct ktb_session *session, int only, bool freeze);
void ktb_session_rings_renew(struct ktb_session *session, int only);
void ktb_event_rings_set(struct ktb_event *event);
void ktb_event_rings_unset(struct ktb_event *event);

/**
 * ktb_session_ring - the ring of a CPU
 * @session: the session, held
 * @cpu: any number
 *
 * Return: the ring, there as long as the session is, or NULL.
 */
static inline struct ktb_ring *ktb_session_ring(struct ktb_session *session, int cpu)
{
	if (cpu < 0 || cpu >= nr_cpu_ids)
		return NULL;
	return smp_load_acquire(&session->ring[cpu]); /* complete once seen */
}

#endif /* _KTB_SESSION_RINGS_H */
