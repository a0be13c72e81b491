-- title: What runs on a device
-- description: Each model once, in its released format where that fits, else in the one with the most bits that does. First what runs comfortably (5 % of memory free and 16K of context, or all the model has), newest half-year first, then the larger; what barely loads comes last. A chip that is sold with several sizes of memory has a row for each.
-- parameter device: any name of a device; empty means RTX 4090
-- parameter count: how many of them; empty means 1
-- example: device=rtx-3090&count=2
with ranked as (
  select
    fits.*, configurations.memory_bytes_summed, precisions.effective_bits,
    row_number() over (
      partition by configuration_id, fits.model_id
      order by
        verdict_rank(fits.verdict) desc, fits.precision_id = models.native_precision_id desc,
        precisions.effective_bits desc
    ) as place,
    models.params_total, models.params_active, models.release_date,
    fits.verdict = 'fits' and fits.margin_bytes >= 0.05 * fits.usable_bytes
      and coalesce(fits.max_context, 16384) >= min(16384, coalesce(models.max_context, 16384)) as comfortable
  from configurations
  join inference_fits as fits using (configuration_id)
  join precisions using (precision_id)
  join models using (model_id)
  where configurations.accelerator_id
      = resolve_name('accelerator', coalesce(nullif(:device, ''), 'nvidia-rtx-4090'))
    and configurations.device_count = cast(coalesce(nullif(:count, ''), '1') as integer)
    and configurations.node_count = 1
    and fits.verdict in ('fits', 'tight')
    and models.kv_elems_per_token_full + models.kv_elems_per_token_windowed + models.recurrent_state_elems > 0
)
select
  model_id, params_total, params_active, precision_id, effective_bits, verdict, total_bytes, margin_bytes, max_context,
  max_sequences_8k, support, release_date, configuration_id
from ranked
where place = 1
order by
  comfortable desc,
  cast(substr(release_date, 1, 4) as integer) * 2 + (substr(release_date, 6, 2) > '06') desc,
  params_total desc, model_id, memory_bytes_summed
