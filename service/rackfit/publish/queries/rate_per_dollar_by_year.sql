-- title: Dense rate per dollar by year of launch
-- description: Dense peak of devices launched in a year per 1,000 US dollars of the maker's price at launch, not adjusted for inflation and not the street price. Devices without such a price, date or rate are left out; the last columns count them. Best: the highest of the year.
-- parameter format: fp32, fp16, bf16, fp8, ...; empty means fp16
-- parameter segment: datacenter, workstation, consumer, laptop, unified or edge; empty means consumer
-- example: format=fp16&segment=consumer
with asked as (
  select
    accelerators.accelerator_id, substr(launch_date, 1, 4) as year, msrp_usd, rates.dense_tflops,
    1000 * rates.dense_tflops / msrp_usd as per_1000_usd
  from accelerators
  left join accelerator_rates as rates
    on rates.accelerator_id = accelerators.accelerator_id
    and rates.precision_name = lower(coalesce(nullif(:format, ''), 'fp16'))
  where segment = lower(coalesce(nullif(:segment, ''), 'consumer')) and launch_date is not null
), ranked as (
  select
    *, row_number() over (partition by year, per_1000_usd is null order by per_1000_usd) as position,
    count(per_1000_usd) over (partition by year) as priced
  from asked
)
select
  year, round(max(case when position = (priced + 1) / 2 and per_1000_usd is not null then per_1000_usd end), 2)
    as median_tflops_per_1000_usd,
  round(max(per_1000_usd), 2) as best_tflops_per_1000_usd,
  (select accelerator_id from asked as best where best.year = ranked.year order by per_1000_usd desc limit 1) as best,
  max(priced) as devices, count(*) - max(priced) as left_out
from ranked
group by year
having max(priced) > 0
order by year
