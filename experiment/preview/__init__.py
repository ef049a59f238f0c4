"""Participants' pages as they will be, shown in frames of the set-up, with made-up answers. Nothing is stored or counted."""
