"""Pure rules of the experiment: no Django, no input or output; randomness only through an `rng` argument."""
