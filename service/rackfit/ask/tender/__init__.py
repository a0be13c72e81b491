"""Tender check: requirement lines against systems, each compliant, not compliant or unknown, with its evidence."""
