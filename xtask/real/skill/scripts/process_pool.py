"""Processes share a lock and a pool."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import Lock, Pool


def square(number):
    return number * number


if __name__ == "__main__":
    with Lock():
        print("locked")
    with Pool(2) as pool:
        print(pool.map(square, range(4)))
    with ProcessPoolExecutor(2) as executor:
        print(list(executor.map(square, range(4))))
