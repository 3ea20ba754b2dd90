WITH begun AS (
  SELECT bidder, ts,
         coalesce(ts - lag(ts) OVER (PARTITION BY bidder ORDER BY ts) > INTERVAL 10 SECOND, true) AS first
  FROM bids
), numbered AS (
  SELECT bidder, ts, sum(first::INT) OVER (PARTITION BY bidder ORDER BY ts) AS session FROM begun
)
SELECT min(ts) AS window_start, max(ts) + INTERVAL 10 SECOND AS window_end, bidder, count(*) AS bid_count
FROM numbered GROUP BY bidder, session
