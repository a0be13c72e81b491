-- title: Sources by class
-- description: How many facts rest on each class of source, and on how many sources.
select
  sources.source_class, count(distinct sources.source_id) as sources, count(*) as facts,
  sum(provenance.second_hand) as unconfirmed_facts, round(100.0 * count(*) / sum(count(*)) over (), 1) as percent
from provenance join sources using (source_id)
group by sources.source_class
order by facts desc
