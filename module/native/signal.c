// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/signal.h>

#define KTB_HEADER <trace/events/signal.h>
#define KTB_LIST ktb_native_list_signal
#include "native_probe.h"
