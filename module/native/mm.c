// SPDX-License-Identifier: GPL-2.0-only
/* Memory. */

#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/swiotlb.h>

#define KTB_HEADER <trace/events/cma.h>
#include "native_probe.h"

struct compact_control;

#define KTB_OMIT_mm_compaction_begin 1
#define KTB_OMIT_mm_compaction_end 1
#define KTB_HEADER <trace/events/compaction.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/damon.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/huge_memory.h>
#include "native_probe.h"

#define KTB_OMIT_kmem_cache_alloc 1
#define KTB_OMIT_kmem_cache_free 1
#define KTB_OMIT_mm_page_alloc_extfrag 1
#define KTB_OMIT_rss_stat 1
#define KTB_HEADER <trace/events/kmem.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/ksm.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/memcg.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/memory-failure.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/migrate.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/mmap.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/mmap_lock.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/oom.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/page_isolation.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/pagemap.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/percpu.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/swiotlb.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/thp.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/tlb.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/vmalloc.h>
#include "native_probe.h"

#define KTB_HEADER <trace/events/vmscan.h>
#include "native_probe.h"
