"""Guards: are the triggers right that are proposed from the words of a memory? Rules of repositories unseen before."""
