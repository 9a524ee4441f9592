// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/module.h>

#define KTB_HEADER <trace/events/module.h>
#define KTB_LIST ktb_native_list_module
#include "native_probe.h"
