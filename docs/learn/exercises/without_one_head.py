"""Switch off each head of the cross-attention in turn:  a minute"""

import torch
from demo import bleu, model

whole = bleu()
print(f"all heads: BLEU {whole:.1f}. Without one of them:")
print("         " + "".join(f"  head {head + 1}" for head in range(model.config.n_heads)))
for number, layer in enumerate(model.decoder.layers, 1):
    weight = layer.cross_attention.to_out.weight
    line = f"layer {number}  "
    for head in range(model.config.n_heads):
        columns = slice(head * model.config.d_head, (head + 1) * model.config.d_head)
        kept = weight[:, columns].clone()
        with torch.no_grad():
            weight[:, columns] = 0  # what this head found reaches nobody
            line += f"{bleu():8.1f}"
            weight[:, columns] = kept
    print(line)
