"""What aggregates are made of: bags, limbs, orders, sketches as objects."""
