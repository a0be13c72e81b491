-- title: What fits on a server or cloud instance
-- description: Each model once over the whole system, 8192 tokens, one sequence: in its released format where that fits, else in the one with the most bits that does. What is tight comes last, the largest models first.
-- parameter system: any name of a server, rack, desktop or instance; empty means the DGX H100
-- example: system=p5.48xlarge
with ranked as (
  select
    fits.*, precisions.effective_bits,
    row_number() over (
      partition by fits.model_id
      order by
        verdict_rank(fits.verdict) desc, fits.precision_id = models.native_precision_id desc,
        precisions.effective_bits desc
    ) as place
  from system_fits as fits join precisions using (precision_id) join models using (model_id)
  where fits.system_id = resolve_name('system', coalesce(nullif(:system, ''), 'dgx h100'))
    and fits.verdict in ('fits', 'tight')
)
select
  ranked.system_id, ranked.model_id, models.params_total, ranked.precision_id, ranked.verdict, ranked.tp, ranked.pp,
  ranked.ep, ranked.total_bytes, ranked.margin_bytes, ranked.max_context, ranked.max_sequences_8k,
  ranked.max_sequences_128k
from ranked join models using (model_id)
where ranked.place = 1
order by verdict_rank(ranked.verdict) desc, models.params_total desc
