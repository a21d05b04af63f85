"""Switch off each head of the cross-attention in turn:  a minute"""

from demo import bleu, model

whole = bleu()
print(f"all heads: BLEU {whole:.1f}. Without one of them:")
print("         " + "".join(f"  head {head + 1}" for head in range(model.config.n_heads)))
for number, layer in enumerate(model.decoder.layers, 1):
    line = f"layer {number}  "
    for of_head in layer.cross_attention.to_out.weight.data.chunk(model.config.n_heads, dim=1):
        kept = of_head.clone()
        of_head.zero_()  # what this head found reaches nobody
        line += f"{bleu():8.1f}"
        of_head.copy_(kept)
    print(line)
