-- title: Records with a dispute
-- description: Where another source says something else, what it says, and why it was not taken.
-- parameter table_name: accelerators, models, systems, ...; empty means all
-- example: table_name=accelerators
select disputes.table_name, disputes.key, disputes.field, disputes.other_value, disputes.reason, disputes.source_id, sources.url
from disputes left join sources using (source_id)
where coalesce(:table_name, '') = '' or disputes.table_name = :table_name
order by disputes.table_name, disputes.key, disputes.field
