-- title: What nobody knows
-- description: Facts that were looked for and not found. A missing value is absent, never zero.
-- parameter table_name: accelerators, models, systems, ...; empty means all
-- example: table_name=accelerators
select table_name, field, count(*) as records, group_concat(key, ', ') as keys
from unknown_fields
where coalesce(:table_name, '') = '' or table_name = :table_name
group by table_name, field
order by records desc
