"""The local host: the same operators as anywhere, in this process, with its state in memory."""
