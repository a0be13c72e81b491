-- title: The label against the driver
-- description: Gigabytes on the box, and the bytes that the driver reports (or the stated rule gives). 80 GB is a label and not a number of bytes.
-- parameter vendor: NVIDIA, AMD, Apple, ...; empty means all
-- example: vendor=NVIDIA
select
  accelerator_id, memory_gb, memory_unit_label, usable_memory_bytes, fit_memory_bytes, fit_memory_rule,
  round(100.0 * fit_memory_bytes / (memory_gb * 1073741824.0), 2) as percent_of_label_as_gib,
  round(100.0 * fit_memory_spread, 2) as spread_percent, unified_memory
from accelerators
where memory_gb is not null and (coalesce(:vendor, '') = '' or vendor = :vendor collate nocase)
order by percent_of_label_as_gib, accelerator_id
