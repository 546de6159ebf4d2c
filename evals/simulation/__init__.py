"""Devices and hubs in one thread, with everything that can go wrong between them, repeatable by its seed."""
