"""What a memory is told by and becomes: remember, edit, contradiction."""
