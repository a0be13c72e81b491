"""What a build computes from the facts, one step per module; `catalog/compute.py` lists them in order."""
