// SPDX-License-Identifier: GPL-2.0-only
/* What only x86 has. */

#include <asm/tlbflush.h>
#include <asm/xen/hypercall.h>

#define KTB_HEADER <asm/trace/exceptions.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/exceptions.h>
#include "native_probe.h"

#define KTB_HEADER <asm/trace/fpu.h>
#include "native_probe.h"

#define KTB_OMIT_hyperv_mmu_flush_tlb_multi 1
#define KTB_HEADER <asm/trace/hyperv.h>
#include "native_probe.h"

#define KTB_HEADER <asm/trace/irq_vectors.h>
#include "native_probe.h"

#define KTB_HEADER <asm/msr-trace.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/mce.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/xen.h>
#include "native_probe.h"
