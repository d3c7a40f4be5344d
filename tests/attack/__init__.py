"""What strangers may send: each module here is one class of attack, and counts what it tried and let through.

`python -m tests.attack` runs all of them at full length (`make attack`); `tests/attack/test_attack.py` runs the
short form.
"""
