"""What becomes of participants' data when they, or the law, want it gone."""
