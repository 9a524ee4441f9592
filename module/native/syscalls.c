// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/syscalls.h>

#define KTB_HEADER <trace/events/syscalls.h>
#define KTB_LIST ktb_native_list_syscalls
#include "native_probe.h"
