"""Many people for long, with faults and strangers beside them."""
