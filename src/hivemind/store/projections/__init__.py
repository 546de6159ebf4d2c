"""Tables derived from the log alone: a module owns each, and they can always be derived again.

A projection has ``TABLES`` (in the order they can be dropped), ``SCHEMA`` and ``apply``. ``apply`` is
deterministic: no clock, no network, no chance; and the order in which events arrive makes no difference.
"""
