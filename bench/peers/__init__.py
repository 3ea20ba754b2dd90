"""Other engines beside Millstream: the same files, the same questions, the same sums, and what each costs."""
