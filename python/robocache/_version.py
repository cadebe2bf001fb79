"""The version of this package. The wheel's builder writes the release's here."""

__version__ = "0.0.0.dev0"
