"""What verifiers imports for the id `warpgym-kernels`: one taskset, its harness, its environment."""

from warpgym.verifiers import ChatHarness, KernelEnv, KernelTaskset

__all__ = ["ChatHarness", "KernelEnv", "KernelTaskset"]
