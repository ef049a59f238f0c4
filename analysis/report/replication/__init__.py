"""The BrainBench paper's printed values beside the recomputed ones: which agree, which differ, and why."""
