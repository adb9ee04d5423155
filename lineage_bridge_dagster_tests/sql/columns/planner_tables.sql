CREATE TABLE orders (id BIGINT, cid BIGINT, pid BIGINT, price DECIMAL(10,2), qty INT, cur STRING, txt STRING, tags ARRAY<STRING>, items ARRAY<ROW<sku STRING, n INT>>, addr ROW<city STRING, zip STRING>, m MAP<STRING,STRING>, ts TIMESTAMP(3));
CREATE TABLE customers (id BIGINT, name STRING, city STRING, vip BOOLEAN);
CREATE TABLE rates (cur STRING, rate DECIMAL(10,4), ts TIMESTAMP(3));
CREATE TABLE products (id BIGINT, price DECIMAL(10,2), label STRING);
CREATE TABLE refunds (oid BIGINT, amount DECIMAL(10,2), reason STRING);
CREATE TABLE events (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);
CREATE VIEW big AS SELECT id, cid AS customer, price * qty AS total FROM orders WHERE qty > 3;
CREATE VIEW named (k, label) AS SELECT id, UPPER(name) FROM customers
