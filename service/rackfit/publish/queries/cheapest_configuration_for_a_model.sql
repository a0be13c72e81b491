-- title: Cheapest configuration for a model
-- description: Lowest on-record on-demand price in US dollars, with the offer behind it, and beside it as spot, among the shapes that fit, 8192 tokens, one sequence. Shapes without a price are not in this list: see where_a_model_fits.
-- parameter model: any name of a model; empty means Llama-3.1-70B
-- parameter precision: any name of a format; empty means all
-- example: model=qwen3-32b
select
  prices.price as lowest_usd_per_hour, spot.price as lowest_spot_usd_per_hour, fits.configuration_id,
  fits.precision_id, fits.verdict, offers.provider, offers.product, offers.region, offers.tier, prices.basis,
  prices.valid_from as price_valid_from, fits.tp, fits.pp, fits.margin_bytes, fits.max_context, fits.max_sequences_8k,
  prices.offer_id, offers.source_id
from inference_fits as fits
join configuration_prices as prices on prices.configuration_id = fits.configuration_id
  and prices.kind = 'hourly' and prices.currency = 'USD' and prices.term_class = 'on-demand'
join offers on offers.offer_id = prices.offer_id
left join configuration_prices as spot on spot.configuration_id = fits.configuration_id
  and spot.kind = 'hourly' and spot.currency = 'USD' and spot.term_class = 'spot' and spot.origin = prices.origin
where fits.model_id = resolve_name('model', coalesce(nullif(:model, ''), 'meta-llama/llama-3.1-70b'))
  and fits.verdict in ('fits', 'tight')
  and (coalesce(:precision, '') = '' or fits.precision_id = resolve_name('precision', :precision))
order by prices.price, verdict_rank(fits.verdict) desc, fits.configuration_id
