-- The queries of the Nexmark benchmark over tables instead of streams; bids are corrected and
-- withdrawn. q12 is not here: it groups by the time of processing.

-- name: q00
SELECT auction, bidder, price, ts FROM bid

-- name: q01
SELECT auction, bidder, CAST(price * 0.908 AS DECIMAL(20, 3)) AS price, ts FROM bid

-- name: q02
SELECT auction, price FROM bid WHERE auction % 5 = 0

-- name: q03
SELECT p.name, p.city, p.state, a.auction_id
FROM auction a JOIN person p ON a.seller = p.person_id
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')

-- name: q04
SELECT category, AVG(final) AS average
FROM (
  SELECT a.auction_id, a.category, MAX(b.price) AS final
  FROM auction a JOIN bid b ON a.auction_id = b.auction
  WHERE b.ts BETWEEN a.ts AND a.expires
  GROUP BY a.auction_id, a.category
) winners
GROUP BY category

-- name: q05
WITH counts AS (
  SELECT b.auction, window(b.ts, '2 minutes', '1 minute').start AS opened, COUNT(*) AS bids
  FROM bid b
  GROUP BY b.auction, window(b.ts, '2 minutes', '1 minute')
)
SELECT c.auction, c.opened, c.bids
FROM counts c JOIN (SELECT opened, MAX(bids) AS most FROM counts GROUP BY opened) m
  ON c.opened = m.opened AND c.bids >= m.most

-- name: q06
SELECT seller, auction_id, AVG(final) OVER (
  PARTITION BY seller ORDER BY closed, auction_id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
) AS average
FROM (
  SELECT a.auction_id, a.seller, MAX(b.price) AS final, MAX(b.ts) AS closed
  FROM auction a JOIN bid b ON a.auction_id = b.auction
  WHERE b.ts BETWEEN a.ts AND a.expires
  GROUP BY a.auction_id, a.seller
) winners

-- name: q07
SELECT b.auction, b.price, b.bidder, b.ts, m.minute
FROM bid b JOIN (
  SELECT date_trunc('minute', ts) AS minute, MAX(price) AS highest
  FROM bid GROUP BY date_trunc('minute', ts)
) m ON b.price = m.highest AND date_trunc('minute', b.ts) = m.minute

-- name: q08
SELECT p.person_id, p.name, p.minute
FROM (SELECT person_id, name, date_trunc('minute', ts) AS minute FROM person GROUP BY ALL) p
JOIN (SELECT seller, date_trunc('minute', ts) AS minute FROM auction GROUP BY ALL) a
  ON p.person_id = a.seller AND p.minute = a.minute

-- name: q09
SELECT auction_id, item, seller, category, bidder, price, bid_ts
FROM (
  SELECT a.*, b.bidder, b.price, b.ts AS bid_ts,
    ROW_NUMBER() OVER (PARTITION BY a.auction_id ORDER BY b.price DESC, b.ts, b.bid_id) AS place
  FROM auction a JOIN bid b ON a.auction_id = b.auction AND b.ts BETWEEN a.ts AND a.expires
) ranked
WHERE place = 1

-- name: q10
SELECT auction, bidder, price, ts, CAST(ts AS DATE) AS day, hour(ts) AS hour, minute(ts) AS minute
FROM bid

-- name: q11
SELECT bidder, COUNT(*) AS bids, MIN(ts) AS first_bid, MAX(ts) AS last_bid
FROM bid
GROUP BY bidder, session_window(ts, '10 seconds')

-- name: q13
SELECT b.auction, b.bidder, b.price, b.ts, s.value
FROM bid b JOIN side_input s ON b.auction % 10 = s.key_id

-- name: q14
SELECT auction, bidder, price * 2 AS price,
  CASE
    WHEN hour(ts) BETWEEN 8 AND 18 THEN 'dayTime'
    WHEN hour(ts) <= 6 OR hour(ts) >= 20 THEN 'nightTime'
    ELSE 'otherTime'
  END AS bid_time,
  ts, length(url) - length(replace(url, 'c', '')) AS c_count
FROM bid
WHERE price * 2 BETWEEN 20 AND 200

-- name: q15
SELECT CAST(ts AS DATE) AS day,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 20) AS rank1_bids,
  COUNT(*) FILTER (WHERE price >= 20 AND price < 50) AS rank2_bids,
  COUNT(DISTINCT bidder) AS total_bidders,
  COUNT(DISTINCT bidder) FILTER (WHERE price < 20) AS rank1_bidders,
  COUNT(DISTINCT auction) AS total_auctions,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 20 AND price < 50) AS rank2_auctions
FROM bid
GROUP BY CAST(ts AS DATE)

-- name: q16
SELECT channel, CAST(ts AS DATE) AS day, MAX(date_trunc('minute', ts)) AS minute,
  COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 20) AS rank1_bids,
  COUNT(DISTINCT bidder) AS total_bidders,
  COUNT(DISTINCT bidder) FILTER (WHERE price < 20) AS rank1_bidders,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 20) AS rank2_auctions
FROM bid
GROUP BY channel, CAST(ts AS DATE)

-- name: q17
SELECT auction, CAST(ts AS DATE) AS day, COUNT(*) AS total_bids,
  COUNT(*) FILTER (WHERE price < 20) AS rank1_bids,
  MIN(price) AS min_price, MAX(price) AS max_price, AVG(price) AS avg_price, SUM(price) AS sum_price
FROM bid
GROUP BY auction, CAST(ts AS DATE)

-- name: q18
SELECT auction, bidder, price, channel, ts
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY ts DESC, bid_id DESC) AS place
  FROM bid
) ranked
WHERE place <= 1

-- name: q19
SELECT auction, bidder, price, place
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, bid_id) AS place FROM bid
) ranked
WHERE place <= 10

-- name: q20
SELECT b.auction, b.bidder, b.price, b.channel, a.item, a.seller, a.category
FROM bid b JOIN auction a ON b.auction = a.auction_id
WHERE a.category = 10

-- name: q21
SELECT auction, bidder, price, channel,
  CASE lower(channel)
    WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'baidu' THEN '2'
    ELSE split_part(url, '=', 2)
  END AS channel_id
FROM bid
WHERE split_part(url, '=', 2) <> '' OR lower(channel) IN ('apple', 'google', 'baidu')

-- name: q22
SELECT auction, bidder, price, channel,
  split_part(url, '/', 2) AS dir1, split_part(url, '/', 3) AS dir2, split_part(url, '/', 4) AS dir3
FROM bid
