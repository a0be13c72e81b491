"""Arithmetic of money: prices of configurations, of tokens and of owned hours, and what follows from them.

Prices are stored exact, in millionths of a currency unit; here they are 64-bit floats. What they are divided by is an
estimate with a range of several per cent, and a float keeps 15 digits: decimal arithmetic would add nothing but time.
"""
