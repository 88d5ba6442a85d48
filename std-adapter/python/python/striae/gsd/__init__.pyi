from striae.gsd import fl as fl, hoomd as hoomd, pygsd as pygsd, version as version

__version__: str

def install() -> None: ...
