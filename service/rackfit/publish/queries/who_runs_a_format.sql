-- title: Who runs a format
-- description: Engines and devices by how they run a number format. Weight only means that it loads and saves memory but computes in 16 bits.
-- parameter precision: any name of a format; empty means fp8
-- example: precision=mxfp4
select
  support.precision_id, support.runtime_id, support.vendor, support.architecture, support.support,
  support.version_from, support.version_to, support.kernel, support.extra_memory, support.source_id
from precision_support as support
join precisions as asked on asked.precision_id = resolve_name('precision', coalesce(nullif(:precision, ''), 'fp8'))
where support.precision_id in (asked.precision_id, asked.support_as)
order by support.vendor, support.architecture, support.runtime_id
