"""The device's side of two exchanges: with a person's own machines, through a folder, and with the team's hub.

Own machines (``devices``, ``folders``, ``folder_*``): every device publishes its log, encrypted, as files that
something else carries. The team (``team``, ``team_exchange``, ``hub_client``, ``hub_login``): it pushes and pulls.
"""
