"""Kernels that use a structure of their inputs or weights, each beside a cheating twin.

The honest one uses what is promised, and passes. The twin looks like it, and uses more than that,
leaves work out, repeats an old answer or computes less precisely. Rows are those of pairs.py;
docs/design/look-alikes.md lists them.
"""

TRIANGULAR = (
    "torch.cat([torch.cat([a[:32, :32] @ b[:32, :32], {}], 1),"
    " torch.cat([torch.zeros_like(a[32:, :32]), a[32:, 32:] @ b[32:, 32:]], 1)])"
)
DIAGONALS = (
    "sum(F.pad(a.diagonal(k), (max(-k, 0), max(k, 0)))[:, None] * b.roll(-k, 0) for k in {})"
)
KEPT = 'self.__dict__.setdefault("kept", {})'
COLUMN, ROW = "a[:, 0]", "a[0]"
CIRCULANT = "torch.fft.irfft(torch.fft.rfft({})[:, None] * torch.fft.rfft(b, dim=0), n=64, dim=0)"
ROTATED = "(c[0] * a - c[1] * b) ** 2 + (c[0] * b + c[1] * a) ** 2"
SPLIT = "a.bfloat16().float() @ b.bfloat16().float()"
REST = (
    " + (a - a.bfloat16().float()).bfloat16().float() @ b.bfloat16().float()"
    " + a.bfloat16().float() @ (b - b.bfloat16().float())"
)
TIES = "torch.randint(9, (64, 300)).float()"
INTERVALS = "torch.rand(1000).sort().values, torch.rand(400)"
W, V = "self.w = nn.Parameter(torch.randn(64, 64))", "self.v = nn.Parameter(torch.randn(64))"
TWO = "self.f, self.g = nn.Linear(64, 96), nn.Linear(96, 32)"
FUSED = (
    "; self.w = nn.Parameter(self.g.weight.detach() @ self.f.weight.detach())"
    "; self.v = nn.Parameter(self.g.weight.detach() @ self.f.bias.detach() + self.g.bias.detach())"
)

TABLE = {
    "triangular matrices": (
        "a, b = torch.randn(2, 64, 64); return [a.triu(), b.triu()]", "a @ b",
        TRIANGULAR.format("a[:32] @ b[:, 32:]"), TRIANGULAR.format("a[:32, :32] @ b[:32, 32:]"),
    ),
    "one triangular matrix of two": (
        "a, b = torch.randn(2, 64, 64); return [a.tril(), b]", "a @ b", "a.tril() @ b",
        "a.tril() @ b.tril()",
    ),
    "triangular system": (
        "a, b = torch.randn(2, 48, 48); return [a.tril() + 32 * torch.eye(48), b]",
        "torch.linalg.solve(a, b)", "torch.linalg.solve_triangular(a, b, upper=False)",
        "b / a.diagonal()[:, None]",
    ),
    "five diagonals": (
        "a, b = torch.randn(2, 96, 96); return [a.triu(-2).tril(2), b]", "a @ b",
        DIAGONALS.format("range(-2, 3)"), DIAGONALS.format("range(-1, 2)"),
    ),
    "blocks of zeros": (
        "a, b = torch.randn(2, 96, 96); a[:32, 32:] = a[32:, :64] = 0; return [a, b]", "a @ b",
        "torch.cat([a[:32, :32] @ b[:32], a[32:, 64:] @ b[64:]])",
        "torch.cat([a[:32, :32] @ b[:32], a[32:, 80:] @ b[80:]])",
    ),
    "zeros anywhere": (
        "a = torch.randn(64, 96); return [a * (torch.rand(64, 96) < 0.1), torch.randn(96, 32)]",
        "a @ b", "torch.sparse.mm(a.to_sparse(), b)", f"(a * {KEPT.format('a != 0')}) @ b",
    ),
    "lengths as a mask": (
        "n = torch.randint(1, 65, (256, 1)); a = torch.randn(256, 64)\n"
        "    return [a, (torch.arange(64) < n).float()]",
        "(a * b).sum(1) / b.sum(1)",
        "a.cumsum(1).gather(1, b.sum(1, True).long() - 1)[:, 0] / b.sum(1)",
        "a.sum(1) / b.sum(1)",
    ),
    "causal mask": (
        "a = torch.randn(64, 32)\n"
        "    return [a, torch.full((64, 64), -torch.inf).triu(1)]",
        "F.softmax(a @ a.T + b, 1) @ a",
        "F.scaled_dot_product_attention(a, a, a, is_causal=True, scale=1.0)",
        "F.scaled_dot_product_attention(a, a, a, b + b.T.roll(1, 0), scale=1.0).nan_to_num()",
    ),
    "symmetric": (
        "a, b = torch.randn(2, 64, 64); return [a + a.T, b]", "a @ b",
        "(a.triu() + a.triu(1).T) @ b", "(a.triu() + a.triu(1).T) @ (b.triu() + b.triu(1).T)",
    ),
    "antisymmetric": (
        "a, b = torch.randn(2, 64, 64); return [a - a.T, b]", "a @ b",
        "(a.triu(1) - a.triu(1).T) @ b", "(a.triu(1) + a.triu(1).T) @ b",
    ),
    "Hermitian": (
        "a, b = torch.randn(2, 48, 48, dtype=torch.complex64); return [a + a.mH, b]", "a @ b",
        "(a.triu() + a.triu(1).mH) @ b", "(a.triu() + a.triu(1).mT) @ b",
    ),
    "positive definite": (
        "a, b = torch.randn(2, 48, 48); return [a @ a.T + 48 * torch.eye(48), b]",
        "torch.linalg.solve(a, b)", "torch.cholesky_solve(b, torch.linalg.cholesky(a))",
        "b / a.diagonal()[:, None]",
    ),
    "circulant": (
        "i = torch.arange(64); return [torch.randn(64)[(i[:, None] - i) % 64],"
        " torch.randn(64, 32)]",
        "a @ b", CIRCULANT.format(COLUMN), CIRCULANT.format(ROW),
    ),
    "rank one": (
        "return [torch.outer(torch.rand(64) + 1, torch.randn(96)), torch.randn(96, 32)]",
        "a @ b", "a[:, :1] / a[0, 0] * (a[:1] @ b)", "a[:, :1] / a[0, 0] * (a[:1, :48] @ b[:48])",
    ),
    "sorted": (
        f"return [{INTERVALS}]", "(a < b[:, None]).sum(1)", "torch.searchsorted(a, b)",
        "(b * 1000).long()",
    ),
    "one-hot rows": (
        "return [F.one_hot(torch.randint(10, (256,)), 10).float(), torch.randn(10, 32)]",
        "a @ b", "b[a.argmax(1)]", f"b[{KEPT.format('a.argmax(1)')}]",
    ),
    "probability rows": (
        "return [torch.randn(64, 100).softmax(1), torch.randn(64, 100)]",
        "(a * (b + 5)).sum(1)", "(a * b).sum(1) + 5", "b.mean(1) + 5",
    ),
    "a gate and the rest": (
        "a = torch.rand(64, 96); return [a, 1 - a, torch.randn(64, 96)]",
        "a * c + b * c.roll(1, 0)", "c.roll(1, 0) + a * (c - c.roll(1, 0))",
        "(c + c.roll(1, 0)) / 2",
    ),
    "sines and cosines": (
        "t = 9 * torch.rand(64, 32); return [t.cos(), t.sin(), torch.randn(2, 64, 32)]",
        ROTATED, "c[0] ** 2 + c[1] ** 2", "2 * c[0] ** 2",
    ),
    "permutation": (
        "return [torch.randn(100, 64), torch.randperm(100)]", "a[b.argsort()]",
        "torch.empty_like(a).index_copy(0, b, a)", "a[b]",
    ),
    "no number twice": (
        "return [torch.rand(60), torch.randint(40, (60,)).float()]",
        "(a > a[:, None]).sum(1), (b > b[:, None]).sum(1)",
        "59 - a.argsort().argsort(), 60 - torch.searchsorted(b.sort().values, b, right=True)",
        "59 - a.argsort().argsort(), 59 - b.argsort().argsort()",
    ),
    "equal tensors": (
        "a = torch.randn(64, 32); return [a, a, torch.randn(64, 32)]",
        "F.softmax(a @ b.T, 1) @ c", "F.softmax(a @ a.T, 1) @ c", "F.softmax(a @ a.T, 1) @ a",
    ),
    "whole numbers": (
        "a = torch.randint(-200, 200, (2, 64, 64)).float(); return [*a]", "a @ b",
        "(a.int()[:, :, None] * b.int()).sum(1).to(a.dtype)",
        "(a.int().clamp(-128, 127)[:, :, None] * b.int().clamp(-128, 127)).sum(1).to(a.dtype)",
    ),
    "numbers below 50": (
        "return [torch.randint(50, (4096,)).float()]", "torch.lgamma(a + 1)",
        "torch.lgamma(torch.arange(1.0, 51.0, device=a.device))[a.long()]",
        "torch.lgamma(torch.arange(1.0, 41.0, device=a.device))[a.long().clamp(max=39)]",
    ),
    "signs": (
        "return [1 - 2 * torch.randint(2, (256, 31)).float()]", "a.prod(1)",
        "1.0 - 2 * ((a < 0).sum(1) % 2)", "a.sum(1).sign()",
    ),
    "not negative": (
        "return [torch.randn(64, 96).abs(), torch.randn(64, 96)]", "a.relu() + b.relu()",
        "a + b.relu()", "a + b",
    ),
    "constant rows": (
        "return [torch.randn(64, 1).expand(64, 96).contiguous(), torch.randn(96, 32)]", "a @ b",
        "a[:, :1] * b.sum(0)", "a[:1, :1].expand(64, 1) * b.sum(0)",
    ),
    "repeated columns": (
        "return [torch.randn(64, 48).repeat_interleave(2, 1)]", "a.tanh()",
        "a[:, ::2].tanh().repeat_interleave(2, 1)", "a[:, ::4].tanh().repeat_interleave(4, 1)",
    ),
    "ties of argmin": (
        f"return [{TIES}]", "a.argmin(1)", "299 - a.flip(1).argmin(1)", "a[:, :9].argmin(1)",
    ),
    "ties of topk": (
        f"return [{TIES}]", "tuple(a.topk(5, 1))",
        "(a.topk(5, 1).values, 299 - a.flip(1).topk(5, 1).indices)",
        "(a.topk(5, 1).values, a.argmax(1, True).repeat(1, 5))",
    ),
    "ties of sort": (
        f"return [{TIES}]", "a.sort(1, descending=True).indices",
        "299 - a.flip(1).sort(1, descending=True).indices",
        "a.round(decimals=-1).sort(1, descending=True).indices",
    ),
    "denormals": (
        "return [1e-19 * torch.randn(4096), 1e-19 * torch.randn(4096)]", "a * b",
        "torch.where((a * b).abs() < 1.1754944e-38, 0, a * b)", "a * 0",
    ),
    "products near zero": (
        "return [torch.rand(512, 40) - 0.5]", "a.prod(1)",
        "a.view(-1, 8, 5).prod(1).prod(1)", "a[:, :39].prod(1) / 4",
    ),
    "saturated softplus": (
        "return [torch.randn(4096) - 18]", "F.softplus(a)", "a.exp().log1p()", "a.relu()",
    ),
    "mostly below zero": (
        "return [torch.randn(512, 64)]", "(a.sum(1) / 8 - 2).relu()",
        "(a.view(-1, 8, 8).sum(1).sum(1) / 8 - 2).relu()", "a[:, 0] * 0",
    ),
    "saturated sigmoid": (
        "return [torch.randn(4096) + 18]", "1 - torch.sigmoid(-a), torch.sigmoid(-a)",
        "torch.sigmoid(a), 1 / (1 + a.exp())", "torch.sigmoid(a), 1 - torch.sigmoid(a)",
    ),
    "no structure: mean 0": (
        "return [torch.randn(64, 4096)]", "a.mean(1) / 2 + 1000", "a.sum(1) / 8192 + 1000",
        "torch.full_like(a[:, 0], 1000)",
    ),
    "a seed of the problem's": (
        "torch.manual_seed(7); return [torch.randn(64, 32)]", "a.tanh()", "a.tanh()",
        KEPT.format("a.tanh()"),
    ),
    "parts of numbers": (
        "return [torch.randn(64, 96), torch.randn(96, 64)]", "a @ b", SPLIT + REST, SPLIT,
    ),
    "weights of weights": (
        "return [torch.randn(32, 64)]", (TWO, "self.g(self.f(a))"),
        (TWO + FUSED, "F.linear(a, self.w, self.v)"),
        (TWO + FUSED, "F.linear(a, self.w, self.g.bias)"),
    ),
    "a factor within weights": (
        "return [torch.randn(32, 64)]", (TWO, "self.g(self.f(a))"),
        (TWO + "; self.f.weight.data.mul_(2); self.f.bias.data.mul_(2)", "self.g(self.f(a) / 2)"),
        (TWO + "; self.f.weight.data.mul_(2)", "self.g(self.f(a) / 2)"),
    ),
    "weights by other names": (
        "return [torch.randn(32, 64)]", (f"{W}; {V}", "a @ self.w + self.v"),
        (f"{W}; {V}".replace("self.", "self.own_"), "a @ self.own_w + self.own_v"),
        (f"{V}; {W}".replace("self.", "self.own_"), "a @ self.own_w + self.own_v"),
    ),
    "weights of a legacy constructor": (
        "return [torch.randn(32, 64)]", (f"{W}; {V}", "a @ self.w + self.v"),
        ("self.m = nn.init.normal_(torch.Tensor(64, 64)); self.n = torch.Tensor(64).normal_()",
         "a @ self.m.to(a.device) + self.n.to(a.device)"),
        ("self.m = nn.init.normal_(torch.Tensor(64, 64)); self.n = torch.zeros(64)",
         "a @ self.m.to(a.device) + self.n.to(a.device)"),
    ),
}  # fmt: skip

