-- title: Devices by GB/s per watt
-- description: Memory bandwidth bounds the speed of generation; power is the maker's board power, not wall power.
-- parameter segment: datacenter, workstation, consumer, laptop, unified, edge or tpu_asic; empty means all
-- example: segment=consumer
select
  accelerator_id, vendor, segment, memory_gb, memory_bandwidth_gb_s, tdp_w,
  round(memory_bandwidth_gb_s / tdp_w, 2) as gb_s_per_watt,
  round(fit_memory_bytes / 1073741824.0 / tdp_w, 3) as gib_per_watt, confidence
from accelerators
where tdp_w is not null and memory_bandwidth_gb_s is not null and status = 'released'
  and (coalesce(:segment, '') = '' or segment = :segment)
order by gb_s_per_watt desc
