// SPDX-License-Identifier: GPL-2.0-only
#define KTB_HEADER <trace/events/cgroup.h>
#include "native_probe.h"
