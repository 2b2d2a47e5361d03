-- A database of 100 000 orders and what hangs on them: indices, joins, aggregates, windows, full text, JSON, triggers,
-- a rolled-back transaction, deletes and a vacuum. No random(), no clock: two runs give the same bytes.
.bail on
pragma page_size = 4096;
pragma cache_size = -8000;
pragma temp_store = memory;
pragma threads = 4;

create table customer (id integer primary key, name text not null, city text, note blob);
create table product (id integer primary key, label text, price integer);
create table orders (id integer primary key, customer integer references customer, product integer, amount integer, day integer, remark text);
create table audit (what text, id integer);

begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
insert into customer select i, printf('customer %05d', (i * 7919) % 100003), printf('city %d', (i * 31) % 97), zeroblob(i % 300) from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500)
insert into product select i, printf('product-%s', hex(i * 2654435761 % 1000003)), (i * 37) % 991 + 1 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
insert into orders select i, (i * 48271 / 7) % 2000 + 1, (i * 69621) % 500 + 1, i % 17 + 1, (i * 16807) % 365,
    substr('the quick brown fox jumps over the lazy dog and runs away from it', i % 40 + 1, i % 25) from n;
commit;

create index orders_customer on orders (customer, day);
create index orders_product on orders (product);
create index orders_remark on orders (remark, id) where amount > 5;
create trigger orders_gone after delete on orders begin insert into audit values ('deleted', old.id); end;
create view revenue as select o.customer, sum(o.amount * p.price) as total from orders o join product p on p.id = o.product group by o.customer;
analyze;

select '== joins';
select c.city, count(*), sum(o.amount * p.price) from orders o join customer c on c.id = o.customer join product p on p.id = o.product
    group by c.city order by 3 desc, 1 limit 10;
select count(*) from orders a join orders b on a.customer = b.customer and a.day = b.day and a.id < b.id;
select c.name, r.total from revenue r join customer c on c.id = r.customer order by r.total desc, c.name limit 10;

select '== aggregates and sorting';
select day % 7, count(distinct customer), avg(amount), group_concat(distinct amount) from orders group by 1 order by 1;
select count(*), sum(length(remark)) from (select * from orders order by remark desc, amount, id desc);
select remark, count(*) from orders group by remark order by 2 desc, 1 limit 10;

select '== windows';
select id, running, rank from (
    select id, sum(amount) over (partition by customer order by id) as running, dense_rank() over (order by amount desc, day) as rank from orders)
    where id % 9973 = 0 order by id;

select '== text and json';
create virtual table search using fts5 (remark, content = '');
insert into search (rowid, remark) select id, remark from orders where id <= 20000;
select count(*) from search where search match 'fox OR "lazy dog"';
select sum(json_extract(j, '$.amount[1]')) from (select json_object('id', id, 'amount', json_array(amount, amount * 2)) as j from orders);
select length(json_group_array(json_object('c', customer, 'r', remark))) from orders;

select '== changes';
begin;
update orders set remark = remark || remark || remark, amount = amount + 1 where id % 3 = 0;
delete from orders where id % 11 = 0;
savepoint inner_part;
delete from customer where id > 10;
rollback to inner_part;
commit;
begin;
delete from orders;
rollback;
select count(*), sum(amount), sum(length(remark)) from orders;
select count(*), sum(id) from audit;
with recursive tree(id, depth) as (select 1, 0 union all select id * 2 + k, depth + 1 from tree, (select 0 as k union select 1) where depth < 13)
    select depth, count(*), sum(id) from tree group by depth;

vacuum;
reindex;
pragma integrity_check;
pragma foreign_key_check;
