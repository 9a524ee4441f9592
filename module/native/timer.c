// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/timer.h>

#define KTB_HEADER <trace/events/timer.h>
#define KTB_LIST ktb_native_list_timer
#include "native_probe.h"
