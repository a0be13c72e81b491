-- title: Prices of a device over time
-- description: Unflagged hourly prices of one device by the month from which they hold, with what kind of price each is. Kinds of term, of price and currencies are never mixed in one row; months without a price are absent.
-- parameter device: any name of a device; empty means H100 SXM5 80GB
-- parameter currency: three letters; empty means USD
-- example: device=h100-sxm5-80gb
with ranked as (
  select
    substr(valid_from, 1, 7) as month, term_class, price_kind, currency, provider, price_per_device,
    row_number() over (
      partition by substr(valid_from, 1, 7), term_class, price_kind, currency order by price_per_device
    ) as position,
    count(*) over (partition by substr(valid_from, 1, 7), term_class, price_kind, currency) as prices
  from offers
  where kind = 'hourly' and flag is null
    and accelerator_id = resolve_name('accelerator', coalesce(nullif(:device, ''), 'h100-sxm5-80gb'))
    and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
)
select
  month, term_class, price_kind, currency, max(prices) as prices, count(distinct provider) as providers,
  min(price_per_device) as lowest,
  max(case when position = (prices + 1) / 2 then price_per_device end) as median,
  max(price_per_device) as highest
from ranked
group by month, term_class, price_kind, currency
order by month, term_class, price_kind
