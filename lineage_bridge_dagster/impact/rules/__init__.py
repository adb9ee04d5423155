"""What each kind of reader makes of a change in what it reads: a module for each engine. Pure."""
