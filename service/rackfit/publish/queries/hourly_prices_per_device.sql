-- title: Hourly prices per device
-- description: Dated offers by the price of one device-hour, each in its own currency; currencies are never added. What is included differs: see tier, term and note.
-- parameter device: any name of a device; empty means all
-- parameter currency: three letters; empty means USD
-- example: device=h100-sxm5-80gb&currency=USD
select
  price_per_device, currency, accelerator_id, device_count, provider, product, tier, term, region, valid_from,
  price_kind, flag, source_id
from offers
where kind = 'hourly' and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
  and (coalesce(:device, '') = '' or accelerator_id = resolve_name('accelerator', :device))
order by flag is not null, price_per_device, valid_from desc
