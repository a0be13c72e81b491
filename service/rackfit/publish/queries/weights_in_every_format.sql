-- title: A model's weights in every format
-- description: Bytes of all weights with the tensors that stay in high precision, and bits per parameter that come out of it: 4-bit is more than half a byte.
-- parameter model: any name of a model; empty means Llama-3.1-8B
-- example: model=qwen3-30b-a3b
with asked as (
  select model_id, params_total from models
  where model_id = resolve_name('model', coalesce(nullif(:model, ''), 'meta-llama/llama-3.1-8b'))
)
select
  precisions.precision_id, precisions.category, precisions.nominal_bits, precisions.effective_bits,
  weights_bytes(asked.model_id, precisions.precision_id) as weights_bytes,
  round(8.0 * weights_bytes(asked.model_id, precisions.precision_id) / asked.params_total, 3) as bits_per_parameter
from asked join precisions
where precisions.use = 'weight' and precisions.effective_bits is not null
order by weights_bytes, precisions.precision_id
