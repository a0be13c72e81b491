-- title: On demand beside spot, by region
-- description: The newest on-demand, spot and reserved prices of each product and region of a device, each in a column: the region that is cheapest on demand need not be the cheapest for spot. Flagged prices are left out.
-- parameter device: any name of a device; empty means H100 SXM5 80GB
-- parameter currency: three letters; empty means USD
-- example: device=a100-sxm4-80gb
with newest as (
  select *, row_number() over (
    partition by provider, product, device_count, region, tier, term order by valid_from desc, price
  ) as place
  from offers
  where kind = 'hourly' and flag is null
    and accelerator_id = resolve_name('accelerator', coalesce(nullif(:device, ''), 'h100-sxm5-80gb'))
    and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
)
select
  provider, product, region, tier, device_count,
  min(case when term_class = 'on-demand' then price end) as on_demand_per_hour,
  min(case when term_class = 'spot' then price end) as spot_per_hour,
  min(case when term_class = 'reserved' then price end) as reserved_per_hour,
  round(100 * (1 - min(case when term_class = 'spot' then price end)
    / min(case when term_class = 'on-demand' then price end)), 1) as spot_saves_percent,
  max(valid_from) as newest_price
from newest
where place = 1
group by provider, product, region, tier, device_count
order by coalesce(spot_per_hour, on_demand_per_hour, reserved_per_hour) / device_count, provider, region
