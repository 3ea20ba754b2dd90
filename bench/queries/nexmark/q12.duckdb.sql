SELECT time_bucket(INTERVAL 10 SECOND, arrived) AS window_start,
       time_bucket(INTERVAL 10 SECOND, arrived) + INTERVAL 10 SECOND AS window_end, bidder, count(*) AS bid_count
FROM arriving GROUP BY ALL
