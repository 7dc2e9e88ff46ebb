"""The PyTorch part of warpgym: what runs in the sandboxed processes of torch problems."""
