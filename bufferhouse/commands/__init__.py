"""A function for each verb: its options, its help, what it prints. Nothing heavy is imported at module top."""
