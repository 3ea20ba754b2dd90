-- New users: persons who opened an auction in the ten seconds in which they came.
WITH came AS (
  SELECT window_start, window_end, person, name
  FROM TABLE(TUMBLE(TABLE persons, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, person, name
), opened AS (
  SELECT window_start, window_end, seller
  FROM TABLE(TUMBLE(TABLE auctions, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, seller
)
SELECT p.person, p.name, p.window_start
FROM came p JOIN opened a ON p.person = a.seller AND p.window_start = a.window_start AND p.window_end = a.window_end
