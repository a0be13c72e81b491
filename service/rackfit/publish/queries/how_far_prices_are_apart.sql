-- title: How far prices of one device are apart
-- description: Every unflagged hourly price on record by device, kind of term and currency: how many, of how many providers, the quartiles, and the dearest over the cheapest. One price per device-hour; regions and tiers are counted apart, each once, at its newest date.
-- parameter device: any name of a device; empty means all
-- parameter kind: on-demand, spot or reserved; empty means on-demand
-- parameter currency: three letters; empty means USD
-- example: kind=on-demand&currency=USD
with newest as (
  select *, row_number() over (
    partition by accelerator_id, provider, product, device_count, region, tier, term, term_class, currency
    order by valid_from desc, price_per_device
  ) as place
  from offers
  where kind = 'hourly' and flag is null
    and term_class = lower(coalesce(nullif(:kind, ''), 'on-demand'))
    and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
    and (coalesce(:device, '') = '' or accelerator_id = resolve_name('accelerator', :device))
), ranked as (
  select
    accelerator_id, provider, term_class, currency, price_per_device, valid_from,
    row_number() over (partition by accelerator_id order by price_per_device) as position,
    count(*) over (partition by accelerator_id) as prices
  from newest
  where place = 1
)
select
  accelerator_id, term_class, currency, max(prices) as prices, count(distinct provider) as providers,
  min(price_per_device) as lowest,
  max(case when position = (prices + 3) / 4 then price_per_device end) as lower_quartile,
  max(case when position = (prices + 1) / 2 then price_per_device end) as median,
  max(case when position = (3 * prices + 3) / 4 then price_per_device end) as upper_quartile,
  max(price_per_device) as highest, round(max(price_per_device) / min(price_per_device), 1) as highest_over_lowest,
  min(valid_from) as oldest_price, max(valid_from) as newest_price
from ranked
group by accelerator_id, term_class, currency
order by prices desc, accelerator_id
