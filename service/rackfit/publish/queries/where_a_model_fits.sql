-- title: Where does a model fit
-- description: Every shape that holds the model, smallest first, 8192 tokens, one sequence. Bytes are per device.
-- parameter model: any name of a model; empty means Qwen3-32B
-- parameter precision: any name of a format; empty means all
-- example: model=gpt-oss-120b
select
  configurations.device_count, fits.configuration_id, fits.precision_id, fits.verdict, fits.tp, fits.pp, fits.ep,
  fits.total_bytes, fits.usable_bytes, fits.margin_bytes, fits.max_context, fits.max_sequences_8k, fits.support
from inference_fits as fits join configurations using (configuration_id)
where fits.model_id = resolve_name('model', coalesce(nullif(:model, ''), 'qwen/qwen3-32b'))
  and fits.verdict in ('fits', 'tight')
  and (coalesce(:precision, '') = '' or fits.precision_id = resolve_name('precision', :precision))
order by configurations.memory_bytes_summed, configurations.device_count, verdict_rank(fits.verdict) desc
