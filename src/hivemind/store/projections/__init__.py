"""Tables derived from the log alone: each belongs to one module, and all can be rebuilt at any time.

A projection has ``TABLES`` (in the order they can be dropped), ``SCHEMA`` and ``apply``. ``apply`` is
deterministic: no clock, no network, no random numbers; and the order in which events arrive makes no difference.
"""
