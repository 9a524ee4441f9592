// SPDX-License-Identifier: GPL-2.0-only
/* Those who use the control channel, those who die, those short of memory. */
#include "torture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* As session_new(), with callchains. */
static int session_new_chains(struct ktb_nl *nl, const char *name, __u32 flags, __u64 size,
			      __u32 max_stack)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SESSION_NEW, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	ktb_put_u32(&m, KTB_A_SESSION_FLAGS, flags);
	ktb_put_u64(&m, KTB_A_SESSION_RING_SIZE, size);
	ktb_put_u32(&m, KTB_A_SESSION_MAX_STACK, max_stack);
	return ktb_nl_do(nl, &m, NULL, NULL);
}

static void do_session_new(struct worker *w, struct ktb_nl *nl)
{
	static const __u32 flags[] = {
		0, 0, 0, KTB_SESSION_DISABLED, KTB_SESSION_COUNT_ONLY, KTB_SESSION_OVERWRITE,
	};
	__u32 f = flags[draw(&w->rng, 6)];
	__u32 watermark = draw(&w->rng, 2) ? draw(&w->rng, 20000) : 0;
	__u64 size = draw_ring_size(&w->rng);

	const char *name = draw_session(&w->rng);
	bool chains = draw(&w->rng, 3) == 0;
	int error;

	if (draw(&w->rng, 3))
		f |= KTB_SESSION_PERSISTENT;
	if (chains)
		error = session_new_chains(nl, name, f, size, 1 + draw(&w->rng, 127));
	else
		error = session_new(nl, name, f, size, watermark, NULL);
	end(w, A_SESSION_NEW, error, EEXIST);
}

/* One of those that everyone may use, made if need be: to have something to do. */
static int some_session(struct worker *w, struct ktb_nl *nl, struct ktb_session *s)
{
	const char *name = draw_session(&w->rng);
	int error = ktb_session_find(nl, name, s);

	if (error != -ENOENT)
		return error;
	error = session_new(nl, name, KTB_SESSION_PERSISTENT, 16384, 0, NULL);
	if (error == -EEXIST)
		error = 0;
	return error ?: ktb_session_find(nl, name, s);
}

static void do_session_set(struct worker *w, struct ktb_nl *nl, enum action action)
{
	bool by_watermark = action == A_SESSION_WATERMARK;
	__u32 watermark = draw(&w->rng, 20000);
	struct ktb_session s;
	struct ktb_msg m;
	int error;

	error = some_session(w, nl, &s);
	ktb_msg_init(nl, &m, KTB_CMD_SESSION_SET, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, s.name);
	if (by_watermark)
		ktb_put_u32(&m, KTB_A_SESSION_WATERMARK, watermark);
	else
		ktb_put_u8(&m, KTB_A_SESSION_ENABLED, action == A_SESSION_ENABLE);
	end(w, action, error ?: ktb_nl_do(nl, &m, NULL, NULL), ENOENT);
}

/* Detach what is attached, one after the other: each tells its last ledger. */
static void detach_all(struct worker *w, struct ktb_nl *nl, __u32 session)
{
	static struct ids ids;
	struct ktb_event e;
	int error;

	if (dump_ids(nl, KTB_CMD_EVENT_GET, KTB_A_EVENT_ID, session, &ids))
		return;
	for (int i = 0; i < ids.nr && !stopping(); i++) {
		error = ktb_event_detach(nl, session, ids.id[i], &e);
		if (!error)
			check_ledger(w, &e);
		end(w, A_EVENT_DETACH, error, ENOENT);
	}
}

/* With all its events at once, or after the last one has told its ledger. */
static void do_session_del(struct worker *w, struct ktb_nl *nl)
{
	const char *name = draw_session(&w->rng);
	bool one_by_one = draw(&w->rng, 2);
	struct ktb_session s;
	struct ktb_msg m;

	if (one_by_one && !ktb_session_find(nl, name, &s))
		detach_all(w, nl, s.id);
	ktb_msg_init(nl, &m, KTB_CMD_SESSION_DEL, 0);
	ktb_put_str(&m, KTB_A_SESSION_NAME, name);
	end(w, A_SESSION_DEL, ktb_nl_do(nl, &m, NULL, NULL), ENOENT);
}

static void do_attach(struct worker *w, struct ktb_nl *nl, enum action action)
{
	static const char * const cpu_lists[] = { "0", "1-2", "0,2" };
	struct how how = {
		.name = draw_event(&w->rng),
		.period = draw(&w->rng, 2) ? 0 : 2 + draw(&w->rng, 100),
		.disabled = draw(&w->rng, 8) == 0,
		.inherit = draw(&w->rng, 2),
	};
	__u32 pid = draw_pid(&w->rng), list = draw(&w->rng, ARRAY_SIZE(cpu_lists));
	struct ktb_session s;
	int error;

	switch (action) {
	case A_EVENT_ATTACH_PID:
		how.pid = pid;
		break;
	case A_EVENT_ATTACH_TID:
		how.tid = pid;
		break;
	case A_EVENT_ATTACH_CPUS:
		how.cpus = cpu_lists[list];
		break;
	case A_EVENT_ATTACH_CLOCK:
		how.name = "torture:clock";
		how.clock = true;
		how.period = 0;
		how.tid = list ? 0 : pid;
		break;
	case A_EVENT_ATTACH_FUNCTION:
	case A_EVENT_ATTACH_GRAPH:
		how.graph = action == A_EVENT_ATTACH_GRAPH;
		how.name = how.graph ? "torture:graph" : "torture:function";
		how.function = "vfs_write";
		break;
	default:
		break;
	}
	how.inherit = how.inherit && (how.pid || how.tid);
	error = some_session(w, nl, &s);
	if (!error)
		error = attach(nl, s.id, &how, NULL);
	end(w, action, error, ENOENT, EEXIST, ESRCH);
}

/* One of those that are attached, attached if there is none. */
static int some_event(struct worker *w, struct ktb_nl *nl, __u32 session, struct ktb_event *e)
{
	const char *name = draw_event(&w->rng);
	__u32 i = draw(&w->rng, 1000);
	static struct ids ids;
	int error;

	error = dump_ids(nl, KTB_CMD_EVENT_GET, KTB_A_EVENT_ID, session, &ids);
	if (!error && !ids.nr)
		return attach_plain(nl, session, name, e);
	return error ?: ktb_event_get(nl, session, ids.id[i % ids.nr], e);
}

static void do_event(struct worker *w, struct ktb_nl *nl, enum action action)
{
	struct ktb_session s;
	struct ktb_event e;
	int error;

	error = some_session(w, nl, &s);
	if (!error)
		error = some_event(w, nl, s.id, &e);
	if (!error && action == A_EVENT_DETACH) {
		error = ktb_event_detach(nl, s.id, e.id, &e);
		/* It cannot be hit any more: the last ledger is exact. */
		if (!error)
			check_ledger(w, &e);
	} else if (!error && action != A_EVENT_GET) {
		error = ktb_event_enable(nl, s.id, e.id, action == A_EVENT_ENABLE);
	}
	end(w, action, error, ENOENT, EEXIST);
}

static void do_source_dump(struct worker *w, struct ktb_nl *nl)
{
	struct ktb_msg m;

	ktb_msg_init(nl, &m, KTB_CMD_SOURCE_GET, NLM_F_DUMP);
	end(w, A_SOURCE_DUMP, ktb_nl_do(nl, &m, NULL, NULL));
}

static int count_or_error(int n)
{
	return n < 0 ? n : 0;
}

/* Listen for a while, and let the queue run over at times. */
static void do_notices(struct worker *w)
{
	unsigned int ms = draw(&w->rng, 50);
	struct ktb_nl nl;
	int error;

	error = ktb_nl_open(&nl);
	if (!error) {
		if (setsockopt(nl.fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &nl.group,
			       sizeof(nl.group)))
			error = -errno;
		sleep_ms(ms);
		ktb_nl_close(&nl);
	}
	end(w, A_NOTICES, error);
}

static void control_step(struct worker *w)
{
	static const enum action menu[] = {
		A_SESSION_NEW, A_SESSION_NEW, A_SESSION_NEW, A_SESSION_NEW, A_SESSION_DEL,
		A_SESSION_ENABLE, A_SESSION_ENABLE, A_SESSION_DISABLE,
		A_SESSION_WATERMARK, A_SESSION_GET, A_SESSION_DUMP,
		A_EVENT_ATTACH, A_EVENT_ATTACH, A_EVENT_ATTACH, A_EVENT_ATTACH,
		A_EVENT_ATTACH_PID, A_EVENT_ATTACH_TID, A_EVENT_ATTACH_CPUS,
		A_EVENT_ATTACH_CLOCK, A_EVENT_ATTACH_FUNCTION, A_EVENT_ATTACH_GRAPH,
		A_EVENT_DETACH, A_EVENT_DETACH,
		A_EVENT_ENABLE, A_EVENT_ENABLE, A_EVENT_DISABLE, A_EVENT_GET, A_EVENT_DUMP,
		A_SOURCE_DUMP, A_SOCKET_CLOSE, A_NOTICES,
	};
	enum action action = menu[draw(&w->rng, ARRAY_SIZE(menu))];
	struct ktb_nl *nl = control(w);
	struct ktb_session s;

	begin(w, action);
	if (!nl)
		return;
	switch (action) {
	case A_SESSION_NEW:
		do_session_new(w, nl);
		break;
	case A_SESSION_DEL:
		do_session_del(w, nl);
		break;
	case A_SESSION_ENABLE:
	case A_SESSION_DISABLE:
	case A_SESSION_WATERMARK:
		do_session_set(w, nl, action);
		break;
	case A_SESSION_GET:
		end(w, action, ktb_session_find(nl, draw_session(&w->rng), &s), ENOENT);
		break;
	case A_SESSION_DUMP:
		end(w, action, count_or_error(ktb_session_count(nl)));
		break;
	case A_EVENT_ATTACH ... A_EVENT_ATTACH_GRAPH:
		do_attach(w, nl, action);
		break;
	case A_EVENT_DUMP:
		end(w, action, count_or_error(ktb_event_count(nl)));
		break;
	case A_SOURCE_DUMP:
		do_source_dump(w, nl);
		break;
	case A_SOCKET_CLOSE:
		control_close(w);
		end(w, action, 0);
		break;
	case A_NOTICES:
		do_notices(w);
		break;
	default:
		do_event(w, nl, action);
	}
}

const struct kind control_kind = {
	.name = "control", .step = control_step, .rest = control_close, .pause = 20,
};

/* The owner's own name for its session. */
static const char *own_name(const struct worker *w, char letter)
{
	static char name[16];

	snprintf(name, sizeof(name), "t_%c%d", letter, w->nr);
	return name;
}

/* Makes a session that is to go with it, and waits to be killed. */
static void owner_child(struct worker *w, void *arg)
{
	int events = 1 + draw(&w->rng, 5);
	struct ktb_session s;
	struct ktb_nl nl;
	int fd;

	(void)arg;
	if (ktb_nl_open(&nl) ||
	    session_new(&nl, own_name(w, 'o'), 0, draw_ring_size(&w->rng), 0, &s))
		pause();
	child_acted(w);
	while (events--) {
		attach_plain(&nl, s.id, draw_event(&w->rng), NULL);
		child_acted(w);
	}
	fd = ktb_dev_open_bind(s.id, -1);
	if (fd >= 0 && draw(&w->rng, 2))
		mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	child_acted(w);
	pause();
}

static void owner_step(struct worker *w)
{
	unsigned int acts = draw(&w->rng, 8), ms = draw(&w->rng, 20);
	struct ktb_session s;
	pid_t child;
	int error;

	begin(w, A_OWNER_KILLED);
	/* Our own socket is not to be in the child: it opens its own. */
	control_close(w);
	child = start_child(w, owner_child, NULL);
	if (child < 0)
		return;
	child_ended(w, child, acts);
	sleep_ms(ms);
	kill_family(child);
	error = find_session(w, own_name(w, 'o'), &s);
	if (!error)
		complain(w, "the session of a killed owner is still there");
	end(w, A_OWNER_KILLED, error == -ENOENT ? 0 : error);
	control_close(w);
}

const struct kind owner_kind = {
	.name = "owner", .step = owner_step, .rest = control_close, .pause = 50,
};

/*
 * Short of memory. Errors that say so are expected; what was refused that way
 * must not be there afterwards. ENOBUFS says that request or answer were lost,
 * so that the command may have been carried out.
 */
static void fault_end(struct worker *w, int error)
{
	if (error == -ENOMEM || error == -ENOBUFS)
		end(w, A_FAULT_REFUSED, 0);
	else
		end(w, A_FAULT_CONTROL, error, ENOENT, EEXIST);
}

static void fault_attach(struct worker *w, struct ktb_nl *nl, __u32 session)
{
	const char *name = draw_event(&w->rng);
	bool detach = draw(&w->rng, 2), there;
	struct ktb_event e;
	int error;

	/* Drawn before, perhaps. */
	there = !ktb_event_find(nl, session, name, &e);
	faults(true);
	error = attach_plain(nl, session, name, &e);
	faults(false);
	fault_end(w, error);
	if (error == -ENOMEM && !there && !ktb_event_find(nl, session, name, &e))
		complain(w, "%s was refused for want of memory, and attached", name);
	if (error || !detach)
		return;
	faults(true);
	error = ktb_event_detach(nl, session, e.id, &e);
	faults(false);
	fault_end(w, error);
	/* The reply may be what there was no memory for. */
	if (!error && e.id)
		check_ledger(w, &e);
}

/*
 * On a socket of its own: one whose dump found no memory refuses another one, EBUSY,
 * until the rest was read.
 */
static void fault_dump(struct worker *w, int (*count)(struct ktb_nl *nl))
{
	struct ktb_nl nl;
	int error;

	if (ktb_nl_open(&nl))
		return;
	faults(true);
	error = count_or_error(count(&nl));
	faults(false);
	fault_end(w, error);
	ktb_nl_close(&nl);
}

static void fault_control(struct worker *w)
{
	const char *name = own_name(w, 'f');
	__u64 size = draw_ring_size(&w->rng);
	int events = draw(&w->rng, 4);
	struct ktb_nl *nl = control(w);
	struct ktb_session s;
	int error;

	if (!nl)
		return;
	faults(true);
	error = session_new(nl, name, 0, size, 0, &s);
	faults(false);
	fault_end(w, error);
	if (error == -ENOMEM && !ktb_session_find(nl, name, &s))
		complain(w, "the session was refused for want of memory, and made");
	if (ktb_session_find(nl, name, &s))
		return;
	while (events--)
		fault_attach(w, nl, s.id);
	fault_dump(w, ktb_session_count);
	fault_dump(w, ktb_event_count);
	faults(true);
	error = ktb_session_del(nl, s.id);
	faults(false);
	fault_end(w, error);
	if (error)
		ktb_session_del(nl, s.id);
	if (!module_moved(w) && ktb_session_find(nl, name, &s) != -ENOENT)
		complain(w, "the session could not be removed");
}

static void fault_reader(struct worker *w)
{
	char buf[4096];
	struct ktb_session s;
	struct ktb_ring ring;
	int fd, error;

	if (find_session(w, draw_session(&w->rng), &s))
		return;
	faults(true);
	fd = ktb_dev_open_bind(s.id, -1);
	error = fd < 0 ? fd : 0;
	if (fd >= 0) {
		fcntl(fd, F_SETFL, O_NONBLOCK);
		error = ktb_ring_map(&ring, fd, 0);
		if (!error)
			ktb_ring_unmap(&ring);
		if (read(fd, buf, sizeof(buf)) < 0 && errno == ENOMEM)
			complain(w, "read needs memory");
	}
	faults(false);
	if (fd >= 0)
		close(fd);
	if (error == -ENOMEM || error == -ENFILE)
		end(w, A_FAULT_REFUSED, 0);
	else
		end(w, A_FAULT_READER, error, ENOENT, EBUSY, ENODATA);
}

static void fault_step(struct worker *w)
{
	bool reader = draw(&w->rng, 4) == 0;

	begin(w, reader ? A_FAULT_READER : A_FAULT_CONTROL);
	if (!reader)
		fault_control(w);
	else if (!__atomic_load_n(&shared->keep_off, __ATOMIC_RELAXED))
		fault_reader(w);
}

const struct kind fault_kind = {
	.name = "fault", .step = fault_step, .rest = control_close, .pause = 10,
};
