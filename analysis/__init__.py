"""Side by side: what people and machines did with the same items, and as teams."""
