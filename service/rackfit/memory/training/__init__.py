"""Training memory, term by term: states, sharding, activations, logits, adapters, overheads, offload."""
