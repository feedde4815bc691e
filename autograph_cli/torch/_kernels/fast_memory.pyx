# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory of arrays that begins where a line of the cache does: wide registers read and write it in half the time.

What malloc gives begins at any multiple of 16; it is written before each array where its block began.
"""

from cpython.pycapsule cimport PyCapsule_New
from libc.stdint cimport uint8_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memmove, memset, strcpy

cdef extern from *:
    """
    #undef NPY_TARGET_VERSION
    #define NPY_TARGET_VERSION NPY_1_22_API_VERSION
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    static void huge_pages(void *block, size_t size) {
    #ifdef MADV_HUGEPAGE
        size_t over = 4096 - (size_t)block % 4096;
        madvise((char *)block + over, size - over, MADV_HUGEPAGE);
    #endif
    }
    """
    void huge_pages(void *block, size_t size) noexcept nogil

cimport numpy as cnp

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *, size_t) noexcept nogil
        void *(*calloc)(void *, size_t, size_t) noexcept nogil
        void *(*realloc)(void *, void *, size_t) noexcept nogil
        void (*free)(void *, void *, size_t) noexcept nogil

    ctypedef struct PyDataMem_Handler:
        char name[127]
        uint8_t version
        PyDataMemAllocator allocator

    object PyDataMem_SetHandler(object handler)

cnp.import_array()

cdef enum:
    EASY = 16
    LINE = 64
    FEW = 1024  # a block of fewer bytes begins where malloc gives it
    HUGE = 1 << 22  # from here NumPy, too, asks for large pages

cdef PyDataMem_Handler handler


cdef inline void **start(void *place) noexcept nogil:
    """The place at which the start of the block is written."""
    return <void **>place - 1


cdef inline void *placed(void *block, size_t step) noexcept nogil:
    """The first place in a block, a multiple of `step`, that has room before it for where the block begins."""
    cdef void *place
    if block == NULL:
        return NULL
    place = <void *>((<uintptr_t>block + sizeof(void *) + step - 1) & ~(<uintptr_t>step - 1))
    start(place)[0] = block
    return place


cdef void *take(void *context, size_t size) noexcept nogil:
    cdef size_t step = EASY if size < FEW else LINE
    cdef void *block = malloc(size + step) if size + step > size else NULL
    if block != NULL and size >= HUGE:
        huge_pages(block, size)
    return placed(block, step)


cdef void *take_zeros(void *context, size_t count, size_t each) noexcept nogil:
    cdef size_t size = count * each
    cdef void *block
    if each and size // each != count or size + LINE < size:
        return NULL
    if size < FEW:
        block = take(context, size)
        return NULL if block == NULL else memset(block, 0, size)
    block = calloc(size + LINE, 1)
    if block != NULL and size >= HUGE:
        huge_pages(block, size)
    return placed(block, LINE)


cdef void *take_again(void *context, void *place, size_t size) noexcept nogil:
    cdef uintptr_t before
    cdef void *block
    cdef void *now
    if place == NULL:
        return take(context, size)
    block = start(place)[0]
    before = <uintptr_t>place - <uintptr_t>block
    block = realloc(block, size + LINE) if size + LINE > size else NULL
    if block == NULL:
        return NULL
    now = <void *>((<uintptr_t>block + LINE) & ~(<uintptr_t>LINE - 1))
    memmove(now, <char *>block + before, size)
    start(now)[0] = block
    return now


cdef void give(void *context, void *place, size_t size) noexcept nogil:
    if place != NULL:
        free(start(place)[0])


def align() -> None:
    """Have NumPy take the memory of arrays so from now on, in this thread's context."""
    strcpy(handler.name, "lines of the cache")
    handler.version = 1
    handler.allocator = PyDataMemAllocator(NULL, take, take_zeros, take_again, give)
    PyDataMem_SetHandler(PyCapsule_New(&handler, "mem_handler", NULL))
