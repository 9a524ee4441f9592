// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/task.h>

#define KTB_HEADER <trace/events/task.h>
#define KTB_LIST ktb_native_list_task
#include "native_probe.h"
