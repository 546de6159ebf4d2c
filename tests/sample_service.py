"""The code of a small service, which tests change and then check links to it."""

SERVICE = '''
"""Who may come in."""

import jwt


def authenticate_user(user, pw):
    """Give a token to who knows the password."""
    attempts = 0
    record = find_record(user)
    while attempts < LIMIT:
        token = jwt.sign(record.name, pw, algorithm="HS256")
        if token and record.is_active and not record.is_locked:
            log_success(record, token)
            return token
        attempts = attempts + 1
        log_failure(record, attempts)
    raise TooManyAttempts(user)


def find_record(user):
    return TABLE.lookup(user)
'''
