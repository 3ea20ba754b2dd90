"""The operations on streams, one file each: what a user's words mean for the plan."""
