-- title: The native format fits, 16 bits do not
-- description: Models that their makers released in fewer bits and that fit so many of one device only because of it.
-- parameter device: any name of a device; empty means H100 80 GB
-- parameter count: how many of them; empty means 1
-- example: device=h100-sxm5-80gb&count=8
select
  native.model_id, native.precision_id as native_precision_id, native.verdict, native.margin_bytes,
  wide.precision_id as wide_precision_id, wide.verdict as wide_verdict, wide.margin_bytes as wide_margin_bytes,
  native.support
from configurations
join inference_fits as native using (configuration_id)
join models on models.model_id = native.model_id and models.native_precision_id = native.precision_id
join inference_fits as wide
  on wide.model_id = native.model_id and wide.configuration_id = native.configuration_id
  and wide.precision_id in ('bf16', 'fp16')
where configurations.accelerator_id
    = resolve_name('accelerator', coalesce(nullif(:device, ''), 'nvidia-h100-sxm5-80gb'))
  and configurations.device_count = cast(coalesce(nullif(:count, ''), '1') as integer)
  and configurations.node_count = 1
  and native.precision_id not in ('bf16', 'fp16') and native.verdict in ('fits', 'tight') and wide.verdict = 'no'
order by models.params_total desc
