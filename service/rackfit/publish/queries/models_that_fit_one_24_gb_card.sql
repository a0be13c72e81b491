-- title: Models that fit one 24 GB card
-- description: One card of the gigabytes on its label, 8192 tokens, one sequence. For each model the format with the most bits that fits, on how many such cards, and the least margin and context among them.
-- parameter label_gb: gigabytes on the label; empty means 24
-- parameter vendor: NVIDIA, AMD, ...; empty means all
-- example: label_gb=24&vendor=NVIDIA
with cards as (
  select configurations.configuration_id
  from configurations join accelerators using (accelerator_id)
  where configurations.device_count = 1
    and accelerators.memory_gb = cast(coalesce(nullif(:label_gb, ''), '24') as real)
    and (coalesce(:vendor, '') = '' or accelerators.vendor = :vendor collate nocase)
), ranked as (
  select
    fits.model_id, fits.precision_id, precisions.effective_bits,
    count(*) as cards, min(fits.margin_bytes) as least_margin_bytes, min(fits.max_context) as least_max_context,
    row_number() over (partition by fits.model_id order by precisions.effective_bits desc) as place
  from cards
  join inference_fits as fits using (configuration_id)
  join precisions using (precision_id)
  where fits.verdict = 'fits'
  group by fits.model_id, fits.precision_id
)
select
  ranked.model_id, models.params_total, ranked.precision_id, ranked.effective_bits, ranked.cards,
  ranked.least_margin_bytes, ranked.least_max_context
from ranked join models using (model_id)
where ranked.place = 1
order by models.params_total desc
