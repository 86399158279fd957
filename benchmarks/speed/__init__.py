"""Speed beside other programs, in one run on one machine."""
