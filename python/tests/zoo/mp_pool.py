"""A Pool, whose workers raise, and one of which kills itself; shared memory; a Manager's list."""
import multiprocessing
from multiprocessing import shared_memory


def work(number):
    if number == 3:
        raise ValueError("three")
    return number * 2


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for number in range(5):
            try:
                print(pool.apply(work, (number,)))
            except ValueError as error:
                print("raised", error)
    block = shared_memory.SharedMemory(create=True, size=16)
    block.buf[0] = 9
    print(bytes(block.buf[:2]))
    block.close()
    block.unlink()
