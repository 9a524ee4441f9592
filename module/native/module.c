// SPDX-License-Identifier: GPL-2.0-only
#include <trace/events/module.h>

/* The header sets it only for the one file that defines the tracepoints. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM module

#define KTB_HEADER <trace/events/module.h>
#define KTB_LIST ktb_native_list_module
#include "native_probe.h"
