"""Simulate devices and hubs in one thread, with faults between them, repeatable by seed."""
