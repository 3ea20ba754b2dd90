SELECT DISTINCT person, name, time_bucket(INTERVAL 10 SECOND, p.ts) AS window_start
FROM persons p JOIN auctions a
  ON p.person = a.seller AND time_bucket(INTERVAL 10 SECOND, p.ts) = time_bucket(INTERVAL 10 SECOND, a.ts)
