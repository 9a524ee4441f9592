// SPDX-License-Identifier: GPL-2.0-only
/*
 * Auditors: each makes sessions that nobody else touches, reads all that comes
 * out of them, and compares that with what the ledgers say, whatever goes on
 * around it.
 */
#include "torture.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* An event of an audited session, and what was read of it. */
struct audited {
	struct ktb_event e;
	bool detached;
	__u64 samples;
};

/* A session, and everything that came out of it. */
struct audit {
	struct worker *w;
	struct ktb_session s;
	enum action action;	/* how it is read */
	int fd;
	int nevents;
	struct audited event[NR_EVENTS];
	struct ktb_ring ring[CPUS];
	__u64 told_lost;	/* by records */
	__u64 bad;	/* malformed records, or of no event of ours */
};

static void audit_record(struct audit *a, const struct perf_event_header *h, int cpu)
{
	struct ktb_sample s;
	int i;

	if (!ktb_record_parse(h, &s) || (cpu >= 0 && s.cpu != (__u32)cpu)) {
		a->bad++;
		return;
	}
	for (i = 0; i < a->nevents && a->event[i].e.id != s.id; i++)
		continue;
	if (i == a->nevents)
		a->bad++;
	else if (s.type == PERF_RECORD_LOST)
		a->told_lost += s.lost;
	else
		a->event[i].samples++;
}

/*
 * Read the rings of all CPUs, those that came online since too: all there is at
 * the end, before that up to a bound, since the readers of this machine make
 * more hits than they can read.
 */
static void audit_by_mapping(struct audit *a, bool all)
{
	const struct perf_event_header *h;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		struct ktb_ring *ring = &a->ring[cpu];

		if (!ring->size && ktb_ring_map(ring, a->fd, cpu)) {
			ring->size = 0;
			continue;
		}
		for (int i = 0; (all || i < 500) && (h = ktb_ring_next(ring)); i++)
			audit_record(a, h, cpu);
		ktb_ring_release(ring);
	}
}

static void audit_by_read(struct audit *a, bool all)
{
	static char buf[65536] __attribute__((aligned(8)));
	ssize_t len = 1;

	for (int i = 0; (all || i < 5) && len > 0; i++) {
		len = read(a->fd, buf, sizeof(buf));
		for (ssize_t at = 0; at < len;) {
			const struct perf_event_header *h = (void *)(buf + at);

			audit_record(a, h, -1);
			if (!h->size)
				break;
			at += h->size;
		}
	}
	if (len < 0 && errno != EAGAIN)
		complain(a->w, "audit: read: %s", strerror(errno));
}

/*
 * What a frozen ring of an overwrite session holds: the newest record first, the
 * rest of one that was overwritten last.
 */
static void audit_snapshot(struct audit *a, int cpu)
{
	const struct perf_event_header *h;
	struct ktb_ring ring;
	__u64 head, avail, at;

	if (ktb_ring_map(&ring, a->fd, cpu))
		return;
	head = __atomic_load_n(&ring.page->data_head, __ATOMIC_ACQUIRE);
	avail = 0 - head < ring.size ? 0 - head : ring.size;
	for (at = 0; at + sizeof(*h) <= avail; at += h->size) {
		h = (const void *)(ring.data + ((head + at) & (ring.size - 1)));
		if (h->size < sizeof(*h) || at + h->size > avail)
			break;
		audit_record(a, h, cpu);
	}
	if (at < avail && avail < ring.size)
		a->bad++;
	ktb_ring_unmap(&ring);
}

/* Once, at the end; before that, it is only looked at. */
static void audit_by_snapshot(struct audit *a, bool all)
{
	end(a->w, A_READER_FREEZE, ioctl(a->fd, KTB_IOC_FREEZE) ? -errno : 0);
	for (int cpu = 0; all && cpu < CPUS; cpu++)
		audit_snapshot(a, cpu);
	if (ioctl(a->fd, KTB_IOC_THAW))
		complain(a->w, "thaw: %s", strerror(errno));
}

/* Attach one more, or detach one, as long as the rings are being read. */
static void audit_change(struct audit *a)
{
	const char *name = draw_event(&a->w->rng);
	__u64 period = draw(&a->w->rng, 2) ? 1 : 1 + draw(&a->w->rng, 9);
	struct how how = {
		.name = name,
		.period = period,
		.tid = draw(&a->w->rng, 4) ? 0 : draw_pid(&a->w->rng),
	};
	bool inherit = draw(&a->w->rng, 2);
	struct audited *ev = &a->event[a->nevents];
	int i = draw(&a->w->rng, NR_EVENTS), error;

	how.inherit = inherit && how.tid;
	if (i < a->nevents && !a->event[i].detached) {
		ev = &a->event[i];
		error = ktb_event_detach(&a->w->nl, a->s.id, ev->e.id, &ev->e);
		if (!error)
			check_ledger(a->w, &ev->e);
		end(a->w, A_EVENT_DETACH, error);
		ev->detached = !error;
	} else if (a->nevents < NR_EVENTS) {
		memset(ev, 0, sizeof(*ev));
		error = attach(&a->w->nl, a->s.id, &how, &ev->e);
		end(a->w, A_EVENT_ATTACH, error, EEXIST, ESRCH);
		a->nevents += !error;
	}
}

/* Everything is quiet and read: the ledgers have to say the same as we do. */
static void audit_judge(struct audit *a)
{
	__u64 lost = 0, ring_lost = 0;
	struct ktb_session s;

	for (int i = 0; i < a->nevents; i++) {
		struct audited *ev = &a->event[i];

		if (!ev->detached && ktb_event_get(&a->w->nl, a->s.id, ev->e.id, &ev->e)) {
			complain(a->w, "audit: %s is gone", ev->e.name);
			continue;
		}
		check_ledger(a->w, &ev->e);
		/* What was overwritten is not there any more. */
		if (a->action == A_AUDIT_SNAPSHOT ? ev->e.sum.written < ev->samples :
						    ev->e.sum.written != ev->samples)
			complain(a->w, "audit: %s: %llu written, %llu read", ev->e.name,
				 ev->e.sum.written, ev->samples);
		lost += ktb_ledger_lost(&ev->e.sum);
		__atomic_fetch_add(&shared->records, ev->samples, __ATOMIC_RELAXED);
	}
	if (ktb_session_get(&a->w->nl, a->s.id, &s)) {
		complain(a->w, "audit: the session is gone");
		return;
	}
	for (int i = 0; i < s.nrings; i++) {
		const struct ktb_ring *ring = &a->ring[s.ring[i].cpu];

		ring_lost += s.ring[i].lost;
		if (ring->size && ring->page->lost != s.ring[i].lost)
			complain(a->w, "audit: ring %u lost %llu, its page says %llu",
				 s.ring[i].cpu, s.ring[i].lost, ring->page->lost);
	}
	if (lost != ring_lost || a->told_lost > lost)
		complain(a->w, "audit: the events lost %llu, the rings %llu, records tell of %llu",
			 lost, ring_lost, a->told_lost);
	if (a->bad)
		complain(a->w, "audit: %llu bad records", a->bad);
}

static void audit_read(struct audit *a, bool all)
{
	if (a->action == A_AUDIT_MAP)
		audit_by_mapping(a, all);
	else if (a->action == A_AUDIT_READ)
		audit_by_read(a, all);
	else
		audit_by_snapshot(a, all);
}

static void audit_run(struct audit *a, int rounds)
{
	while (rounds-- && !hurry()) {
		unsigned int ms = draw(&a->w->rng, 40);
		bool toggle = draw(&a->w->rng, 8) == 0;

		audit_change(a);
		sleep_ms(ms);
		audit_read(a, false);
		if (toggle) {
			ktb_session_enable(&a->w->nl, a->s.id, false);
			ktb_session_enable(&a->w->nl, a->s.id, true);
		}
	}
	end(a->w, A_SESSION_DISABLE, ktb_session_enable(&a->w->nl, a->s.id, false));
	audit_read(a, true);
	audit_judge(a);
	end(a->w, a->action, 0);
}

static void audit_step(struct worker *w)
{
	static const enum action actions[] = { A_AUDIT_MAP, A_AUDIT_READ, A_AUDIT_SNAPSHOT };
	struct audit a = { .w = w, .fd = -1, .action = actions[draw(&w->rng, 3)] };
	__u32 flags = a.action == A_AUDIT_SNAPSHOT ? KTB_SESSION_OVERWRITE : 0;
	__u64 size = draw_ring_size(&w->rng);
	int rounds = 3 + draw(&w->rng, 15), error;
	struct ktb_nl *nl = control(w);
	char name[16] = "t_a0";

	begin(w, a.action);
	if (!nl || __atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED))
		return;
	name[3] += w->nr;
	error = session_new(nl, name, flags, size, 0, &a.s);
	end(w, A_SESSION_NEW, error);
	if (error)
		return;
	a.fd = ktb_dev_open_bind(a.s.id, -1);
	end(w, A_READER_BIND, a.fd < 0 ? a.fd : 0);
	if (a.fd >= 0) {
		fcntl(a.fd, F_SETFL, O_NONBLOCK);
		audit_run(&a, rounds);
	}
	for (int cpu = 0; cpu < CPUS; cpu++)
		if (a.ring[cpu].size)
			ktb_ring_unmap(&a.ring[cpu]);
	error = ktb_session_del(nl, a.s.id);
	end(w, A_SESSION_DEL, error);
	if (a.fd >= 0)
		close(a.fd);
}

const struct kind audit_kind = {
	.name = "audit", .step = audit_step, .rest = control_close, .pause = 100,
};
