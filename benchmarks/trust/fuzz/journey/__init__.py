"""Participants' journeys in every order, with faults between the steps, beside a model of what must be stored."""
