// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/power.h>

#define KTB_HEADER <trace/events/power.h>
#define KTB_LIST ktb_native_list_power
#include "native_probe.h"
