from striae._striae import ObjectGSDFile as GSDFile

__all__ = ['GSDFile', 'version']

version: str
