"""Guards: reviewed memories that a person lets ask or refuse before an agent acts."""
