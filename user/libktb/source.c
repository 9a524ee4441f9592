// SPDX-License-Identifier: LGPL-2.1-only
/* The module's own event sources over the control connection. */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

struct source_list {
	struct ktb_source_info *all;
	unsigned int nr;
};

static int parse_next(struct nlattr *head, int len, void *arg)
{
	struct source_list *list = arg;
	struct ktb_source_info *source;
	struct nlattr *attr;
	int left;

	source = ktb_array_more(list->all, list->nr, sizeof(*source));
	if (!source)
		return -ENOMEM;
	list->all = source;
	source += list->nr++;
	nla_for_each_attr(attr, head, len, left) {
		switch (nla_type(attr)) {
		case KTB_A_SOURCE_NAME:
			ktb_attr_text(attr, source->name, sizeof(source->name));
			break;
		case KTB_A_SOURCE_TYPE:
			source->type = ktb_attr_uint(attr);
			break;
		case KTB_A_SOURCE_PATH:
			source->path = ktb_attr_uint(attr);
			break;
		case KTB_A_SOURCE_SIZE:
			source->size = ktb_attr_uint(attr);
			break;
		}
	}
	return 0;
}

int ktb_source_list(struct ktb_conn *conn, struct ktb_source_info **list)
{
	struct source_list sources = { 0 };
	struct ktb_parse parse = { parse_next, &sources };
	struct nl_msg *msg;
	int err = ktb_request_new(conn, KTB_CMD_SOURCE_GET, NLM_F_DUMP, &msg);

	if (err)
		return err;
	err = ktb_request_send(conn, msg, &parse);
	if (err) {
		free(sources.all);
		return err;
	}
	*list = sources.all;
	return sources.nr;
}

void ktb_source_list_free(struct ktb_source_info *list)
{
	free(list);
}
