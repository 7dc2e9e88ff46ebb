"""The application that the image serves: an adapter of the judge at WARPGYM_CLIENT_URL."""

import os
import sys

from warpgym.openenv import make_app

URL = "WARPGYM_CLIENT_URL"
if not os.environ.get(URL):
    sys.exit(f"{URL} is not set: give the address of `warpgym serve`, as http://gpu-host:10907")

app = make_app()


def main():
    import uvicorn

    uvicorn.run(app, host="0.0.0.0", port=8000)


if __name__ == "__main__":
    main()
