WITH highest AS (
  SELECT time_bucket(INTERVAL 10 SECOND, ts) + INTERVAL 10 SECOND AS window_end, max(price) AS maxprice
  FROM bids GROUP BY ALL
)
SELECT b.auction, b.price, b.bidder, b.ts
FROM bids b JOIN highest h
  ON b.price = h.maxprice AND b.ts BETWEEN h.window_end - INTERVAL 10 SECOND AND h.window_end
