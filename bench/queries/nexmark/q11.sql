-- User sessions: the bids of a bidder with no ten seconds of silence in between.
SELECT window_start, window_end, bidder, count(*) AS bid_count
FROM TABLE(SESSION(TABLE bids PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, bidder
