from striae.gsd import version as version

__version__: str

def install() -> None: ...
