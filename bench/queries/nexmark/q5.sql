-- Hot items: the auctions with the most bids of the last ten seconds, every two seconds.
WITH counts AS (
  SELECT window_start, window_end, auction, count(*) AS num
  FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, auction
), most AS (
  SELECT window_end, max(num) AS maxn FROM counts GROUP BY window_end
)
SELECT c.window_end, c.auction, c.num
FROM counts c JOIN most m ON c.window_end = m.window_end AND c.num >= m.maxn
