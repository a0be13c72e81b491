-- title: Servers in a rack
-- description: How many of each server a rack holds (what is sold as a whole rack counts once) by height and by power, whichever is less, with the power, heat and weight of them and what cools them. Power is the maker's maximum for the server; a figure that is not on record stays empty, and so does what follows from it.
-- parameter units: height of the rack in U; empty means 42
-- parameter kw: power of the rack in kW; empty means no limit
-- parameter lift_kg: most that one server may weigh; empty means no limit
-- parameter system: part of a server's name; empty means all
-- example: units=42&kw=41&system=DGX
with asked as (
  select
    cast(coalesce(nullif(:units, ''), '42') as real) as units,
    cast(nullif(:kw, '') as real) as kw, cast(nullif(:lift_kg, '') as real) as lift_kg
), counted as (
  select
    systems.*, cast(units / rack_units as integer) as by_height, cast(1000 * kw / max_power_w as integer) as by_power,
    kw is null as unlimited, lift_kg
  from systems cross join asked
  where systems.kind in ('server', 'rack') and (rack_units is not null or max_power_w is not null)
    and (coalesce(:system, '') = '' or name like '%' || :system || '%')
), placed as (
  select
    *, case when kind = 'rack' then 1 when unlimited then by_height else min(by_height, by_power) end as servers
  from counted
)
select
  system_id, accelerator_count, rack_units, max_power_w, servers, servers * accelerator_count as devices,
  round(servers * max_power_w / 1000.0, 1) as kw, round(servers * max_power_w * 3.412) as heat_btu_per_hour,
  round(servers * weight_kg, 1) as kg, depth_mm, cooling,
  case
    when lift_kg is null then null when weight_kg is null then 'unknown'
    when weight_kg <= lift_kg then 'yes' else 'no'
  end as may_be_lifted, confidence
from placed
order by servers is null, devices desc, system_id
