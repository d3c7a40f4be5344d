"""The warehouse: where it lies (`address`), opening it (`open`), and all that is done to it.

In: batches of tables (`load`). Out: a `Warehouse`, open to write or to read, and copies of what is in it. A file
(`file`) and a lake (`lake/`) are two ways to keep one; outside nobody asks which it is.
"""

from bufferhouse.warehouse.address import Address, address_of

__all__ = ["Address", "address_of"]
