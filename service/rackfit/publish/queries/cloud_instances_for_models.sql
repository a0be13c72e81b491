-- title: Cloud instances for a model
-- description: Every cloud instance on record with the verdict of a model at its native format (8192 tokens, one sequence), the smallest count of its device that trains the model by LoRA, and its own newest prices by term. An instance without a price has empty columns there.
-- parameter model: any name of a model; empty means Llama-3.1-8B
-- parameter provider: a provider such as AWS; empty means all
-- parameter currency: three letters; empty means USD
-- example: model=qwen3-32b&provider=AWS
with asked as materialized (
  select model_id, native_precision_id from models
  where model_id = resolve_name('model', coalesce(nullif(:model, ''), 'meta-llama/llama-3.1-8b'))
),
fits as materialized (
  select * from inference_fits
  where model_id = (select model_id from asked) and precision_id = (select native_precision_id from asked)
),
training as materialized (
  select accelerator_id, device_count from training_fits
  where model_id = (select model_id from asked) and recipe_id = 'lora_bf16' and verdict = 'fits'
),
newest as (
  select *, row_number() over (
    partition by system_id, region, tier, term, price_kind order by valid_from desc, price
  ) as place
  from offers
  where kind = 'hourly' and flag is null and system_id is not null
    and currency = upper(coalesce(nullif(:currency, ''), 'USD'))
),
lowest as (
  select system_id, min(case when term_class = 'on-demand' then price end) as on_demand_per_hour,
    min(case when term_class = 'spot' then price end) as spot_per_hour,
    min(case when term_class = 'reserved' then price end) as reserved_per_hour, max(valid_from) as newest_price
  from newest where place = 1 group by system_id
)
select
  systems.system_id, systems.provider, systems.accelerator_id, systems.accelerator_count, fits.verdict,
  fits.precision_id, fits.tp, fits.pp, fits.margin_bytes, fits.max_context, fits.max_sequences_8k,
  training.device_count as lora_devices, training.device_count <= systems.accelerator_count as trains_lora,
  lowest.on_demand_per_hour, lowest.spot_per_hour, lowest.reserved_per_hour, lowest.newest_price,
  systems.host_ram_gb, systems.inter_node_gbps
from systems
join configuration_systems using (system_id)
left join fits on fits.configuration_id = configuration_systems.configuration_id
left join training on training.accelerator_id = systems.accelerator_id
left join lowest on lowest.system_id = systems.system_id
where systems.kind like 'cloud%' and (coalesce(:provider, '') = '' or systems.provider = :provider collate nocase)
order by verdict_rank(fits.verdict) desc, lowest.on_demand_per_hour is null, lowest.on_demand_per_hour,
  systems.system_id
