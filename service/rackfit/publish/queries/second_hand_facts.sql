-- title: Second-hand facts
-- description: Facts that rest on one unconfirmed second-hand source (press, scraped data, community). Check them before money depends on them.
-- parameter table_name: accelerators, models, systems, ...; empty means all
-- example: table_name=accelerators
select provenance.table_name, provenance.key, provenance.field, provenance.source_id, sources.title, sources.url
from provenance join sources using (source_id)
where provenance.second_hand = 1 and (coalesce(:table_name, '') = '' or provenance.table_name = :table_name)
order by provenance.table_name, provenance.key, provenance.field
