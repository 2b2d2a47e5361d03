"""A script of SQL statements as a shop would send them: tables, customers, products, orders, then updates and queries.

Each statement is its own, so that parsing, which is where SQLite allocates, is most of the work. The same number gives the same
script."""
import random

TABLES = """CREATE TABLE customers(id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT);
CREATE TABLE products(id INTEGER PRIMARY KEY, name TEXT, price REAL, stock INTEGER);
CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), day TEXT, freight REAL);
CREATE TABLE details(orderid INTEGER, product INTEGER, price REAL, quantity INTEGER, discount REAL, PRIMARY KEY(orderid, product));
CREATE INDEX orders_customer ON orders(customer);"""
CITIES = ("Berlin", "London", "Lyon", "Graz", "Oulu", "Torino", "Bergen")
PRODUCTS = 77
QUERIES = (
    "SELECT o.id, c.name, c.city, d.quantity * d.price * (1 - d.discount) AS total FROM orders o JOIN customers c "
    "ON c.id = o.customer JOIN details d ON d.orderid = o.id WHERE o.id = {order} ORDER BY total;",
    "SELECT c.name, count(*), sum(o.freight) FROM customers c JOIN orders o ON o.customer = c.id WHERE c.id = {customer} "
    "GROUP BY c.name;",
    "SELECT p.name || ' ' || upper(c.city) FROM details d, products p, orders o, customers c WHERE d.orderid = {order} AND "
    "p.id = d.product AND o.id = d.orderid AND c.id = o.customer AND p.name LIKE 'Product%';")


def _inserts(orders, customers, dice):
    for i in range(1, customers + 1):
        yield f"INSERT INTO customers VALUES({i}, 'Customer {i}', '{dice.choice(CITIES)}', 'Country {dice.randrange(20)}');"
    for i in range(1, PRODUCTS + 1):
        yield f"INSERT INTO products VALUES({i}, 'Product {i}', {dice.randrange(1, 10000) / 100}, {dice.randrange(200)});"
    for i in range(1, orders + 1):
        day = f"2020-{dice.randrange(1, 13):02}-{dice.randrange(1, 29):02}"
        yield f"INSERT INTO orders VALUES({i}, {dice.randrange(1, customers + 1)}, '{day}', {dice.randrange(5000) / 100});"
        for product in dice.sample(range(1, PRODUCTS + 1), 3):
            price, quantity = dice.randrange(1, 10000) / 100, dice.randrange(1, 50)
            yield f"INSERT INTO details VALUES({i}, {product}, {price}, {quantity}, 0.05);"


def script(orders):
    """About six statements for each order."""
    dice, customers = random.Random(1), max(orders // 10, 1)
    lines = [TABLES, "BEGIN;", *_inserts(orders, customers, dice), "COMMIT;", "BEGIN;"]
    lines += [f"UPDATE products SET stock = stock - {dice.randrange(5)} WHERE id = {dice.randrange(1, PRODUCTS + 1)};"
              for _ in range(orders)]
    lines.append("COMMIT;")
    lines += [QUERIES[i % len(QUERIES)].format(order=dice.randrange(1, orders + 1), customer=dice.randrange(1, customers + 1))
              for i in range(orders)]
    return "\n".join(lines) + "\n"
