-- title: Mixtures need all their experts in memory
-- description: Active parameters bound the speed, all parameters bound the memory.
select
  model_id, params_total, params_active, round(1.0 * params_total / params_active, 1) as total_over_active,
  n_experts, n_experts_active, native_precision_id, weights_bytes(model_id, null) as native_weights_bytes
from models
where n_experts is not null
order by params_total desc
