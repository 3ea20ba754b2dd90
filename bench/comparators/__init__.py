"""What Millstream is measured against: the same questions answered by methods that need order, or that guess.

Nothing in the product imports these. Each is a `Comparator`: rows and punctuation in, results out, and the most that it
had to hold on the way. tests/lab holds each to its definition, and the wrong ones to the way in which they are wrong.

    merge            union that keeps order: the earlier input waits for the later one
    slack            sort buffer that waits for late rows by rows or by time
    inorder          window aggregate that takes the newest row for progress, consistent or generous to late rows
    buffered         window aggregate over the rows themselves, plain or by adding and subtracting
    symmetric        join of rows as they come, for windows that both inputs pass together
    opob, opib       joins whose output is ordered: by holding results, by holding inputs
    global_order     join that takes arrival for time: wrong as soon as one input lags
    two_level        fixed tables of partials in front of an aggregate: flushed in order, lazily, slowly
"""
