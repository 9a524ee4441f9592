// SPDX-License-Identifier: LGPL-2.1-only
/* The kernel's extended acknowledgment: its text, and what it was about. */
#include <stdio.h>
#include <string.h>

#include <netlink/genl/genl.h>

#include "internal.h"

/* As the spec calls them; tests/test_control.c finds one that is forgotten. */
static const char *const session_attrs[KTB_A_SESSION_MAX + 1] = {
	[KTB_A_SESSION_ID] = "id",
	[KTB_A_SESSION_NAME] = "name",
	[KTB_A_SESSION_FLAGS] = "flags",
	[KTB_A_SESSION_RING_SIZE] = "ring-size",
	[KTB_A_SESSION_WATERMARK] = "watermark",
	[KTB_A_SESSION_ENABLED] = "enabled",
	[KTB_A_SESSION_SAMPLE_TYPE] = "sample-type",
	[KTB_A_SESSION_MAX_STACK] = "max-stack",
	[KTB_A_SESSION_EVENTS] = "events",
	[KTB_A_SESSION_OWNER] = "owner",
	[KTB_A_SESSION_READER] = "reader",
	[KTB_A_SESSION_RING] = "ring",
};

static const char *const event_attrs[KTB_A_EVENT_MAX + 1] = {
	[KTB_A_EVENT_SESSION_ID] = "session-id",
	[KTB_A_EVENT_ID] = "id",
	[KTB_A_EVENT_NAME] = "name",
	[KTB_A_EVENT_TYPE] = "type",
	[KTB_A_EVENT_PATH] = "path",
	[KTB_A_EVENT_ENABLED] = "enabled",
	[KTB_A_EVENT_PERIOD] = "period",
	[KTB_A_EVENT_PID] = "pid",
	[KTB_A_EVENT_PER_CPU] = "per-cpu",
	[KTB_A_EVENT_LEDGER] = "ledger",
	[KTB_A_EVENT_CPU_LEDGER] = "cpu-ledger",
	[KTB_A_EVENT_TID] = "tid",
	[KTB_A_EVENT_INHERIT] = "inherit",
	[KTB_A_EVENT_CPUS] = "cpus",
	[KTB_A_EVENT_PERF_ATTR] = "perf-attr",
	[KTB_A_EVENT_FUNCTION] = "function",
	[KTB_A_EVENT_GRAPH] = "graph",
	[KTB_A_EVENT_CGROUP] = "cgroup",
	[KTB_A_EVENT_PROGRAM] = "program",
	[KTB_A_EVENT_PROGRAM_TEXT] = "program-text",
	[KTB_A_EVENT_PROGRAM_ID] = "program-id",
};

static const char *const source_attrs[KTB_A_SOURCE_MAX + 1] = {
	[KTB_A_SOURCE_NAME] = "name",
	[KTB_A_SOURCE_TYPE] = "type",
	[KTB_A_SOURCE_PATH] = "path",
	[KTB_A_SOURCE_SIZE] = "size",
};

struct attr_set {
	const char *const *names;
	unsigned int max;
};

static const struct attr_set session_set = { session_attrs, KTB_A_SESSION_MAX };
static const struct attr_set event_set = { event_attrs, KTB_A_EVENT_MAX };
static const struct attr_set source_set = { source_attrs, KTB_A_SOURCE_MAX };

/* What each command's attributes are called. */
static const struct attr_set *const attr_sets[__KTB_CMD_MAX] = {
	[KTB_CMD_SESSION_NEW] = &session_set, [KTB_CMD_SESSION_DEL] = &session_set,
	[KTB_CMD_SESSION_SET] = &session_set, [KTB_CMD_SESSION_GET] = &session_set,
	[KTB_CMD_EVENT_ATTACH] = &event_set,  [KTB_CMD_EVENT_DETACH] = &event_set,
	[KTB_CMD_EVENT_SET] = &event_set,     [KTB_CMD_EVENT_GET] = &event_set,
	[KTB_CMD_SOURCE_GET] = &source_set,
};

static const char *attr_name(const struct nlmsghdr *request, unsigned int type)
{
	const struct genlmsghdr *genl = nlmsg_data(request);
	const struct attr_set *set = NULL;

	if (genl->cmd < __KTB_CMD_MAX)
		set = attr_sets[genl->cmd];
	if (!set || type > set->max)
		return NULL;
	return set->names[type];
}

/* The attribute that begins @offset bytes after the request's header does. */
static const char *attr_at(const struct nlmsghdr *request, unsigned int offset)
{
	unsigned int at = NLMSG_HDRLEN + GENL_HDRLEN;
	const struct nlattr *attr;

	while (at + NLA_HDRLEN <= request->nlmsg_len) {
		attr = (const void *)((const char *)request + at);
		if (at == offset)
			return attr_name(request, nla_type(attr));
		if (attr->nla_len < NLA_HDRLEN)
			break;
		at += NLA_ALIGN(attr->nla_len);
	}
	return NULL;
}

/* Read the attributes behind an error or the end of a dump. */
void ktb_extack_parse(struct ktb_extack *extack, struct nlattr *tlvs, int len,
		      const struct nlmsghdr *request)
{
	struct nlattr *attr;
	int left;

	nla_for_each_attr(attr, tlvs, len, left) {
		switch (nla_type(attr)) {
		case NLMSGERR_ATTR_MSG:
			ktb_attr_text(attr, extack->text, sizeof(extack->text));
			break;
		case NLMSGERR_ATTR_OFFS:
			extack->attr = attr_at(request, ktb_attr_uint(attr));
			break;
		case NLMSGERR_ATTR_MISS_TYPE:
			extack->attr = attr_name(request, ktb_attr_uint(attr));
			extack->missing = true;
			break;
		}
	}
}
