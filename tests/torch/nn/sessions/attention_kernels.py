# ruff: noqa: F821  (names are given by record_sessions.py)
attention = nn.functional.scaled_dot_product_attention
backend, kernel = nn.attention.SDPBackend, nn.attention.sdpa_kernel
q = torch.arange(32.0).view(1, 2, 4, 4).div(32).requires_grad_()
results = []
for kinds in (backend.MATH, backend.FLASH_ATTENTION, [backend.MATH, backend.FLASH_ATTENTION]):
    with kernel(kinds):
        y = attention(q, q, q, is_causal=True)
        print(kinds, names(y.grad_fn), torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled())
        results.append(y)
print(torch.allclose(results[0], results[1], atol=1e-6), names(attention(q, q, q).grad_fn))


def forced(kinds, **options):
    with kernel(kinds):
        return attention(q, q, q, **options)


attempt(lambda: forced(backend.EFFICIENT_ATTENTION))
attempt(lambda: forced([]))
attempt(lambda: forced(3))
print(backend.MATH.name, int(backend.FLASH_ATTENTION), backend.MATH == backend.MATH)
kernel(backend.MATH)(lambda: print(names(attention(q, q, q).grad_fn)))()
torch.backends.cuda.enable_flash_sdp(False)
print(names(attention(q, q, q).grad_fn))
torch.backends.cuda.enable_flash_sdp(True)
