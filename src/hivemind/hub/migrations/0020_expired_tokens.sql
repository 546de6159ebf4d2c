-- Workers delete tokens that expired long ago (hub/access.py).
GRANT DELETE ON tokens TO hivemind_hub;
