/* SPDX-License-Identifier: GPL-2.0-only */
/* Temporary probes: removed when the sessions they were attached to are gone. */
#ifndef KTBCTL_PROBE_WATCH_H
#define KTBCTL_PROBE_WATCH_H

#include "ktb.h"

int probe_watch(const struct ktb_probe *probes, unsigned int nr);

#endif /* KTBCTL_PROBE_WATCH_H */
