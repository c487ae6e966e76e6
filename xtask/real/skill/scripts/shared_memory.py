"""Processes share memory."""

import mmap
import os
from multiprocessing import Process, Value
from multiprocessing.shared_memory import SharedMemory


def write(name):
    memory = SharedMemory(name=name)
    memory.buf[:5] = b"hello"
    memory.close()


if __name__ == "__main__":
    memory = SharedMemory(create=True, size=64)
    process = Process(target=write, args=(memory.name,))
    process.start()
    process.join()
    print(bytes(memory.buf[:5]).decode())
    memory.close()
    memory.unlink()
    print(Value("i", 42).value)
    pages = mmap.mmap(-1, 4096)
    if os.fork() == 0:
        pages[:2] = b"ok"
        os._exit(0)
    os.wait()
    print(pages[:2].decode())
