"""How well the right thing is found: public question sets through the public API, beside simpler ways."""
