"""The first examples that people try, word for word, through the real commands, hooks and Python interface.

One section for each group of examples; the README shows the same ones.
"""

# 1. Project context

# 2. Past work

# 3. SQL and vectors from Python

# 4. Linked to code

# 5. Deploys
