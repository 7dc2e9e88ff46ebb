"""What OpenEnv looks for in an environment's directory: the client."""

from warpgym.openenv import KernelEnv

__all__ = ["KernelEnv"]
