"""What participants' browsers, their network and other users of the database do to requests."""

from benchmarks.trust.faults.requests import locking, network, sending, starting

CHECKS = (*sending.CHECKS, *network.CHECKS, *locking.CHECKS, *starting.CHECKS)
