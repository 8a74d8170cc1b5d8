"""The clinical words radref knows: data files beside this one, and what reads them."""
