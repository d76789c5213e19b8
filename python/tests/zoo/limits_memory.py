"""May use little more address space than it has."""
import resource

pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (8 << 20),) * 2)
try:
    bytearray(1 << 30)
except MemoryError:
    print("no memory")
