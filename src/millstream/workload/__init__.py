"""Data to run queries on: generators that depend on nothing but their arguments.

    auction     bids alone, as many auctions as asked
    nexmark     persons, auctions and bids in NEXMark's proportions; auctions expire
    packets     packets in groups of skewed sizes
    links       packets on links with rates and lags, and the conversations that cross them
    traffic     road sensors and probe vehicles with their punctuation
    disorder    makes an ordered stream arrive out of order, by a known amount
    pace        silences and bursts
    models      both of these with the stream's true progress

The same arguments give the same rows, on every machine.
"""
