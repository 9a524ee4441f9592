// SPDX-License-Identifier: GPL-2.0-only
/* The commands on events. Process context. */

#include <linux/cpumask.h>

#include "cgroup.h"
#include "compat.h"
#include "generated/netlink.h"
#include "netlink.h"
#include "perfcore.h"
#include "session.h"

/* Upper bound of what one ledger takes in a message. */
#define KTB_NL_LEDGER_SIZE	144

static int ktb_nl_put_ledger(struct sk_buff *skb, int attr, int cpu,
			     const struct ktb_ledger *ledger)
{
	struct nlattr *nest = nla_nest_start(skb, attr);

	if (!nest)
		return -EMSGSIZE;
	if ((cpu >= 0 && nla_put_u32(skb, KTB_A_LEDGER_CPU, cpu)) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_HITS, ledger->hits) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_WRITTEN, ledger->written) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_FILTERED, ledger->filtered) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_NOT_SAMPLED, ledger->not_sampled) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_LOST_FULL, ledger->lost_full) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_LOST_BIG, ledger->lost_big) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_LOST_RECURSION, ledger->lost_recursion) ||
	    ktb_nl_put_u64(skb, KTB_A_LEDGER_COUNT, ledger->count) ||
	    (ledger->throttled &&
	     ktb_nl_put_u64(skb, KTB_A_LEDGER_THROTTLED, ledger->throttled))) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int ktb_nl_put_target(struct sk_buff *skb,
			     const struct ktb_target_options *target)
{
	unsigned int i;

	for (i = 0; i < target->nr_pids; i++)
		if (nla_put_u32(skb, KTB_A_EVENT_PID, target->pids[i]))
			return -EMSGSIZE;
	for (i = 0; i < target->nr_tids; i++)
		if (nla_put_u32(skb, KTB_A_EVENT_TID, target->tids[i]))
			return -EMSGSIZE;
	if (target->inherit && nla_put_flag(skb, KTB_A_EVENT_INHERIT))
		return -EMSGSIZE;
	return 0;
}

static noinline_for_stack int ktb_nl_put_cpus(struct sk_buff *skb, const cpumask_t *cpus)
{
	char list[KTRACE_BRIDGE_CPUS_LEN + 1];

	scnprintf(list, sizeof(list), "%*pbl", cpumask_pr_args(cpus));
	return nla_put_string(skb, KTB_A_EVENT_CPUS, list);
}

static noinline_for_stack int ktb_nl_put_cgroup(struct sk_buff *skb, struct cgroup *cgroup)
{
	char path[KTRACE_BRIDGE_CGROUP_LEN + 1];

	ktb_cgroup_path(cgroup, path, sizeof(path));
	return nla_put_string(skb, KTB_A_EVENT_CGROUP, path);
}

static int ktb_nl_put_perf_attr(struct sk_buff *skb, const struct ktb_event *event)
{
	const struct perf_event_attr *attr = ktb_perfcore_attr(event);

	return attr ? nla_put(skb, KTB_A_EVENT_PERF_ATTR, sizeof(*attr), attr) : 0;
}

static int ktb_nl_put_event_head(struct sk_buff *skb, const struct ktb_event *event)
{
	if (nla_put_u32(skb, KTB_A_EVENT_SESSION_ID, event->session->id) ||
	    ktb_nl_put_u64(skb, KTB_A_EVENT_ID, event->id) ||
	    nla_put_string(skb, KTB_A_EVENT_NAME, event->name) ||
	    nla_put_u32(skb, KTB_A_EVENT_TYPE, event->type) ||
	    nla_put_u32(skb, KTB_A_EVENT_PATH, event->source->path) ||
	    nla_put_u8(skb, KTB_A_EVENT_ENABLED, event->enabled) ||
	    ktb_nl_put_u64(skb, KTB_A_EVENT_PERIOD, event->period) ||
	    ktb_nl_put_perf_attr(skb, event) ||
	    (event->program &&
	     nla_put_u32(skb, KTB_A_EVENT_PROGRAM_ID, event->program->aux->id)))
		return -EMSGSIZE;
	if (event->target && ktb_nl_put_target(skb, &event->target->asked))
		return -EMSGSIZE;
	if (event->on_cpus && ktb_nl_put_cpus(skb, &event->cpus))
		return -EMSGSIZE;
	return event->cgroup ? ktb_nl_put_cgroup(skb, event->cgroup) : 0;
}

/*
 * One message about an event: with @per_cpu the ledgers of the CPUs from *@cpu
 * on, as many as fit. *@cpu is moved, to 0 at the end; -EMSGSIZE when the
 * message had no room for any. @alone: there is no more room to be had.
 */
static int ktb_nl_put_event(struct sk_buff *skb, struct ktb_event *event,
			    bool alone, bool per_cpu, unsigned long *cpu)
{
	unsigned long from = *cpu;
	struct ktb_ledger ledger;
	int err;

	ktb_event_ledger(event, &ledger);
	err = ktb_nl_put_event_head(skb, event) ?:
	      ktb_nl_put_ledger(skb, KTB_A_EVENT_LEDGER, -1, &ledger);
	if (err)
		return err;
	/* For people. A dump has no room for it where all else is as long as can be. */
	if (event->program_text &&
	    nla_put_string(skb, KTB_A_EVENT_PROGRAM_TEXT, event->program_text) && !alone)
		return -EMSGSIZE;

	for (; per_cpu && *cpu < nr_cpu_ids; ++*cpu) {
		if (!cpu_possible(*cpu))
			continue;
		ledger = (struct ktb_ledger) {};
		ktb_ledger_add(&ledger, per_cpu_ptr(event->cpu, *cpu));
		if (!ledger.hits)
			continue;
		if (ktb_nl_put_ledger(skb, KTB_A_EVENT_CPU_LEDGER, *cpu, &ledger))
			return *cpu > from ? 0 : -EMSGSIZE;
	}
	*cpu = 0;
	return 0;
}

static size_t ktb_nl_event_size(bool per_cpu)
{
	return NLMSG_DEFAULT_SIZE + nla_total_size(KTRACE_BRIDGE_PROGRAM_TEXT_LEN + 1) +
	       (per_cpu ? num_possible_cpus() * KTB_NL_LEDGER_SIZE : 0);
}

static struct ktb_session *ktb_nl_event_session(struct genl_info *info)
{
	if (!info->attrs[KTB_A_EVENT_SESSION_ID]) {
		GENL_SET_ERR_MSG(info, "session-id: missing");
		return ERR_PTR(-EINVAL);
	}
	return ktb_nl_find_session(info->attrs[KTB_A_EVENT_SESSION_ID], NULL,
				   info->extack);
}

/* By @id if it is there, and by name if that is in the request. */
static struct ktb_event *ktb_nl_find_event_by(struct genl_info *info,
					      struct ktb_session *session,
					      const struct nlattr *id)
{
	struct nlattr *name = info->attrs[KTB_A_EVENT_NAME];
	struct ktb_event *event = NULL;

	if (!id && !name) {
		GENL_SET_ERR_MSG(info, "name the event by id or name");
		return ERR_PTR(-EINVAL);
	}
	if (!id || nla_get_u64(id))
		event = ktb_event_find(session, id ? nla_get_u64(id) : 0,
				       ktb_nl_string(name));
	if (!event) {
		NL_SET_ERR_MSG_ATTR(info->extack, id ?: name,
				    "the session has no such event");
		return ERR_PTR(-ENOENT);
	}
	return event;
}

static struct ktb_event *ktb_nl_find_event(struct genl_info *info)
{
	struct ktb_session *session = ktb_nl_event_session(info);

	if (IS_ERR(session))
		return ERR_CAST(session);
	return ktb_nl_find_event_by(info, session, info->attrs[KTB_A_EVENT_ID]);
}

/* Choose all events that are named by id. Returns their number, or an error. */
static int ktb_nl_choose_ids(struct genl_info *info, struct ktb_session *session)
{
	const struct nlattr *attr;
	struct ktb_event *event;
	int left, nr = 0;

	nla_for_each_attr(attr, genlmsg_data(info->genlhdr),
			  genlmsg_len(info->genlhdr), left) {
		if (nla_type(attr) != KTB_A_EVENT_ID)
			continue;
		event = ktb_nl_find_event_by(info, session, attr);
		if (IS_ERR(event))
			return PTR_ERR(event);
		nr += !event->chosen;
		event->chosen = true;
	}
	return nr;
}

/* The session of the events that a request names, and these chosen in it. */
static struct ktb_session *ktb_nl_choose(struct genl_info *info, int *nr)
{
	struct ktb_session *session = ktb_nl_event_session(info);
	struct ktb_event *event;

	if (IS_ERR(session))
		return session;
	ktb_events_choose(session, false);
	*nr = ktb_nl_choose_ids(info, session);
	if (*nr < 0)
		return ERR_PTR(*nr);
	if (*nr)
		return session;

	event = ktb_nl_find_event_by(info, session, NULL);
	if (IS_ERR(event))
		return ERR_CAST(event);
	event->chosen = true;
	*nr = 1;
	return session;
}

static int ktb_nl_event_attach(struct sk_buff *reply, struct genl_info *info)
{
	struct ktb_session *session = ktb_nl_event_session(info);
	struct ktb_event_options options;
	struct perf_event_attr attr;
	struct ktb_event *event;
	unsigned long cpu = 0;
	int err;

	if (IS_ERR(session))
		return PTR_ERR(session);
	err = ktb_nl_event_options(info, &options, &attr);
	if (err)
		goto out;
	event = ktb_event_attach(session, &options, info->extack);
	err = IS_ERR(event) ? PTR_ERR(event) :
			      ktb_nl_put_event(reply, event, true, false, &cpu);
out:
	kvfree(options.function.names);
	return err;
}

static int ktb_nl_event_detach(struct sk_buff *reply, struct genl_info *info)
{
	struct ktb_session *session;
	struct ktb_event *event;
	struct ktb_ledger last;
	int nr, err;

	session = ktb_nl_choose(info, &nr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	if (nr > 1) {
		ktb_events_detach(session);
		return nla_put_u32(reply, KTB_A_EVENT_SESSION_ID, session->id);
	}
	event = ktb_nl_find_event(info);
	err = ktb_nl_put_event_head(reply, event);
	if (err)
		return err;
	ktb_event_detach(event, &last);
	return ktb_nl_put_ledger(reply, KTB_A_EVENT_LEDGER, -1, &last);
}

static int ktb_nl_event_set(struct sk_buff *reply, struct genl_info *info)
{
	struct nlattr *enabled = info->attrs[KTB_A_EVENT_ENABLED];
	struct ktb_session *session;
	int nr;

	session = ktb_nl_choose(info, &nr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	if (!enabled || nla_get_u8(enabled) > 1) {
		GENL_SET_ERR_MSG(info, "enabled: must be given, 0 or 1");
		return -EINVAL;
	}
	ktb_events_enable(session, nla_get_u8(enabled));
	return 0;
}

static int ktb_nl_event_get(struct sk_buff *reply, struct genl_info *info)
{
	struct ktb_event *event = ktb_nl_find_event(info);
	unsigned long cpu = 0;

	if (IS_ERR(event))
		return PTR_ERR(event);
	return ktb_nl_put_event(reply, event, true,
				nla_get_flag(info->attrs[KTB_A_EVENT_PER_CPU]),
				&cpu);
}

/*
 * The reply is made before the command runs, so that one that succeeded does
 * not fail for want of memory.
 */
static int ktb_nl_event_do(struct sk_buff *skb, struct genl_info *info,
			   int (*command)(struct sk_buff *reply,
					  struct genl_info *info))
{
	int err = ktb_nl_allow(skb, info->extack);
	struct sk_buff *reply;
	void *header;

	if (err)
		return err;
	reply = ktb_nl_reply_new(info, ktb_nl_event_size(true), &header);
	if (!reply) {
		GENL_SET_ERR_MSG(info, "out of memory");
		return -ENOMEM;
	}
	mutex_lock(&ktb_lock);
	err = command(reply, info);
	mutex_unlock(&ktb_lock);
	return ktb_nl_reply_send(reply, header, info, err);
}

int ktrace_bridge_nl_event_attach_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ktb_nl_event_do(skb, info, ktb_nl_event_attach);
}

int ktrace_bridge_nl_event_detach_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ktb_nl_event_do(skb, info, ktb_nl_event_detach);
}

int ktrace_bridge_nl_event_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return ktb_nl_event_do(skb, info, ktb_nl_event_get);
}

int ktrace_bridge_nl_event_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	int err = ktb_nl_allow(skb, info->extack);

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	err = ktb_nl_event_set(NULL, info);
	mutex_unlock(&ktb_lock);
	return err;
}

/* One message of a dump; *@cpu as in ktb_nl_put_event(). */
static int ktb_nl_dump_event(struct sk_buff *skb, struct netlink_callback *cb,
			     struct ktb_event *event, bool per_cpu,
			     unsigned long *cpu)
{
	const bool alone = !skb->len;
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				   cb->nlh->nlmsg_seq, &ktb_genl_family,
				   NLM_F_MULTI, KTB_CMD_EVENT_GET);

	if (!header)
		return -EMSGSIZE;
	if (ktb_nl_put_event(skb, event, alone, per_cpu, cpu)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static bool ktb_nl_event_asked_for(const struct ktb_event *event,
				   struct nlattr **attrs)
{
	const char *name = ktb_nl_string(attrs[KTB_A_EVENT_NAME]);
	struct nlattr *session = attrs[KTB_A_EVENT_SESSION_ID];
	struct nlattr *id = attrs[KTB_A_EVENT_ID];

	return (!session || nla_get_u32(session) == event->session->id) &&
	       (!id || nla_get_u64(id) == event->id) &&
	       (!name || !strcmp(name, event->name));
}

/*
 * Position: args[0] and args[1], session and event last told in full; args[2],
 * the CPU to go on with in the event with the id args[3]. Both kinds of id grow
 * along the lists.
 */
static int ktb_nl_dump_session_events(struct sk_buff *skb,
				      struct netlink_callback *cb,
				      struct ktb_session *session)
{
	struct nlattr **attrs = ktb_dump_attrs(cb);
	struct ktb_event *event;
	int err = 0;

	list_for_each_entry(event, &session->events, node) {
		unsigned long cpu = event->id == cb->args[3] ? cb->args[2] : 0;

		if ((session->id == cb->args[0] && event->id <= cb->args[1]) ||
		    !ktb_nl_event_asked_for(event, attrs))
			continue;
		do {
			err = ktb_nl_dump_event(skb, cb, event,
						nla_get_flag(attrs[KTB_A_EVENT_PER_CPU]),
						&cpu);
		} while (!err && cpu);
		cb->args[2] = cpu;
		cb->args[3] = event->id;
		if (err)
			return err;
		cb->args[0] = session->id;
		cb->args[1] = event->id;
	}
	return 0;
}

int ktrace_bridge_nl_event_get_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb)
{
	int err = ktb_nl_allow(cb->skb, cb->extack);
	struct ktb_session *session;

	if (err)
		return err;
	mutex_lock(&ktb_lock);
	list_for_each_entry(session, &ktb_sessions, node) {
		if (session->id < cb->args[0])
			continue;
		err = ktb_nl_dump_session_events(skb, cb, session);
		if (err)
			break;
	}
	mutex_unlock(&ktb_lock);
	return skb->len ?: err;
}
