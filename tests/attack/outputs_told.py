def secrets(folder, is_short): yield from ()
