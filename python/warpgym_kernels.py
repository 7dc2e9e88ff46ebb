"""verifiers imports this module for the id `warpgym-kernels`: a taskset, its harness and
environment."""

from warpgym.verifiers import ChatHarness, KernelEnv, KernelTaskset

__all__ = ["ChatHarness", "KernelEnv", "KernelTaskset"]
