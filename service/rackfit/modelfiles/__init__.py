"""Models that are files: config.json, safetensors and GGUF headers, read into what the arithmetic works on."""
