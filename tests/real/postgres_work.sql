-- Queries after pgbench, with an order and a result that do not depend on what the four clients did meanwhile.
\set ON_ERROR_STOP on
\pset format unaligned
\echo == consistency
select (select sum(abalance) from pgbench_accounts) = (select sum(bbalance) from pgbench_branches)
   and (select sum(bbalance) from pgbench_branches) = (select sum(tbalance) from pgbench_tellers)
   and (select sum(tbalance) from pgbench_tellers) = (select sum(delta) from pgbench_history) as balanced,
   (select count(*) from pgbench_history) as transactions;

\echo == bulk
create table item (id int primary key, name text, tags text[], body jsonb, at numeric);
insert into item select i, 'item ' || (i * 7919) % 10007, array[(i % 7)::text, repeat('t', i % 20)],
    jsonb_build_object('id', i, 'list', jsonb_build_array(i, i % 3, repeat('b', i % 60))), i / 7.0 from generate_series(1, 30000) i;
create index item_name on item (name, id);
create index item_tags on item using gin (tags);
create index item_body on item using gin (body);
update item set name = name || ' changed' where id % 5 = 0;
delete from item where id % 13 = 0;
vacuum (full, analyze) item;
select count(*), sum(length(name)), sum(at)::numeric(20, 4) from item;
select name, count(*) from item group by name order by 2 desc, 1 limit 5;
select count(*) from item where tags @> array['3'];
select count(*) from item where body @> '{"list": [2]}';
select md5(string_agg(id || name || array_to_string(tags, ','), '|' order by name, id)) from item;

\echo == sorts and hashes that spill
set work_mem = '256kB';
select count(*) from (select a.id from item a join item b on a.name = b.name and a.id <> b.id order by a.at desc, b.id offset 100) q;
select id % 11 as k, rank() over (order by sum(at)), count(distinct name) from item group by 1 order by 1;

\echo == parallel and compiled
set max_parallel_workers_per_gather = 2;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
set min_parallel_table_scan_size = 0;
select count(*), sum(aid), max(bid) from pgbench_accounts where filler is not null and aid % 3 <> 1;
set jit = on;
set jit_above_cost = 0;
set jit_inline_above_cost = 0;
set jit_optimize_above_cost = 0;
select sum(aid * 2 + 1), sum(case when aid % 7 = 3 then aid else -1 end) from pgbench_accounts where aid % 5 in (1, 2);
set jit = off;

\echo == procedures and errors
create function divide_all() returns text language plpgsql as $$
declare caught int := 0; n int;
begin
    for n in 0 .. 400 loop
        begin
            perform 100 / (n % 4);
        exception when division_by_zero then
            caught := caught + 1;
        end;
    end loop;
    return 'caught ' || caught;
end $$;
select divide_all();
do $$ begin perform repeat('x', 1073741820) || repeat('y', 1000); exception when others then raise notice 'refused: %', sqlstate; end $$;
with recursive t(n, s) as (select 1, 'x'::text union all select n + 1, s || n from t where n < 500) select max(length(s)) from t;
select regexp_replace(string_agg(name, ' ' order by id), '(\d)(\d)', '\2\1', 'g') = '' as empty from item;
select to_tsvector('simple', string_agg(name, ' ')) @@ 'changed'::tsquery from item;

\echo == rows in one order
-- Where the update put them depends on when autovacuum came by; what is dumped is compared byte for byte.
cluster item using item_pkey;
