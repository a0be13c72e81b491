-- title: Link speeds: one direction against both
-- description: Makers print both directions together; a transfer sees one. Where somebody measured, the figure stands beside.
-- parameter family: NVLink, PCIe, Ethernet, ...; empty means all
-- example: family=NVLink
select
  interconnect_id, family, generation, lanes_or_links, per_direction_gb_s, total_gb_s, measured_gb_s, measured_what,
  scope, confidence
from interconnects
where coalesce(:family, '') = '' or family like '%' || :family || '%'
order by per_direction_gb_s desc
