WITH counts AS (
  SELECT time_bucket(INTERVAL 2 SECOND, ts) + (i + 1) * INTERVAL 2 SECOND AS window_end, auction, count(*) AS num
  FROM bids, range(5) AS of(i)
  GROUP BY ALL
)
SELECT window_end, auction, num FROM counts QUALIFY num = max(num) OVER (PARTITION BY window_end)
