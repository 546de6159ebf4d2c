"""Does a past session help a later one? Tasks in other words over real sessions that decided what they need."""
