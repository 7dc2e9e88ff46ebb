"""An OpenEnv environment; warpgym.openenv has the code."""
