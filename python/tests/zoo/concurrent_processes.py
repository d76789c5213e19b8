"""ProcessPoolExecutor and ThreadPoolExecutor side by side, ended without shutdown."""
import concurrent.futures
import math

if __name__ == "__main__":
    processes = concurrent.futures.ProcessPoolExecutor(2)
    threads = concurrent.futures.ThreadPoolExecutor(4)
    print(list(processes.map(math.sqrt, [1, 4, 9])), list(threads.map(math.sqrt, [1, 4, 9])))
