-- title: What runs on a device
-- description: For each model the format with the most bits that fits so many of one device. Largest models first among those with room to spare; what is tight comes last.
-- parameter device: any name of a device; empty means RTX 4090
-- parameter count: how many of them; empty means 1
-- example: device=rtx-3090&count=2
with ranked as (
  select
    fits.*, precisions.effective_bits,
    row_number() over (
      partition by fits.model_id order by verdict_rank(fits.verdict) desc, precisions.effective_bits desc
    ) as place
  from configurations
  join inference_fits as fits using (configuration_id)
  join precisions using (precision_id)
  where configurations.accelerator_id
      = resolve_name('accelerator', coalesce(nullif(:device, ''), 'nvidia-rtx-4090'))
    and configurations.device_count = cast(coalesce(nullif(:count, ''), '1') as integer)
    and configurations.node_count = 1
    and fits.verdict in ('fits', 'tight')
)
select
  ranked.model_id, models.params_total, models.params_active, ranked.precision_id, ranked.effective_bits,
  ranked.verdict, ranked.total_bytes, ranked.margin_bytes, ranked.max_context, ranked.max_sequences_8k, ranked.support,
  models.release_date
from ranked join models using (model_id)
where ranked.place = 1
order by verdict_rank(ranked.verdict) desc, models.params_total desc
