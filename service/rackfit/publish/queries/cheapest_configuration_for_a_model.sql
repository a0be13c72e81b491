-- title: Cheapest configuration for a model
-- description: Lowest on-record on-demand price in US dollars, and beside it as spot, among the shapes that fit, 8192 tokens, one sequence. Shapes without a price are not in this list: see where_a_model_fits.
-- parameter model: any name of a model; empty means Llama-3.1-70B
-- parameter precision: any name of a format; empty means all
-- example: model=qwen3-32b
select
  fits.lowest_usd_per_hour, fits.lowest_spot_usd_per_hour, fits.configuration_id, fits.precision_id, fits.verdict, fits.tp, fits.pp,
  fits.margin_bytes, fits.max_context, fits.max_sequences_8k, fits.tdp_w_accelerators
from fits_with_cost as fits
where fits.model_id = resolve_name('model', coalesce(nullif(:model, ''), 'meta-llama/llama-3.1-70b'))
  and fits.verdict in ('fits', 'tight')
  and (coalesce(:precision, '') = '' or fits.precision_id = resolve_name('precision', :precision))
  and fits.lowest_usd_per_hour is not null
order by fits.lowest_usd_per_hour, verdict_rank(fits.verdict) desc, fits.memory_bytes_summed
