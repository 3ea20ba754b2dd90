-- Bids of a bidder by the ten seconds in which they arrived: windows on the time of arrival, which is in order.
SELECT window_start, window_end, bidder, count(*) AS bid_count
FROM TABLE(TUMBLE(TABLE arriving, DESCRIPTOR(arrived), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, bidder
