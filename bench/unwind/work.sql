-- SPDX-License-Identifier: BSD-2-Clause
-- Fills, joins, groups and sorts; everything in memory.
CREATE TABLE item(id INTEGER PRIMARY KEY, kind INTEGER, name TEXT, price REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
INSERT INTO item SELECT i, (i * 7919) % 1009, printf('item %x', i * 2654435761 % 4294967296), i % 997 / 7.0 FROM n;
CREATE INDEX by_kind ON item(kind, price);
CREATE TABLE sale AS SELECT id AS item, (id * 31) % 400000 + 1 AS buyer, price * 2 AS paid FROM item;
CREATE INDEX by_buyer ON sale(buyer);
SELECT count(*), round(sum(x.n)) FROM (SELECT kind, avg(price) AS n FROM item GROUP BY kind) x;
SELECT count(*) FROM item a JOIN sale s ON s.buyer = a.id JOIN item b ON b.id = s.item WHERE b.name LIKE '%7f%';
SELECT count(*) FROM (SELECT name, row_number() OVER (PARTITION BY kind ORDER BY name) r FROM item) WHERE r < 5;
SELECT name FROM item ORDER BY upper(substr(name, 6)) || kind LIMIT 3;
UPDATE sale SET paid = paid + (SELECT price FROM item WHERE id = sale.buyer);
SELECT round(sum(paid)) FROM sale;
