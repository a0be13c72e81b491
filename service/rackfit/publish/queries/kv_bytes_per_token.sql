-- title: KV bytes per token of every model
-- description: Bytes that one more token adds to the cache at 16 bits, while every layer still keeps it and once windows are full, and the bytes of one sequence of so many tokens. State of recurrent layers does not grow.
-- parameter context: tokens of the sequence in the last columns; empty means 32768
-- parameter family: part of a model's name; empty means all
-- example: context=131072&family=gemma
select
  model_id, attention_kind,
  2 * (kv_elems_per_token_full + kv_elems_per_token_windowed) as growing_bytes,
  2 * kv_elems_per_token_full as after_windows_bytes,
  kv_bytes(model_id, 'bf16', cast(coalesce(nullif(:context, ''), '32768') as integer), 1) as one_sequence_16_bit_bytes,
  kv_bytes(model_id, 'fp8', cast(coalesce(nullif(:context, ''), '32768') as integer), 1) as one_sequence_fp8_bytes,
  max_context, params_total
from models
where (kv_elems_per_token_full + kv_elems_per_token_windowed + recurrent_state_elems) > 0
  and (coalesce(:family, '') = '' or model_id like '%' || :family || '%')
order by one_sequence_16_bit_bytes desc
