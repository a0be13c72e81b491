-- title: Dense against sparse rates
-- description: The figure in large print is often the sparse one. Dense is what a model without pruned weights gets.
-- parameter format: fp16, bf16, fp8, int8, fp4, ...; empty means all
-- example: format=fp8
select
  accelerator_id, precision_name, dense_tflops, sparse_tflops, round(sparse_tflops / dense_tflops, 2) as times_larger,
  basis
from accelerator_rates
where sparse_tflops is not null and (coalesce(:format, '') = '' or precision_name = :format)
order by sparse_tflops desc
