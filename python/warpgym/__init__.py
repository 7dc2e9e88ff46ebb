"""The PyTorch side of warpgym: what runs in the boxed processes of torch problems."""
