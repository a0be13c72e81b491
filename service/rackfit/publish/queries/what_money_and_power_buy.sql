-- title: What money and power buy
-- description: Memory, bandwidth and dense 16-bit rate per currency unit and per watt, by device and kind of price. Hourly values are per currency unit and hour; a device without a price on record is not in this list, see the view device_values. Rated power only: hosts come on top.
-- parameter kind: on-demand, spot, reserved, other or purchase; empty means on-demand
-- parameter currency: three letters; empty means USD
-- example: kind=purchase&currency=USD
select
  accelerator_id, price_per_device, currency, term_class, price_valid_from, provider,
  round(gb_per_price, 4) as gb_per_price, round(gb_s_per_price, 3) as gb_s_per_price,
  round(tflops_per_price, 4) as tflops_per_price, precision_name,
  round(gb_per_watt, 4) as gb_per_watt, round(gb_s_per_watt, 3) as gb_s_per_watt,
  round(tflops_per_watt, 4) as tflops_per_watt, offer_id, source_id
from device_values
where term_class = lower(coalesce(nullif(:kind, ''), 'on-demand'))
  and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
order by gb_s_per_price desc, accelerator_id
