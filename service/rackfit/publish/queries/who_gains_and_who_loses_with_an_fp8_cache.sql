-- title: Who gains, and who loses, when the cache is FP8
-- description: One device, one model copy. At 16 bits against 8 bits per cached value: what flips, and for whom 8 bits save little because most of the cache is state or windows that do not shrink with it. Lowest saving first among those that do not flip.
-- parameter device: any name of a device; empty means RTX 4090
-- parameter context: tokens per sequence; empty means 32768
-- parameter sequences: how many; empty means 4
-- example: device=rtx-4090&context=32768&sequences=4
with asked as (
  select
    cast(coalesce(nullif(:context, ''), '32768') as integer) as context,
    cast(coalesce(nullif(:sequences, ''), '4') as integer) as sequences
), sized as (
  select
    fits.model_id, fits.precision_id,
    fits.usable_bytes - fits.weights_bytes - fits.workspace_bytes - fits.runtime_bytes as room_bytes,
    kv_bytes(fits.model_id, 'bf16', asked.context, asked.sequences) as kv_16_bit_bytes,
    kv_bytes(fits.model_id, 'fp8', asked.context, asked.sequences) as kv_fp8_bytes
  from asked
  join configurations
  join inference_fits as fits using (configuration_id)
  join models using (model_id)
  where configurations.accelerator_id
      = resolve_name('accelerator', coalesce(nullif(:device, ''), 'nvidia-rtx-4090'))
    and configurations.device_count = 1
    and fits.verdict in ('fits', 'tight') and fits.kv_bytes > 0
    and coalesce(models.max_context, asked.context) >= asked.context
)
select
  model_id, precision_id,
  case when kv_16_bit_bytes <= room_bytes then 'fits' else 'no' end as verdict_16_bit,
  case when kv_fp8_bytes <= room_bytes then 'fits' else 'no' end as verdict_fp8,
  kv_16_bit_bytes, kv_fp8_bytes, round(1.0 * kv_16_bit_bytes / kv_fp8_bytes, 2) as times_smaller, room_bytes
from sized
order by (kv_16_bit_bytes > room_bytes and kv_fp8_bytes <= room_bytes) desc, times_smaller, model_id
