/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _KTB_PERFCORE_H
#define _KTB_PERFCORE_H

struct ktb_event;
struct netlink_ext_ack;
struct perf_event_attr;

int ktb_perfcore_prepare(struct ktb_event *event, const struct perf_event_attr *attr,
			 struct netlink_ext_ack *extack);
const struct perf_event_attr *ktb_perfcore_attr(const struct ktb_event *event);
int ktb_perfcore_init(void);
void ktb_perfcore_exit(void);

#endif /* _KTB_PERFCORE_H */
