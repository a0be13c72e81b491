-- title: ZeRO stages of a model
-- description: What each stage of ZeRO or FSDP divides over N devices, bytes of model states per device, how many times smaller that is, and what it costs in communication. States only: activations, logits and buffers come on top.
-- parameter model: any name of a model; empty means Llama-2-7B
-- parameter devices: data-parallel devices; empty means 8
-- parameter recipe: id of a recipe with bytes per component; empty means mixed-precision Adam (16 bytes)
-- example: model=llama-3.1-70b&devices=64
with asked as (
  select
    params_total,
    max(1, cast(coalesce(nullif(:devices, ''), '8') as integer)) as n,
    weights_bytes as w, gradient_bytes + gradient_accumulation_bytes as g, master_bytes + optimizer_bytes as o
  from models
  join recipes on recipe_id = coalesce(nullif(:recipe, ''), 'adam_mixed_16')
  where model_id = resolve_name('model', coalesce(nullif(:model, ''), 'meta-llama/llama-2-7b-hf'))
),
stages (stage, partitioned, communication) as (
  values (0, 'nothing', 1.0), (1, 'optimizer states', 1.0), (2, 'optimizer states and gradients', 1.0),
    (3, 'optimizer states, gradients and parameters', 1.5)
),
sized as (
  select
    stage, partitioned, communication, n, params_total, w + g + o as whole,
    case stage
      when 0 then w + g + o
      when 1 then w + g + 1.0 * o / n
      when 2 then w + 1.0 * (g + o) / n
      else 1.0 * (w + g + o) / n
    end as bytes_per_parameter
  from stages cross join asked
)
select
  stage, partitioned, n as devices, round(bytes_per_parameter, 4) as bytes_per_parameter,
  gb(params_total * bytes_per_parameter) as gb_per_device, round(whole / bytes_per_parameter, 2) as times_smaller,
  communication as communication_relative
from sized
order by stage
