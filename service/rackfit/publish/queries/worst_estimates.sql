-- title: Where the estimates are worst
-- description: Measurements whose estimate is furthest off, with what was assumed.
-- parameter kind: K1 to K8; empty means all
-- example: kind=K1
select
  estimates.case_id, estimates.kind, estimates.quantity, estimates.measured_value, estimates.estimate, estimates.unit,
  round(100 * estimates.relative_error, 1) as error_percent, estimates.inside_range, estimates.confidence,
  estimates.model_id, estimates.accelerator_id, estimates.assumptions, measurements.source_url
from estimates join measurements using (case_id)
where estimates.relative_error is not null and (coalesce(:kind, '') = '' or estimates.kind = :kind)
order by abs(estimates.relative_error) desc
